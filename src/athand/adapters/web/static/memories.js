// @ts-check
// Memories: a line of time with filters and an as-of date; one memory with its chain, its relations, and what corrects it.
import { useEffect, useState } from "./vendor/hooks.js";
import { ask } from "./api.js";
import { Action, Ago, Dialog, Empty, Text, Trouble, address, fraction, go, html, pluralize, reveal, useAnswer, walk } from "./parts.js";
import { Forget } from "./search.js";

const SECTORS = ["semantic", "episodic", "procedural", "emotional", "reflective"];
const PAGE = 100;
const MOST = 1000;
const LONGEST_CHAIN = 50;

/** @param {import("./app.js").Place} place */
export function Memories(place) {
  const id = place.steps[1];
  return id ? html`<${Single} key=${id} id=${id} who=${place.who} />` : html`<${Line} ...${place} />`;
}

/** @param {import("./app.js").Place} place */
function Line({ who, query }) {
  const stats = useAnswer("memories/stats", {});
  const limit = Math.min(MOST, Number(query.get("limit")) || PAGE);
  const shows = query.get("show") ?? "";
  const moment = query.get("as_of");
  const given = {
    limit,
    ...pick(query, ["project", "sector", "author", "written_by", "in_session"]),
    ...(shows === "pinned" && { pinned: true }),
    ...(shows === "superseded" && { superseded: true }),
    ...(shows === "deleted" && { include_deleted: true }),
    ...(moment && { as_of: `${moment}T23:59:59` }),
  };
  const { answer, problem, busy, again } = useAnswer("memories/list", given);
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => !document.querySelector("dialog[open]") && walk(event, ".memory h3 a");
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  const change = (/** @type {Record<string, any>} */ changes) => go(address(["memories"], { ...Object.fromEntries(query), ...changes }), true);
  const found = (answer ?? []).filter((/** @type {any} */ memory) => shows !== "deleted" || memory.is_deleted);
  const days = Object.entries(Object.groupBy(found, (/** @type {any} */ memory) => new Date(memory.created_at).toLocaleDateString("en", { dateStyle: "long" })));
  const isNarrowed = [...query.keys()].some((name) => name !== "limit");
  return html`
    <h1>Memories</h1>
    <${Trouble} problem=${problem ?? stats.problem} />
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <${Choice} name="project" label="Project" value=${query.get("project")} choices=${Object.keys(stats.answer?.by_project ?? {})} change=${change} />
      <${Choice} name="sector" label="Sector" value=${query.get("sector")} choices=${SECTORS} change=${change} />
      <${Choice} name="written_by" label="Written by" value=${query.get("written_by")} choices=${["user", "agent", "import"]} change=${change} />
      <${Choice} name="show" label="Show" value=${query.get("show")} choices=${["pinned", "superseded", "deleted"]} change=${change} />
      <${AsOf} value=${moment} change=${change} />
      ${isNarrowed && html`<button type="button" class="link" onClick=${() => go(address(["memories"]))}>Clear all</button>`}
    </form>
    <p class="summary" role="status">${answer && `${pluralize(found.length, "memory", "memories")}${found.length === limit ? ", the newest" : ""}${moment ? `, as of ${moment}` : ""}`}</p>
    ${who.scopes.includes("write") && html`<${Add} project=${query.get("project")} onDone=${() => (again(), stats.again())} />`}
    ${query.get("project") && html`<${Brief} project=${query.get("project")} />`}
    ${answer && !found.length && html`<${Empty} title=${isNarrowed ? "No memory passes these filters." : "Nothing is remembered yet."}>
      <p>${isNarrowed ? "Clear a filter." : html`Your agent remembers with <code>memory_add</code>; you do above, or with <code>athand memory add</code>.`}</p>
    <//>`}
    <div aria-busy=${busy}>
      ${days.map(([day, memories]) => html`<section class="day" key=${day}><h2>${day}</h2>
        <ul class="plain-list">${memories?.map((/** @type {any} */ memory) => html`<${Row} key=${memory.id} memory=${memory} who=${who} again=${again} />`)}</ul></section>`)}
    </div>
    ${found.length === limit && limit < MOST && html`<button type="button" onClick=${() => change({ limit: Math.min(MOST, limit * 3) })}>Show older ones</button>`}
  `;
}

/** @param {URLSearchParams} query @param {string[]} names */
const pick = (query, names) => Object.fromEntries(names.filter((name) => query.get(name)).map((name) => [name, query.get(name)]));

/** @param {{name: string, label: string, value: string | null, choices: string[], change: Function}} given */
function Choice({ name, label, value, choices, change }) {
  const all = value && !choices.includes(value) ? [value, ...choices] : choices;
  return html`<label>${label} <select value=${value ?? ""} onChange=${(/** @type {any} */ event) => change({ [name]: event.target.value })}>
    <option value="">all</option>${all.map((each) => html`<option value=${each} selected=${each === value}>${reveal(each)}</option>`)}
  </select></label>`;
}

/** What held at the end of a day: a date, and a slider over the last year. @param {{value: string | null, change: Function}} given */
function AsOf({ value, change }) {
  const daysAgo = value ? Math.round((Date.now() - Date.parse(value)) / 86400000) : 0;
  const slide = (/** @type {any} */ event) => {
    const days = 365 - Number(event.target.value);
    change({ as_of: days ? new Date(Date.now() - days * 86400000).toISOString().slice(0, 10) : null });
  };
  return html`<label>What held on <input type="date" value=${value ?? ""} onChange=${(/** @type {any} */ event) => change({ as_of: event.target.value })} /></label>
    <label class="slider">in the last year <input type="range" min="0" max="365" value=${365 - Math.min(365, daysAgo)} onChange=${slide} aria-valuetext=${value ?? "today"} /></label>`;
}

/** @param {{memory: any, who: import("./api.js").Who, again: () => void}} given */
function Row({ memory, who, again }) {
  const [isForgetting, setForgetting] = useState(false);
  const mayWrite = who.scopes.includes("write");
  return html`<li class="memory">
    <h3><a href=${address(["memories", memory.id])}><${Text} text=${memory.title ?? firstOf(memory)} /></a></h3>
    <p class="hit-foot"><${About} memory=${memory} />
      ${mayWrite && html`<span class="actions">
        ${memory.is_deleted
          ? html`<${Action} class="link" label=${`Restore: ${firstOf(memory)}`} run=${() => ask("memories/restore", { id: memory.id }).then(again)}>Restore<//>`
          : html`<${Action} class="link" label=${`${memory.pinned ? "Unpin" : "Pin"}: ${firstOf(memory)}`} run=${() => ask(memory.pinned ? "memories/unpin" : "memories/pin", { id: memory.id }).then(again)}>${memory.pinned ? "Unpin" : "Pin"}<//>
            <button type="button" class="link" aria-label=${`Forget: ${firstOf(memory)}`} onClick=${() => setForgetting(true)}>Forget</button>`}
      </span>`}
    </p>
    ${isForgetting && html`<${Forget} memory=${memory} onClose=${() => setForgetting(false)} onDone=${again} />`}
  </li>`;
}

