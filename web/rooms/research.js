// Research: a question, its plan, the agents at work on it as they go, and what it came to; nothing is lost by a reload or a cut.
import * as api from "../api.js";
import { h, iconButton, set as put } from "../dom.js";
import { Part, may } from "../store.js";
import { ago, named, number, said, t } from "../words.js";
import { failed, notice, shown, sure } from "../parts/dialogs.js";
import { RunView } from "../parts/run.js";

const PAGE = 50;

/** What a state of a run looks like. */
const KINDS = { approving: "warn", paused: "warn", interrupted: "warn", ended: "good" };

export function stateBadge(run) {
  const is_short = run.ended && run.ended !== "enough";
  const words = run.state === "ended" ? named("ended", run.ended ?? "enough") : named("run_state", run.state);
  return h("span", { class: `badge ${is_short ? "warn" : KINDS[run.state] ?? ""}` }, words);
}

class Research extends Part {
  #view = null;

  draw() {
    this.body = h("div", { class: "room-body" });
    this.back = h("a", { href: "#/research", class: "plain-link", hidden: true }, t("research.all"));
    put(this, h("div", { class: "room" }, h("header", { class: "room-head" }, h("h1", {}, t("research.title")), this.back), this.body));
    this.atEnd(() => this.#view?.close());
  }

  open([id]) {
    if (this.#view?.id === id && id) return;
    this.#view?.close();
    this.#view = null;
    this.back.hidden = !id;
    this.body.classList.toggle("whole", Boolean(id));
    if (!id) { this.#start(); return; }
    this.#view = new RunView(id, { ask: (body) => this.#begin(body), open: (other) => this.#go(other) });
    put(this.body, this.#view.element);
    this.#view.load();
  }

  #start() {
    this.runs = h("div");
    put(this.body, this.#form(), h("h2", {}, t("research.history")), this.runs);
    this.#history();
  }

  #form() {
    const question = h("textarea", { rows: "3", required: true, placeholder: t("research.placeholder"), "aria-label": t("research.question") });
    const approval = h("select", {}, ["asked", "given"].map((name) => h("option", { value: name }, t(`research.approval_${name}`))));
    const sources = h("input", { placeholder: "local, arxiv" });
    const budget = ["seconds", "tokens", "dollars", "calls", "pages"].map((name) => ({ name, field: h("input", { type: "number", min: "0", step: name === "dollars" ? "0.01" : "1" }) }));
    const trouble = h("p", { class: "trouble", role: "alert", hidden: true });
    const go = async (event) => {
      event.preventDefault();
      const words = question.value.trim();
      if (!words) return;
      const names = sources.value.split(",").map((name) => name.trim()).filter(Boolean);
      const limits = Object.fromEntries(budget.filter(({ field }) => field.value !== "").map(({ name, field }) => [name, Number(field.value)]));
      try {
        await this.#begin({ question: words, approval: approval.value, ...(names.length ? { sources: names } : {}), budget: limits });
      } catch (problem) {
        put(trouble, said(problem));
        trouble.hidden = false;
      }
    };
    question.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) go(event); });
    return h("form", { class: "card research-ask", onsubmit: go }, h("h2", {}, t("research.ask")), h("p", { class: "quiet" }, t("research.about")), question, trouble,
      h("div", { class: "row" }, h("label", { class: "inline" }, t("research.plan"), approval), h("button", { class: "primary" }, t("research.go"))),
      h("details", {}, h("summary", {}, t("research.limits")), h("div", { class: "limits" }, h("label", {}, t("research.sources"), sources),
        budget.map(({ name, field }) => h("label", {}, t(`budget.${name}`), field)))));
  }

  async #begin(body) {
    const run = await api.post("/api/research", body);
    this.#go(run.id);
  }

  #go(id) {
    location.hash = `#/research/${encodeURIComponent(id)}`;
  }

  #history() {
    shown(this.runs, api.get("/api/research", { limit: PAGE }), ({ runs, next }) => {
      if (!runs.length) return h("p", { class: "quiet" }, t("research.none"));
      const list = h("ul", { class: "plain-list runs" }, runs.map((run) => this.#row(run)));
      let after = next;
      const more = h("button", { type: "button", hidden: !after, onclick: async () => {
        try {
          const page = await api.get("/api/research", { limit: PAGE, after });
          list.append(...page.runs.map((run) => this.#row(run)));
          after = page.next;
          more.hidden = !after;
        } catch (problem) {
          failed(problem);
        }
      } }, t("app.more"));
      return [list, more];
    });
  }

  #row(run) {
    const forget = async () => {
      if (!(await sure(t("research.forget_sure", { question: run.question })))) return;
      try {
        await api.remove(`/api/research/${api.id(run.id)}`);
        notice(t("research.forgotten"));
        this.#history();
      } catch (problem) {
        failed(problem);
      }
    };
    return h("li", {}, h("a", { class: "run-link", href: `#/research/${encodeURIComponent(run.id)}` }, run.question), stateBadge(run), h("small", {}, ago(run.begun_at)),
      run.progress ? h("small", {}, t("research.found", { count: number(run.progress.sources) })) : null,
      may("write") ? iconButton("trash", t("research.forget"), forget, { class: "icon-button small danger" }) : null);
  }
}

customElements.define("saem-research", Research);
