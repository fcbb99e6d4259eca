// A message to an agent: written, sent, and its answer watched as it comes; what it asks back is answered here too.
import * as api from "../api.js";
import { h, set as put } from "../dom.js";
import { named, said, t } from "../words.js";
import { dialog } from "./dialogs.js";

const KINDS = { completed: "good", failed: "bad", rejected: "bad", canceled: "warn", "input-required": "warn", "auth-required": "warn" };

/** Opens the drawer in which one talks to an agent, by its name or identifier. */
export function messageTo(agent, title, skills) {
  const stopper = { now: null };
  const drawn = dialog(t("agents.write_to", { name: title }), () => talk(agent, skills, stopper), { drawer: true });
  return drawn.finally(() => stopper.now?.abort());
}

function talk(agent, skills, stopper) {
  const talked = h("ol", { class: "exchange", "aria-live": "polite" });
  const field = h("textarea", { rows: "3", required: true, autofocus: true });
  const skill = h("select", {}, h("option", { value: "" }, t("agents.any_skill")), skills.map((one) => h("option", { value: one.id }, one.name || one.id)));
  const send = h("button", { class: "primary" }, t("agents.send"));
  const stop = h("button", { type: "button", hidden: true, onclick: () => stopper.now?.abort() }, t("chat.stop"));
  /** What a task that waits for an answer is called, and the conversation. */
  let going = {};
  const busy = (is_busy) => { send.disabled = is_busy; stop.hidden = !is_busy; };
  const go = async (event) => {
    event.preventDefault();
    const message = field.value.trim();
    if (!message || stopper.now) return;
    field.value = "";
    const answer = answerFor(message, talked);
    stopper.now = new AbortController();
    busy(true);
    try {
      going = await heard(agent, { message, ...(skill.value ? { skill: skill.value } : {}), ...going }, answer, stopper.now.signal);
    } catch (problem) {
      answer.failed(problem.name === "AbortError" ? t("agents.stopped") : said(problem));
      going = {};
    }
    stopper.now = null;
    busy(false);
    field.focus();
  };
  field.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) go(event); });
  return h("form", { class: "talk-to", onsubmit: go }, talked, h("label", {}, t("agents.message"), field),
    skills.length ? h("label", {}, t("agents.skill"), skill) : null, h("footer", {}, stop, send));
}

async function heard(agent, body, answer, signal) {
  let end = null;
  await api.stream(`/api/agents/${api.id(agent)}/send`, body, (name, data) => {
    if (name === "status") answer.status(data);
    else if (name === "text") answer.text(data);
    else if (name === "done") { end = data; answer.done(data); }
    else if (name === "failed") throw new api.Problem(data);
  }, signal);
  if (!end) throw new api.Problem({ code: "broke_off" });
  const waits = end.state === "input-required" || end.state === "auth-required";
  return { ...(waits && end.task ? { task: end.task } : {}), ...(end.context ? { context: end.context } : {}) };
}

/** One exchange, as it grows. */
function answerFor(message, talked) {
  const state = h("span", { class: "badge" }, t("agents.sending"));
  const says = h("p", { class: "quiet says", hidden: true });
  const made = h("div", { class: "made" });
  const pieces = new Map();
  const line = h("li", {}, h("p", { class: "asked" }, message), h("div", { class: "answered" }, h("p", {}, state), says, made));
  talked.append(line);
  line.scrollIntoView({ block: "end" });
  const now = (name) => { state.textContent = named("task", name); state.className = `badge ${KINDS[name] ?? ""}`; };
  const tell = (words) => { says.hidden = !words; put(says, words); };
  return {
    status(data) { now(data.state); if (data.says) tell(data.says); },
    text({ artifact, text, append }) {
      if (!pieces.has(artifact)) {
        pieces.set(artifact, h("p", { class: "piece-text" }));
        made.append(pieces.get(artifact));
      }
      const element = pieces.get(artifact);
      if (!append) put(element);
      put(element, element.textContent, text);
    },
    done(data) {
      now(data.state);
      tell(data.state === "completed" && pieces.size ? "" : data.says);
    },
    failed(words) {
      now("failed");
      put(says, words);
      says.hidden = false;
      says.className = "trouble says";
    },
  };
}
