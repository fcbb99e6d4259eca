// The agents: our own card, those of the configuration, and the catalogue, where they are found, registered and written to.
import * as api from "../api.js";
import { h, icon, iconButton, set as put } from "../dom.js";
import { Part, may } from "../store.js";
import { heard, named, number, t } from "../words.js";
import { cardOf, healthBadge, standingBadge } from "../parts/agent.js";
import { copy, dialog, failed, notice, shown, sure } from "../parts/dialogs.js";
import { messageTo } from "../parts/message.js";
import { register } from "../parts/register.js";

const PAGE = 20;
const CAPABILITIES = ["streaming", "push", "extendedAgentCard"];
const VERSIONS = ["1.0", "0.3", "0.2", "0.1"];

/** Facets that become filters, by the server's name of each and what the search calls it. */
const FACETS = { tags: "tags", provider: "provider" };

class Agents extends Part {
  #filter = {};

  draw() {
    this.own = h("div");
    this.known = h("div", { class: "cards" });
    this.found = h("div", { class: "found-agents", "aria-live": "polite" });
    this.facets = h("div", { class: "facets" });
    put(this, h("div", { class: "room" },
      h("header", { class: "room-head" }, h("h1", {}, t("agents.title")),
        may("write") ? iconButton("plus", t("agents.register"), () => register(() => this.#find()), { text: true, class: "button" }) : null),
      h("div", { class: "room-body" },
        h("section", {}, h("h2", {}, t("agents.catalogue")), this.#search(), this.facets, this.found),
        h("section", {}, h("h2", {}, t("agents.known")), this.known),
        h("section", {}, h("h2", {}, t("agents.own")), this.own))));
    this.#find();
    this.#configured();
  }

  /** An agent that the address names is shown beside the list. */
  async open([identifier]) {
    if (identifier) await this.#show(identifier);
  }

  #search() {
    const words = h("input", { type: "search", placeholder: t("agents.find_hint"), "aria-label": t("agents.find") });
    const choice = (name, values, text) => {
      const select = h("select", { "aria-label": t(`agents.${name}`), onchange: () => this.#filtered({ [name]: select.value }) },
        h("option", { value: "" }, t(`agents.any_${name}`)), values.map((value) => h("option", { value }, text(value))));
      return select;
    };
    const go = (event) => { event.preventDefault(); this.#filtered({ q: words.value.trim() }); };
    return h("form", { class: "toolbar agent-search", role: "search", onsubmit: go }, words, h("button", { class: "primary" }, t("agents.find")),
      choice("capabilities", CAPABILITIES, (value) => t(`agents.${value}`)), choice("protocol", VERSIONS, (value) => `A2A ${value}`));
  }

  #filtered(more) {
    this.#filter = { ...this.#filter, ...more };
    this.#find();
  }

  #find() {
    return shown(this.found, api.get("/registry/find", { ...this.#filter, limit: PAGE }), (page) => {
      this.#drawFacets(page.facets);
      const asked = Object.values(this.#filter).some(Boolean);
      if (!page.agents.length) return h("p", { class: "quiet" }, t(asked ? "agents.none_found" : "agents.none"));
      const list = h("div", { class: "cards" }, page.agents.map((agent) => this.#agent(agent)));
      let next = page.next;
      const more = h("button", { type: "button", hidden: !next, onclick: async () => {
        try {
          const after = await api.get("/registry/find", { ...this.#filter, limit: PAGE, after: next });
          list.append(...after.agents.map((agent) => this.#agent(agent)));
          next = after.next;
          more.hidden = !next;
        } catch (problem) {
          failed(problem);
        }
      } }, t("app.more"));
      return [h("p", { role: "status", class: "quiet" }, t("agents.count", { count: number(page.total) })), list, more];
    });
  }

  /** What those that were found have, to choose from; what is chosen can be left again. */
  #drawFacets(facets) {
    const chip = (name, { value, count }) => {
      const chosen = this.#filter[name] === value;
      return h("button", { type: "button", class: "chip", "aria-pressed": String(chosen), onclick: () => this.#filtered({ [name]: chosen ? "" : value }) },
        h("span", {}, value), h("small", {}, number(count)));
    };
    put(this.facets, Object.entries(FACETS).flatMap(([facet, name]) => (facets[facet] ?? []).slice(0, 12).map((one) => chip(name, one))));
  }

  #agent(agent) {
    const skills = agent.card.skills ?? [];
    return h("article", { class: "card agent" },
      h("header", {}, h("h3", {}, agent.name), healthBadge(agent.health), standingBadge(agent.standing),
        agent.relevance ? h("span", { class: "badge good" }, t("agents.relevance", { value: number(agent.relevance) })) : null),
      h("p", { class: "described" }, agent.description),
      skills.length ? h("ul", { class: "tags", "aria-label": t("agents.skills") }, skills.slice(0, 6).map((skill) => h("li", { class: "badge" }, skill.name || skill.id))) : null,
      h("footer", {}, h("button", { type: "button", onclick: () => { location.hash = `#/agents/${encodeURIComponent(agent.identifier)}`; } }, t("agents.look")),
        may("write") ? h("button", { type: "button", onclick: () => messageTo(agent.identifier, agent.name, skills) }, t("agents.write")) : null));
  }

  /** One agent in a drawer: its card, its versions, and what its owner and keepers may do with it. */
  async #show(identifier) {
    if (document.querySelector("dialog.drawer")) return;
    let agent;
    try {
      agent = await api.get(`/registry/agents/${api.id(identifier)}`);
    } catch (problem) {
      failed(problem);
      return;
    }
    await dialog(agent.name, (close) => [
      h("p", { class: "row" }, healthBadge(agent.health), standingBadge(agent.standing), agent.health.uptime_percent === undefined ? null : h("span", { class: "badge" }, t("agents.uptime", { value: number(agent.health.uptime_percent, 1) }))),
      cardOf(agent.card, agent.identifier), versions(agent.versions ?? []), this.#keeping(agent, close)], { drawer: true });
    if (location.hash.startsWith("#/agents/")) history.replaceState(null, "", "#/agents");
  }

  #keeping(agent, close) {
    if (!agent.disclosure || !may("write")) return null;
    const change = async (standing) => {
      try {
        await api.patch(`/registry/agents/${api.id(agent.identifier)}`, { standing });
        notice(t("agents.changed", { standing: named("agent_standing", standing) }));
        close();
        this.#find();
      } catch (problem) {
        failed(problem);
      }
    };
    const gone = async () => {
      close();
      if (!(await sure(t("agents.remove_sure", { name: agent.name }), t("agents.remove")))) return;
      try {
        await api.remove(`/registry/agents/${api.id(agent.identifier)}`);
        notice(t("agents.removed"));
        this.#find();
      } catch (problem) {
        failed(problem);
      }
    };
    const others = ["approved", "deprecated", "pending"].filter((standing) => standing !== agent.standing);
    return h("footer", {}, others.map((standing) => h("button", { type: "button", onclick: () => change(standing) }, t(`agents.make_${standing}`))),
      h("button", { type: "button", class: "danger", onclick: gone }, t("agents.remove")));
  }

  #configured() {
    const asked = api.get("/api/agents");
    shown(this.known, asked, ({ agents }) => (agents.length ? agents.map((agent) => this.#neighbour(agent)) : h("p", { class: "quiet" }, t("agents.known_none"))));
    shown(this.own, asked.then(({ own_card: place }) => (place ? api.get(place) : null)), (card) => (card ? ownCard(card) : h("p", { class: "quiet" }, t("agents.own_none"))));
  }

  /** An agent of the configuration; looking at it asks it for its card. */
  #neighbour(agent) {
    const kinds = { up: "good", down: "bad", idle: "" };
    const state = h("span", { class: `badge ${kinds[agent.state]}` }, named("state", agent.state));
    const about = h("div");
    const why = h("p", { class: "trouble", hidden: !agent.reason }, heard(agent.reason));
    const look = async () => {
      try {
        const reached = await api.get(`/api/agents/${api.id(agent.name)}`);
        state.textContent = named("state", "up");
        state.className = "badge good";
        why.hidden = true;
        put(about, h("p", { class: "quiet" }, `A2A ${reached.version} · ${t(`agents.signature_${reached.signature}`)}`), cardOf(reached.card, null));
      } catch (problem) {
        state.textContent = named("state", "down");
        state.className = "badge bad";
        why.hidden = false;
        put(why, heard(problem.detail || problem.message));
      }
    };
    return h("article", { class: "card agent" }, h("header", {}, h("h3", {}, agent.name), state), h("p", { class: "quiet" }, h("code", {}, agent.place)), why, about,
      h("footer", {}, h("button", { type: "button", onclick: look }, t("agents.ask_card")), may("write") ? h("button", { type: "button", onclick: () => messageTo(agent.name, agent.name, []) }, t("agents.write")) : null));
  }
}

function ownCard(card) {
  const place = card.supportedInterfaces?.[0]?.url ?? card.url ?? "";
  return h("article", { class: "card agent" }, h("header", {}, icon("agents"), h("h3", {}, card.name), h("span", { class: "badge" }, card.version)),
    cardOf(card, null),
    h("footer", {}, h("button", { type: "button", onclick: () => copy(place) }, t("agents.copy_address")),
      h("button", { type: "button", onclick: () => copy(JSON.stringify(card, null, 2)) }, t("agents.copy_card"))));
}

function versions(all) {
  if (all.length < 2) return null;
  const row = (one) => h("li", {}, h("b", {}, `${number(one.number)} · ${one.version}`), " ", one.is_breaking ? h("span", { class: "badge warn" }, t("agents.breaking")) : null,
    one.changes.length ? h("ul", {}, one.changes.map((change) => h("li", {}, `${change.field}: ${change.description}`))) : null);
  return h("section", {}, h("h3", {}, t("agents.versions")), h("ol", { class: "versions" }, [...all].reverse().map(row)));
}

customElements.define("saem-agents", Agents);
