// @ts-check
// The frame of the page: who is logged in, which view an address shows, the search box, and the keys.
import { render } from "./vendor/preact.js";
import { useEffect, useRef, useState } from "./vendor/hooks.js";
import { askWho, logOut, onLoggedOut } from "./api.js";
import { Documents } from "./documents.js";
import { Flows } from "./flows.js";
import { Health } from "./health.js";
import { Light } from "./live.js";
import { Login } from "./login.js";
import { Memories } from "./memories.js";
import { Boundary, Dialog, Trouble, address, go, html, isTyping, useAnswer } from "./parts.js";
import { Search } from "./search.js";
import { Tools } from "./tools.js";

/** @typedef {import("./api.js").Who} Who */
/** @typedef {{who: Who, steps: string[], query: URLSearchParams, hash: string}} Place */

// By the first step of the address: the title, the key behind g, and the view.
/** @type {Record<string, [string, string, (place: Place) => any]>} */
const VIEWS = {
  search: ["Search", "s", Search],
  memories: ["Memories", "m", Memories],
  documents: ["Documents", "d", Documents],
  tools: ["Tools", "t", Tools],
  flows: ["Flows", "f", Flows],
  health: ["Health", "h", Health],
};
const KEYS = [
  ["/", "Search"],
  ["↓ ↑ or j k", "Next and previous in a list"],
  ["Enter", "Open, or show why"],
  ["← →", "The step before and after, in a session"],
  ["a and r", "Approve and reject a tool"],
  ["Esc", "Close"],
  ["?", "Show these keys"],
];

function App() {
  const [who, setWho] = useState(/** @type {import("./api.js").Who | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  useEffect(() => {
    onLoggedOut(() => setWho((old) => old && { ...old, name: null, scopes: [] }));
    askWho().then(setWho, setProblem);
  }, []);
  if (problem) return html`<main class="login"><h1>Athand</h1><${Trouble} problem=${problem} /></main>`;
  if (who === null) return null;
  return who.name === null ? html`<${Login} onDone=${setWho} />` : html`<${Frame} who=${who} />`;
}

/** @returns {Omit<Place, "who">} */
function readAddress() {
  const steps = location.pathname.replace(/^\/ui\/?/, "").split("/").filter(Boolean).map(decode);
  return { steps, query: new URLSearchParams(location.search), hash: decode(location.hash.slice(1)) };
}

/** @param {string} step */
function decode(step) {
  try {
    return decodeURIComponent(step);
  } catch {
    return step; // an address that somebody has cut off
  }
}

function useAddress() {
  const [place, setPlace] = useState(readAddress);
  useEffect(() => {
    const moved = () => setPlace(readAddress());
    const names = ["popstate", "hashchange", "athand:moved"];
    names.forEach((name) => addEventListener(name, moved));
    return () => names.forEach((name) => removeEventListener(name, moved));
  }, []);
  return place;
}

/** @param {{who: import("./api.js").Who}} given */
function Frame({ who }) {
  const place = useAddress();
  const [showsKeys, setShowsKeys] = useState(false);
  const name = place.steps[0] ?? "search";
  const [title, , View] = VIEWS[name] ?? ["Nothing here", "", Nowhere];
  const waiting = useWaiting(who);
  useKeys(() => setShowsKeys(true));
  useEffect(() => {
    document.title = `${title} · Athand`;
  }, [title]);
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header onClick=${follow}>
      <a class="brand" href="/ui/">Athand</a>
      <${SearchBox} place=${place} isSearch=${name === "search"} />
      <nav aria-label="Views">
        ${Object.entries(VIEWS).map(
          ([key, [label]]) =>
            html`<a href=${address([key])} aria-current=${key === name ? "page" : null}>
              ${label}${key === "tools" && waiting > 0 && html`<span class="badge">${waiting}<span class="unseen"> waiting</span></span>`}
            </a>`,
        )}
      </nav>
    </header>
    <main id="main" tabindex="-1" onClick=${follow}>
      <${Boundary} key=${name}><${View} who=${who} ...${place} /><//>
    </main>
    <footer>
      <span>Athand ${who.version}</span>
      <a href="/docs">API</a>
      <button class="plain" onClick=${() => setShowsKeys(true)}>Keys</button>
      <${Light} />
      <span class="grow"></span>
      <span>Logged in as ${who.name}</span>
      <button class="plain" onClick=${logOut}>Log out</button>
    </footer>
    ${showsKeys && html`<${Keys} onClose=${() => setShowsKeys(false)} />`}
  `;
}

/** How many tools wait for approval, for whoever may approve them. @param {Who} who */
function useWaiting(who) {
  const { answer } = useAnswer(who.scopes.includes("admin") ? "tools/servers" : null, {});
  return (answer ?? []).reduce((/** @type {number} */ sum, /** @type {any} */ server) => sum + server.waiting, 0);
}

/** The one search box of every view. @param {{place: Omit<Place, "who">, isSearch: boolean}} given */
function SearchBox({ place, isSearch }) {
  const asked = isSearch ? (place.query.get("q") ?? "") : "";
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const waiting = useRef(0);
  useEffect(() => {
    if (input.current && input.current.value.trim() !== asked) input.current.value = asked;
  }, [asked]);
  const search = (/** @type {boolean} */ replace) => {
    clearTimeout(waiting.current);
    const old = isSearch ? Object.fromEntries([...place.query.keys()].map((key) => [key, place.query.getAll(key)])) : {};
    go(address(["search"], { ...old, why: null, q: input.current?.value.trim() }), replace);
  };
  const wait = () => {
    clearTimeout(waiting.current);
    if (isSearch) waiting.current = window.setTimeout(() => search(true), 200);
  };
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    search(isSearch && input.current?.value.trim() === asked);
  };
  return html`<form role="search" onSubmit=${submit}>
    <input
      ref=${input} id="search" type="search" name="q" aria-label="Search everything" autocomplete="off"
      placeholder="Search memories, documents, tools and flows" autofocus=${isSearch} onInput=${wait}
    />
  </form>`;
}

/** Keys that work in every view. @param {() => void} showKeys */
function useKeys(showKeys) {
  useEffect(() => {
    let afterG = false;
    /** @param {KeyboardEvent} event */
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.key === "Escape" && isTyping(event)) /** @type {HTMLElement} */ (event.target).blur();
      if (isTyping(event)) return;
      const view = afterG && Object.keys(VIEWS).find((key) => VIEWS[key][1] === event.key);
      afterG = event.key === "g";
      if (view) go(address([view]));
      else if (event.key === "?") showKeys();
      else if (event.key === "/") document.getElementById("search")?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

/** @param {{onClose: () => void}} given */
function Keys({ onClose }) {
  const views = Object.values(VIEWS).map(([label, key]) => [`g ${key}`, label]);
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <dl class="keys">${[...KEYS, ...views].map(([key, what]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>
    <form method="dialog"><button>Close</button></form>
  <//>`;
}

function Nowhere() {
  return html`<h1>Nothing here</h1><p>This address names no view. <a href="/ui/">Search</a></p>`;
}

/** Follows a link to another view without loading the page anew. @param {MouseEvent} event */
function follow(event) {
  const link = event.target instanceof Element && event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button || event.defaultPrevented) return;
  if (link.origin !== location.origin || !link.pathname.startsWith("/ui/") || link.hasAttribute("download")) return;
  event.preventDefault();
  go(link.href);
}

render(html`<${App} />`, document.body);
