// @ts-check
// Tools: servers and their state, what waits for approval and how it differs, rules, and a call to try.
import { useEffect, useState } from "./vendor/hooks.js";
import { ask } from "./api.js";
import { Action, Dialog, Empty, Text, Trouble, address, fraction, go, html, isTyping, pluralize, reveal, useAnswer, walk } from "./parts.js";

/** @type {Record<string, string>} */
const STATES = {
  connected: "good", idle: "good", connecting: "", unknown: "", none: "", failing: "bad", "needs login": "warn",
  untrusted: "warn", disabled: "", approved: "good", quarantined: "warn", changed: "bad", rejected: "",
};
const WAITING = ["quarantined", "changed"];
/** @type {Record<string, string>} */
const CALLS = { read: "tools/call", write: "tools/call_write", destructive: "tools/call_destructive" };

/** @param {import("./app.js").Place} place */
export function Tools(place) {
  return place.steps[1] ? html`<${Tool} key=${place.steps[1]} id=${place.steps[1]} who=${place.who} />` : html`<${Overview} ...${place} />`;
}

/** @param {{state: string}} given */
const State = ({ state }) => html`<span class="tag ${STATES[state] ?? ""}">${state === "none" ? "added by hand" : state}</span>`;

/** @param {import("./app.js").Place} place */
function Overview({ who, query }) {
  const servers = useAnswer("tools/servers", {});
  const tools = useAnswer("tools/list", {});
  const [filter, setFilter] = useState("");
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => !document.querySelector("dialog[open]") && walk(event, ".tool a");
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  const again = () => {
    servers.again();
    tools.again();
  };
  const all = tools.answer ?? [];
  const waiting = all.filter((/** @type {any} */ tool) => WAITING.includes(tool.state));
  const onlyWaiting = query.has("waiting");
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = (onlyWaiting ? waiting : all).filter((/** @type {any} */ tool) =>
    words.every((word) => `${tool.id} ${tool.description}`.toLowerCase().includes(word)));
  return html`
    <h1>Tools</h1>
    <${Trouble} problem=${servers.problem ?? tools.problem} />
    ${waiting.length > 0 && html`<p class="banner" role="status">
      <b>${pluralize(waiting.length, "tool")} ${waiting.length === 1 ? "waits" : "wait"} for your approval.</b>${" "}
      <a href=${address(["tools"], onlyWaiting ? {} : { waiting: 1 })}>${onlyWaiting ? "Show all tools" : "Show them"}</a>
    </p>`}
    ${servers.answer?.length === 0 && html`<${Empty} title="There are no servers.">
      <p>Bring those of your MCP clients: <code>athand tools import</code>, or load a file: <code>athand tools load mcp.json</code></p>
    <//>`}
    <${Figures} />
    <${WhatAgentsFind} />
    ${all.length > 0 && html`<label class="field">Show only tools with <input type="search" value=${filter} onInput=${(/** @type {any} */ event) => setFilter(event.target.value)} /></label>`}
    ${servers.answer?.map((/** @type {any} */ server) => html`<${Server} key=${server.catalogue + server.name} server=${server} who=${who} again=${again}
      tools=${shown.filter((/** @type {any} */ tool) => tool.server === server.name && tool.catalogue === server.catalogue)} />`)}
    ${who.scopes.includes("admin") && html`<${Rules} />`}
  `;
}

function Figures() {
  const { answer } = useAnswer("tools/stats", {});
  if (!answer || !answer.tools) return null;
  const figures = { servers: answer.servers, tools: answer.tools, searches: answer.searches, calls: answer.calls, "tokens saved": answer.tokens_saved };
  return html`<dl class="figures small">${Object.entries(figures).map(([name, count]) => html`<div><dt>${name}</dt><dd>${count.toLocaleString("en")}</dd></div>`)}</dl>`;
}

/** The search that agents make, to see what they would be offered. */
function WhatAgentsFind() {
  const [task, setTask] = useState("");
  const { answer, problem } = useAnswer(task ? "tools/search" : null, { query: task });
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    setTask(/** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (event.target).elements[0]).value.trim());
  };
  return html`<form class="field row" onSubmit=${submit}>
      <label for="task">What would an agent find for</label> <input id="task" placeholder="show the last commits" /> <button>Find</button>
    </form>
    <${Trouble} problem=${problem} />
    ${task && answer && html`<ol class="plain-list" role="status">
      ${answer.hits.map((/** @type {any} */ hit) => html`<li><b class="score">${fraction(hit.score)}</b> <a href=${address(["tools", hit.id])}><${Text} text=${hit.title} /></a> <span class="faint">${reveal(hit.reason)}</span></li>`)}
      ${!answer.hits.length && html`<li>Nothing fits.${answer.closest.length > 0 && html` Closest: ${reveal(answer.closest.join(", "))}`}</li>`}
    </ol>`}`;
}

/** @param {{server: any, tools: any[], who: import("./api.js").Who, again: () => void}} given */
function Server({ server, tools, who, again }) {
  const isOwner = who.scopes.includes("admin");
  const given = { catalogue: server.catalogue };
  const toggle = () => ask(server.state === "disabled" ? "tools/enable" : "tools/disable", { id: server.name, ...given }).then(again);
  return html`<section class="server">
    <h2><bdi>${reveal(server.name)}</bdi> <${State} state=${server.state} /> <span class="faint">${pluralize(server.tools, "tool")}${server.waiting > 0 && html`, ${server.waiting} waiting`}</span></h2>
    ${server.description && html`<p><${Text} text=${server.description} /></p>`}
    ${server.reason && html`<p class="note">${reveal(server.reason)}</p>`}
    ${server.state === "needs login" && html`<p class="note">Log in to it with: <code>athand tools login ${reveal(server.name)}</code></p>`}
    ${isOwner && server.transport !== "none" && html`<p class="row">
      <${Action} class="link" label=${`Retry: ${server.name}`} run=${() => ask("tools/refresh", { server: server.name, ...given }).then(again)}>Retry<//>
      <${Action} class="link" label=${`${server.state === "disabled" ? "Switch on" : "Switch off"}: ${server.name}`} run=${toggle}>${server.state === "disabled" ? "Switch on" : "Switch off"}<//>
      ${server.source && html`<span class="note">from ${reveal(server.source)}</span>`}
    </p>`}
    <ul class="plain-list">${tools.map((tool) => html`<li class="tool" key=${tool.id}>
      <a href=${address(["tools", tool.id])}><bdi>${reveal(tool.name)}</bdi></a> <span class="tag">${tool.kind}</span>
      ${tool.state !== "approved" && html` <${State} state=${tool.state} />`}${!tool.enabled && html` <span class="tag">off</span>`}
      ${tool.flags.length > 0 && html` <span class="tag bad">flagged</span>`}
      <p class="snippet one"><${Text} text=${tool.description} /></p>
    </li>`)}</ul>
  </section>`;
}

/** @param {{id: string, who: import("./api.js").Who}} given */
function Tool({ id, who }) {
  const { answer: tool, problem, again } = useAnswer("tools/describe", { id });
  const isOwner = who.scopes.includes("admin");
  return html`
    <p><a href=${address(["tools"])}>Tools</a></p>
    <h1><bdi>${reveal(id)}</bdi></h1>
    <${Trouble} problem=${problem} />
    ${tool && html`
      <p class="row"><${State} state=${tool.state} /> <span class="tag">${tool.kind}</span> <span class="faint">server ${reveal(tool.server)}</span>
        ${tool.notice && html`<span class="note">${reveal(tool.notice)}</span>`}</p>
      ${tool.flags.length > 0 && html`<h2>Flags</h2><ul>${tool.flags.map((/** @type {any} */ flag) => html`<li><b>${flag.rule}</b> in ${flag.field}: <${Text} text=${flag.detail} /></li>`)}</ul>`}
      ${tool.diff && html`<h2>What has changed since it was approved</h2><${Diff} diff=${tool.diff} />`}
      ${isOwner && html`<${Decision} tool=${tool} again=${again} />`}
      <h2>${tool.diff ? "What was approved" : "What it says"}</h2>
      <pre tabindex="0">${reveal(tool.description || "nothing", true)}</pre>
      <details open=${WAITING.includes(tool.state)}><summary>Parameters</summary><pre tabindex="0">${reveal(JSON.stringify(tool.input_schema, null, 2))}</pre></details>
      ${who.scopes.includes("call-tools") && tool.state === "approved" && tool.enabled && html`<${Try} tool=${tool} />`}`}
  `;
}

/** Approves or rejects what is shown; a and r do it, too. @param {{tool: any, again: () => void}} given */
function Decision({ tool, again }) {
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const given = { id: tool.id, catalogue: tool.catalogue };
  const approve = async () => {
    const now = await ask("tools/describe", given);
    if (now.diff !== tool.diff || now.hash !== tool.hash || now.description !== tool.description) {
      again();
      throw new Error("The server has changed it meanwhile. Read it again.");
    }
    await ask("tools/approve", given).then(again);
  };
  const reject = () => ask("tools/reject", given).then(again);
  const toggle = () => ask(tool.enabled ? "tools/disable" : "tools/enable", given).then(again);
  useEffect(() => {
    /** @param {KeyboardEvent} event */
    const press = (event) => {
      const run = { a: tool.state === "approved" ? null : approve, r: tool.state === "rejected" ? null : reject }[event.key];
      if (!run || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      run().catch(setProblem);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [tool]);
  return html`<p class="row">
      ${tool.state !== "approved" && html`<${Action} class="primary" run=${approve}>Approve<//>`}
      ${tool.state !== "rejected" && html`<${Action} run=${reject}>Reject<//>`}
      <${Action} run=${toggle}>${tool.enabled ? "Switch off" : "Switch on"}<//>
    </p>
    <${Trouble} problem=${problem} />`;
}

/** A unified diff, side by side. @param {{diff: string}} given */
export function Diff({ diff }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Changes"><table class="diff">
    <thead><tr><th scope="col">approved</th><th scope="col">now</th></tr></thead>
    <tbody>${pairUp(diff).map(({ kind, before, after }) =>
      kind === "field"
        ? html`<tr><th colspan="2" scope="rowgroup">${before}</th></tr>`
        : html`<tr><td class=${before === null ? "" : kind}>${reveal(before ?? "", true)}</td><td class=${after === null ? "" : kind}>${reveal(after ?? "", true)}</td></tr>`)}
    </tbody>
  </table></div>`;
}

