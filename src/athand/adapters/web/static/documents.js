// @ts-check
// Documents: folders with their state and problems, the files of a folder, and a reader with lines and an outline.
import { useEffect, useRef, useState } from "./vendor/hooks.js";
import { ask } from "./api.js";
import { Action, Ago, Dialog, Empty, Text, Trouble, address, go, html, pluralize, reveal, useAnswer, walk } from "./parts.js";

/** @type {Record<string, string>} */
const STATES = { ready: "good", pending: "", indexing: "", error: "bad", offline: "warn", imported: "warn" };
const POLL_MS = 10000; // where the stream of events does not tell
const PAGE_CHARS = 60000;

/** @param {import("./app.js").Place} place */
export function Documents(place) {
  const [, folder, ...path] = place.steps;
  const isFile = path.length > 0 && !place.query.has("list");
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => !document.querySelector("dialog[open]") && walk(event, ".entry a");
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  if (!folder) return html`<${Folders} who=${place.who} />`;
  const Shown = isFile ? Reader : Listing;
  return html`<${Shown} key=${[folder, ...path].join("/")} folder=${folder} path=${path.join("/")} hash=${place.hash} who=${place.who} query=${place.query} />`;
}

/** @param {{who: import("./api.js").Who}} given */
function Folders({ who }) {
  const { answer, problem, again } = useAnswer("documents/list_folders", {});
  const isBusy = answer?.some((/** @type {any} */ folder) => folder.state === "indexing");
  useEffect(() => {
    const timer = setInterval(again, isBusy ? POLL_MS : 6 * POLL_MS);
    return () => clearInterval(timer);
  }, [isBusy]);
  return html`
    <h1>Documents</h1>
    <${Trouble} problem=${problem} />
    ${answer?.length === 0 && html`<${Empty} title="No folder is indexed yet."><p>Add one below, or with <code>athand docs add FOLDER</code>. Files stay where they are.</p><//>`}
    <ul class="plain-list">${answer?.map((/** @type {any} */ folder) => html`<${Folder} key=${folder.folder_id} folder=${folder} who=${who} again=${again} />`)}</ul>
    ${who.scopes.includes("admin") && html`<${Add} again=${again} />`}
  `;
}

/** @param {{folder: any, who: import("./api.js").Who, again: () => void}} given */
function Folder({ folder, who, again }) {
  const [isRemoving, setRemoving] = useState(false);
  const left = Object.entries(folder.skipped ?? {});
  const given = { folder_id: folder.folder_id };
  return html`<li class="entry folder">
    <h2><a href=${address(["documents", folder.folder_id])}><bdi>${reveal(folder.folder_id)}</bdi></a>
      <span class="tag ${STATES[folder.state] ?? ""}">${folder.state}</span></h2>
    <p class="note"><bdi>${reveal(folder.path)}</bdi></p>
    ${folder.reason && html`<p class="note">${reveal(folder.reason)}</p>`}
    ${folder.state === "indexing" && folder.total > 0 && html`<p><progress aria-label=${`Indexing ${folder.folder_id}`} max=${folder.total} value=${folder.done}></progress> <span role="status">${folder.done.toLocaleString("en")} of ${pluralize(folder.total, "file")}</span></p>`}
    <p class="hit-foot"><span>${pluralize(folder.documents, "document")}</span> <span>${pluralize(folder.chunks, "passage")}</span>
      ${folder.project && html`<span>project ${reveal(folder.project)}</span>`}
      <span>indexed <${Ago} at=${folder.indexed_at} /></span>
      ${left.length > 0 && html`<span>left out: ${left.map(([why, count]) => `${count} ${why}`).join(", ")}</span>`}
      <span class="actions">
        ${who.scopes.includes("write") && html`<${Action} class="link" label=${`Refresh: ${folder.folder_id}`} run=${() => ask("documents/refresh", given).then(again)}>Refresh<//>`}
        ${who.scopes.includes("admin") && html`<button type="button" class="link" aria-label=${`Remove: ${folder.folder_id}`} onClick=${() => setRemoving(true)}>Remove</button>`}
      </span></p>
    ${folder.problems > 0 && html`<${Problems} folder=${folder} />`}
    ${isRemoving && html`<${Dialog} title="Remove ${folder.folder_id}?" onClose=${() => setRemoving(false)}>
      <p>Its ${pluralize(folder.documents, "document")} are no longer found. The files in <bdi>${reveal(folder.path)}</bdi> stay as they are.</p>
      <form method="dialog" class="row"><${Action} class="danger" run=${() => ask("documents/remove", given).then(() => (setRemoving(false), again()))}>Remove<//><button>Keep</button></form>
    <//>`}
  </li>`;
}

/** @param {{folder: any}} given */
function Problems({ folder }) {
  const [isOpen, setOpen] = useState(false);
  const { answer } = useAnswer(isOpen ? "documents/problems" : null, { folder_id: folder.folder_id });
  return html`<details onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}><summary>${pluralize(folder.problems, "file")} could not be read</summary>
    <ul class="plain-list">${answer?.map((/** @type {any} */ each) => html`<li><b><bdi>${reveal(each.document_id)}</bdi></b> <span class="faint">${reveal(each.reason)}${each.is_indexed ? ", indexed in part" : ""}</span></li>`)}</ul></details>`;
}

/** @param {{again: () => void}} given */
function Add({ again }) {
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  /** @param {SubmitEvent} event */
  const add = (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    ask("documents/add", { path: new FormData(form).get("path"), wait: false }).then(() => (setProblem(null), form.reset(), again()), setProblem);
  };
  return html`<form class="field" onSubmit=${add}><label for="path">Add a folder of this machine</label> <input id="path" name="path" required placeholder="~/notes" autocomplete="off" /> <button>Add</button></form><${Trouble} problem=${problem} />`;
}

/** The way to a folder or file, each step a link. @param {{folder: string, path: string}} given */
function Crumbs({ folder, path }) {
  const steps = path ? path.split("/") : [];
  return html`<nav class="crumbs" aria-label="Where this is"><a href=${address(["documents"])}>Documents</a> / <a href=${address(["documents", folder])}><bdi>${reveal(folder)}</bdi></a>
    ${steps.slice(0, -1).map((step, at) => html` / <a href=${address(["documents", folder, ...steps.slice(0, at + 1)], { list: 1 })}><bdi>${reveal(step)}</bdi></a>`)}</nav>`;
}

/** @param {{folder: string, path: string}} given */
function Listing({ folder, path }) {
  const { answer, problem } = useAnswer("documents/explore", { folder_id: folder, path });
  const steps = path ? path.split("/") : [];
  const nameOf = (/** @type {string} */ whole) => whole.split("/").at(-1) ?? whole;
  return html`<${Crumbs} folder=${folder} path=${path} />
    <h1><bdi>${reveal(nameOf(path) || folder)}</bdi></h1>
    <${Trouble} problem=${problem} />
    ${answer && !answer.subfolders.length && !answer.documents.length && html`<${Empty} title="Nothing of this directory is indexed." />`}
    <ul class="plain-list">
      ${answer?.subfolders.map((/** @type {any} */ each) => html`<li class="entry"><a href=${address(["documents", folder, ...steps, nameOf(each.path)], { list: 1 })}><bdi>${reveal(nameOf(each.path))}/</bdi></a> <span class="faint">${pluralize(each.documents, "document")}</span></li>`)}
      ${answer?.documents.map((/** @type {any} */ each) => html`<li class="entry"><a href=${address(["documents", folder, ...each.document_id.split("/")])}><bdi>${reveal(nameOf(each.document_id))}</bdi></a>
        <span class="faint">${each.title !== nameOf(each.document_id) && html`<${Text} text=${each.title} />, `}${pluralize(each.lines, "line")}, <${Ago} at=${each.modified_at} /></span></li>`)}
    </ul>`;
}

/** @param {{folder: string, path: string, hash: string}} given */
function Reader({ folder, path, hash }) {
  const given = { folder_id: folder, document_id: path };
  const wanted = /^L(\d+)(?:-L?(\d+))?$/.exec(hash);
  const [from, to] = wanted ? [Number(wanted[1]), Number(wanted[2] ?? wanted[1])] : [0, 0];
  const data = useAnswer("documents/get_document_data", given);
  const first = useAnswer("documents/get_document_text", { ...given, max_chars: PAGE_CHARS });
  const [more, setMore] = useState(/** @type {any[]} */ ([]));
  const target = useRef(/** @type {HTMLElement | null} */ (null));
  const pages = first.answer ? [first.answer, ...more] : [];
  const last = pages.at(-1);
  const lines = pages.map((page) => page.text).join("").split("\n");
  const readOn = () => ask("documents/get_document_text", { ...given, max_chars: PAGE_CHARS, continuation_token: last.continuation.next_token }).then((page) => setMore((old) => [...old, page]));
  const isShort = Boolean(last?.continuation.has_more) && from > lines.length;
  useEffect(() => void (isShort && readOn()), [isShort, pages.length]);
  useEffect(() => target.current?.scrollIntoView({ block: "center" }), [from, lines.length]);
  return html`<${Crumbs} folder=${folder} path=${path} />
    <h1><bdi>${reveal(path.split("/").at(-1) ?? path)}</bdi></h1>
    <${Trouble} problem=${first.problem ?? data.problem} />
    ${data.answer?.problem && html`<p class="trouble">${reveal(data.answer.problem)}</p>`}
    <div class="reader">
      ${data.answer?.outline.length > 0 && html`<aside aria-label="Outline"><ol class="outline">${data.answer.outline.map((/** @type {any} */ each) => html`<li class=${`level-${Math.min(4, each.level)}`}><a href=${address(["documents", folder, ...path.split("/")], {}, `L${each.line}`)}><${Text} text=${each.title} /></a></li>`)}</ol></aside>`}
      <div class="scroll" tabindex="0" role="region" aria-label="Text">
        ${first.answer && html`<ol class="lines">${lines.map((line, at) => {
          const isTarget = at + 1 >= from && at + 1 <= to;
          return html`<li key=${at} id=${`L${at + 1}`} class=${isTarget ? "target" : ""} ref=${at + 1 === from ? target : null}>${reveal(line)}</li>`;
        })}</ol>`}
        ${last?.continuation.has_more && html`<${Action} run=${readOn}>Read on<//>`}
      </div>
    </div>`;
}
