// Settings: who you are, language and look, what is there and what is missing, keys, and who changed what.
import * as api from "../api.js";
import { h, icon, iconButton, set as put } from "../dom.js";
import { Part, get, set } from "../store.js";
import { choose, heard, language, moment, said, t } from "../words.js";
import { copy, dialog, failed, shown, sure } from "../parts/dialogs.js";

const SCOPES = ["read", "write", "admin"];

class Settings extends Part {
  draw() {
    this.doctor = h("div");
    this.keys = h("div");
    this.audit = h("div");
    put(this, h("div", { class: "room" }, h("header", { class: "room-head" }, h("h1", {}, t("settings.title"))),
      h("div", { class: "room-body narrow" }, you(), look(),
        h("section", {}, h("h2", {}, t("settings.doctor")), this.doctor),
        h("section", {}, h("h2", {}, t("settings.keys")), this.keys),
        h("section", {}, h("h2", {}, t("settings.audit")), this.audit))));
    shown(this.doctor, api.get("/api/doctor"), ({ findings }) => h("ul", { class: "findings" }, findings.map(({ what, well, says }) =>
      h("li", { class: well ? "well" : "look" }, icon(well ? "check" : "how"), h("div", {}, h("b", {}, heard(what)), h("p", {}, heard(says)))))));
    this.#keys();
    shown(this.audit, api.get("/api/audit"), ({ entries }) => (entries.length ? h("div", { class: "wide", tabindex: "0" }, h("table", { class: "log" },
      h("tbody", {}, entries.map((entry) => h("tr", {}, h("td", {}, moment(entry.at)), h("td", {}, entry.principal), h("td", {}, entry.action), h("td", {}, entry.object)))))) : h("p", { class: "quiet" }, t("app.none"))));
  }

  #keys() {
    shown(this.keys, api.get("/api/keys"), ({ keys }) => [
      keys.length ? h("ul", { class: "plain-list keys" }, keys.map((key) => this.#key(key))) : h("p", { class: "quiet" }, t("settings.keys_none")),
      iconButton("key", t("settings.key_new"), () => this.#make(keys.length === 0), { text: true, class: "button" })]);
  }

  #key(key) {
    const revoke = async () => {
      if (!(await sure(t("settings.key_revoke_sure", { prefix: key.prefix, label: key.label || "–" }), t("settings.key_revoke")))) return;
      await api.remove(`/api/keys/${api.id(key.prefix)}`).catch(failed);
      this.#keys();
    };
    return h("li", {}, h("code", {}, key.prefix), h("b", {}, key.label || "–"), key.scopes.map((scope) => h("span", { class: "badge" }, scope)),
      h("small", {}, moment(key.created_at), key.expires_at ? ` · ${t("settings.key_expires", { when: moment(key.expires_at) })}` : null),
      key.revoked_at ? h("span", { class: "badge bad" }, t("settings.key_revoked")) : h("button", { type: "button", class: "plain danger", onclick: revoke }, t("settings.key_revoke")));
  }

  /** Makes a key and shows it this once. With the first one, this page has to show a key too. */
  async #make(is_first) {
    const minted = await dialog(t("settings.key_new"), (close) => {
      const label = h("input", { maxlength: "100", required: true, autofocus: true });
      const scopes = SCOPES.map((scope) => h("input", { type: "checkbox", name: "scope", value: scope, checked: is_first ? scope === "admin" : scope === "read" }));
      const days = h("input", { type: "number", min: "1", step: "1" });
      const trouble = h("p", { class: "trouble", role: "alert", hidden: true });
      const make = async (event) => {
        event.preventDefault();
        const chosen = scopes.filter((scope) => scope.checked).map((scope) => scope.value);
        try {
          close(await api.post("/api/keys", { label: label.value, scopes: chosen, ...(days.value ? { days: Number(days.value) } : {}) }));
        } catch (problem) {
          trouble.textContent = said(problem);
          trouble.hidden = false;
        }
      };
      return h("form", { onsubmit: make }, h("label", {}, t("settings.key_label"), label),
        h("fieldset", {}, h("legend", {}, t("settings.key_scopes")), scopes.map((scope) => h("label", { class: "check" }, scope, t(`scope.${scope.value}`)))),
        h("label", {}, t("settings.key_days"), days), trouble,
        h("footer", {}, h("button", { type: "button", onclick: () => close() }, t("app.cancel")), h("button", { class: "primary" }, t("settings.key_make"))));
    });
    if (!minted) return;
    await dialog(t("settings.keys"), (close) => [
      h("p", {}, t("settings.key_shown")), is_first ? h("p", { class: "trouble" }, t("settings.key_lockout")) : null,
      h("pre", { class: "secret", tabindex: "0" }, minted.secret),
      h("footer", {}, h("button", { type: "button", onclick: () => copy(minted.secret) }, t("app.copy")), h("button", { type: "button", class: "primary", onclick: () => close() }, t("app.close")))]);
    if (is_first) set("me", await api.get("/api/me").catch(() => null));
    else this.#keys();
  }
}

function you() {
  const me = get("me");
  const row = (name, value) => h("div", {}, h("dt", {}, t(name)), h("dd", {}, value));
  const leave = async () => { await api.post("/api/logout").catch(() => null); set("sessions", []); set("me", null); };
  return h("section", {}, h("h2", {}, t("settings.you")), h("dl", { class: "about" }, row("settings.name", me.name), row("settings.tenant", me.tenant),
    row("settings.scopes", me.scopes.map((scope) => h("span", { class: "badge" }, scope))), row("settings.version", me.version)),
    me.csrf ? h("p", {}, iconButton("leave", t("app.sign_out"), leave, { text: true, class: "button" })) : null);
}

function look() {
  const languages = h("select", { onchange: async () => { await choose(languages.value); set("language", languages.value); } }, h("option", { value: "ko", selected: language() === "ko", lang: "ko" }, "한국어"), h("option", { value: "en", selected: language() === "en", lang: "en" }, "English"));
  const now = document.documentElement.dataset.theme ?? "";
  const themes = h("select", { onchange: () => set("theme", themes.value || null) },
    [["", "settings.system"], ["light", "app.light"], ["dark", "app.dark"]].map(([value, name]) => h("option", { value, selected: value === now }, t(name))));
  return h("section", {}, h("h2", {}, t("settings.look")), h("div", { class: "pair" }, h("label", {}, t("settings.language"), languages), h("label", {}, t("settings.theme"), themes)));
}

customElements.define("saem-settings", Settings);
