// One document as Saem sees it: what is known of it, its headings, and the text under each.
import * as api from "../api.js";
import { h, icon, iconButton, set as put } from "../dom.js";
import { may } from "../store.js";
import { bytes, heard, moment, number, t } from "../words.js";
import { failed, notice, shown, sure } from "./dialogs.js";

export function documentView(id, section) {
  const whole = h("div", { class: "document" });
  const loaded = Promise.all([api.get(`/api/documents/${api.id(id)}`), api.get(`/api/documents/${api.id(id)}/sections`).catch(() => ({ sections: [] }))]);
  shown(whole, loaded, ([document, { sections }]) => draw(document, sections, section));
  return whole;
}

function draw(document, sections, wanted) {
  const text = h("div", { class: "section-text", tabindex: "0", role: "region", "aria-label": t("documents.sections") }, h("p", { class: "quiet" }, t("documents.read")));
  const read = (section, button) => {
    for (const other of tree.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
    button.setAttribute("aria-current", "true");
    shown(text, api.get(`/api/sections/${api.id(section.id)}`), (full) => [
      h("h3", {}, full.heading || document.title),
      full.heading_path.length > 1 ? h("p", { class: "path" }, full.heading_path.join(" › ")) : null,
      h("pre", { class: "reading" }, full.text), full.is_cut ? h("p", { class: "quiet" }, t("documents.cut")) : null, chunks(document, section)]);
  };
  const rows = sections.map((section) => {
    const button = h("button", { type: "button", class: `heading level-${Math.min(section.level, 6)}`, onclick: () => read(section, button) }, section.heading || document.title);
    return { section, button };
  });
  const tree = h("nav", { class: "sections", "aria-label": t("documents.sections") }, h("ul", {}, rows.map(({ button }) => h("li", {}, button))));
  const first = rows.find(({ section }) => section.id === wanted) ?? rows[0];
  if (first) queueMicrotask(() => read(first.section, first.button));
  return [
    h("p", {}, h("a", { class: "plain-link", href: "#/documents" }, icon("back"), t("documents.list"))),
    h("header", { class: "document-head" }, h("h2", {}, document.title),
      may("write") && /^https?:\/\//i.test(document.source) ? iconButton("retry", t("documents.again"), () => fetchAgain(document), { text: true }) : null,
      may("write") ? iconButton("trash", t("app.delete"), () => remove(document), { text: true, class: "icon-button danger" }) : null),
    document.reason ? h("p", { class: "trouble", role: "alert" }, heard(document.reason)) : null,
    about(document),
    document.warnings.length ? h("section", {}, h("h3", {}, t("documents.warnings")), h("ul", {}, document.warnings.map((warning) => h("li", {}, warning)))) : null,
    sections.length ? h("div", { class: "two" }, tree, text) : null,
  ];
}

/** The chunks of a section, once somebody wants to see them. */
function chunks(document, section) {
  const list = h("ol", { class: "chunks" });
  const open = (event) => {
    if (!event.target.open || list.childElementCount) return;
    shown(list, api.get(`/api/documents/${api.id(document.id)}/chunks`, { section: section.id }), ({ chunks: all }) =>
      all.map((chunk) => h("li", {}, h("small", {}, `#${number(chunk.number)} · ${number(chunk.start)}–${number(chunk.end)}`), h("pre", {}, chunk.text))));
  };
  return h("details", { ontoggle: open }, h("summary", {}, t("documents.chunks_of")), list);
}

function about(document) {
  const tags = Object.entries(document.tags).map(([name, values]) => h("span", { class: "badge" }, `${name}: ${values.join(", ")}`));
  const row = (name, value) => h("div", {}, h("dt", {}, t(name)), h("dd", {}, value));
  return h("dl", { class: "about" }, row("documents.source", document.source), row("documents.collection", document.collection), row("documents.kind", `${document.doc_type} · ${document.format}`),
    row("documents.size", bytes(document.bytes)), row("documents.sections", number(document.sections)), row("documents.chunks", number(document.chunks)),
    row("documents.when", moment(document.ingested_at)), tags.length ? row("documents.tags", tags) : null);
}

/** Fetches a document of an address again; what has not changed costs nothing. */
async function fetchAgain(document) {
  try {
    const job = await api.finished(await api.post("/api/documents", { url: document.source, collection: document.collection }));
    if (job.state === "failed") notice(job.failures.map((failure) => heard(failure.reason)).join(" "), "bad");
    else notice(t(job.documents_unchanged ? "documents.unchanged" : "documents.done"));
  } catch (problem) {
    failed(problem);
  }
}

async function remove(document) {
  if (!(await sure(t("documents.delete_sure", { title: document.title })))) return;
  try {
    await api.remove(`/api/documents/${api.id(document.id)}`);
    notice(t("documents.deleted"));
    location.hash = "#/documents";
  } catch (problem) {
    failed(problem);
  }
}