/** The beginning of a memory. @param {any} memory */
function firstOf(memory) {
  const letters = Array.from(memory.summary ?? memory.content);
  return letters.length > 240 ? `${letters.slice(0, 240).join("")}…` : letters.join("");
}

/** @param {any} memory */
const isEnded = (memory) => memory.valid_until && Date.parse(memory.valid_until) <= Date.now();

/** What is known about a memory in a line. @param {{memory: any}} given */
function About({ memory }) {
  return html`
    ${memory.pinned && html`<span class="tag good">pinned${memory.pinned_by === "agent" ? " by agent" : ""}</span>`}
    ${isEnded(memory) && html`<span class="tag warn">superseded</span>`}
    ${memory.is_deleted && html`<span class="tag bad">forgotten</span>`}
    <span><bdi>${reveal(memory.project)}</bdi></span> <span>${memory.sector}</span>
    <span>${memory.author && html`<bdi>${reveal(memory.author)}</bdi>, `}written by ${memory.written_by}</span>
    <span class="bar">salience <meter aria-label="salience" min="0" max="1" value=${memory.effective_salience}></meter> ${fraction(memory.effective_salience)}</span>
    <${Ago} at=${memory.created_at} />`;
}

/** @param {{project: string | null, onDone: () => void}} given */
function Add({ project, onDone }) {
  const add = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const given = Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
    await ask("memories/add", given);
    form.reset();
    onDone();
  };
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  return html`<details class="add"><summary>Remember something</summary>
    <form onSubmit=${(/** @type {SubmitEvent} */ event) => add(event).then(() => setProblem(null), setProblem)}>
      <label>What to remember, in a sentence that stands alone <textarea name="content" required></textarea></label>
      <p class="row"><label>Project <input name="project" value=${project ?? ""} placeholder="default" /></label> <button class="primary">Remember</button></p>
      <${Trouble} problem=${problem} />
    </form></details>`;
}

