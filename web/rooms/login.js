// Signing in: a key is shown once and becomes a cookie that scripts cannot read.
import * as api from "../api.js";
import { h, set as put } from "../dom.js";
import { Part, set } from "../store.js";
import { choose, language, said, t } from "../words.js";

class Login extends Part {
  draw() {
    const key = h("input", { type: "password", name: "key", autocomplete: "current-password", required: true, autofocus: true, spellcheck: "false" });
    const trouble = h("p", { class: "trouble", role: "alert", hidden: true });
    const go = async (event) => {
      event.preventDefault();
      trouble.hidden = true;
      try {
        set("me", await api.post("/api/login", { key: key.value }));
      } catch (problem) {
        trouble.textContent = said(problem);
        trouble.hidden = false;
        key.focus();
      }
    };
    const other = async () => { await choose(language() === "ko" ? "en" : "ko"); this.draw(); };
    put(this, h("main", { class: "alone" },
      h("h1", {}, "Saem"),
      h("form", { class: "card", onsubmit: go },
        h("h2", {}, t("login.title")),
        h("p", {}, t("login.why")),
        h("label", {}, t("login.key"), key),
        trouble,
        h("button", { class: "primary" }, t("login.go")),
        h("p", { class: "quiet" }, t("login.hint"))),
      h("button", { type: "button", class: "plain", lang: language() === "ko" ? "en" : "ko", onclick: other }, language() === "ko" ? "English" : "한국어")));
    key.focus();
  }
}

customElements.define("saem-login", Login);
