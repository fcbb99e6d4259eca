// The chat: a conversation, its questions as they are asked, and what is beside it.
import * as api from "../api.js";
import { h, iconButton, set as put } from "../dom.js";
import { Part, get, set } from "../store.js";
import { heard, t } from "../words.js";
import { attended, look } from "../parts/approvals.js";
import { Composer } from "../parts/composer.js";
import { failed, fetched, notice } from "../parts/dialogs.js";
import { LongTalk } from "../parts/long_talk.js";
import { SessionList } from "../parts/sessions.js";
import { TurnView, missing } from "../parts/turn.js";
import { welcome } from "../parts/welcome.js";

/** Turns that are fetched at once; earlier ones when they come into sight. */
const PAGE = 60;

/** How tall a turn is before anybody has seen it, in pixels. */
const GUESS = 260;

/** How near to the end a reader is who wants to follow it, in pixels. */
const NEAR = 120;

/** Turns under way. They go on while another room or conversation is open, and are shown again when their own is. */
const running = new Set();

class Chat extends Part {
  #session = null;
  /** The oldest turn that is kept. */
  #from = 1;
  #fetching = false;
  /** The turn under way in this conversation. */
  #now = null;

  draw() {
    this.list = new SessionList((id) => this.#deleted(id));
    this.talk = h("div", { class: "talk", tabindex: "0", role: "region", "aria-label": t("room.chat") });
    this.turns = h("div", { class: "turns" });
    this.talk.append(this.turns);
    this.long = new LongTalk(this.talk, { guess: GUESS, draw: (item) => this.#drawn(item), seen: (first, last) => this.#fetchMissing(first, last) });
    this.composer = new Composer({ send: (question, attach) => this.ask(question, attach), stop: () => this.stop() });
    this.heading = h("h1", {});
    this.memory = h("div", { class: "beside", hidden: !get("memoryOpen") });
    const open = () => this.classList.toggle("listing");
    put(this,
      h("div", { class: "side" }, this.list.element),
      h("section", { class: "middle" },
        h("header", { class: "bar" },
          iconButton("menu", t("chat.sessions"), open, { class: "icon-button only-narrow", "aria-expanded": "false" }),
          this.heading,
          iconButton("memory", t("chat.memory"), () => this.#toggleMemory(), { text: true, "aria-pressed": String(get("memoryOpen")), class: "icon-button memory-toggle" })),
        this.talk, this.composer.element),
      this.memory);
    this.follow("sessions", () => this.#title());
    this.#receiveFiles();
    this.addEventListener("saem-ask", (event) => this.ask(event.detail));
  }

  /** Opens the conversation that the address names. */
  async open([id]) {
    this.classList.remove("listing");
    const wanted = id || null;
    if (wanted === this.#session && this.long.items.length) return;
    this.#session = wanted;
    set("session", wanted);
    this.long.show([]);
    this.#now = [...running].find((turn) => wanted && turn.session === wanted) ?? null;
    this.composer.setBusy(this.#now !== null);
    this.#title();
    this.#showMemory();
    if (!wanted) { this.#empty(); return; }
    put(this.turns, h("p", { class: "quiet" }, t("app.loading")));
    try {
      const session = await api.get(`/api/sessions/${api.id(wanted)}`, { html: true, count: PAGE });
      if (this.#session === wanted) this.#show(session);
    } catch (problem) {
      if (problem.status === 404) { location.hash = "#/chat"; return; }
      failed(problem);
    }
  }

  /** All turns have their place at once; those that are not there yet come when they are looked at. */
  #show({ said = [], turns, turns_said, first_turn }) {
    this.#from = Math.max(1, first_turn);
    const items = Array.from({ length: Math.max(0, turns_said - this.#from + 1) }, (_, place) => ({ number: this.#from + place }));
    for (const turn of [...said, ...turns]) items[turn.number - this.#from] = { number: turn.number, turn };
    if (this.#now) items.push({ view: this.#now.view });
    put(this.turns, this.long.element);
    this.long.show(items);
    this.long.toEnd();
  }

  #drawn({ number, turn, view, is_gone }) {
    if (view) return view.element;
    return turn ? this.#view(turn).element : missing(number, is_gone);
  }

  /** Fetches what is in sight and not there yet. */
  async #fetchMissing(first, last) {
    const wanted = this.long.items.slice(first, last).filter((item) => item.number && !item.turn && !item.is_gone);
    if (!wanted.length || this.#fetching || !this.#session) return;
    const session = this.#session;
    const before = wanted.at(-1).number + 1;
    this.#fetching = true;
    try {
      const { said = [], turns } = await api.get(`/api/sessions/${api.id(session)}`, { html: true, before, count: PAGE });
      if (session !== this.#session) return;
      const there = new Map([...said, ...turns].map((turn) => [turn.number, turn]));
      this.long.items.forEach((item, place) => {
        const is_meant = item.number && !item.turn && item.number < before && item.number >= before - PAGE;
        if (is_meant) this.long.change(place, there.has(item.number) ? { number: item.number, turn: there.get(item.number) } : { number: item.number, is_gone: true });
      });
    } catch (problem) {
      failed(problem);
      return;
    } finally {
      this.#fetching = false;
    }
    this.long.place();
  }

  #view(turn) {
    return new TurnView(turn, { ask: (question) => this.ask(question) });
  }

  #empty() {
    put(this.turns, welcome((question) => this.ask(question)));
  }

  #title() {
    const known = get("sessions").find((session) => session.id === this.#session);
    this.heading.textContent = this.#session ? known?.title || t("chat.untitled") : t("chat.new");
  }

  /** Asks, and shows the answer as it comes. */
  async ask(question, attach = []) {
    if (this.#now) return;
    const view = this.#view({ question });
    const turn = { view, session: this.#session, stopper: new AbortController() };
    this.#now = turn;
    running.add(turn);
    if (!this.long.element.isConnected) put(this.turns, this.long.element);
    this.long.add({ view });
    this.long.toEnd();
    this.composer.setBusy(true);
    try {
      await attended(this.#follow(turn, { question, ...(attach.length ? { attach } : {}) }));
    } catch (problem) {
      if (problem.name === "AbortError") view.stopped();
      else view.failed(problem);
    } finally {
      running.delete(turn);
      if (this.#now === turn) {
        this.#now = null;
        this.composer.setBusy(false);
      }
    }
    if (this.isConnected) this.list.load();
  }

  async #follow(turn, asked) {
    const { view, session, stopper } = turn;
    let is_over = false;
    const told = (name, data) => {
      const follow = this.long.isNearEnd(NEAR);
      if (name === "doing") {
        view.doing(data);
        if (data.doing === "awaiting_approval") look();
      } else if (name === "text") view.text(data);
      else if (name === "done") { is_over = true; view.done(data); this.#kept(turn, data); }
      else if (name === "failed") { is_over = true; view.failed(new api.Problem(data)); }
      if (follow) this.long.toEnd();
    };
    await api.stream("/api/chat", { ...asked, html: true, ...(session ? { session } : {}) }, told, stopper.signal);
    if (!is_over) throw new api.Problem({ code: "broke_off" });
  }

  /** The first answer says which conversation this is. */
  #kept(turn, { session }) {
    if (this.#now !== turn || !this.isConnected) return;
    if (!this.#session) {
      this.#session = session;
      set("session", session);
      history.replaceState(null, "", `#/chat/${encodeURIComponent(session)}`);
    }
    this.#showMemory();
  }

  stop() {
    this.#now?.stopper.abort();
  }

  #deleted(id) {
    if (id === this.#session) location.hash = "#/chat";
  }

  #toggleMemory() {
    set("memoryOpen", !get("memoryOpen"));
    this.querySelector(".memory-toggle").setAttribute("aria-pressed", String(get("memoryOpen")));
    this.#showMemory();
  }

  async #showMemory() {
    this.memory.hidden = !get("memoryOpen");
    if (this.memory.hidden) { put(this.memory); return; }
    const is_there = await fetched(import("../parts/memory.js"));
    // Meanwhile it may have been closed.
    if (!is_there || this.memory.hidden) return;
    const panel = document.createElement("saem-memory");
    panel.session = this.#session;
    panel.close = () => this.#toggleMemory();
    put(this.memory, panel);
  }

  /** A file that is dropped anywhere in the room becomes a document. */
  #receiveFiles() {
    this.addEventListener("dragover", (event) => { event.preventDefault(); this.classList.add("dropping"); });
    this.addEventListener("dragleave", (event) => { if (!this.contains(event.relatedTarget)) this.classList.remove("dropping"); });
    this.addEventListener("drop", (event) => {
      event.preventDefault();
      this.classList.remove("dropping");
      for (const file of event.dataTransfer.files) this.#take(file);
    });
  }

  async #take(file) {
    try {
      const job = await api.finished(await api.upload(file, {}, () => {}));
      if (job.state === "failed") notice(job.failures.map((failure) => heard(failure.reason)).join(" "), "bad");
      else notice(t("chat.dropped", { name: file.name }));
    } catch (problem) {
      failed(problem);
    }
  }
}

customElements.define("saem-chat", Chat);
