// The chat: a conversation, its questions as they are asked, and what is beside it.
import * as api from "../api.js";
import { h, iconButton, set as put } from "../dom.js";
import { Part, get, set } from "../store.js";
import { number, t } from "../words.js";
import { attended, look } from "../parts/approvals.js";
import { Composer } from "../parts/composer.js";
import { failed, notice } from "../parts/dialogs.js";
import { SessionList } from "../parts/sessions.js";
import { TurnView } from "../parts/turn.js";
import { welcome } from "../parts/welcome.js";
import "../parts/memory.js";

/** Turns that are drawn at once; earlier ones when they are asked for. */
const DRAWN = 40;

/** How near to the end a reader is who wants to follow it, in pixels. */
const NEAR = 120;

/** Turns under way. They go on while another room or conversation is open, and are shown again when their own is. */
const running = new Set();

class Chat extends Part {
  #session = null;
  #turns = [];
  #drawnFrom = 0;
  /** Turns that the server does not show any more. */
  #unshown = 0;
  /** The turn under way in this conversation. */
  #now = null;

  draw() {
    this.list = new SessionList((id) => this.#deleted(id));
    this.talk = h("div", { class: "talk", tabindex: "0", role: "region", "aria-label": t("room.chat") });
    this.turns = h("div", { class: "turns" });
    this.talk.append(this.turns);
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
    if (wanted === this.#session && this.#turns.length) return;
    this.#session = wanted;
    set("session", wanted);
    this.#turns = [];
    this.#now = [...running].find((turn) => wanted && turn.session === wanted) ?? null;
    this.composer.setBusy(this.#now !== null);
    this.#title();
    this.#showMemory();
    if (!wanted) { this.#empty(); return; }
    put(this.turns, h("p", { class: "quiet" }, t("app.loading")));
    try {
      const session = await api.get(`/api/sessions/${api.id(wanted)}`, { html: true });
      if (this.#session === wanted) this.#show(session);
    } catch (problem) {
      if (problem.status === 404) { location.hash = "#/chat"; return; }
      failed(problem);
    }
  }

  #show({ turns, turns_said }) {
    this.#unshown = Math.max(0, turns_said - turns.length);
    this.#turns = turns.map((turn) => this.#view(turn));
    if (this.#now) this.#turns.push(this.#now.view);
    this.#drawnFrom = Math.max(0, turns.length - DRAWN);
    this.#drawTurns();
    this.#toEnd();
  }

  #drawTurns() {
    const earlier = this.#drawnFrom > 0
      ? h("button", { type: "button", class: "plain earlier", onclick: () => this.#earlier() }, t("chat.earlier"))
      : this.#unshown > 0 ? h("p", { class: "quiet earlier" }, t("chat.unshown", { count: number(this.#unshown) })) : null;
    put(this.turns, earlier, this.#turns.slice(this.#drawnFrom).map((view) => view.element));
  }

  /** Draws more of the past, and leaves what is read where it is. */
  #earlier() {
    const fromEnd = this.talk.scrollHeight - this.talk.scrollTop;
    this.#drawnFrom = Math.max(0, this.#drawnFrom - DRAWN);
    this.#drawTurns();
    this.talk.scrollTop = this.talk.scrollHeight - fromEnd;
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

  #toEnd() {
    this.talk.scrollTop = this.talk.scrollHeight;
  }

  #isNearEnd() {
    return this.talk.scrollHeight - this.talk.scrollTop - this.talk.clientHeight < NEAR;
  }

  /** Asks, and shows the answer as it comes. */
  async ask(question, attach = []) {
    if (this.#now) return;
    const view = this.#view({ question });
    const turn = { view, session: this.#session, stopper: new AbortController() };
    this.#now = turn;
    running.add(turn);
    if (!this.#turns.length) put(this.turns);
    this.#turns.push(view);
    this.turns.append(view.element);
    this.#toEnd();
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
      const follow = this.#isNearEnd();
      if (name === "doing") {
        view.doing(data);
        if (data.doing === "awaiting_approval") look();
      } else if (name === "text") view.text(data);
      else if (name === "done") { is_over = true; view.done(data); this.#kept(turn, data); }
      else if (name === "failed") { is_over = true; view.failed(new api.Problem(data)); }
      if (follow) this.#toEnd();
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

  #showMemory() {
    this.memory.hidden = !get("memoryOpen");
    if (this.memory.hidden) { put(this.memory); return; }
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
      if (job.state === "failed") notice(job.failures.map((failure) => failure.reason).join(" "), "bad");
      else notice(t("chat.dropped", { name: file.name }));
    } catch (problem) {
      failed(problem);
    }
  }
}

customElements.define("saem-chat", Chat);