/** The lines of a unified diff in pairs. @param {string} diff @returns {{kind: string, before: string | null, after: string | null}[]} */
function pairUp(diff) {
  const pairs = [];
  let removed = /** @type {string[]} */ ([]);
  const flush = () => {
    pairs.push(...removed.map((before) => ({ kind: "change", before, after: null })));
    removed = [];
  };
  for (const line of diff.split("\n")) {
    const field = /^--- (\w+) \(approved\)/.exec(line);
    if (field) {
      flush();
      pairs.push({ kind: "field", before: field[1].replace("_", " "), after: null });
    } else if (/^(\+\+\+ \w+ \(now\)|@@ )/.test(line)) flush();
    else if (line.startsWith("-")) removed.push(line.slice(1));
    else if (line.startsWith("+")) pairs.push({ kind: "change", before: removed.shift() ?? null, after: line.slice(1) });
    else {
      flush();
      pairs.push({ kind: "same", before: line.slice(1), after: line.slice(1) });
    }
  }
  flush();
  return pairs;
}

/** A form made of the schema, and the answer of the call, page by page. @param {{tool: any}} given */
function Try({ tool }) {
  const fields = Object.entries(tool.input_schema.properties ?? {});
  const required = tool.input_schema.required ?? [];
  const [values, setValues] = useState(/** @type {Record<string, any>} */ ({}));
  const [answers, setAnswers] = useState(/** @type {any[]} */ ([]));
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const [isAsking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setAsking(false);
    setBusy(true);
    setProblem(null);
    setAnswers([]);
    const given = { id: tool.id, catalogue: tool.catalogue, arguments: values, max_chars: 10000 };
    await ask(CALLS[tool.kind], given).then((answer) => setAnswers([answer]), setProblem);
    setBusy(false);
  };
  const readOn = (/** @type {string} */ continuation) => ask("tools/read_on", { continuation }).then((answer) => setAnswers((old) => [...old, answer]));
  const set = (/** @type {string} */ name, /** @type {any} */ value) =>
    setValues((old) => (value === undefined ? Object.fromEntries(Object.entries(old).filter(([key]) => key !== name)) : { ...old, [name]: value }));
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    if (tool.kind === "read") run();
    else setAsking(true);
  };
  const last = answers.at(-1);
  return html`<h2>Try it</h2>
    <form class="try" onSubmit=${submit}>
      ${fields.map(([name, schema]) => html`<${Field} key=${name} name=${name} schema=${schema} isRequired=${required.includes(name)} set=${set} />`)}
      <p class="row"><button class="primary" aria-busy=${busy} disabled=${busy}>Call</button> <span class="faint">It is called as you. Kind: ${tool.kind}.</span></p>
    </form>
    <${Trouble} problem=${problem} />
    ${last && html`<h3>The answer</h3><pre tabindex="0">${answers.map((answer) => reveal(answer.content.map((/** @type {any} */ part) => part.text ?? `[${part.type}]`).join("\n")))}</pre>
      ${last.continuation && html`<${Action} run=${() => readOn(last.continuation)}>Read on<//>`}`}
    ${isAsking && html`<${Dialog} title="Call ${tool.id}?" onClose=${() => setAsking(false)}>
      <p>Its kind is <b>${tool.kind}</b>: ${tool.kind === "write" ? "it changes something." : "it may overwrite or delete, or does not say what it does."}</p>
      <pre tabindex="0">${reveal(JSON.stringify(values, null, 2))}</pre>
      <form method="dialog" class="row"><button type="button" class="danger" onClick=${run}>Call</button><button>Do not call</button></form>
    <//>`}`;
}