/** The brief of a project, as an agent gets it. @param {{project: string | null}} given */
function Brief({ project }) {
  const { answer, problem } = useAnswer("memories/brief", { project });
  const tokens = Math.round((answer ?? "").length / 4);
  return html`<details><summary>The brief of ${reveal(project ?? "")}, as an agent gets it${answer && `: about ${tokens} tokens`}</summary>
    <${Trouble} problem=${problem} /><pre tabindex="0">${reveal(answer ?? "")}</pre></details>`;
}

/** @param {{id: string, who: import("./api.js").Who}} given */
function Single({ id, who }) {
  const { answer: memory, problem, again } = useAnswer("memories/get", { id });
  const related = useAnswer("memories/related", { id });
  const refresh = () => {
    again();
    related.again();
  };
  const others = (related.answer ?? []).filter((/** @type {any} */ each) => each.relation.type !== "SUPERSEDES");
  return html`
    <p><a href=${address(["memories"])}>Memories</a></p>
    <h1 class="quiet">Memory ${reveal(id)}</h1>
    <${Trouble} problem=${problem} />
    ${memory && html`
      <p class="content"><${Text} text=${memory.content} /></p>
      <p class="hit-foot"><${About} memory=${memory} /></p>
      ${memory.context && html`<p class="note">Context: <${Text} text=${memory.context} /></p>`}
      ${[["Tags", memory.tags], ["Concepts", memory.concepts], ["Files", memory.files]].map(([name, values]) => values.length > 0 && html`<p class="note">${name}: ${reveal(values.join(", "))}</p>`)}
      ${who.scopes.includes("write") && html`<${Corrections} memory=${memory} again=${refresh} />`}
      <${Chain} id=${id} turn=${memory.updated_at} />
      ${others.length > 0 && html`<h2>Related</h2><ul>${others.map((/** @type {any} */ each) => html`<li><span class="tag">${each.relation.type.toLowerCase().replace("_", " ")}</span> <a href=${address(["memories", each.memory.id])}><${Text} text=${firstOf(each.memory)} /></a></li>`)}</ul>`}
      <${Around} id=${id} />`}
  `;
}

/** @param {{memory: any, again: () => void}} given */
function Corrections({ memory, again }) {
  const [open, setOpen] = useState("");
  const close = () => setOpen("");
  if (memory.is_deleted) return html`<p class="row"><${Action} class="primary" run=${() => ask("memories/restore", { id: memory.id }).then(again)}>Restore<//><span class="note">It can be restored for 30 days.</span></p>`;
  return html`<p class="row">
      <button type="button" onClick=${() => setOpen("edit")}>Edit</button>
      <${Action} run=${() => ask(memory.pinned ? "memories/unpin" : "memories/pin", { id: memory.id }).then(again)}>${memory.pinned ? "Unpin" : "Pin"}<//>
      ${isEnded(memory)
        ? html`<${Action} run=${() => ask("memories/unsupersede", { old_id: memory.id }).then(again)}>Undo the supersession<//>`
        : html`<button type="button" onClick=${() => setOpen("supersede")}>Supersede</button>`}
      <button type="button" class="danger" onClick=${() => setOpen("forget")}>Forget</button>
    </p>
    ${open === "edit" && html`<${Write} title="Edit this memory" text=${memory.content} button="Save" onClose=${close}
      run=${(/** @type {string} */ content) => ask("memories/update", { id: memory.id, content, expected_updated_at: memory.updated_at }).then(again)}>
      <p class="note">The old text is lost. Where a fact has changed, supersede the memory instead.</p><//>`}
    ${open === "supersede" && html`<${Supersede} memory=${memory} onClose=${close} again=${again} />`}
    ${open === "forget" && html`<${Forget} memory=${memory} onClose=${close} onDone=${again} />`}`;
}

/** A dialog with one text. @param {{title: string, text: string, button: string, run: (text: string) => Promise<any>, onClose: () => void, children?: any}} given */
function Write({ title, text, button, run, onClose, children }) {
  const [value, setValue] = useState(text);
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <label>Text <textarea value=${value} onInput=${(/** @type {any} */ event) => setValue(event.target.value)}></textarea></label>
    ${children}
    <form method="dialog" class="row"><${Action} class="primary" run=${() => run(value).then(onClose)}>${button}<//><button>Cancel</button></form>
  <//>`;
}

