// One run: where it stands, what can be done with it, what its agents say, and its report once there is one.
import * as api from "../api.js";
import { h, set as put } from "../dom.js";
import { heard, named, number, said, t } from "../words.js";
import { download, failed, line, sure } from "./dialogs.js";
import { chain, followUp } from "./follow_up.js";
import { LongTalk } from "./long_talk.js";
import { planForm } from "./plan.js";
import { lines, meter } from "./plot.js";
import { exportButtons, reportView } from "./report.js";
import { isPlan, isShown, messageView } from "./timeline.js";

/** Waits so long before the server is asked again where a run stands: messages come in bursts. */
const SETTLE_MILLISECONDS = 150;

/** How tall a message is before anybody has seen it, in pixels. */
const GUESS = 64;

/** How near to the end a reader is who wants to follow it, in pixels. */
const NEAR = 160;

/** Messages after which a run stands elsewhere than before. */
const TURNING = new Set(["plan_approval", "run_control", "answer_ready", "search", "search_completed", "generate_answer", "tool_approval", "final_approval", "quality_assessment"]);

export class RunView {
  #run = null;
  #messages = [];
  #stopper = new AbortController();
  #settling = null;
  #scores = [];

  /** `ask` begins a run, and `open` shows one that was begun. */
  constructor(id, { ask, open }) {
    this.id = id;
    this.ask = ask;
    this.open = open;
    this.head = h("div", { class: "run-head" });
    this.lost = h("p", { class: "trouble", role: "alert", hidden: true }, t("research.lost"));
    this.plan = h("div");
    this.report = h("div", { class: "run-report" });
    this.further = h("div", { class: "run-further" });
    this.chain = h("div");
    this.frame = h("div", { class: "run-talk", tabindex: "0", role: "log", "aria-label": t("research.timeline"), "aria-live": "off" });
    this.long = new LongTalk(this.frame, { guess: GUESS, draw: (message) => messageView(message, { again: this.#hasReport() ? (step) => this.#doAgain(step) : null }) });
    this.frame.append(this.long.element);
    this.now = h("p", { class: "spoken", role: "status" });
    this.budget = h("div", { class: "budget" });
    this.quality = h("div");
    this.controls = h("div", { class: "actions" });
    this.element = h("div", { class: "run" }, this.head, this.lost, this.now,
      h("div", { class: "run-columns" }, h("div", { class: "run-main" }, this.chain, this.plan, this.report, this.further, h("h2", {}, t("research.timeline")), this.frame),
        h("aside", { class: "run-side", "aria-label": t("research.state") }, this.controls, this.budget, this.quality)));
  }

  close() {
    this.#stopper.abort();
    clearTimeout(this.#settling);
  }

  async load() {
    try {
      this.#show(await api.get(this.#path(), {}, this.#stopper.signal));
      await api.follow(this.#path("/events"), {
        on: (name, data) => this.#told(name, data), lost: (is_lost) => { this.lost.hidden = !is_lost; }, reload: (after) => this.#reload(after), signal: this.#stopper.signal,
      });
      this.#settle(0);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      put(this.head, h("p", { class: "trouble", role: "alert" }, said(problem)));
    }
  }

  #path(rest = "") {
    return `/api/research/${api.id(this.id)}${rest}`;
  }

  /** What was said after a message, from what is kept of the run. */
  async #reload(after) {
    let known = after;
    for (;;) {
      const { messages } = await api.get(this.#path("/messages"), { after: known }, this.#stopper.signal);
      if (!messages.length) return known;
      for (const message of messages) this.#told("agent_message", message);
      known = messages.at(-1).seq;
    }
  }

  #told(name, data) {
    if (name === "failed") { put(this.lost, heard(data.detail ?? "")); this.lost.hidden = false; }
    if (name !== "agent_message") { this.#settle(0); return; }
    // What comes twice over a cut was said once.
    if (data.seq <= (this.#messages.at(-1)?.seq ?? 0)) return;
    this.#messages.push(data);
    const kind = data.content.action ?? data.content.event;
    if (kind === "budget_update") this.#drawBudget(data.content.parts);
    if (kind === "quality_assessment") { this.#scores.push(data.content); this.#drawQuality(); }
    if (isShown(data)) {
      const follow = this.long.isNearEnd(NEAR);
      this.long.add(data);
      if (follow) this.long.toEnd();
    }
    if (TURNING.has(kind)) this.#settle(SETTLE_MILLISECONDS);
  }

  /** Asks where the run stands now, once the messages have settled. */
  #settle(milliseconds) {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(async () => {
      try {
        this.#show(await api.get(this.#path(), {}, this.#stopper.signal));
      } catch (problem) {
        if (problem.name !== "AbortError" && problem.code !== "unreachable") failed(problem);
      }
    }, milliseconds);
  }

  #show(run) {
    const before = this.#run?.state;
    this.#run = run;
    const progress = run.progress;
    put(this.head, h("h2", {}, run.question), h("p", { class: "row" }, stateOf(run), progress && run.state !== "ended" ? h("span", { class: "quiet" }, t("research.round", { round: number(progress.round), all: number(progress.rounds_max) })) : null,
      progress ? h("span", { class: "quiet" }, t("research.found", { count: number(progress.sources) })) : null));
    if (before !== run.state) put(this.now, run.state === "ended" ? named("ended", run.ended ?? "enough") : named("run_state", run.state));
    if (progress) this.#drawBudget(progress.budget);
    this.#drawControls(run);
    this.#drawPlan(progress?.awaits ?? []);
    if (progress?.has_report && !this.report.childElementCount) this.#drawReport();
    // Who follows it is known when it has ended; whom it follows from the beginning.
    if (!before || (run.state === "ended" && before !== "ended")) this.#drawChain(run);
    if (this.#hasReport() && !this.further.childElementCount) this.#offerMore();
  }

  #hasReport() {
    return this.#run?.state === "ended" && Boolean(this.#run.progress?.has_report);
  }

  /** A report is there: it can be asked further about, and each step of its plans can be done anew. */
  #offerMore() {
    put(this.further, followUp((question) => this.ask({ question, follows: this.id })));
    this.long.items.forEach((message, place) => { if (isPlan(message)) this.long.change(place, message); });
  }

  async #drawChain(run) {
    try {
      put(this.chain, await chain(run, this.#stopper.signal));
    } catch (problem) {
      if (problem.name !== "AbortError") failed(problem);
    }
  }

  async #doAgain(step) {
    try {
      this.open((await api.post(this.#path(`/steps/${api.id(step)}/again`))).id);
    } catch (problem) {
      failed(problem);
    }
  }

  #drawControls(run) {
    const act = (control, more = {}) => this.#post("/control", { control, ...more });
    const button = (name, word, onclick, kind = "") => h("button", { type: "button", class: kind, onclick }, t(`research.${word}`));
    const instruct = async () => {
      const instruction = await line(t("research.instruct"), t("research.instruction"), "");
      if (instruction) act("instruct", { instruction });
    };
    const stop = async () => { if (await sure(t("research.stop_sure"), t("research.stop"))) act("stop"); };
    if (run.state === "ended") { put(this.controls, this.#after()); return; }
    put(this.controls, run.state === "paused" ? button("resume", "resume", () => act("resume"), "primary") : button("pause", "pause", () => act("pause")),
      button("finish", "finish_now", () => act("finish_now")), button("instruct", "instruct", instruct), button("stop", "stop", stop, "danger"));
  }

  /** What can be done with a run that has ended. */
  #after() {
    const save = (format) => async () => {
      try {
        const file = await api.blob(this.#path("/report"), { format });
        download(`research-${this.id}.${format}`, file, file.type);
      } catch (problem) {
        failed(problem);
      }
    };
    return [h("button", { type: "button", onclick: () => this.ask({ question: this.#run.question }).catch(failed) }, t("research.again")),
      this.#run.progress?.has_report ? exportButtons(save) : null];
  }

  /** What waits for a person: the plan, a call that needs a yes, or one of which nobody knows whether it was made. */
  #drawPlan(awaits) {
    const asked_call = awaits.find((one) => typeof one === "object");
    if (asked_call) { this.#drawCall(asked_call); return; }
    if (!awaits.includes("plan")) { put(this.plan); return; }
    const asked = this.#messages.findLast((message) => message.content.action === "plan_approval" && message.content.request);
    if (!asked) { this.#settle(SETTLE_MILLISECONDS); return; }
    // Whoever is writing into it is not interrupted.
    if (this.plan.dataset?.of === asked.id && this.plan.childElementCount) return;
    this.plan.dataset.of = asked.id;
    put(this.plan, planForm(asked.content.request, (decision) => this.#post("/plan", decision)));
  }

  #drawCall({ repeat, allow }) {
    const call = repeat ?? allow;
    const word = repeat ? "repeat" : "allow";
    const request = this.#messages.findLast((message) => message.content.action === "tool_approval" && message.content.request?.call === call)?.content.request;
    const say = (control) => this.#post("/control", { control, call });
    put(this.plan, h("section", { class: "card plan" }, h("h2", {}, t(`research.${word}`)),
      request ? [h("p", {}, h("span", { class: "badge" }, request.provider), " ", heard(request.reason)), h("pre", { tabindex: "0" }, JSON.stringify(request.arguments, null, 2))] : h("p", {}, h("code", {}, call)),
      h("footer", {}, h("button", { type: "button", onclick: () => say("do_without") }, t("research.do_without")), h("button", { type: "button", class: "primary", onclick: () => say(word) }, t(`research.${word}_go`)))));
  }

  async #post(rest, body) {
    try {
      this.#show(await api.post(this.#path(rest), body));
    } catch (problem) {
      failed(problem);
    }
  }

  #drawBudget(parts) {
    if (!parts?.length) return;
    put(this.budget, h("h3", {}, t("research.budget")), parts.map(({ name, used, allowed }) => {
      const value = (amount) => (name === "microdollars" ? `$${(amount / 1_000_000).toFixed(4)}` : number(amount));
      const shown = name === "microdollars" ? "dollars" : name;
      return meter(t(`budget.${shown}`), used, allowed ?? null, value);
    }));
  }

  #drawQuality() {
    const rounds = this.#scores.map((one, place) => number(one.measured?.round ?? place + 1));
    const series = ["quality", "relevance", "coverage"].map((name) => ({ name: t(`research.${name}`), values: this.#scores.map((one) => one[`${name}_score`]) }));
    put(this.quality, lines(t("research.scores"), rounds, series));
  }

  async #drawReport() {
    try {
      const report = JSON.parse(await api.text(this.#path("/report"), { format: "json" }));
      put(this.report, reportView(report));
    } catch (problem) {
      put(this.report);
      failed(problem);
    }
  }
}

function stateOf(run) {
  const is_over = run.state === "ended";
  const is_short = is_over && run.ended && run.ended !== "enough";
  const kind = is_short || ["approving", "paused", "interrupted"].includes(run.state) ? "warn" : is_over ? "good" : "";
  return h("span", { class: `badge ${kind}` }, is_over || run.state === "paused" ? null : h("span", { class: "pulse", "aria-hidden": "true" }), is_over ? named("ended", run.ended ?? "enough") : named("run_state", run.state));
}
