// Dialogs and short notices: a question with a yes, a text to give, a drawer at the side, a word that goes by itself.
import { Problem } from "../api.js";
import { h, iconButton, set as put } from "../dom.js";
import { said, t } from "../words.js";

const NOTICE_MILLISECONDS = 6000;

/** A dialog with a title and a way out. `content(close)` gives what is in it. Resolves with what it was closed with. A drawer belongs to what is behind it: it goes with it. */
export function dialog(title, content, { drawer = false } = {}) {
  return new Promise((resolve) => {
    let answer = null;
    const close = (value = null) => { answer = value; box.close(); };
    const box = h("dialog", { class: drawer ? "drawer" : "box", "aria-label": title },
      h("header", {}, h("h2", {}, title), iconButton("close", t("app.close"), () => close())));
    box.append(h("div", { class: "body" }, content(close)));
    box.addEventListener("click", (event) => { if (event.target === box) close(); });
    const left = () => close();
    if (drawer) window.addEventListener("hashchange", left);
    box.addEventListener("close", () => { window.removeEventListener("hashchange", left); box.remove(); resolve(answer); });
    document.body.append(box);
    box.showModal();
  });
}

/** Asks for a yes. */
export function sure(question, yes = t("app.delete")) {
  return dialog(yes, (close) => [
    h("p", {}, question),
    h("footer", {}, h("button", { type: "button", onclick: () => close(false) }, t("app.cancel")),
      h("button", { type: "button", class: "danger", onclick: () => close(true) }, yes)),
  ]);
}

/** Asks for a line of text. */
export function line(title, label, value) {
  return dialog(title, (close) => {
    const field = h("input", { value, maxlength: "200", required: true, autofocus: true });
    const form = h("form", { onsubmit: (event) => { event.preventDefault(); close(field.value.trim()); } },
      h("label", {}, label, field),
      h("footer", {}, h("button", { type: "button", onclick: () => close() }, t("app.cancel")),
        h("button", { class: "primary" }, t("app.save"))));
    return form;
  });
}

function tray() {
  const there = document.querySelector(".notices");
  if (there) return there;
  const made = h("div", { class: "notices", role: "status", "aria-live": "polite" });
  document.body.append(made);
  return made;
}

/** Says something that goes by itself. */
export function notice(text, kind = "good") {
  const shown = h("p", { class: `notice ${kind}` }, text);
  tray().append(shown);
  setTimeout(() => shown.remove(), NOTICE_MILLISECONDS);
}

/** A module that comes when it is first needed; none, and that is said, when it does not. */
export async function fetched(module) {
  try {
    return await module;
  } catch {
    failed(new Problem({}));
    return null;
  }
}

/** Says what went wrong. */
export function failed(problem) {
  if (problem?.name === "AbortError") return;
  if (problem?.status === 401) return;
  notice(said(problem), "bad");
}

/** What each element is to show: answers may come in another order than they were asked for. */
const wanted = new WeakMap();

/** Fills an element with what a promise gives, or with why it does not, unless it is to show something else by then. */
export async function shown(element, promise, draw) {
  wanted.set(element, promise);
  const isWanted = () => wanted.get(element) === promise;
  put(element, h("p", { class: "quiet" }, t("app.loading")));
  try {
    const given = await promise;
    if (isWanted()) put(element, draw(given));
  } catch (problem) {
    if (!isWanted()) return;
    const words = problem.status === 403 ? t("settings.forbidden") : said(problem);
    put(element, h("p", { class: problem.status === 403 ? "quiet" : "trouble", role: "alert" }, words));
  }
}

/** Copies text, and says so. */
export async function copy(text) {
  await navigator.clipboard.writeText(text);
  notice(t("app.copied"));
}

/** Lets a person keep a text as a file. */
export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(address);
}