/** Chooses the memory that takes the place of this one, or writes it. @param {{memory: any, onClose: () => void, again: () => void}} given */
function Supersede({ memory, onClose, again }) {
  const [content, setContent] = useState("");
  const { answer } = useAnswer(content.length > 2 ? "memories/search" : null, { query: content, project: memory.project, limit: 4, reinforce: false });
  const by = (/** @type {string} */ id) => ask("memories/supersede", { old_id: memory.id, new_id: id }).then(() => (onClose(), again()));
  const add = async () => by((await ask("memories/add", { content, project: memory.project, tier: memory.tier })).id);
  const others = (answer?.hits ?? []).filter((/** @type {any} */ hit) => hit.id !== memory.id);
  return html`<${Dialog} title="What is true now?" onClose=${onClose}>
    <blockquote><${Text} text=${memory.content} /></blockquote>
    <label>A new text, or words of a memory that exists <textarea value=${content} onInput=${(/** @type {any} */ event) => setContent(event.target.value)}></textarea></label>
    ${others.length > 0 && html`<p class="note">Or let one of these take its place:</p>
      <ul class="plain-list">${others.map((/** @type {any} */ hit) => html`<li><${Action} class="link" run=${() => by(hit.id)}><${Text} text=${hit.title} /><//></li>`)}</ul>`}
    <form method="dialog" class="row"><${Action} class="primary" run=${add}>Remember it instead<//><button>Cancel</button></form>
  <//>`;
}

/** The memories that took each other's place, the oldest first. @param {{id: string, turn: string}} given */
function Chain({ id, turn }) {
  const [chain, setChain] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    let isOver = false;
    readChain(id).then((found) => isOver || setChain(found), () => {});
    return () => void (isOver = true);
  }, [id, turn]);
  if (chain.length < 2) return null;
  return html`<h2>What held when</h2><ol class="chain">${chain.map((memory) => html`<li aria-current=${memory.id === id ? "true" : null}>
    <span class="faint">${new Date(memory.valid_from).toLocaleDateString("en", { dateStyle: "medium" })}${memory.valid_until ? ` to ${new Date(memory.valid_until).toLocaleDateString("en", { dateStyle: "medium" })}` : ", until now"}</span>
    ${memory.id === id ? html`<b><${Text} text=${firstOf(memory)} /></b>` : html`<a href=${address(["memories", memory.id])}><${Text} text=${firstOf(memory)} /></a>`}
  </li>`)}</ol>`;
}

/** @param {string} id @returns {Promise<any[]>} */
async function readChain(id) {
  const chain = [await ask("memories/get", { id })];
  for (const [key, isNewer] of /** @type {const} */ ([["target_id", true], ["source_id", false]])) {
    for (let at = id; chain.length < LONGEST_CHAIN; ) {
      const found = (await ask("memories/related", { id: at })).find((/** @type {any} */ each) => each.relation.type === "SUPERSEDES" && each.relation[key] === at);
      if (!found) break;
      at = found.memory.id;
      if (isNewer) chain.push(found.memory);
      else chain.unshift(found.memory);
    }
  }
  return chain;
}

/** What was remembered just before and after. @param {{id: string}} given */
function Around({ id }) {
  const { answer } = useAnswer("memories/timeline", { anchor_id: id, before: 3, after: 3 });
  if (!answer || !answer.before.length + answer.after.length) return null;
  const all = [...answer.before, answer.anchor, ...answer.after];
  return html`<h2>Before and after</h2><ol class="chain">${all.map((memory) => html`<li aria-current=${memory.id === id ? "true" : null}>
    <${Ago} at=${memory.created_at} /> ${memory.id === id ? html`<b>this one</b>` : html`<a href=${address(["memories", memory.id])}><${Text} text=${firstOf(memory)} /></a>`}</li>`)}</ol>`;
}
