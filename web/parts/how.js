// The drawer "how was this answered": steps and verdicts, passages with their ranks, what the model read, what it cost.
import { h } from "../dom.js";
import { money, named, number, seconds, share, t } from "../words.js";
import { dialog } from "./dialogs.js";
import { stack } from "./plot.js";

export function how(turn) {
  return dialog(t("how.title"), () => [steps(turn), passages(turn), context(turn), calls(turn), notes(turn)], { drawer: true });
}

function section(title, ...content) {
  return h("section", {}, h("h3", {}, title), content);
}

function steps(turn) {
  return section(t("how.steps"), h("ol", { class: "steps" }, turn.done.map(step)));
}

function step(done) {
  if (done.did === "judged") {
    const { verdict } = done;
    return h("li", {}, h("b", {}, t("how.judged")), ": ", verdict.is_sufficient ? t("how.enough") : t("how.not_enough"), ", ",
      t("how.confidence", { value: share(verdict.confidence) }),
      verdict.missing.length ? h("p", { class: "quiet" }, t("how.missing", { what: verdict.missing.join(", ") })) : null,
      done.without_judge ? h("p", { class: "quiet" }, done.without_judge) : null);
  }
  if (done.did === "called") {
    const words = done.tool === "get_section" ? t("how.section", { query: done.section }) : t("how.searched", { query: done.query });
    return h("li", {}, words, h("p", { class: "quiet" }, done.failed ?? t("how.found", { count: number(done.found) })));
  }
  return h("li", {}, t("how.used", { tool: done.name }), " ", h("span", { class: "badge" }, named("ending", endingOf(done.ending))), " ", seconds(done.milliseconds ?? 0),
    h("pre", { tabindex: "0" }, JSON.stringify(done.arguments, null, 2)));
}

/** How a call ended: a word, or a word with its reason. */
function endingOf(ending) {
  return typeof ending === "string" ? ending : Object.keys(ending ?? {})[0] ?? "";
}

function passages(turn) {
  if (!turn.passages.length) return null;
  const rank = (value) => (value === null || value === undefined ? "–" : number(value));
  const row = (passage) => h("tr", {}, h("td", {}, passage.title), h("td", { class: "right" }, number(passage.score, 2)),
    h("td", { class: "right" }, rank(passage.found.keyword_rank)), h("td", { class: "right" }, rank(passage.found.vector_rank)));
  return section(t("how.passages"), h("div", { class: "wide", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {},
    h("th", {}, t("how.passage")), h("th", { class: "right" }, t("how.score")), h("th", { class: "right" }, t("how.keyword")), h("th", { class: "right" }, t("how.vector")))),
  h("tbody", {}, turn.passages.map(row)))));
}

function context(turn) {
  if (!turn.context.length) return null;
  const kinds = new Map();
  let left = 0;
  for (const part of turn.context) {
    kinds.set(part.kind, (kinds.get(part.kind) ?? 0) + part.tokens);
    if (part.tokens === 0 && part.wanted > 0) left += 1;
  }
  const parts = [...kinds].filter(([, value]) => value > 0).map(([kind, value]) => ({ name: named("part", kind), value }));
  const all = parts.reduce((sum, part) => sum + part.value, 0);
  return section(t("how.context"), h("p", {}, t("how.tokens", { used: number(all) }), left ? ` · ${t("how.left_out", { count: number(left) })}` : null),
    stack(t("how.context"), parts, (value) => number(value)));
}

function calls(turn) {
  if (!turn.calls.length) return section(t("how.calls"), h("p", { class: "quiet" }, `${t("how.time")}: ${seconds(turn.took_milliseconds)}`));
  const row = (call) => h("tr", {}, h("td", {}, named("component", call.component)), h("td", {}, call.model, call.failed ? h("p", { class: "trouble" }, call.failed) : null),
    h("td", { class: "right" }, number(call.tokens_in)), h("td", { class: "right" }, number(call.tokens_out)),
    h("td", { class: "right" }, money(call.cost)), h("td", { class: "right" }, seconds(call.took_milliseconds)));
  const heads = ["component", "model", "in", "out", "cost", "time"];
  return section(t("how.calls"), h("div", { class: "wide", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, heads.map((name, place) => h("th", { class: place > 1 ? "right" : null }, t(`how.${name}`))))),
    h("tbody", {}, turn.calls.map(row)),
    h("tfoot", {}, h("tr", {}, h("th", { colspan: "4" }, t("how.total")), h("td", { class: "right" }, money(turn.cost)), h("td", { class: "right" }, seconds(turn.took_milliseconds)))))));
}

function notes(turn) {
  return turn.notes.length ? section(t("how.notes"), h("ul", {}, turn.notes.map((note) => h("li", {}, note)))) : null;
}
