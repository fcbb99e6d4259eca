// A report: sections of claims, each with what its quotes came to when they were looked for in their sources.
import { h } from "../dom.js";
import { moment, named, number, t } from "../words.js";
import { cardFor } from "./citation.js";

const KINDS = { verified: "good", similar: "warn", unsupported: "bad" };

const FORMATS = ["md", "html", "pdf", "docx", "json"];

/** A button for each form that a report can be kept in. */
export function exportButtons(save) {
  const button = (format) => h("button", { type: "button", "aria-label": t("research.export", { format: format.toUpperCase() }), onclick: save(format) }, format.toUpperCase());
  return h("div", { class: "exports", role: "group", "aria-label": t("research.exports") }, h("span", { class: "quiet", "aria-hidden": "true" }, t("research.exports")), FORMATS.map(button));
}

export function reportView(report) {
  const numbers = new Map(report.sources.map((source, place) => [source.id, place + 1]));
  return h("article", { class: "card report" }, h("h2", {}, t("research.report")),
    h("p", { class: "quiet" }, `${moment(Date.parse(report.made_at))} · `, report.ended === "enough" ? named("ended", report.ended) : h("span", { class: "badge warn" }, named("ended", report.ended))),
    report.sections.map((section) => h("section", {}, h("h3", {}, section.heading), section.claims.map((claim) => claimView(claim, report, numbers)))),
    report.not_found.length ? h("section", {}, h("h3", {}, t("research.not_found")), h("ul", {}, report.not_found.map((one) => h("li", {}, one)))) : null,
    sources(report), report.notes.length ? h("section", {}, h("h3", {}, t("how.notes")), h("ul", {}, report.notes.map((note) => h("li", {}, note)))) : null);
}

function claimView(claim, report, numbers) {
  const mark = (citation) => {
    const number_ = numbers.get(citation.source_id);
    const source = report.sources[number_ - 1];
    const shown = { title: source?.title ?? "", heading_path: source?.place ? [source.place] : [], text: citation.quote, source: source?.address ?? "" };
    const words = `${t("chat.source", { number: number(number_), title: shown.title })}, ${named("verdict", citation.verdict)}`;
    const button = h("button", { type: "button", class: `cite ${KINDS[citation.verdict] ?? ""}`, "aria-label": words }, number(number_));
    button.addEventListener("click", () => cardFor(button, shown, report.question, { focus: true }));
    button.addEventListener("mouseenter", () => cardFor(button, shown, report.question, { focus: false }));
    button.addEventListener("focus", () => cardFor(button, shown, report.question, { focus: false }));
    return button;
  };
  return h("p", { class: `claim ${claim.is_supported ? "" : "unsupported"}` }, claim.text, " ", claim.citations.map(mark), " ",
    claim.is_supported ? null : h("span", { class: "badge bad" }, t("research.unsupported")));
}

function sources(report) {
  if (!report.sources.length) return null;
  const best = (id) => {
    const found = report.sections.flatMap((section) => section.claims).flatMap((claim) => claim.citations).filter((citation) => citation.source_id === id).map((citation) => citation.verdict);
    return ["verified", "similar", "unsupported"].find((verdict) => found.includes(verdict));
  };
  const row = (source) => {
    const is_web = /^https?:\/\//i.test(source.address ?? "");
    const verdict = best(source.id);
    return h("li", {}, is_web ? h("a", { href: source.address, target: "_blank", rel: "noopener noreferrer nofollow" }, source.title) : h("b", {}, source.title), " ",
      h("span", { class: "badge" }, source.provider), " ", verdict ? h("span", { class: `badge ${KINDS[verdict]}` }, named("verdict", verdict)) : null,
      h("p", { class: "quiet" }, [source.place, source.published, moment(Date.parse(source.accessed))].filter(Boolean).join(" · ")));
  };
  return h("section", {}, h("h3", {}, t("chat.sources")), h("ol", { class: "report-sources" }, report.sources.map(row)));
}
