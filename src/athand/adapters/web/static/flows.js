// @ts-check
// Flows: recorded sessions, and one of them as a strip of steps that the arrow keys walk along.
import { useEffect, useRef, useState } from "./vendor/hooks.js";
import { ask } from "./api.js";
import { Action, Ago, Dialog, Empty, Text, Trouble, address, go, html, isTyping, pluralize, reveal, useAnswer, walk } from "./parts.js";
import { describeStep } from "./search.js";

const PAGE = 50;
const MOST = 1000;

/** @param {import("./app.js").Place} place */
export function Flows({ steps, hash, who }) {
  return steps[1] ? html`<${Recording} key=${steps[1]} id=${steps[1]} hash=${hash} who=${who} />` : html`<${Sessions} />`;
}

function Sessions() {
  const [limit, setLimit] = useState(PAGE);
  const { answer, problem } = useAnswer("flows/sessions", { limit });
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => !document.querySelector("dialog[open]") && walk(event, ".entry a");
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return html`
    <h1>Flows</h1>
    <${Trouble} problem=${problem} />
    ${answer?.length === 0 && html`<${Empty} title="No session is recorded yet."><p>Record one: <code>athand flows record ADDRESS --goal "Buy a kettle"</code></p><//>`}
    <ul class="plain-list">${answer?.map((/** @type {any} */ session) => html`<li class="entry" key=${session.id}>
      <a href=${address(["flows", session.id])}><${Text} text=${session.goal || session.id} /></a>
      <p class="hit-foot"><span><bdi>${reveal(session.app)}</bdi></span> <span>${pluralize(session.steps, "step")}</span> <${Ago} at=${session.created_at} />
        ${[...session.flow_tags, ...session.tags].map((/** @type {string} */ tag) => html`<span class="tag"><bdi>${reveal(tag)}</bdi></span>`)}</p>
    </li>`)}</ul>
    ${answer?.length === limit && limit < MOST && html`<button type="button" onClick=${() => setLimit(Math.min(MOST, limit * 4))}>Show older ones</button>`}
  `;
}

/** @param {{id: string, hash: string, who: import("./api.js").Who}} given */
function Recording({ id, hash, who }) {
  const summary = useAnswer("flows/summarize", { session_id: id });
  const steps = useAnswer("flows/steps", { session_id: id });
  const [isForgetting, setForgetting] = useState(false);
  const all = steps.answer ?? [];
  const found = all.findIndex((/** @type {any} */ step) => String(step.position) === hash);
  const at = Math.max(0, found);
  useEffect(() => {
    /** @param {KeyboardEvent} event */
    const press = (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1, j: 1, k: -1 }[event.key];
      if (!move || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const next = all[Math.max(0, Math.min(all.length - 1, at + move))];
      event.preventDefault();
      if (next) go(address(["flows", id], {}, String(next.position)), true);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [all, at]);
  const remove = () => ask("flows/delete", { session_id: id }).then(() => go(address(["flows"]), true));
  const told = summary.answer;
  return html`
    <p><a href=${address(["flows"])}>Flows</a></p>
    <h1><${Text} text=${told?.session.goal || id} /></h1>
    <${Trouble} problem=${summary.problem ?? steps.problem} />
    ${told && html`<p class="hit-foot"><span><bdi>${reveal(told.session.app)}</bdi></span> <span>${pluralize(told.steps, "step")}, ${told.failed} failed</span> <span>${told.seconds.toFixed(1)} s</span> <${Ago} at=${told.session.created_at} />
      ${who.scopes.includes("write") && html`<span class="actions"><button type="button" class="link" onClick=${() => setForgetting(true)}>Delete</button></span>`}</p>`}
    ${all.length > 0 && html`<${Strip} id=${id} steps=${all} at=${at} /><${Step} id=${id} step=${all[at]} />`}
    <${Script} id=${id} />
    ${isForgetting && html`<${Dialog} title="Delete this session?" onClose=${() => setForgetting(false)}>
      <p>Its ${pluralize(all.length, "step")} and screenshots are deleted for good.</p>
      <form method="dialog" class="row"><${Action} class="danger" run=${remove}>Delete<//><button>Keep</button></form>
    <//>`}
  `;
}

/** @param {string} id @param {any} step */
const pictureOf = (id, step) => `/v1/flows/screenshot?${new URLSearchParams({ session_id: id, position: String(step.position) })}`;

/** @param {{id: string, steps: any[], at: number}} given */
function Strip({ id, steps, at }) {
  const current = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => current.current?.scrollIntoView({ block: "nearest", inline: "center" }), [at]);
  return html`<ol class="strip" tabindex="0" aria-label="Steps">${steps.map((step, index) => html`<li key=${step.position} ref=${index === at ? current : null} aria-current=${index === at ? "step" : null}>
    <a href=${address(["flows", id], {}, String(step.position))}>
      ${step.screenshot && html`<img src=${pictureOf(id, step)} alt="" loading="lazy" />`}
      <span class="count">${step.position}</span> ${step.ok ? "" : html`<span class="tag bad">failed</span> `}<bdi>${reveal(describeStep(step))}</bdi>
    </a></li>`)}</ol>`;
}

/** @param {{id: string, step: any}} given */
function Step({ id, step }) {
  const rows = [["Tool", step.tool], ["Screen", step.screen], ["Error", step.error], ["Took", step.duration_ms && `${step.duration_ms} ms`]];
  return html`<section aria-live="polite"><h2>Step ${step.position}: <${Text} text=${describeStep(step)} /></h2>
    <dl class="facts">${rows.filter(([, value]) => value).map(([name, value]) => html`<div><dt>${name}</dt><dd><bdi>${reveal(String(value))}</bdi></dd></div>`)}</dl>
    ${step.screenshot && html`<img class="shot" src=${pictureOf(id, step)} alt=${`What step ${step.position} showed`} />`}
    ${Object.keys(step.target ?? {}).length > 0 && html`<h3>Target</h3><pre tabindex="0">${reveal(JSON.stringify(step.target, null, 2))}</pre>`}
    ${Object.keys(step.input ?? {}).length > 0 && html`<h3>Input</h3><pre tabindex="0">${reveal(JSON.stringify(step.input, null, 2))}</pre>`}
  </section>`;
}

/** The session as a test. @param {{id: string}} given */
function Script({ id }) {
  const [language, setLanguage] = useState("");
  const { answer, problem } = useAnswer(language ? "flows/script" : null, { session_id: id, language });
  return html`<h2>As a test</h2>
    <p class="row">${["python", "typescript"].map((each) => html`<button type="button" aria-pressed=${language === each} onClick=${() => setLanguage(each)}>${each === "python" ? "Python" : "TypeScript"}</button>`)}</p>
    <${Trouble} problem=${problem} />${language && answer && html`<pre tabindex="0">${reveal(answer)}</pre>`}`;
}
