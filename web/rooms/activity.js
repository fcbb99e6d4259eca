// Activity and cost: what was spent and what a month would cost, how turns ended, and every call of a tool.
import * as api from "../api.js";
import { h, set as put } from "../dom.js";
import { Part } from "../store.js";
import { heard, moment, money, named, number, seconds, share, t } from "../words.js";
import { download, failed, shown } from "../parts/dialogs.js";
import { bars, columns } from "../parts/plot.js";

const DAYS = [7, 30, 90];
const ENDINGS = ["done", "tool_error", "failed", "timed_out", "cancelled", "denied"];

class Activity extends Part {
  #days = 30;
  #filter = {};

  draw() {
    this.cost = h("div");
    this.turns = h("div");
    this.calls = h("div");
    const days = h("select", { "aria-label": t("activity.cost"), onchange: () => { this.#days = Number(days.value); this.#costs(); } },
      DAYS.map((count) => h("option", { value: count, selected: count === this.#days }, t("activity.days", { days: number(count) }))));
    put(this, h("div", { class: "room" }, h("header", { class: "room-head" }, h("h1", {}, t("activity.title")), days),
      h("div", { class: "room-body" }, this.cost, this.turns, h("h2", {}, t("activity.calls")), this.#filters(), this.calls)));
    this.#costs();
    this.#outcomes();
    this.#log();
  }

  #costs() {
    const by = (head) => api.get("/api/cost", { by: head, days: this.#days });
    shown(this.cost, Promise.all([by("day"), by("component"), by("model")]), ([day, component, model]) => [
      tiles(day), this.#projection(day.projection),
      h("div", { class: "plots" }, columns(t("activity.by_day"), everyDay(day, (spent) => spent.dollars), money),
        columns(t("activity.tokens_by_day"), everyDay(day, (spent) => spent.tokens_in + spent.tokens_out), short),
        bars(t("activity.by_component"), heads(component, "component"), money), bars(t("activity.by_model"), heads(model), money))]);
  }

  /** What a month would cost, with the numbers of conversations and turns to play with. */
  #projection(projection) {
    if (!projection) return h("p", { class: "quiet" }, t("activity.projection_none"));
    const out = h("output", {});
    const show = (now) => put(out, h("b", {}, money(now.total_dollars)), h("small", {}, `${t("activity.answers", { value: money(now.answer_dollars) })} · ${t("activity.memories", { value: money(now.memory_dollars) })}`));
    const field = (value) => h("input", { type: "number", min: "0", step: "any", value: Number(value.toFixed(2)) });
    const [sessions, turns] = [field(projection.sessions_per_day), field(projection.turns_per_session)];
    const again = async () => {
      try {
        const { projection: now } = await api.get("/api/cost", { days: this.#days, sessions: sessions.value, turns: turns.value });
        if (now) show(now);
      } catch (problem) {
        failed(problem);
      }
    };
    sessions.addEventListener("change", again);
    turns.addEventListener("change", again);
    show(projection);
    return h("section", { class: "card projection" }, h("h2", {}, t("activity.projection")), out, h("label", {}, t("activity.sessions"), sessions), h("label", {}, t("activity.turns"), turns),
      h("p", { class: "quiet" }, t("activity.projection_of", { turns: number(projection.turns_seen) })));
  }

  /** How turns ended since the server started, from its own numbers. */
  async #outcomes() {
    const text = await api.text("/metrics").catch(() => "");
    const ended = [...text.matchAll(/^saem_turns_total\{outcome="(\w+)"\} (\d+)/gm)].map(([, name, value]) => ({ key: name, name: named("outcome", name), value: Number(value) }));
    const all = ended.reduce((sum, one) => sum + one.value, 0);
    if (!all) return;
    const fallbacks = ended.filter((one) => one.key === "not_found" || one.key === "in_preparation").reduce((sum, one) => sum + one.value, 0);
    const took = ["sum", "count"].map((part) => Number(new RegExp(`^saem_turn_seconds_${part}(?:\\{\\})? ([\\d.e+-]+)`, "m").exec(text)?.[1] ?? 0));
    put(this.turns, h("div", { class: "plots" }, bars(t("activity.outcomes"), ended, (value) => number(value)),
      h("dl", { class: "tiles" }, tile(t("activity.fallbacks"), share(fallbacks / all)), took[1] ? tile(t("activity.latency"), seconds((took[0] / took[1]) * 1000)) : null)));
  }

  #filters() {
    const outcome = h("select", { "aria-label": t("activity.outcome"), onchange: () => this.#filtered({ outcome: outcome.value }) }, h("option", { value: "" }, t("activity.all")), ENDINGS.map((ending) => h("option", { value: ending }, named("ending", ending))));
    const tool = h("input", { type: "search", placeholder: t("activity.tool"), "aria-label": t("activity.tool"), onchange: () => this.#filtered({ tool: tool.value }) });
    const server = h("input", { type: "search", placeholder: t("activity.server"), "aria-label": t("activity.server"), onchange: () => this.#filtered({ server: server.value }) });
    const save = async () => {
      try {
        download("activity.jsonl", await api.text("/api/activity/export", this.#filter), "application/x-ndjson");
      } catch (problem) {
        failed(problem);
      }
    };
    return h("div", { class: "toolbar" }, outcome, server, tool, h("button", { type: "button", onclick: save }, t("activity.export")));
  }

  #filtered(more) {
    this.#filter = { ...this.#filter, ...more };
    this.#log();
  }

  #log() {
    shown(this.calls, api.get("/api/activity", this.#filter), (page) => {
      if (!page.activity.length) return h("p", { class: "quiet" }, t("activity.none"));
      const rows = h("tbody", {}, page.activity.map(callRow));
      let next = page.next;
      const more = h("button", { type: "button", hidden: !next, onclick: async () => {
        try {
          const after = await api.get("/api/activity", { ...this.#filter, after: next });
          rows.append(...after.activity.map(callRow));
          next = after.next;
          more.hidden = !next;
        } catch (problem) {
          failed(problem);
        }
      } }, t("app.more"));
      return [h("div", { class: "wide", tabindex: "0" }, h("table", { class: "log" }, h("thead", {}, h("tr", {}, ["when", "tool", "outcome", "took", "who"].map((name) => h("th", {}, t(`activity.${name}`))))), rows)), more];
    });
  }
}

function callRow(call) {
  const kind = call.outcome === "done" ? "good" : call.outcome === "denied" || call.outcome === "cancelled" ? "warn" : "bad";
  return h("tr", {}, h("td", {}, moment(call.at)), h("td", {}, h("code", {}, call.tool), call.reason ? h("p", { class: "quiet" }, heard(call.reason)) : null),
    h("td", {}, h("span", { class: `badge ${kind}` }, named("ending", call.outcome))), h("td", {}, seconds(call.milliseconds)), h("td", {}, call.principal));
}

function tiles({ total }) {
  return h("dl", { class: "tiles" }, tile(t("activity.total"), money(total.dollars), total.calls_without_price ? t("activity.unpriced", { count: number(total.calls_without_price) }) : null),
    tile(t("activity.tokens"), short(total.tokens_in + total.tokens_out)), tile(t("activity.model_calls"), number(total.calls)));
}

function tile(name, value, more) {
  return h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value, more ? h("small", {}, more) : null));
}

const short = (value) => (value >= 1_000_000 ? `${number(value / 1_000_000, 1)}M` : value >= 1000 ? `${number(value / 1000, 1)}k` : number(value));

const heads = ({ spent }, group) => Object.entries(spent).map(([name, one]) => ({ name: group ? named(group, name) : name, value: one.dollars }));

/** A column for each day, those without anything too. */
function everyDay({ from, to, spent }, value) {
  const points = [];
  for (let day = new Date(`${from}T00:00:00Z`); day <= new Date(`${to}T00:00:00Z`); day.setUTCDate(day.getUTCDate() + 1)) {
    const name = day.toISOString().slice(0, 10);
    points.push({ name, short: name.slice(5), value: spent[name] ? value(spent[name]) : 0 });
  }
  return points;
}

customElements.define("saem-activity", Activity);
