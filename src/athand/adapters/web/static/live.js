// @ts-check
// The live connection: what has changed on the server is told to the views, and a light shows whether it stands.
import { useEffect, useState } from "./vendor/hooks.js";
import { checkSession } from "./api.js";
import { html } from "./parts.js";

const CORPORA = ["memories", "documents", "tools", "flows"];
const RETRY_MS = 5000;

/** Tells the views that something has changed. @param {string} corpus */
const tell = (corpus) => dispatchEvent(new Event(`athand:${corpus}`));

/** A light that is on while the server can be heard. */
export function Light() {
  const [isOn, setOn] = useState(/** @type {boolean | null} */ (null));
  useEffect(() => {
    /** @type {EventSource} */
    let source;
    let timer = 0;
    let wasLost = false;
    const connect = () => {
      source = new EventSource("/v1/events");
      source.addEventListener("ready", () => {
        setOn(true);
        if (wasLost) CORPORA.forEach(tell); // nobody told what has changed meanwhile
        wasLost = false;
      });
      for (const name of CORPORA) source.addEventListener(name, () => tell(name));
      source.onerror = () => {
        setOn(false);
        wasLost = true;
        if (source.readyState !== EventSource.CLOSED) return; // the browser connects again by itself
        timer = window.setTimeout(() => checkSession().then(connect, connect), RETRY_MS);
      };
    };
    connect();
    return () => (clearTimeout(timer), source.close());
  }, []);
  return html`<span class="light ${isOn === false ? "off" : "on"}" role="status">${isOn === false ? "Not connected" : "Live"}</span>`;
}
