// What comes after a report: a question that stands on it, and the chain of those that do.
import * as api from "../api.js";
import { h, set as put } from "../dom.js";
import { number, said, t } from "../words.js";

/** Runs of a chain that are shown before this one; a chain has no end by itself. */
const CHAIN_MAX = 10;

/** The latest runs, among which those that follow this one are looked for. */
const LATEST = 50;

/** `ask` gets the question; what it throws is shown. */
export function followUp(ask) {
  const field = h("textarea", { rows: "2", required: true, placeholder: t("research.follow_placeholder"), "aria-label": t("research.follow_question") });
  const trouble = h("p", { class: "trouble", role: "alert", hidden: true });
  const go = async (event) => {
    event.preventDefault();
    const question = field.value.trim();
    if (!question) return;
    try {
      await ask(question);
    } catch (problem) {
      put(trouble, said(problem));
      trouble.hidden = false;
    }
  };
  field.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) go(event); });
  return h("form", { class: "card follow-up", onsubmit: go }, h("h3", {}, t("research.follow_up")), h("p", { class: "quiet" }, t("research.follow_about")), field, trouble,
    h("div", { class: "row" }, h("button", { class: "primary" }, t("research.follow_ask"))));
}

/** The runs before and after this one, as links; nothing where it stands alone. */
export async function chain(run, signal) {
  const [before, after] = await Promise.all([earlier(run, signal), later(run, signal)]);
  if (!before.length && !after.length) return null;
  return h("nav", { class: "chain", "aria-label": t("research.chain") },
    before.map(({ link, word }) => h("p", {}, h("span", { class: "badge" }, word), " ", link)),
    after.map((one) => h("p", {}, h("span", { class: "badge" }, one.again ? t("research.done_again_as", { step: number(one.again.step) }) : t("research.followed_by")), " ", linkTo(one.id, one.question))));
}

function linkTo(id, words) {
  return h("a", { href: `#/research/${encodeURIComponent(id)}` }, words);
}

async function earlier(run, signal) {
  const found = [];
  let at = run;
  while (found.length < CHAIN_MAX && (at.follows || at.again)) {
    const id = at.follows ?? at.again.run;
    const word = at.follows ? t("research.follows") : t("research.again_of", { step: number(at.again.step) });
    try {
      at = await api.get(`/api/research/${api.id(id)}`, {}, signal);
      found.push({ word, link: linkTo(id, at.question) });
    } catch (problem) {
      if (problem.status !== 404) throw problem;
      // It was forgotten; what stands on it does not need it.
      found.push({ word, link: h("i", {}, t("research.gone")) });
      break;
    }
  }
  return found;
}

async function later(run, signal) {
  const { runs } = await api.get("/api/research", { limit: LATEST }, signal);
  return runs.filter((one) => one.follows === run.id || one.again?.run === run.id).reverse();
}
