// @ts-check
// Health: what the store holds, every problem, checks and repairs, a backup, and the tokens of the server.
import { useState } from "./vendor/hooks.js";
import { ask, askFor } from "./api.js";
import { Action, Ago, Dialog, Trouble, html, pluralize, reveal, useAnswer } from "./parts.js";

const SCOPES = ["search", "write", "call-tools", "admin"];

/** @param {import("./app.js").Place} place */
export function Health({ who }) {
  const { answer, problem } = useAnswer("status", {});
  const isOwner = who.scopes.includes("admin");
  return html`
    <h1>Health</h1>
    <${Trouble} problem=${problem} />
    ${answer && html`
      <p role="status">${answer.problems.length ? pluralize(answer.problems.length, "problem") : "Nothing is wrong."}</p>
      ${answer.problems.map((/** @type {string} */ each) => html`<p class="trouble">${reveal(each)}</p>`)}
      <${Facts} title="Store" facts=${answer.store} /><${Facts} title="Model" facts=${answer.model} />
      ${Object.entries(answer.corpora).map(([name, facts]) => html`<${Facts} key=${name} title=${name} facts=${facts} />`)}`}
    ${isOwner && html`<${Repairs} /><${Backup} /><${Tokens} />`}
    <h2>Clients</h2>
    <p><code>athand install</code> adds Athand to an MCP client of this machine; without a name it lists them.</p>
    <p>A full check, with what repairs each part: <code>athand doctor</code></p>
  `;
}

/** @param {{title: string, facts: any}} given */
function Facts({ title, facts }) {
  const rows = Object.entries(typeof facts === "object" && facts ? facts : { items: facts }).filter(([, value]) => typeof value !== "object" || value === null);
  return html`<details open=${title === "Store"}><summary>${title[0].toUpperCase() + title.slice(1)}</summary>
    <dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name.replaceAll("_", " ")}</dt><dd><bdi>${reveal(format(name, value))}</bdi></dd></div>`)}</dl></details>`;
}

/** @param {string} name @param {any} value */
function format(name, value) {
  if (typeof value === "number" && /bytes|^log$/.test(name)) return `${(value / 1e6).toFixed(1)} MB`;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? value.toLocaleString("en") : String(value ?? "none");
}

function Repairs() {
  const [findings, setFindings] = useState(/** @type {string[] | null} */ (null));
  const [made, setMade] = useState(/** @type {Record<string, number> | null} */ (null));
  return html`<h2>Checks and repairs</h2>
    <p class="row"><${Action} run=${() => ask("check").then(setFindings)}>Check the store<//>
      <${Action} run=${() => ask("reindex").then(setMade)}>Make every index anew<//></p>
    ${findings && html`<p role="status">${findings.length ? pluralize(findings.length, "finding") : "The store is sound."}</p><ul>${findings.map((each) => html`<li>${reveal(each)}</li>`)}</ul>`}
    ${made && html`<p role="status">Indexed: ${Object.entries(made).map(([name, count]) => `${count.toLocaleString("en")} ${name}`).join(", ")}.</p>`}`;
}

function Backup() {
  const [path, setPath] = useState("");
  const [made, setMade] = useState("");
  return html`<h2>Back up now</h2>
    <p class="row"><label for="backup">To the file</label> <input id="backup" value=${path} placeholder="~/athand-backup.db" onInput=${(/** @type {any} */ event) => setPath(event.target.value)} />
      <${Action} run=${() => ask("back_up", { path }).then(setMade)}>Back up<//></p>
    ${made && html`<p role="status">Copied and verified: <bdi>${reveal(made)}</bdi></p>`}`;
}

function Tokens() {
  const [turn, setTurn] = useState(0);
  const [isNew, setNew] = useState(false);
  const { answer, problem } = useAnswer("tokens", { turn }, (path) => askFor(path));
  const again = () => setTurn((old) => old + 1);
  return html`<h2>Tokens</h2><p class="faint">Besides your own. Each is shown once, when it is made.</p>
    <${Trouble} problem=${problem} />
    ${answer?.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th scope="col">name</th><th scope="col">may</th><th scope="col">made</th><th scope="col"><span class="unseen">revoke</span></th></tr></thead>
      <tbody>${answer.map((/** @type {any} */ token) => html`<tr key=${token.name}><th scope="row">${token.name}</th><td>${token.scopes.join(", ")}${token.servers && `, tools of ${token.servers.join(", ")} only`}</td><td><${Ago} at=${token.created_at} /></td>
        <td><${Action} class="link" label=${`Revoke: ${token.name}`} run=${() => askFor(`tokens/${encodeURIComponent(token.name)}`, "DELETE").then(again)}>Revoke<//></td></tr>`)}</tbody></table></div>`}
    <p><button type="button" onClick=${() => setNew(true)}>Create a token</button></p>
    ${isNew && html`<${NewToken} onClose=${() => (setNew(false), again())} />`}`;
}

/** @param {{onClose: () => void}} given */
function NewToken({ onClose }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  /** @param {SubmitEvent} event */
  const create = (event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    askFor("tokens", "POST", { name: form.get("name"), scopes: form.getAll("scope") }).then((made) => setToken(made.token), setProblem);
  };
  return html`<${Dialog} title="Create a token" onClose=${onClose}>
    ${token
      ? html`<p>Copy it now: it is not shown again.</p><pre tabindex="0">${token}</pre><form method="dialog"><button>Done</button></form>`
      : html`<form onSubmit=${create}><p><label for="token-name">Name</label> <input id="token-name" name="name" required autocomplete="off" /></p>
          <fieldset><legend>It may</legend>${SCOPES.map((scope) => html`<label class="check"><input type="checkbox" name="scope" value=${scope} defaultChecked=${scope !== "admin"} /> ${scope}</label>`)}</fieldset>
          <${Trouble} problem=${problem} />
          <p class="row"><button class="primary">Create</button><button type="button" onClick=${onClose}>Cancel</button></p></form>`}
  <//>`;
}
