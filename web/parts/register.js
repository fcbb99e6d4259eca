// Registering an agent: by its address, or by its card; with who may see it.
import * as api from "../api.js";
import { h, set as put } from "../dom.js";
import { named, said, t } from "../words.js";
import { dialog, notice } from "./dialogs.js";

const TIERS = ["authenticated", "public", "private"];

export async function register(done) {
  const registered = await dialog(t("agents.register"), (close) => {
    const url = h("input", { type: "url", placeholder: "https://agents.example.com", autofocus: true });
    const card = h("textarea", { rows: "6", class: "code", spellcheck: "false" });
    const tier = h("select", {}, TIERS.map((name) => h("option", { value: name }, t(`tier.${name}`))));
    const trouble = h("p", { class: "trouble", role: "alert", hidden: true });
    const button = h("button", { class: "primary" }, t("agents.register_go"));
    const wrong = (words) => { put(trouble, words); trouble.hidden = false; button.disabled = false; };
    const go = async (event) => {
      event.preventDefault();
      let read;
      if (card.value.trim()) {
        try { read = { card: JSON.parse(card.value) }; } catch { wrong(t("agents.not_json")); return; }
      } else read = { url: url.value.trim() };
      if (read.card === undefined && !read.url) { wrong(t("agents.url_or_card")); return; }
      button.disabled = true;
      try {
        close(await api.post("/registry/agents", { ...read, disclosure: { agent: tier.value } }));
      } catch (problem) {
        wrong(said(problem));
      }
    };
    return h("form", { onsubmit: go, novalidate: true }, h("label", {}, t("agents.url"), url), h("label", {}, t("agents.or_card"), card),
      h("label", {}, t("agents.tier"), tier), trouble,
      h("footer", {}, h("button", { type: "button", onclick: () => close() }, t("app.cancel")), button));
  });
  if (!registered) return;
  notice(t(registered.is_new ? "agents.registered" : "agents.registered_again", { standing: named("agent_standing", registered.standing) }));
  if (registered.advice.length) await dialog(t("agents.advice"), () => h("ul", {}, registered.advice.map((one) => h("li", {}, one))));
  done();
}
