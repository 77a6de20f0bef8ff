// @ts-check
// Search: hits of all corpora on one scale, each with why it was found; facets, a least score, and what comes closest.
import { useEffect, useState } from "./vendor/hooks.js";
import { ask } from "./api.js";
import { Action, Ago, Dialog, Empty, Text, Trouble, address, fraction, go, html, isTyping, pluralize, reveal, useAnswer, walk } from "./parts.js";

// The names of signals in words; a test compares them with those of the command line.
/** @type {Record<string, string>} */
export const LABELS = {
  semantic: "meaning",
  lexical: "keyword",
  exact: "exact terms",
  heading: "in headings",
  definition: "in names",
  path: "in path",
  stem: "in file name",
  named: "defines it",
  document: "its document",
  repetition: "same document",
  scale: "common scale",
};
const SUMMANDS = ["keyword", "semantic", "author", "neighbours", "scale"];
/** @type {Record<string, string>} */
const NOUNS = { memories: "memory", documents: "document", tools: "tool", flows: "flow" };
// Facets that are filters of a search: the name in the answer, in the address, of the argument, and in words.
const FILTERS = [
  ["projects", "project", "project", "Project"],
  ["folders", "folder", "folder_id", "Folder"],
  ["apps", "app", "app", "App"],
];
const PAGE = 20;
const MOST = 1000;

/** @param {import("./app.js").Place} place */
export function Search({ query, who }) {
  const asked = query.get("q") ?? "";
  const limit = Math.min(MOST, Number(query.get("limit")) || PAGE);
  const least = query.get("least");
  const given = {
    query: asked,
    limit,
    ...(query.has("corpus") && { corpora: query.getAll("corpus") }),
    ...(least && { min_score: Number(least) }),
    ...Object.fromEntries(FILTERS.filter(([, name]) => query.has(name)).map(([, name, argument]) => [argument, query.get(name)])),
  };
  const { answer, problem, busy, again } = useAnswer(asked ? "search" : null, given);
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => !document.querySelector("dialog[open]") && walk(event, ".hit-title");
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  /** Changes a part of the address. @param {Record<string, any>} changes @param {boolean} [replace] */
  const change = (changes, replace) => {
    const old = Object.fromEntries([...query.keys()].map((key) => [key, query.getAll(key)]));
    go(address(["search"], { ...old, ...changes }), replace);
  };
  if (!asked) return html`<h1>Search</h1><${Welcome} />`;
  return html`
    <h1 class="quiet">Search: ${reveal(asked)}</h1>
    <${Trouble} problem=${problem} />
    <div class="search-page" aria-busy=${busy}>
      ${answer && html`<${Sidebar} answer=${answer} query=${query} change=${change} />`}
      <div class="results">
        ${answer && html`<${Summary} answer=${answer} change=${change} />`}
        <ol class="hits">
          ${answer?.hits.map(
            (/** @type {any} */ hit) =>
              html`<${Hit} key=${hit.corpus + hit.id} hit=${hit} who=${who} again=${again} isOpen=${query.get("why") === hit.id}
                toggle=${() => change({ why: query.get("why") === hit.id ? null : hit.id }, true)} />`,
          )}
        </ol>
        ${answer && answer.hits.length === limit && limit < MOST &&
        html`<button type="button" onClick=${() => change({ limit: Math.min(MOST, limit * 5) }, true)}>Show more</button>`}
      </div>
    </div>
  `;
}

function Welcome() {
  const { answer, problem } = useAnswer("status", {});
  const counts = answer ? Object.entries(answer.corpora).map(([name, facts]) => [name, countOf(facts)]) : [];
  return html`<${Trouble} problem=${problem} />
    <p>Ask for anything your agent can use. Nothing is found where nothing fits.</p>
    ${answer &&
    html`<dl class="figures">
      ${counts.map(([name, count]) => html`<div><dt>${name}</dt><dd>${count.toLocaleString("en")}</dd></div>`)}
    </dl>`}
    ${answer?.problems.map((/** @type {string} */ each) => html`<p class="trouble">${reveal(each)}</p>`)}`;
}

/** How much a corpus holds: the first number of its report. @param {any} facts @returns {number} */
function countOf(facts) {
  if (typeof facts === "number") return facts;
  return Object.values(facts ?? {}).find((each) => typeof each === "number") ?? 0;
}

