// Where a question is written: it grows with the text, `/` offers prompts, `@` names a document or attaches a resource.
import * as api from "../api.js";
import { h, icon, iconButton, set as put } from "../dom.js";
import { get, set } from "../store.js";
import { t } from "../words.js";
import { dialog, failed } from "./dialogs.js";

const OFFERED = 8;

export class Composer {
  #busy = false;
  #choices = [];
  #chosen = 0;
  /** Resources that go with the question. */
  #attached = [];

  constructor({ send, stop }) {
    this.field = h("textarea", { rows: "1", placeholder: t("chat.placeholder"), "aria-label": t("chat.ask"), value: get("draft"),
      "aria-describedby": "composer-keys", "aria-autocomplete": "list", "aria-controls": "composer-offers" });
    this.button = h("button", { type: "submit", class: "primary send" });
    this.offers = h("ul", { id: "composer-offers", class: "offers", role: "listbox", hidden: true, "aria-label": t("chat.prompts") });
    this.chips = h("ul", { class: "chips", hidden: true, "aria-label": t("chat.attached") });
    this.element = h("form", { class: "composer" }, this.offers, this.chips, h("div", { class: "composer-box" }, this.field, this.button),
      h("p", { id: "composer-keys", class: "keys" }, t("chat.keys")));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#busy) stop();
      else this.#send(send);
    });
    this.field.addEventListener("input", () => { set("draft", this.field.value); this.#grow(); this.#offer(); });
    this.field.addEventListener("keydown", (event) => this.#key(event, send, stop));
    this.setBusy(false);
  }

  setBusy(busy) {
    this.#busy = busy;
    put(this.button, icon(busy ? "stop" : "send"), h("span", { class: "spoken" }, busy ? t("chat.stop") : t("chat.send")));
    this.button.title = busy ? t("chat.stop") : t("chat.send");
    this.button.classList.toggle("stop", busy);
  }

  #send(send) {
    const question = this.field.value.trim();
    if (!question || this.#busy) return;
    this.field.value = "";
    set("draft", "");
    this.#grow();
    this.#hide();
    const attach = this.#attached.map(({ server, uri }) => ({ server, uri }));
    this.#attach([]);
    send(question, attach);
  }

  #attach(now) {
    this.#attached = now;
    this.chips.hidden = now.length === 0;
    put(this.chips, now.map((one) => h("li", { class: "badge" }, one.name,
      iconButton("close", t("chat.detach", { name: one.name }), () => { this.#attach(this.#attached.filter((other) => other !== one)); this.field.focus(); }, { class: "icon-button small" }))));
  }

  #grow() {
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight, 240)}px`;
  }

  #key(event, send, stop) {
    if (event.isComposing) return;
    if (!this.offers.hidden && this.#choices.length) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        const step = event.key === "ArrowDown" ? 1 : this.#choices.length - 1;
        this.#choose((this.#chosen + step) % this.#choices.length);
        return;
      }
      if (event.key === "Enter" || event.key === "Tab") {
        event.preventDefault();
        this.#choices[this.#chosen].take();
        return;
      }
    }
    if (event.key === "Escape") {
      if (!this.offers.hidden) this.#hide();
      else if (this.#busy) stop();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.#send(send);
    }
  }

  /** Looks at the word before the cursor: a prompt, a document, or nothing. */
  async #offer() {
    const before = this.field.value.slice(0, this.field.selectionStart);
    const prompt = /^\/(\S*)$/.exec(before);
    const document = /(^|\s)@(\S*)$/.exec(before);
    if (!prompt && !document) { this.#hide(); return; }
    const asked = this.field.value;
    const found = prompt ? await prompts(prompt[1]) : (await Promise.all([resources(document[2]), documents(document[2])])).flat();
    if (this.field.value !== asked) return;
    this.#choices = found.slice(0, OFFERED).map((choice) => ({
      ...choice,
      take: async () => {
        this.#hide();
        const text = choice.resource ? "" : await choice.text();
        if (text === null) return;
        if (choice.resource) this.#attach([...this.#attached, choice.resource]);
        const start = prompt ? 0 : before.length - document[2].length - 1;
        this.field.setRangeText(text, start, before.length, "end");
        set("draft", this.field.value);
        this.#grow();
        this.field.focus();
      },
    }));
    const rows = this.#choices.map((choice, place) =>
      h("li", { role: "option", id: `offer-${place}`, onmousedown: (event) => { event.preventDefault(); choice.take(); } }, h("b", {}, choice.name), h("small", {}, choice.about)));
    put(this.offers, rows.length ? rows : h("li", { class: "quiet", role: "option", "aria-disabled": "true" }, t("chat.nothing_to_attach")));
    this.offers.hidden = false;
    this.#choose(0);
  }

  #choose(place) {
    this.#chosen = place;
    [...this.offers.children].forEach((row, other) => row.setAttribute("aria-selected", String(other === place)));
    if (this.#choices.length) this.field.setAttribute("aria-activedescendant", `offer-${place}`);
  }

  #hide() {
    this.offers.hidden = true;
    this.#choices = [];
    this.field.removeAttribute("aria-activedescendant");
  }
}

/** The prompts of all servers that are on. */
async function prompts(words) {
  const { servers } = await api.get("/api/tool-servers").catch(() => ({ servers: [] }));
  const offered = await Promise.all(servers.filter((server) => server.state !== "off").map(async (server) => {
    const { prompts } = await api.get(`/api/tool-servers/${api.id(server.id)}/offers`).catch(() => ({ prompts: [] }));
    return prompts.map((prompt) => ({ name: `/${prompt.name}`, about: `${server.name} · ${prompt.description}`, text: () => filled(server, prompt) }));
  }));
  return offered.flat().filter((prompt) => prompt.name.toLowerCase().includes(words.toLowerCase()));
}

/** A prompt's text, once its arguments are given. */
async function filled(server, prompt) {
  let values = {};
  if (prompt.arguments.length) {
    values = await dialog(`/${prompt.name}`, (close) => {
      const fields = prompt.arguments.map((argument) => ({ name: argument.replace(/\*$/, ""), field: h("input", { required: argument.endsWith("*") }) }));
      const send = (event) => {
        event.preventDefault();
        close(Object.fromEntries(fields.map(({ name, field }) => [name, field.value]).filter(([, value]) => value)));
      };
      return h("form", { onsubmit: send }, fields.map(({ name, field }) => h("label", {}, name, field)), h("footer", {}, h("button", { class: "primary" }, t("approval.send"))));
    });
    if (!values) return null;
  }
  try {
    const { messages } = await api.post(`/api/tool-servers/${api.id(server.id)}/prompt`, { name: prompt.name, arguments: values });
    return messages.map((message) => message.text).join("\n\n");
  } catch (problem) {
    failed(problem);
    return null;
  }
}

/** Resources of all servers that are on, by their titles. */
async function resources(words) {
  const { servers } = await api.get("/api/tool-servers").catch(() => ({ servers: [] }));
  const offered = await Promise.all(servers.filter((server) => server.state !== "off").map(async (server) => {
    const { resources: all } = await api.get(`/api/tool-servers/${api.id(server.id)}/offers`).catch(() => ({ resources: [] }));
    return all.map(({ uri, title, description }) => {
      const name = title || uri;
      return { name, about: `${server.name} · ${description || uri}`, resource: { server: server.id, uri, name } };
    });
  }));
  return offered.flat().filter((resource) => resource.name.toLowerCase().includes(words.toLowerCase()));
}

/** Documents whose title has these words. */
async function documents(words) {
  const { documents: all } = await api.get("/api/documents", { limit: 1000 }).catch(() => ({ documents: [] }));
  const fits = all.filter((document) => document.title.toLowerCase().includes(words.toLowerCase()));
  return fits.map((document) => ({ name: document.title, about: `${document.collection} · ${document.source}`, text: async () => `“${document.title}” ` }));
}
