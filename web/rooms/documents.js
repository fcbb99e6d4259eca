// The documents: put in, listed, read section by section as Saem does, and searched to see what is found and why.
import * as api from "../api.js";
import { h, icon, iconButton, set as put } from "../dom.js";
import { Part, may } from "../store.js";
import { ago, bytes, heard, number, t } from "../words.js";
import { failed, notice, sure } from "../parts/dialogs.js";
import { documentView } from "../parts/document.js";
import { longList } from "../parts/long_list.js";
import { searchView } from "../parts/search.js";
import { uploads } from "../parts/uploads.js";

const PAGE = 1000;
const ROW = 56;

class Documents extends Part {
  #collection = "";
  #next = null;
  #documents = [];
  #busy = false;
  /** Times the list was loaded: of two loads under way, the later one counts. */
  #loads = 0;

  draw() {
    this.body = h("div", { class: "room-body" });
    const tab = (name, href) => h("a", { href, "data-tab": name }, t(`documents.${name}`));
    put(this, h("div", { class: "room" }, h("header", { class: "room-head" }, h("h1", {}, t("documents.title")),
      h("nav", { class: "tabs", "aria-label": t("documents.title") }, tab("list", "#/documents"), tab("search", "#/documents/search"))), this.body));
  }

  open([id, section]) {
    for (const tab of this.querySelectorAll("[data-tab]")) {
      if ((tab.dataset.tab === "search") === (id === "search")) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    if (id === "search") put(this.body, searchView());
    else if (id) put(this.body, documentView(id, section));
    else this.#list();
  }

  #list() {
    this.collections = h("select", { "aria-label": t("documents.collection"), onchange: () => { this.#collection = this.collections.value; this.#load(); } });
    this.remove = iconButton("trash", t("documents.delete_collection"), () => this.#deleteCollection(), { class: "icon-button danger", hidden: true });
    this.count = h("span", { class: "quiet", role: "status" });
    this.none = h("p", { class: "quiet", hidden: true }, t("documents.none"));
    this.list = longList({ height: ROW, row: row, label: t("documents.list"), more: () => this.#more() });
    const head = h("div", { class: "document-row head", "aria-hidden": "true" }, ["name", "kind", "chunks", "size", "when"].map((name) => h("span", {}, t(`documents.${name}`))));
    put(this.body, may("write") ? uploads({ collection: () => this.#collection, done: () => this.#load() }) : null,
      h("div", { class: "toolbar" }, this.collections, this.remove, this.count), this.none, head, this.list.element);
    this.#load();
  }

  async #load() {
    this.#loads += 1;
    const load = this.#loads;
    try {
      const { collections } = await api.get("/api/collections");
      if (load !== this.#loads) return;
      put(this.collections, h("option", { value: "" }, t("documents.all")), collections.map(({ name }) => h("option", { value: name }, name)));
      if (!collections.some(({ name }) => name === this.#collection)) this.#collection = "";
      this.collections.value = this.#collection;
      this.remove.hidden = !this.#collection || !may("write");
      await this.#append([], null);
    } catch (problem) {
      failed(problem);
    }
  }

  /** Fetches the page after what was there before. */
  async #append(before, after) {
    const load = this.#loads;
    const page = await api.get("/api/documents", { limit: PAGE, collection: this.#collection, after });
    if (load !== this.#loads) return;
    this.#next = page.next ?? null;
    this.#documents = [...before, ...page.documents];
    this.none.hidden = this.#documents.length > 0;
    this.count.textContent = t("documents.count", { count: `${number(this.#documents.length)}${this.#next ? "+" : ""}` });
    this.list.show(this.#documents);
  }

  async #more() {
    if (!this.#next || this.#busy) return;
    this.#busy = true;
    await this.#append(this.#documents, this.#next).catch(failed);
    this.#busy = false;
  }

  async #deleteCollection() {
    const name = this.#collection;
    if (!(await sure(t("documents.delete_collection_sure", { name })))) return;
    try {
      await api.remove(`/api/collections/${api.id(name)}`);
      notice(t("documents.deleted"));
      await this.#load();
    } catch (problem) {
      failed(problem);
    }
  }
}

function row(document) {
  const is_ready = document.status === "ready";
  return h("a", { class: "document-row", href: `#/documents/${encodeURIComponent(document.id)}` },
    h("span", { class: "document-name" }, icon("documents"), h("span", {}, h("b", {}, document.title), h("small", {}, `${document.collection} · ${document.source}`))),
    is_ready ? h("span", { class: "badge" }, document.doc_type) : h("span", { class: "badge bad", title: heard(document.reason) }, t("documents.failed")),
    h("span", {}, number(document.chunks)), h("span", {}, bytes(document.bytes)), h("span", {}, ago(document.ingested_at)));
}

customElements.define("saem-documents", Documents);