/** @param {{answer: any, change: Function}} given */
function Summary({ answer, change }) {
  const corrections = Object.entries(answer.did_you_mean);
  const found = answer.hits.length ? pluralize(answer.hits.length, "hit") : "Nothing fits";
  return html`
    <p role="status" class="summary">${found}</p>
    ${corrections.map(([word, meant]) => html`<p class="note">Searched for <b>${reveal(String(meant))}</b> too, which is near <b>${reveal(word)}</b>.</p>`)}
    ${answer.notes.map((/** @type {string} */ note) => html`<p class="note">${reveal(note)}</p>`)}
    ${!answer.hits.length &&
    html`<${Empty} title="Nothing fits that question.">
      ${answer.closest.length > 0 &&
      html`<p>What came closest:</p>
        <ul>${answer.closest.map((/** @type {string} */ title) => html`<li><button type="button" class="link" onClick=${() => change({ q: title })}>${reveal(title)}</button></li>`)}</ul>`}
      <p>Say it in other words, lower the least score, or remove a filter.</p>
    <//>`}
  `;
}

/** @param {{answer: any, query: URLSearchParams, change: Function}} given */
function Sidebar({ answer, query, change }) {
  const corpora = query.getAll("corpus");
  const names = [...new Set([...Object.keys(NOUNS).filter((name) => name in answer.facets), ...corpora])];
  const least = query.get("least") ?? "0";
  return html`<aside aria-label="Filters">
    <fieldset>
      <legend>Corpus</legend>
      ${names.map(
        (name) => html`<${Facet} label=${name} count=${answer.facets[name]} isOn=${corpora.includes(name)}
          toggle=${() => change({ corpus: corpora.includes(name) ? corpora.filter((each) => each !== name) : [...corpora, name] })} />`,
      )}
    </fieldset>
    ${FILTERS.map(([facet, name, , title]) => {
      const chosen = query.get(name);
      const counts = Object.entries(answer.facets[facet] ?? {});
      const rows = chosen !== null && !counts.some(([value]) => value === chosen) ? [[chosen, undefined], ...counts] : counts;
      return rows.length > 0 &&
        html`<fieldset>
          <legend>${title}</legend>
          ${rows.map(([value, count]) => html`<${Facet} label=${value} count=${count} isOn=${chosen === value}
            toggle=${() => change({ [name]: chosen === value ? null : value })} />`)}
        </fieldset>`;
    })}
    <label class="least">Least score <output>${fraction(Number(least))}</output>
      <input type="range" min="0" max="0.95" step="0.05" value=${least} onChange=${(/** @type {any} */ event) => change({ least: Number(event.target.value) || null }, true)} />
    </label>
  </aside>`;
}

/** @param {{label: string, count: number | undefined, isOn: boolean, toggle: () => void}} given */
function Facet({ label, count, isOn, toggle }) {
  return html`<button type="button" class="facet" aria-pressed=${isOn} onClick=${toggle}>
    <bdi>${reveal(label)}</bdi> <span class="count">${count ?? ""}</span>
  </button>`;
}

/** Where a hit is from, and its view. @param {any} hit @returns {{place: string, at: string | null, url: string}} */
export function placeOf(hit) {
  const item = hit.item ?? {};
  switch (hit.corpus) {
    case "memories":
      return { place: item.project ?? "", at: item.created_at, url: address(["memories", hit.id]) };
    case "documents": {
      const steps = ["documents", item.folder_id, ...item.document_id.split("/")];
      const place = `${item.folder_id}/${item.document_id}:${item.start_line}`;
      return { place, at: null, url: address(steps, {}, `L${item.start_line}`) };
    }
    case "tools":
      return { place: `server ${item.server ?? ""} · ${item.kind ?? ""}`, at: null, url: address(["tools", hit.id]) };
    case "flows":
      return { place: `${item.app ?? ""} · ${item.screen ?? ""}`, at: item.timestamp, url: address(["flows", item.session_id ?? hit.id], {}, String(item.position ?? "")) };
    default:
      return { place: "", at: null, url: address(["search"], { q: hit.title }) };
  }
}

/** @param {{hit: any, who: import("./api.js").Who, again: () => void, isOpen: boolean, toggle: () => void}} given */
function Hit({ hit, who, again, isOpen, toggle }) {
  const [isForgetting, setForgetting] = useState(false);
  const [copied, setCopied] = useState(false);
  const { place, at, url } = placeOf(hit);
  const signals = hit.why.signals;
  const isWhole = hit.text.startsWith(hit.title.replace(/…$/, "")); // its title is how it begins
  const title = isWhole ? shorten(hit.text, 240) : hit.title;
  const text = hit.corpus === "flows" ? describeStep(hit.item) : hit.text;
  const marks = text === hit.text ? (hit.marks ?? []) : [];
  const keyword = signals.keyword ?? signals.lexical;
  const mayChange = hit.corpus === "memories" && who.scopes.includes("write");
  const pin = () => ask(hit.item.pinned ? "memories/unpin" : "memories/pin", { id: hit.id }).then(again);
  const copy = () => navigator.clipboard.writeText(hit.id).then(() => setCopied(true));
  const open = (/** @type {KeyboardEvent} */ event) => event.key === "o" && !isTyping(event) && go(url);
  return html`<li class="hit" onKeyDown=${open}>
    <div class="hit-head">
      <span class="score">${fraction(hit.score)}</span>
      <span class="tag">${NOUNS[hit.corpus] ?? hit.corpus}</span>
      <h2><button type="button" class="hit-title" aria-expanded=${isOpen} onClick=${toggle}><${Text} text=${title} marks=${isWhole ? inside(marks, title) : []} /></button></h2>
      <span class="place"><bdi>${reveal(place)}</bdi>${at && html` · <${Ago} at=${at} />`}</span>
    </div>
    ${!isWhole && text && html`<p class="snippet"><${Text} text=${shorten(text, 400)} marks=${inside(marks, shorten(text, 400))} /></p>`}
    <div class="hit-foot">
      ${keyword && html`<${Bar} name="keyword" value=${keyword.calibrated} />`}
      ${signals.semantic && html`<${Bar} name="meaning" value=${signals.semantic.calibrated} />`}
      <span class="actions">
        <a href=${url} aria-label=${`Open: ${hit.title}`}>Open</a>
        <button type="button" class="link" onClick=${copy} aria-label=${copied ? `Copied: ${hit.title}` : `Copy reference: ${hit.title}`}>${copied ? "Copied" : "Copy reference"}</button>
        ${mayChange && html`
          <${Action} class="link" run=${pin} label=${`${hit.item.pinned ? "Unpin" : "Pin"}: ${hit.title}`}>${hit.item.pinned ? "Unpin" : "Pin"}<//>
          <button type="button" class="link" onClick=${() => setForgetting(true)} aria-label=${`Forget: ${hit.title}`}>Forget</button>`}
      </span>
    </div>
    ${isOpen && html`<${Why} why=${hit.why} score=${hit.score} />`}
    ${isForgetting && html`<${Forget} memory=${hit.item} onClose=${() => setForgetting(false)} onDone=${again} />`}
  </li>`;
}

/** What was done in a step. @param {any} step */
export function describeStep(step) {
  const target = step.target ?? {};
  const name = target.name ?? target.text ?? target.testId ?? target.selector;
  return [step.verb ?? step.tool, target.role, name && `“${name}”`].filter(Boolean).join(" ");
}

/** @param {string} text @param {number} most */
function shorten(text, most) {
  const letters = Array.from(text);
  return letters.length > most ? `${letters.slice(0, most).join("")}…` : text;
}

/** The marks that lie within a shortened text. @param {number[][]} marks @param {string} text */
function inside(marks, text) {
  const length = Array.from(text).length;
  return marks.filter(([, end]) => end <= length);
}

/** @param {{name: string, value: number}} given */
function Bar({ name, value }) {
  return html`<span class="bar"><span>${name}</span> <meter aria-label=${name} min="0" max="1" value=${value}></meter> <span>${fraction(value)}</span></span>`;
}

/** The parts of a score, which add up. @param {{why: any, score: number}} given */
function Why({ why, score }) {
  const rows = Object.entries(why.signals).filter(([, each]) => Math.abs(each.contribution) >= 0.0005);
  const isFactor = (/** @type {string} */ name, /** @type {any} */ each) => !SUMMANDS.includes(name) && each.weight === each.calibrated;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Why it was found"><table class="why">
    <caption>Why: the parts of the score add up</caption>
    <thead><tr><th scope="col">signal</th><th scope="col">measured</th><th scope="col">of 1</th><th scope="col">weight</th><th scope="col">adds</th></tr></thead>
    <tbody>
      ${rows.map(([name, each]) => html`<tr>
        <th scope="row">${LABELS[name] ?? name}</th>
        <td>${each.raw.toFixed(3)}</td>
        <td>${isFactor(name, each) ? "" : each.calibrated.toFixed(3)}</td>
        <td>${isFactor(name, each) ? `× ${each.weight.toFixed(3)}` : each.weight.toFixed(2)}</td>
        <td>${sign(each.contribution)}</td>
      </tr>`)}
    </tbody>
    <tfoot><tr><th scope="row" colspan="4">total${why.total > 1 ? `, shown as ${fraction(score)}` : ""}</th><td>${why.total.toFixed(3)}</td></tr></tfoot>
  </table>${why.matched.length > 0 && html`<p class="faint">Matched: ${reveal(why.matched.join(", "))}</p>`}</div>`;
}

/** @param {number} value */
const sign = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

/** Asks before a memory is forgotten, and shows it. @param {{memory: any, onClose: () => void, onDone: () => void}} given */
export function Forget({ memory, onClose, onDone }) {
  const forget = async () => {
    await ask("memories/delete", { id: memory.id });
    onClose();
    onDone();
  };
  return html`<${Dialog} title="Forget this memory?" onClose=${onClose}>
    <blockquote><${Text} text=${memory.content} /></blockquote>
    <p>No search finds it any more. It can be restored for 30 days.</p>
    <form method="dialog" class="row"><${Action} class="danger" run=${forget}>Forget<//><button>Keep</button></form>
  <//>`;
}
