// @ts-check
// Asks the server: every view speaks to /v1 as any other client does.

/** An answer that is an error, with the status and the words of the server. */
export class Problem extends Error {
  /** @param {number} status @param {string} detail @param {string} [type] */
  constructor(status, detail, type) {
    super(detail);
    this.status = status;
    this.type = type;
  }
}

/** Who is logged in. @typedef {{name: string | null, scopes: string[], version: string}} Who */

const HEADERS = { "X-Athand": "page", "Content-Type": "application/json" };
let whenLoggedOut = () => {};

/** Calls this when the server no longer knows the session. @param {() => void} listener */
export function onLoggedOut(listener) {
  whenLoggedOut = listener;
}

/**
 * Runs an operation, such as "memories/list", and returns its answer.
 * @param {string} operation @param {object} [given] @param {AbortSignal} [signal] @returns {Promise<any>}
 */
export async function ask(operation, given = {}, signal) {
  const body = JSON.stringify(given);
  const answer = await send(`/v1/${operation}`, { method: "POST", body, headers: HEADERS, signal });
  if (answer.status === 401) whenLoggedOut();
  return read(answer);
}

/**
 * Asks a route of the server that is no operation, such as "tokens".
 * @param {string} path @param {string} [method] @param {object} [given] @returns {Promise<any>}
 */
export async function askFor(path, method = "GET", given) {
  const answer = await send(`/v1/${path}`, { method, headers: HEADERS, body: given && JSON.stringify(given) });
  if (answer.status === 401) whenLoggedOut();
  return read(answer);
}

/** Leads to the login if the session has ended. */
export async function checkSession() {
  if ((await askWho()).name === null) whenLoggedOut();
}

/** @returns {Promise<Who>} */
export async function askWho() {
  return read(await send("/v1/session", {}));
}

/** @param {{token?: string, code?: string}} secret @returns {Promise<Who>} */
export async function logIn(secret) {
  return read(await send("/v1/session", { method: "POST", body: JSON.stringify(secret), headers: HEADERS }));
}

/** Ends the session of this browser. */
export async function logOut() {
  await send("/v1/session", { method: "DELETE", headers: HEADERS });
  whenLoggedOut();
}

/** @param {string} path @param {RequestInit} options */
async function send(path, options) {
  try {
    return await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not answer. Is `athand serve` running?");
  }
}

/** @param {Response} answer */
async function read(answer) {
  const type = answer.headers.get("content-type") ?? "";
  const value = type.includes("json") ? await answer.json() : await answer.text();
  if (!answer.ok) throw new Problem(answer.status, value.detail ?? `The server answers ${answer.status}.`, value.type);
  return value;
}
