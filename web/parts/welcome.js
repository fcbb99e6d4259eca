// The first visit: three steps to a first answer, with documents to try one press away.
import * as api from "../api.js";
import { h, icon, set as put } from "../dom.js";
import { may } from "../store.js";
import { number, t } from "../words.js";
import { failed } from "./dialogs.js";

/** Documents that are looked at to see whether there are any, and whether they are the demo's. */
const LOOKED_AT = 30;

export function welcome(ask) {
  const state = h("p", { class: "quiet", role: "status" });
  const first = h("div", { class: "choices" });
  const examples = h("div", { class: "choices" });
  const draw = async () => {
    const { documents, next } = await api.get("/api/documents", { limit: LOOKED_AT }).catch(() => ({ documents: [] }));
    const has = documents.length > 0;
    put(first,
      has || !may("write") ? null : h("button", { type: "button", class: "primary demo", onclick: (event) => load(event.currentTarget, state).then(draw) }, t("welcome.one_demo")),
      may("write") ? h("a", { class: "button", href: "#/documents" }, t("welcome.one_own")) : null);
    if (has) put(state, icon("check"), t("welcome.loaded", { count: `${number(documents.length)}${next ? "+" : ""}` }));
    const is_demo = documents.some((document) => document.source.startsWith("faq/faq-"));
    const example = (name) => h("button", { type: "button", class: "example", onclick: () => ask(t(name)) }, t(name));
    put(examples, is_demo ? ["welcome.try_1", "welcome.try_2", "welcome.try_3"].map(example) : null);
  };
  draw();
  const step = (count, name, ...more) =>
    h("li", {}, h("b", { class: "step", "aria-hidden": "true" }, number(count)), h("div", {}, h("h3", {}, t(`welcome.${name}`)), h("p", {}, t(`welcome.${name}_text`)), more));
  return h("section", { class: "welcome" }, h("h2", {}, t("welcome.title")), h("p", { class: "lead" }, t("welcome.text")),
    h("ol", {}, step(1, "one", first, state), step(2, "two", examples), step(3, "three")));
}

/** Takes the demo's documents in, and says how far it is. */
async function load(button, state) {
  button.disabled = true;
  try {
    const { jobs } = await api.post("/api/demo");
    let done = 0;
    const tell = () => put(state, h("span", { class: "pulse", "aria-hidden": "true" }), t("welcome.loading", { done: number(done), all: number(jobs.length) }));
    tell();
    // One after the other: a browser has few connections, and each wait takes one.
    for (const job of jobs) {
      await api.finished(job);
      done += 1;
      tell();
    }
  } catch (problem) {
    failed(problem);
    button.disabled = false;
  }
}
