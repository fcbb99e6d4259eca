// The one way to the server: requests, what goes wrong with them, streams and uploads.
import { get as stored, set as store } from "./store.js";

/** What the server said is wrong, or that it could not be reached. */
export class Problem extends Error {
  constructor({ status = 0, code = "unreachable", title = "", detail = "", action = "" }) {
    super(detail || title || code);
    Object.assign(this, { status, code, title, detail, action });
  }
}

function headers(more = {}) {
  const csrf = stored("me")?.csrf;
  return csrf ? { ...more, "x-saem-csrf": csrf } : more;
}

async function problemOf(response) {
  const body = await response.json().catch(() => ({}));
  const problem = new Problem({ ...body, status: response.status, code: body.code ?? `status_${response.status}` });
  // Whoever was known is not any more: the page asks again.
  if (response.status === 401 && stored("me")) store("me", null);
  return problem;
}

async function send(method, path, { body, query, signal } = {}) {
  const wanted = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const address = wanted.length ? `${path}?${new URLSearchParams(wanted)}` : path;
  const json = body === undefined ? {} : { "content-type": "application/json" };
  let response;
  try {
    response = await fetch(address, {
      method, signal, headers: headers(json), cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({});
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function json(method, path, options) {
  const response = await send(method, path, options);
  return response.status === 204 ? null : response.json();
}

export const get = (path, query, signal) => json("GET", path, { query, signal });
export const post = (path, body, signal) => json("POST", path, { body, signal });
export const put = (path, body) => json("PUT", path, { body });
export const patch = (path, body) => json("PATCH", path, { body });
export const remove = (path) => json("DELETE", path, {});
export const blob = async (path, query) => (await send("GET", path, { query })).blob();
export const text = async (path, query) => (await send("GET", path, { query })).text();

/** Posts, and gives each event of the answer to `on(name, data)` in order. Ends when the answer does. */
export async function stream(path, body, on, signal) {
  await events(await send("POST", path, { body, signal }), on);
}

/** How long to wait before a stream that was cut is taken up again, at first and at most. */
const AGAIN_MILLISECONDS = 500;
const AGAIN_MILLISECONDS_MAX = 8000;

/**
 * Follows a stream of numbered events. One that is cut goes on after the last number that came; `lost` hears of cuts, and
 * `reload(after)` gets what the stream has not at hand any more and gives the number to go on from.
 */
export async function follow(path, { on, lost, reload, signal }) {
  let [after, wait, is_over, has_gap] = [0, AGAIN_MILLISECONDS, false, false];
  while (!is_over) {
    try {
      if (has_gap) after = await reload(after);
      has_gap = false;
      const response = await send("GET", path, { query: after ? { after } : {}, signal });
      lost(false);
      await events(response, (name, data, number) => {
        if (number) after = Number(number);
        wait = AGAIN_MILLISECONDS;
        has_gap = name === "gap";
        is_over = name === "end" || name === "failed";
        if (!has_gap) on(name, data);
      });
    } catch (problem) {
      if (problem.name === "AbortError" || (problem.status >= 400 && problem.status < 500 && problem.status !== 429)) throw problem;
      lost(true);
    }
    if (!is_over && !has_gap) await pause(wait, signal);
    wait = Math.min(wait * 2, AGAIN_MILLISECONDS_MAX);
  }
}

/** Waits, but not when the network has just come back, nor for what nobody wants any more. */
function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    window.addEventListener("online", resolve, { once: true });
    signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}

async function events(response, on) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    let read;
    try {
      read = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem({ code: "broke_off" });
    }
    if (read.done) return;
    held += read.value;
    const whole = held.split("\n\n");
    held = whole.pop();
    for (const event of whole) tell(event, on);
  }
}

function tell(event, on) {
  let name = "message";
  let number = null;
  const data = [];
  for (const line of event.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
    else if (line.startsWith("id: ")) number = line.slice(4);
  }
  if (data.length) on(name, JSON.parse(data.join("\n")), number);
}

/** Sends a file and says how far it is, from 0 to 1; gives the job. */
export function upload(file, fields, progress) {
  return new Promise((resolve, reject) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) if (value) form.append(name, value);
    form.append("file", file, file.name);
    const request = new XMLHttpRequest();
    request.open("POST", "/api/documents");
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onerror = () => reject(new Problem({}));
    request.onload = () => {
      if (request.status < 300) return resolve(request.response);
      return reject(new Problem({ ...request.response, status: request.status }));
    };
    request.send(form);
  });
}

/** Waits until a job is finished. */
export async function finished(job, signal) {
  let now = job;
  while (now.state === "waiting") now = await get(`/api/jobs/${job.id}`, { wait: 10 }, signal);
  return now;
}

export const id = encodeURIComponent;
