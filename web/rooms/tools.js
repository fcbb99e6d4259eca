// The tools: servers and their state, what each tool takes and does, a call to try, and the yeses that are remembered.
import * as api from "../api.js";
import { h, set as put } from "../dom.js";
import { Part, may } from "../store.js";
import { heard, moment, named, number, said, t } from "../words.js";
import { attended } from "../parts/approvals.js";
import { failed, notice, shown } from "../parts/dialogs.js";
import { logIn, logOut, onLoggedIn } from "../parts/tool_login.js";

class Tools extends Part {
  draw() {
    this.servers = h("div", { class: "cards" });
    this.tools = h("div", { class: "tools" });
    this.remembered = h("div");
    put(this, h("div", { class: "room" }, h("header", { class: "room-head" }, h("h1", {}, t("tools.title"))),
      h("div", { class: "room-body" }, h("h2", {}, t("tools.servers")), this.servers, this.tools, h("h2", {}, t("tools.approvals")), this.remembered)));
    this.atEnd(onLoggedIn(() => this.load()));
    this.load();
  }

  async load() {
    await shown(this.servers, api.get("/api/tool-servers"), ({ servers }) => this.#servers(servers));
    if (!may("write")) { put(this.remembered, h("p", { class: "quiet" }, t("settings.forbidden"))); return; }
    shown(this.remembered, api.get("/api/approvals"), ({ remembered }) => this.#remembered(remembered));
  }

  #servers(servers) {
    if (!servers.length) return h("p", { class: "quiet" }, t("tools.none"));
    const start = h("button", { type: "button", class: "primary", onclick: () => this.#list() }, t("tools.start"));
    put(this.tools, servers.some((server) => server.state !== "off") ? start : null);
    if (servers.some((server) => server.state === "up")) queueMicrotask(() => this.#list());
    return servers.map((server) => this.#server(server));
  }

  #server(server) {
    const kinds = { up: "good", down: "bad", idle: "", off: "" };
    const offers = h("div");
    const open = (event) => { if (event.target.open && !offers.childElementCount) shown(offers, api.get(`/api/tool-servers/${api.id(server.id)}/offers`), (all) => this.#offers(server, all)); };
    return h("article", { class: "card server" },
      h("header", {}, h("h3", {}, server.name), h("span", { class: `badge ${kinds[server.state] ?? ""}` }, named("state", server.state)), server.trusted ? h("span", { class: "badge" }, t("tools.trusted")) : null),
      h("code", { class: "launch", title: server.launch }, server.launch),
      server.state === "up" ? h("p", { class: "quiet" }, [server.version ? `MCP ${server.version}` : null, t("tools.count", { count: number(server.tools) })].filter(Boolean).join(" · ")) : null,
      server.reason ? h("p", { class: "trouble" }, heard(server.reason)) : null,
      this.#doors(server),
      server.refused.length ? h("details", {}, h("summary", {}, t("tools.left_out")), h("ul", {}, server.refused.map((line) => h("li", {}, line.replace(/: (.*)$/s, (_, why) => `: ${heard(why)}`))))) : null,
      server.state === "off" ? null : h("details", { ontoggle: open }, h("summary", {}, t("tools.offers")), offers));
  }

  /** Switching a server on or off, and logging in where it wants to know who comes. */
  #doors(server) {
    if (!may("admin")) return null;
    const set_on = async (enabled) => {
      try {
        await api.patch(`/api/tool-servers/${api.id(server.id)}`, { enabled });
        notice(t(enabled ? "tools.is_on" : "tools.is_off", { name: server.name }));
        this.load();
      } catch (problem) {
        failed(problem);
      }
    };
    const is_off = server.state === "off";
    const log = (how) => async () => { await how(server); this.load(); };
    return h("div", { class: "actions" },
      server.switchable ? h("label", { class: "check switch" }, h("input", { type: "checkbox", role: "switch", "aria-label": `${server.name}: ${t("tools.on")}`, checked: !is_off, onchange: (event) => set_on(event.target.checked) }), t("tools.on")) : h("small", {}, t("tools.off_by_configuration")),
      server.takes_login && !is_off ? [h("button", { type: "button", class: server.state === "down" ? "primary" : null, onclick: log(logIn) }, t("tools.login")), h("button", { type: "button", class: "plain", onclick: log(logOut) }, t("tools.logout"))] : null);
  }

  #offers(server, { resources, prompts }) {
    const out = h("pre", { class: "output", tabindex: "0", hidden: true });
    const read = async (uri) => {
      try {
        const result = await attended(api.post(`/api/tool-servers/${api.id(server.id)}/read`, { uri }));
        out.hidden = false;
        put(out, result.text);
      } catch (problem) {
        failed(problem);
      }
    };
    const resource = (one) => h("li", {}, h("b", {}, one.title || one.uri), " ", h("button", { type: "button", class: "plain", onclick: () => read(one.uri) }, t("tools.read")), one.description ? h("p", { class: "quiet" }, one.description) : null);
    const prompt = (one) => h("li", {}, h("code", {}, `/${one.name}`), " ", one.arguments.join(", "), one.description ? h("p", { class: "quiet" }, one.description) : null);
    return [h("h4", {}, t("tools.resources")), resources.length ? h("ul", {}, resources.map(resource)) : h("p", { class: "quiet" }, t("app.none")), out,
      h("h4", {}, t("tools.prompts")), prompts.length ? h("ul", {}, prompts.map(prompt)) : h("p", { class: "quiet" }, t("app.none"))];
  }

  #list() {
    return shown(this.tools, attended(api.get("/api/tools")), ({ tools, servers }) => {
      put(this.servers, servers.map((server) => this.#server(server)));
      return tools.map((tool) => this.#tool(tool));
    });
  }

  #tool(tool) {
    const is_off = tool.standing !== "known";
    const accept = async () => {
      try {
        const { accepted } = await api.post(`/api/tool-servers/${api.id(tool.server)}/accept`, { tool: tool.name });
        notice(t("tools.accepted", { names: accepted.join(", ") }));
        this.#list();
      } catch (problem) {
        failed(problem);
      }
    };
    return h("details", { class: "card tool", name: "tool" },
      h("summary", {}, h("code", {}, tool.name), h("span", { class: `badge ${tool.effect === "changes" ? "warn" : ""}` }, named("effect", tool.effect)),
        is_off ? h("span", { class: "badge bad" }, named("standing", tool.standing)) : null, tool.findings.length ? h("span", { class: "badge warn" }, t("tools.findings")) : null),
      is_off ? h("p", { class: "trouble" }, t(tool.standing === "new" ? "tools.is_new" : "tools.drift"), " ", h("button", { type: "button", onclick: accept }, t("tools.accept"))) : null,
      tool.findings.length ? h("ul", { class: "trouble" }, tool.findings.map((finding) => h("li", {}, heard(finding)))) : null,
      h("p", { class: "described" }, tool.description),
      h("h4", {}, t("tools.schema")), h("pre", { tabindex: "0" }, JSON.stringify(tool.input_schema, null, 2)),
      is_off || !may("write") ? null : this.#trial(tool));
  }

  #trial(tool) {
    const field = h("textarea", { rows: "5", spellcheck: "false", class: "code", "aria-label": t("tools.arguments"), value: JSON.stringify(skeleton(tool.input_schema), null, 2) });
    const out = h("div", { "aria-live": "polite" });
    const button = h("button", { class: "primary" }, t("tools.call"));
    const call = async (event) => {
      event.preventDefault();
      let values;
      try { values = JSON.parse(field.value || "{}"); } catch { values = null; }
      if (!values || typeof values !== "object" || Array.isArray(values)) { put(out, h("p", { class: "trouble", role: "alert" }, t("tools.not_json"))); return; }
      button.disabled = true;
      put(out, h("p", { class: "quiet" }, t("tools.calling")));
      try {
        const result = await attended(api.post(`/api/tools/${api.id(tool.name)}/call`, { arguments: values }));
        put(out, result.is_error ? h("p", { class: "trouble" }, t("tools.failed_result")) : h("h4", {}, t("tools.result")),
          h("pre", { class: "output", tabindex: "0" }, result.text), result.is_cut ? h("p", { class: "quiet" }, t("tools.cut")) : null);
      } catch (problem) {
        put(out, h("p", { class: "trouble", role: "alert" }, said(problem)));
      }
      button.disabled = false;
    };
    return h("form", { class: "trial", onsubmit: call }, h("h4", {}, t("tools.try")), h("label", {}, t("tools.arguments"), field), button, out);
  }

  #remembered(remembered) {
    if (!remembered.length) return h("p", { class: "quiet" }, t("tools.approvals_none"));
    const back = async (tool) => {
      try {
        await api.remove(`/api/approvals/${api.id(tool)}`);
        notice(t("tools.taken_back"));
        this.load();
      } catch (problem) {
        failed(problem);
      }
    };
    return h("ul", { class: "plain-list" }, remembered.map((yes) => h("li", {}, h("code", {}, yes.tool), " ", h("span", { class: "badge" }, t(yes.session ? "approval.session" : "approval.always")), " ",
      h("small", {}, `${yes.by} · ${t("tools.until", { when: moment(yes.expires_at) })}`), " ", h("button", { type: "button", class: "plain", onclick: () => back(yes.tool) }, t("tools.take_back")))));
  }
}

/** An object to begin with: each needed field with an empty value of its kind. */
function skeleton(schema) {
  const empty = { string: "", number: 0, integer: 0, boolean: false, array: [], object: {} };
  const wanted = schema?.required ?? [];
  return Object.fromEntries(wanted.map((name) => {
    const field = schema.properties?.[name] ?? {};
    return [name, field.default ?? field.enum?.[0] ?? empty[[field.type].flat()[0]] ?? ""];
  }));
}

customElements.define("saem-tools", Tools);
