// What is remembered of a conversation: the state, its facts and its versions; corrected, compared and brought back.
import * as api from "../api.js";
import { h, iconButton, set as put } from "../dom.js";
import { Part } from "../store.js";
import { ago, number, t } from "../words.js";
import { failed, notice, shown, sure } from "./dialogs.js";

class MemoryPanel extends Part {
  session = null;
  close = () => {};

  draw() {
    this.body = h("div", { class: "body" });
    put(this, h("section", { class: "memory", "aria-label": t("memory.title") },
      h("header", {}, h("h2", {}, t("memory.title")), iconButton("close", t("app.close"), () => this.close())), this.body));
    this.load();
  }

  load() {
    if (!this.session) { put(this.body, h("p", { class: "quiet" }, t("memory.none"))); return; }
    shown(this.body, api.get(this.#path()), (memory) => this.#show(memory));
  }

  #path(rest = "") {
    return `/api/sessions/${api.id(this.session)}/memory${rest}`;
  }

  #show(memory) {
    const counts = [t("memory.short", { count: number(memory.short_term) }), memory.unfolded ? t("memory.waiting", { count: number(memory.unfolded) }) : null];
    const edit = () => this.#edit(memory);
    return [
      h("p", { class: "quiet" }, counts.filter(Boolean).join(" · ")),
      memory.refused ? h("p", { class: "trouble" }, t("memory.refused", { why: memory.refused })) : null,
      h("h3", {}, t("memory.state")),
      memory.memory ? h("p", { class: "state" }, memory.memory) : h("p", { class: "quiet" }, t("memory.empty")),
      h("h3", {}, t("memory.facts")),
      memory.entities.length ? facts(memory.entities) : h("p", { class: "quiet" }, t("memory.empty")),
      h("footer", {}, iconButton("edit", t("memory.edit"), edit, { text: true }),
        memory.memory || memory.entities.length ? iconButton("trash", t("memory.forget"), () => this.#forget(), { text: true, class: "icon-button danger" }) : null),
      memory.earlier.length ? [h("h3", {}, t("memory.versions")), h("ul", { class: "versions" }, [...memory.earlier].reverse().map((version) => this.#version(version, memory)))] : null,
    ];
  }

  #edit(memory) {
    const text = h("textarea", { rows: "8", "aria-label": t("memory.state"), value: memory.memory });
    const rows = h("tbody");
    const add = (key = "", value = "") => {
      const row = h("tr", {}, h("td", {}, h("input", { "aria-label": t("memory.key"), value: key })), h("td", {}, h("input", { "aria-label": t("memory.value"), value })),
        h("td", {}, iconButton("trash", t("memory.remove", { key }), () => row.remove(), { class: "icon-button small" })));
      rows.append(row);
      return row;
    };
    memory.entities.forEach(({ key, value }) => add(key, value));
    const save = (event) => {
      event.preventDefault();
      const entities = [...rows.rows].map((row) => [...row.querySelectorAll("input")].map((field) => field.value.trim()))
        .filter(([key, value]) => key && value).map(([key, value]) => ({ key, value }));
      this.#put({ memory: text.value.trim(), entities }, t("memory.saved"));
    };
    put(this.body, h("form", { onsubmit: save }, h("label", {}, t("memory.state"), text), h("h3", {}, t("memory.facts")), h("table", { class: "editing" }, rows),
      h("button", { type: "button", class: "plain", onclick: () => add().querySelector("input").focus() }, t("memory.add")),
      h("footer", {}, h("button", { type: "button", onclick: () => this.load() }, t("app.cancel")), h("button", { class: "primary" }, t("app.save")))));
    text.focus();
  }

  async #put(body, done) {
    try {
      await api.put(this.#path(), body);
      notice(done);
      this.load();
    } catch (problem) {
      failed(problem);
    }
  }

  async #forget() {
    if (await sure(t("memory.forget_sure"), t("memory.forget"))) this.#put({ memory: "", entities: [] }, t("memory.saved"));
  }

  #version(version, now) {
    const compared = h("p", { class: "diff", hidden: true });
    const compare = () => {
      compared.hidden = !compared.hidden;
      put(compared, difference(version.memory, now.memory));
    };
    return h("li", {}, h("b", {}, t("memory.version", { version: number(version.version) })),
      h("small", {}, t("memory.by", { who: version.written_by || "–", when: ago(version.written_at) })),
      h("div", { class: "actions" }, h("button", { type: "button", class: "plain", onclick: compare }, t("memory.compare")),
        h("button", { type: "button", class: "plain", onclick: () => this.#back(version.version) }, t("memory.back"))), compared);
  }

  async #back(version) {
    try {
      await api.post(this.#path("/roll-back"), { version });
      notice(t("memory.rolled", { version: number(version) }));
      this.load();
    } catch (problem) {
      failed(problem);
    }
  }
}

function facts(entities) {
  return h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, t("memory.key")), h("th", {}, t("memory.value")))),
    h("tbody", {}, entities.map(({ key, value }) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, value)))));
}

/** Words that are gone and words that are new, in order: the longest common row of words stays. */
export function difference(before, after) {
  const [old, now] = [before, after].map((text) => text.split(/(\s+)/).filter(Boolean));
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      lengths[i][j] = old[i] === now[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const parts = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) { parts.push(now[j]); i += 1; j += 1; }
    else if (j >= now.length || (i < old.length && lengths[i + 1][j] >= lengths[i][j + 1])) { parts.push(h("del", {}, old[i])); i += 1; }
    else { parts.push(h("ins", {}, now[j])); j += 1; }
  }
  return parts;
}

customElements.define("saem-memory", MemoryPanel);