/** @param {{name: string, schema: any, isRequired: boolean, set: (name: string, value: any) => void}} given */
function Field({ name, schema, isRequired, set }) {
  const [problem, setProblem] = useState("");
  const type = schema.type ?? schema.anyOf?.find((/** @type {any} */ each) => each.type !== "null")?.type;
  const id = `field-${name}`;
  const parse = (/** @type {string} */ text) => {
    if (text === "") return undefined;
    if (type === "integer" || type === "number") return Number(text);
    return type === "string" ? text : JSON.parse(text);
  };
  const change = (/** @type {any} */ event) => {
    try {
      set(name, parse(event.target.value));
      setProblem("");
    } catch {
      setProblem("This is no JSON yet.");
    }
  };
  const label = html`<label for=${id}><code>${reveal(name)}</code>${isRequired ? "" : html` <span class="faint">optional</span>`}</label>`;
  const about = schema.description && html`<p class="note"><${Text} text=${schema.description} /></p>`;
  if (schema.enum) return html`<div>${label}<select id=${id} required=${isRequired} onChange=${(/** @type {any} */ event) => set(name, schema.enum[event.target.selectedIndex - 1])}><option></option>${schema.enum.map((/** @type {any} */ each) => html`<option>${String(each)}</option>`)}</select>${about}</div>`;
  if (type === "boolean") return html`<div>${label}<select id=${id} required=${isRequired} onChange=${(/** @type {any} */ event) => set(name, [undefined, true, false][event.target.selectedIndex])}><option></option><option>true</option><option>false</option></select>${about}</div>`;
  if (type === "integer" || type === "number") return html`<div>${label}<input id=${id} type="number" step=${type === "integer" ? 1 : "any"} required=${isRequired} onInput=${change} />${about}</div>`;
  if (type === "string") return html`<div>${label}<input id=${id} required=${isRequired} autocomplete="off" onInput=${change} />${about}</div>`;
  return html`<div>${label}<textarea id=${id} required=${isRequired} placeholder="JSON" spellcheck=${false} onInput=${change}></textarea>${problem && html`<p class="note" role="status">${problem}</p>`}${about}</div>`;
}

