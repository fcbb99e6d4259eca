// A search as Saem does it: each passage with its place on the keyword side, on the vector side, and in both together.
import * as api from "../api.js";
import { h, marked, set as put } from "../dom.js";
import { number, share, t } from "../words.js";
import { shown } from "./dialogs.js";

const COUNT = 20;

export function searchView() {
  const field = h("input", { type: "search", required: true, placeholder: t("documents.find"), "aria-label": t("documents.find") });
  const found = h("div", { class: "found", "aria-live": "polite" });
  const go = (event) => {
    event.preventDefault();
    const words = field.value.trim();
    if (words) shown(found, api.get("/api/search", { q: words, explain: true, count: COUNT }), (body) => draw(body, words));
  };
  queueMicrotask(() => field.focus());
  return h("div", {}, h("form", { class: "find", onsubmit: go }, field, h("button", { class: "primary" }, t("documents.find_go"))), found);
}

function draw({ passages, warnings }, question) {
  const words = question.split(/\s+/);
  return [
    warnings.map((warning) => h("p", { class: "quiet" }, warning)),
    h("p", { role: "status" }, t("documents.found", { count: number(passages.length) })),
    h("p", { class: "quiet" }, t("documents.passages_of")),
    h("ol", { class: "passages" }, passages.map((passage, place) => row(passage, place + 1, words))),
  ];
}

function row(passage, place, words) {
  const { found } = passage;
  const rank = (name, value, more) => h("div", { class: `rank ${value ? "" : "absent"}` }, h("dt", {}, t(`documents.${name}`)),
    h("dd", {}, value ? `#${number(value)}` : "–", more ? h("small", {}, more) : null, value ? null : h("span", { class: "spoken" }, t("documents.not_there"))));
  const similarity = found.similarity === null ? null : `${t("documents.similarity")} ${number(found.similarity, 2)}`;
  const coverage = found.coverage === null || found.coverage === undefined ? null : `${t("documents.coverage")} ${share(found.coverage)}`;
  return h("li", { class: "card" },
    h("dl", { class: "ranks" }, rank("fused", place, number(passage.score, 3)), rank("keyword", found.keyword_rank, coverage), rank("vector", found.vector_rank, similarity)),
    h("div", {}, h("a", { href: `#/documents/${encodeURIComponent(passage.document)}/${encodeURIComponent(passage.section)}` }, h("b", {}, passage.title)),
      passage.heading_path.length ? h("p", { class: "path" }, passage.heading_path.join(" › ")) : null, h("p", { class: "passage-text" }, marked(passage.text, words))));
}
