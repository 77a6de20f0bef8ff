// @ts-check
// What several views are made of: texts with marks, times, problems, dialogs, and addresses of views.
import { Component, h } from "./vendor/preact.js";
import { useCallback, useEffect, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";
import { ask } from "./api.js";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);

// Characters that do not show, or turn the order of others around. Emoji need some of them: only diffs show those.
const HIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
const EVERY_HIDDEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** A text with its invisible characters written out. @param {string} text @param {boolean} [every] */
export function reveal(text, every = false) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(every ? EVERY_HIDDEN : HIDDEN)) {
    const code = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    parts.push(text.slice(from, found.index), html`<span class="hidden-character">U+${code}</span>`);
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

/**
 * A stored text, with the marked ranges; offsets count characters as Python does.
 * @param {{text: string, marks?: number[][]}} given
 */
export function Text({ text, marks = [] }) {
  const letters = Array.from(text);
  const parts = [];
  let at = 0;
  for (const [start, end] of marks) {
    parts.push(...reveal(letters.slice(at, start).join("")));
    parts.push(html`<mark>${reveal(letters.slice(start, end).join(""))}</mark>`);
    at = end;
  }
  return html`<bdi>${parts}${reveal(letters.slice(at).join(""))}</bdi>`;
}

/** A number of things in words. @param {number} count @param {string} noun @param {string} [plural] */
export function pluralize(count, noun, plural = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

const UNITS = /** @type {const} */ ([["year", 31557600], ["month", 2629800], ["day", 86400], ["hour", 3600], ["minute", 60]]);

/** How long ago a time is, with the whole of it as a hint. @param {{at: string | null | undefined}} given */
export function Ago({ at }) {
  if (!at) return null;
  const seconds = (Date.now() - Date.parse(at)) / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  const words = Math.abs(seconds) < 60 ? "just now" : new Intl.RelativeTimeFormat("en").format(-Math.floor(seconds / size), unit);
  return html`<time datetime=${at} title=${new Date(at).toLocaleString()}>${words}</time>`;
}

/** A fraction as two digits. @param {number} value */
export const fraction = (value) => value.toFixed(2).replace(/^0(?=\.)/, "");

/** What went wrong, in the words of the server. @param {{problem: Error | null | undefined}} given */
export function Trouble({ problem }) {
  return problem ? html`<p class="trouble" role="alert">${reveal(problem.message)}</p>` : null;
}

/** What to do where there is nothing. @param {{title: string, children?: any}} given */
export function Empty({ title, children }) {
  return html`<div class="empty"><p><strong>${title}</strong></p>${children}</div>`;
}

/**
 * The answer of an operation, asked again when what is asked or its corpus changes, or `again` is called.
 * @param {string | null} operation @param {object} given
 * @param {(operation: string, given: object, signal: AbortSignal) => Promise<any>} [how]
 */
export function useAnswer(operation, given, how = ask) {
  const [state, setState] = useState(/** @type {{answer: any, problem: any, busy: boolean}} */ ({ answer: null, problem: null, busy: true }));
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (operation === null) return undefined;
    const aborting = new AbortController();
    setState((old) => ({ ...old, busy: true }));
    how(operation, given, aborting.signal).then(
      (answer) => setState({ answer, problem: null, busy: false }),
      (problem) => problem.name === "AbortError" || setState({ answer: null, problem, busy: false }),
    );
    return () => aborting.abort();
  }, [operation, JSON.stringify(given), turn]);
  const again = useCallback(() => setTurn((old) => old + 1), []);
  const changed = `athand:${operation?.split("/")[0]}`;
  useEffect(() => {
    addEventListener(changed, again);
    return () => removeEventListener(changed, again);
  }, [changed]);
  return { ...state, again };
}

/**
 * A dialog of the browser: it keeps the focus inside, and gives it back. Esc closes it.
 * @param {{title: string, onClose: () => void, wide?: boolean, children?: any}} given
 */
export function Dialog({ title, onClose, wide, children }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => before instanceof HTMLElement && before.isConnected && before.focus();
  }, []);
  return html`<dialog ref=${element} class=${wide ? "wide" : ""} aria-labelledby="dialog-title" onClose=${onClose}>
    <h2 id="dialog-title">${reveal(title)}</h2>
    ${children}
  </dialog>`;
}

/**
 * A button that does something that takes time: it says so, and what went wrong.
 * @param {{run: () => Promise<any>, class?: string, children?: any, label?: string}} given
 */
export function Action({ run, class: name, children, label }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const start = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await run();
    } catch (error) {
      setProblem(/** @type {Error} */ (error));
    }
    setBusy(false);
  };
  return html`<button type="button" class=${name ?? ""} aria-busy=${busy} aria-label=${label} disabled=${busy} onClick=${start}>
      ${children}
    </button>
    <${Trouble} problem=${problem} />`;
}

/** Shows what is wrong with a view instead of an empty page. */
export class Boundary extends Component {
  /** @param {any} problem */
  static getDerivedStateFromError(problem) {
    return { problem };
  }
  render() {
    const { problem } = /** @type {any} */ (this.state);
    if (!problem) return this.props.children;
    return html`<${Trouble} problem=${new Error(`This view has a fault: ${problem.message}. Reload the page.`)} />`;
  }
}

/** An address of a view. @param {string[]} steps @param {Record<string, any>} [query] @param {string} [hash] */
export function address(steps, query = {}, hash = "") {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) if (each !== null && each !== undefined && each !== "") search.append(name, String(each));
  }
  const asked = search.toString();
  return `/ui/${steps.map(encodeURIComponent).join("/")}${asked ? `?${asked}` : ""}${hash ? `#${hash}` : ""}`;
}

/** Goes to an address of the page without loading it anew. @param {string} url @param {boolean} [replace] */
export function go(url, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", url);
  dispatchEvent(new Event("athand:moved"));
}

/** Whether a key is meant for a field that somebody writes in. @param {KeyboardEvent} event */
export function isTyping(event) {
  const at = event.target;
  return at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
}

/** Moves the focus up or down a list with the arrows, j and k. @param {KeyboardEvent} event @param {string} selector */
export function walk(event, selector) {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const isSearch = event.target instanceof HTMLInputElement && event.target.type === "search";
  if (isTyping(event) && !(isSearch && event.key.startsWith("Arrow"))) return;
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(selector)]);
  if (!all.length) return;
  const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  event.preventDefault();
  all[Math.max(0, Math.min(all.length - 1, at + step))].focus();
}
