// Logging in at a server of tools: its page opens in another tab, which comes back here with what the server wants to see.
import * as api from "../api.js";
import { h } from "../dom.js";
import { kept } from "../store.js";
import { t } from "../words.js";
import { dialog, failed, notice } from "./dialogs.js";

/** Under which name the browser keeps which server the person is logging in at; empty again when that is over. */
const PENDING = "tool_login";

export async function logIn(server) {
  try {
    const { page } = await api.post(`/api/tool-servers/${api.id(server.id)}/login`, { redirect: `${location.origin}/` });
    if (!page) { notice(t("tools.logged_in", { name: server.name })); return; }
    kept.set(PENDING, server.id);
    const address = new URL(page);
    await dialog(t("tools.login"), (close) => [h("p", {}, t("tools.login_page", { name: server.name })), h("p", {}, h("code", {}, address.host)),
      h("footer", {}, h("button", { type: "button", onclick: () => close() }, t("app.cancel")),
        /^https?:$/.test(address.protocol) ? h("a", { class: "button primary", href: address.href, target: "_blank", rel: "noopener noreferrer", onclick: () => close() }, t("tools.login_open")) : null)]);
  } catch (problem) {
    failed(problem);
  }
}

export async function logOut(server) {
  try {
    const { logged_out } = await api.remove(`/api/tool-servers/${api.id(server.id)}/login`);
    notice(t(logged_out ? "tools.logged_out" : "tools.no_login", { name: server.name }));
  } catch (problem) {
    failed(problem);
  }
}

/** Calls back when a login that was begun here has ended in another tab; what it gives ends that. */
export function onLoggedIn(listener) {
  const changed = (event) => { if (kept.isOf(event, PENDING) && !event.newValue) listener(); };
  window.addEventListener("storage", changed);
  return () => window.removeEventListener("storage", changed);
}

/** Ends a login whose browser has come back here; says whether this was one. */
export async function returned() {
  const said = new URLSearchParams(location.search);
  const server = kept.get(PENDING);
  if (!server || !said.has("state") || !(said.has("code") || said.has("error"))) return false;
  const address = location.href.split("#")[0];
  // What came back opens a door: it stays neither in the address nor in the history.
  history.replaceState(null, "", "/#/tools");
  try {
    const { logged_in } = await api.post(`/api/tool-servers/${api.id(server)}/login/finish`, { returned: address });
    // It is there from now on, so that the room shows what it has.
    if (logged_in) await api.get("/api/tools", { server });
    notice(t(logged_in ? "tools.logged_in" : "tools.no_login", { name: server }));
  } catch (problem) {
    failed(problem);
  } finally {
    kept.set(PENDING, "");
  }
  return true;
}
