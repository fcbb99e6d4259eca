// The page's shell: who is there, which room is open, the language and the look.
import * as api from "./api.js";
import { h, icon, iconButton, set as put } from "./dom.js";
import { Part, get, kept, on, set } from "./store.js";
import { choose, language, t } from "./words.js";
import { watchApprovals } from "./parts/approvals.js";
import "./rooms/chat.js";

const ROOMS = ["chat", "documents", "research", "tools", "agents", "activity", "settings"];

/** The room and what is open in it, from the address. */
export function place() {
  const [room, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return { room: ROOMS.includes(room) ? room : "chat", rest: rest.map(decodeURIComponent) };
}

class App extends Part {
  #room = null;

  async draw() {
    const moved = () => this.#show();
    window.addEventListener("hashchange", moved);
    this.atEnd(() => window.removeEventListener("hashchange", moved));
    this.follow("me", (me) => (me ? this.#frame() : this.#signIn()));
    this.follow("language", () => this.#frame());
    this.atEnd(watchApprovals());
    await this.#arrive();
  }

  /** Asks who we are; on loopback without keys, the owner. */
  async #arrive() {
    try {
      set("me", await api.get("/api/me"));
      if (new URLSearchParams(location.search).has("state")) await this.#returned();
    } catch (problem) {
      if (problem.status === 401) { this.#signIn(); return; }
      put(this, h("main", { class: "alone" }, h("h1", {}, "Saem"), h("p", { role: "alert" }, t("problem.unreachable")),
        h("button", { type: "button", class: "primary", onclick: () => location.reload() }, t("app.reload"))));
    }
  }

  /** A login at a server of tools may have ended here. */
  async #returned() {
    const { returned } = await import("./parts/tool_login.js");
    if (await returned()) this.#show();
  }

  async #signIn() {
    this.#room = null;
    // What somebody saw who may not any more goes at once.
    put(this);
    if (!(await this.#fetched("login", this)) || get("me")) return;
    put(this, document.createElement("saem-login"));
  }

  #frame() {
    if (!get("me")) return this.#signIn();
    const link = (room) =>
      h("a", { href: `#/${room}`, "data-room": room }, icon(room), h("span", {}, t(`room.${room}`)));
    const focusMain = () => this.querySelector("main").focus();
    put(this,
      h("button", { type: "button", class: "skip", onclick: focusMain }, t("app.skip")),
      h("nav", { class: "rail", "aria-label": t("app.rooms") },
        h("a", { class: "mark", href: "#/chat", "aria-label": "Saem" }, mark()),
        ROOMS.map(link),
        h("span", { class: "space" }),
        h("button", { type: "button", class: "icon-button language", lang: language() === "ko" ? "en" : "ko", title: t("app.language"),
          "aria-label": t("app.language"), onclick: switchLanguage }, language() === "ko" ? "EN" : "한"),
        iconButton(isDark() ? "sun" : "moon", isDark() ? t("app.light") : t("app.dark"), () => { switchTheme(); this.#frame(); }, { class: "icon-button theme" }),
        get("me").csrf ? iconButton("leave", t("app.sign_out"), signOut) : null),
      h("main", { id: "main", tabindex: "-1" }));
    this.#room = null;
    this.#show();
    return undefined;
  }

  async #show() {
    const main = this.querySelector("main#main");
    if (!main) return;
    const { room, rest } = place();
    for (const link of this.querySelectorAll("nav a[data-room]")) {
      if (link.dataset.room === room) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${t(`room.${room}`)} · Saem`;
    if (!customElements.get(`saem-${room}`)) {
      // Meanwhile somebody may have gone elsewhere.
      if (await this.#fetched(room, main)) this.#show();
      return;
    }
    if (this.#room?.localName !== `saem-${room}`) {
      this.#room = document.createElement(`saem-${room}`);
      put(main, this.#room);
    }
    await this.#room.open?.(rest);
    firstRoomIsThere();
  }

  /** The other rooms come when they are first opened. Says whether this one did. */
  async #fetched(room, main) {
    try {
      await import(`./rooms/${room}.js`);
      return true;
    } catch {
      put(main, h("div", { class: "alone" }, h("p", { role: "alert" }, t("problem.unreachable")), h("button", { type: "button", class: "primary", onclick: () => location.reload() }, t("app.reload"))));
      return false;
    }
  }
}

/** Tells whoever measures that the first room is drawn and on the screen. */
function firstRoomIsThere() {
  if (performance.getEntriesByName("usable").length) return;
  requestAnimationFrame(() => setTimeout(() => performance.mark("usable")));
}

function mark() {
  const drop = icon("chat");
  drop.setAttribute("class", "drop");
  drop.firstChild.setAttribute("d", "M12 3c4 4.900 6 8.200 6 11a6 6 0 0 1-12 0c0-2.800 2-6.100 6-11z");
  return drop;
}

async function switchLanguage() {
  await choose(language() === "ko" ? "en" : "ko");
  set("language", language());
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  kept.set("theme", theme);
}

async function signOut() {
  await api.post("/api/logout").catch(() => null);
  set("sessions", []);
  set("me", null);
}

on("theme", (theme) => {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  kept.set("theme", theme ?? "");
});

customElements.define("saem-app", App);
