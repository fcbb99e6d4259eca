// Putting documents in: files by drop or by choice, an address; each with how far it is and what went wrong.
import * as api from "../api.js";
import { h, icon, set as put } from "../dom.js";
import { heard, said, t } from "../words.js";

/** Files that are sent at the same time: a browser has few connections. */
const AT_ONCE = 3;

export function uploads({ collection, done }) {
  const lines = h("ul", { class: "uploads", "aria-label": t("documents.uploads"), "aria-live": "polite" });
  const waiting = [];
  let running = 0;
  const next = () => {
    while (running < AT_ONCE && waiting.length) {
      running += 1;
      waiting.shift()().finally(() => { running -= 1; next(); if (!running && !waiting.length) done(); });
    }
  };
  const take = (files) => {
    for (const file of files) waiting.push(upload(file, lines, collection()));
    next();
  };
  const choose = h("input", { type: "file", multiple: true, class: "spoken", id: "choose-files", onchange: () => { take(choose.files); choose.value = ""; } });
  const address = h("input", { type: "url", placeholder: "https://…", "aria-label": t("documents.address") });
  const fetchIt = (event) => {
    event.preventDefault();
    if (!address.value) return;
    waiting.push(fetched(address.value, lines, collection()));
    address.value = "";
    next();
  };
  const zone = h("div", { class: "drop-zone" }, icon("upload"), h("p", {}, t("documents.drop"), " ", h("label", { for: "choose-files", class: "link" }, t("documents.choose")), choose),
    h("form", { class: "address", onsubmit: fetchIt }, address, h("button", {}, t("documents.fetch"))));
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); take(event.dataTransfer.files); });
  return h("div", {}, zone, lines);
}

/** One line for something that comes in. */
function lineFor(name, lines) {
  const bar = h("progress", { max: "1", value: 0, "aria-label": name });
  const state = h("span", { class: "badge" }, t("documents.sending"));
  const why = h("p", { class: "trouble", hidden: true });
  const line = h("li", {}, h("b", {}, name), bar, state, why);
  lines.prepend(line);
  return {
    progress: (share) => { bar.value = share; },
    says(word, kind = "") { state.textContent = t(`documents.${word}`); state.className = `badge ${kind}`; },
    reading() { bar.removeAttribute("value"); this.says("reading"); },
    ended(word, kind, reason) {
      bar.remove();
      this.says(word, kind);
      if (reason) { why.textContent = reason; why.hidden = false; }
    },
  };
}

const upload = (file, lines, collection) => {
  const line = lineFor(file.name, lines);
  return () => followed(line, () => api.upload(file, { collection }, line.progress));
};

const fetched = (url, lines, collection) => {
  const line = lineFor(url, lines);
  return () => followed(line, () => api.post("/api/documents", { url, ...(collection ? { collection } : {}) }));
};

async function followed(line, send) {
  try {
    const accepted = await send();
    line.reading();
    const job = await api.finished(accepted);
    const reasons = job.failures.map((failure) => heard(failure.reason)).join(" ");
    if (job.state === "failed" || reasons) line.ended("failed", "bad", reasons);
    else line.ended(job.documents_unchanged === job.documents_done && job.documents_done > 0 ? "unchanged" : "done", "good");
  } catch (problem) {
    line.ended("failed", "bad", said(problem));
  }
}
