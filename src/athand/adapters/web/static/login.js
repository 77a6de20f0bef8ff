// @ts-check
// Logs in: with the code of a one-time link, which is behind the # of the address, or with a token.
import { useEffect, useState } from "./vendor/hooks.js";
import { logIn } from "./api.js";
import { Trouble, go, html } from "./parts.js";

/** @param {{onDone: (who: import("./api.js").Who) => void}} given */
export function Login({ onDone }) {
  const [problem, setProblem] = useState(/** @type {Error | null} */ (null));
  const enter = (/** @type {{token?: string, code?: string}} */ secret) =>
    logIn(secret).then(onDone, (error) => setProblem(error));
  useEffect(() => {
    if (location.pathname !== "/ui/login") return;
    const code = location.hash.slice(1);
    go("/ui/", true); // the code is used up, and stays in no history
    if (code) enter({ code });
  }, []);
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const field = /** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (event.target).elements[0]);
    enter({ token: field.value });
    field.value = "";
  };
  return html`<main class="login">
    <h1>Athand</h1>
    <p>See what your agent knows, and correct it.</p>
    <form onSubmit=${submit}>
      <label for="token">Token</label>
      <input id="token" type="password" autocomplete="off" spellcheck=${false} required autofocus />
      <button class="primary">Log in</button>
    </form>
    <${Trouble} problem=${problem} />
    <p class="faint">
      Without a token: <code>athand open</code> on this machine logs you in. Yours is in the file${" "}
      <code>token</code> of the data folder.
    </p>
  </main>`;
}
