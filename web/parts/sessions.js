// The conversations at the side: found by their titles, renamed, exported, deleted.
import * as api from "../api.js";
import { h, icon, iconButton, set as put } from "../dom.js";
import { get, on, set } from "../store.js";
import { ago, moment, t } from "../words.js";
import { download, failed, line, notice, sure } from "./dialogs.js";
import { longList } from "./long_list.js";

const PAGE = 200;
const ROW = 52;

/** Conversations that are loaded by themselves; a person with more finds the rest by scrolling. */
const LOADED_MAX = 1000;

export class SessionList {
  #next = null;
  #busy = false;
  /** Times the list was loaded: of two loads under way, the later one counts. */
  #loads = 0;
  /** Something has changed while a menu was open: rows that are drawn anew would take it from under the hand. */
  #waits = false;

  constructor(deleted) {
    this.deleted = deleted;
    this.find = h("input", { type: "search", placeholder: t("chat.find"), "aria-label": t("chat.find"), oninput: () => this.#show() });
    this.list = longList({ height: ROW, row: (session) => this.#row(session), label: t("chat.sessions"), more: () => this.#more() });
    this.state = h("p", { class: "quiet", hidden: true });
    this.element = h("nav", { class: "sessions", "aria-label": t("chat.sessions") },
      h("a", { class: "button new", href: "#/chat" }, icon("plus"), h("span", {}, t("chat.new"))), this.find, this.state, this.list.element);
    const end = on("session", () => (this.element.isConnected ? this.#show() : end()));
    this.load();
  }

  async load() {
    this.#loads += 1;
    try {
      let counts = await this.#append([], null);
      while (counts && this.#next && get("sessions").length < LOADED_MAX) counts = await this.#append(get("sessions"), this.#next);
      if (counts) this.#show();
    } catch (problem) {
      // A list that cannot be renewed is still a list; what waits for the server says that it is away.
      if (problem.code !== "unreachable") failed(problem);
    }
  }

  /** Fetches the page after what was there before; says whether it counts still. */
  async #append(before, after) {
    const load = this.#loads;
    const page = await api.get("/api/sessions", { limit: PAGE, after });
    if (load !== this.#loads) return false;
    this.#next = page.next ?? null;
    set("sessions", [...before, ...page.sessions]);
    return true;
  }

  async #more() {
    if (!this.#next || this.#busy || this.find.value) return;
    this.#busy = true;
    try {
      if (await this.#append(get("sessions"), this.#next)) this.#show();
    } catch (problem) {
      failed(problem);
    }
    this.#busy = false;
  }

  #show() {
    this.#waits = this.list.element.querySelector(".options[open]") !== null;
    if (this.#waits) return;
    const words = this.find.value.trim().toLowerCase();
    const all = get("sessions");
    const fits = words ? all.filter((session) => session.title.toLowerCase().includes(words)) : all;
    this.state.hidden = fits.length > 0;
    this.state.textContent = all.length ? t("chat.none_found") : t("chat.none");
    this.list.show(fits);
  }

  #row(session) {
    const title = session.title || t("chat.untitled");
    const link = h("a", { class: "session", href: `#/chat/${encodeURIComponent(session.id)}`, "aria-current": get("session") === session.id ? "true" : null },
      h("span", {}, title), h("small", {}, ago(session.used_at)));
    const options = h("details", { class: "options" }, h("summary", { "aria-label": t("chat.options", { title }) }, "⋯"),
      h("div", { class: "card" },
        iconButton("edit", t("chat.rename"), () => this.#rename(session), { text: true }),
        iconButton("export", t("chat.export"), () => this.#export(session), { text: true }),
        iconButton("trash", t("chat.delete"), () => this.#delete(session), { text: true, class: "icon-button danger" })));
    options.addEventListener("toggle", () => {
      if (options.open) options.querySelector("button").focus();
      else if (this.#waits) this.#show();
    });
    options.addEventListener("click", (event) => { if (event.target.closest("button")) options.open = false; });
    options.addEventListener("focusout", (event) => { if (!options.contains(event.relatedTarget)) options.open = false; });
    options.addEventListener("keydown", (event) => { if (event.key === "Escape") { options.open = false; options.querySelector("summary").focus(); } });
    return [link, options];
  }

  async #rename(session) {
    const title = await line(t("chat.rename"), t("chat.title"), session.title);
    if (!title) return;
    try {
      await api.patch(`/api/sessions/${api.id(session.id)}`, { title });
      await this.load();
    } catch (problem) {
      failed(problem);
    }
  }

  async #delete(session) {
    if (!(await sure(t("chat.delete_sure", { title: session.title || t("chat.untitled") })))) return;
    try {
      await api.remove(`/api/sessions/${api.id(session.id)}`);
      notice(t("chat.deleted"));
      this.deleted(session.id);
      await this.load();
    } catch (problem) {
      failed(problem);
    }
  }

  async #export(session) {
    try {
      const whole = await allTurns(session.id);
      const name = (whole.title || "saem").replace(/[\\/:*?"<>|\s]+/g, "-").slice(0, 60);
      download(`${name}.md`, asMarkdown(whole), "text/markdown");
    } catch (problem) {
      failed(problem);
    }
  }
}

/** A conversation with all its turns, fetched page by page from its end. */
async function allTurns(id) {
  const path = `/api/sessions/${api.id(id)}`;
  const whole = await api.get(path);
  let turns = [...(whole.said ?? []), ...whole.turns];
  while (turns.length && turns[0].number > whole.first_turn) {
    const page = await api.get(path, { before: turns[0].number });
    const more = [...(page.said ?? []), ...page.turns];
    if (!more.length) break;
    turns = [...more, ...turns];
  }
  return { ...whole, turns };
}

function asMarkdown(session) {
  const turn = (one) => {
    const sources = (one.citations ?? []).map((citation) => `[${citation.number}] ${citation.title} — ${citation.source}`);
    return [`## ${one.question}`, `*${moment(one.at)}*`, one.answer, sources.join("\n")].filter(Boolean).join("\n\n");
  };
  return `# ${session.title || t("chat.untitled")}\n\n${session.turns.map(turn).join("\n\n")}\n`;
}
