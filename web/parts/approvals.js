// Questions about tools: asked for while something is under way, and shown as a dialog that says exactly what will run.
import * as api from "../api.js";
import { h } from "../dom.js";
import { may, on, set } from "../store.js";
import { heard, named, number, t } from "../words.js";
import { dialog, failed } from "./dialogs.js";

const ASK_EVERY_MILLISECONDS = 1000;

let busy = 0;
let shownNow = null;

/** Looks for questions until `work` is over. */
export async function attended(work) {
  busy += 1;
  look();
  try {
    return await work;
  } finally {
    busy -= 1;
  }
}

/** Looks for questions at once: the server says that one waits. */
export function look() {
  clearTimeout(look.timer);
  look.timer = setTimeout(ask, 0);
}

/** Follows the questions as long as the page is there. */
export function watchApprovals() {
  return on("approvals", (open) => { if (open.length && !shownNow) next(open[0]); });
}

async function ask() {
  // Whoever may not answer is not asked.
  if (!may("write")) return;
  try {
    const { open } = await api.get("/api/approvals");
    set("approvals", open);
  } catch { /* A lost connection is told by what waits for it. */ }
  if (busy > 0) look.timer = setTimeout(ask, ASK_EVERY_MILLISECONDS);
}

async function next(open) {
  shownNow = open.id;
  const answer = await dialog(t("approval.title"), (close) => ASKED[open.question.kind](open, close));
  try {
    await api.post(`/api/approvals/${open.id}`, answer ?? { answer: "no" });
  } catch (problem) {
    if (problem.status !== 404) failed(problem);
  }
  shownNow = null;
  look();
}

const ASKED = {
  call({ question }, close) {
    const offered = ["once", ...question.extents.filter((extent) => extent !== "once")];
    return [
      h("p", {}, t("approval.call", { server: question.server }), " ", h("code", {}, question.tool)),
      h("p", {}, h("span", { class: `badge ${question.effect}` }, named("effect", question.effect))),
      question.reasons.length ? h("ul", { class: "reasons" }, question.reasons.map((reason) => h("li", {}, heard(reason)))) : null,
      h("p", {}, t("approval.exactly")),
      h("pre", { tabindex: "0" }, JSON.stringify(question.arguments, null, 2)),
      answers(close, offered),
    ];
  },
  link({ question }, close) {
    const is_web = /^https?:\/\//i.test(question.address);
    return [
      h("p", {}, t("approval.link", { server: question.server })),
      h("p", {}, question.message),
      h("pre", { tabindex: "0" }, question.address),
      h("p", {}, t("approval.host", { host: question.host })),
      question.has_foreign_letters ? h("p", { class: "warning" }, t("approval.foreign_letters")) : null,
      is_web ? h("p", {}, h("a", { href: question.address, target: "_blank", rel: "noopener noreferrer" }, question.host)) : null,
      answers(close, ["once"]),
    ];
  },
  sample({ question }, close) {
    return [
      h("p", {}, t("approval.sample", { server: question.server })),
      h("pre", { tabindex: "0" }, question.prompt),
      h("p", {}, t("approval.tokens", { count: number(question.tokens_max) })),
      answers(close, ["once"]),
    ];
  },
  form({ question }, close) {
    const fields = Object.entries(question.schema.properties ?? {}).map(([name, schema]) => field(name, schema, question.schema.required ?? []));
    const send = (event) => {
      event.preventDefault();
      const values = Object.fromEntries(fields.map(({ name, read }) => [name, read()]).filter(([, value]) => value !== undefined));
      close({ answer: "once", values });
    };
    return h("form", { onsubmit: send },
      h("p", {}, t("approval.form", { server: question.server })),
      h("p", {}, question.message),
      fields.map(({ element }) => element),
      h("footer", {}, h("button", { type: "button", onclick: () => close({ answer: "no" }) }, t("approval.no")),
        h("button", { class: "primary" }, t("approval.send"))));
  },
};

function answers(close, offered) {
  const yes = (extent, place) =>
    h("button", { type: "button", class: place === 0 ? "primary" : null, onclick: () => close({ answer: extent }) }, t(`approval.${extent}`));
  return h("footer", {}, h("button", { type: "button", autofocus: true, onclick: () => close({ answer: "no" }) }, t("approval.no")), offered.map(yes));
}

/** A field of a form that a server wants filled in. */
function field(name, schema, required) {
  const needed = required.includes(name);
  const label = schema.title ?? name;
  if (schema.type === "boolean") {
    const input = h("input", { type: "checkbox", checked: schema.default === true });
    return { name, element: h("label", { class: "check" }, input, label), read: () => input.checked };
  }
  if (Array.isArray(schema.enum)) {
    const input = h("select", { required: needed }, schema.enum.map((value) => h("option", { selected: value === schema.default }, value)));
    return { name, element: h("label", {}, label, input), read: () => input.value };
  }
  const is_number = schema.type === "number" || schema.type === "integer";
  const input = h("input", { type: is_number ? "number" : "text", step: schema.type === "number" ? "any" : null, required: needed, value: schema.default ?? "" });
  const read = () => (input.value === "" ? undefined : is_number ? Number(input.value) : input.value);
  return { name, element: h("label", {}, label, schema.description ? h("small", {}, schema.description) : null, input), read };
}