/** What was decided about calls. */
function Rules() {
  const { answer, problem, again } = useAnswer("tools/rules", {});
  const [refusal, setRefusal] = useState(/** @type {Error | null} */ (null));
  /** @param {SubmitEvent} event */
  const add = (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const { pattern, decision } = Object.fromEntries(new FormData(form));
    ask("tools/rule", { pattern, decision }).then(() => (setRefusal(null), form.reset(), again()), setRefusal);
  };
  return html`<section><h2>Rules about calls</h2>
    <${Trouble} problem=${problem ?? refusal} />
    <ul class="plain-list">${answer?.map((/** @type {any} */ rule) => html`<li class="row"><span class="tag">${rule.decision}</span> <code>${reveal(rule.pattern)}</code>
      <${Action} class="link" label=${`Remove: ${rule.pattern}`} run=${() => ask("tools/rule", { pattern: rule.pattern, decision: null, catalogue: rule.catalogue }).then(again)}>Remove<//></li>`)}</ul>
    ${answer?.length === 0 && html`<p class="faint">There are none. Deny wins over ask, and ask over allow.</p>`}
    <form class="row" onSubmit=${add}>
      <select name="decision" aria-label="Decision"><option>ask</option><option>deny</option><option>allow</option></select>
      <input name="pattern" aria-label="Ids of tools, with * for anything" placeholder="github__delete_*" required /> <button>Add the rule</button>
    </form></section>`;
}
