// The card of a citation: where the passage stands, its words, those of the question marked, and the way to it.
import { h, iconButton, marked } from "../dom.js";
import { t } from "../words.js";

/** How long the pointer may be on its way from the number to the card. */
const LEAVE_MILLISECONDS = 250;

let open = null;

/** Shows the card beside `anchor`; a press moves the focus into it. */
export function cardFor(anchor, citation, question, { focus }) {
  if (open?.anchor === anchor) {
    if (focus) open.card.querySelector("a, button").focus();
    return;
  }
  close();
  const words = question.split(/[\s,.?!;:()"'“”‘’]+/).map((word) => (/[가-힣]/.test(word) ? word.slice(0, Math.max(2, word.length - 1)) : word));
  const is_web = /^https?:\/\//i.test(citation.source);
  const card = h("div", { class: "card cite-card", role: "dialog", "aria-label": citation.title },
    h("header", {}, h("b", {}, citation.title), iconButton("close", t("app.close"), () => { close(); anchor.focus({ preventScroll: true }); close(); }, { class: "icon-button small" })),
    citation.heading_path.length ? h("p", { class: "path" }, citation.heading_path.join(" › ")) : null,
    h("blockquote", { tabindex: "0" }, marked(citation.text, words.filter((word) => word.length > 1))),
    h("footer", {}, !citation.document ? null : h("a", { href: `#/documents/${encodeURIComponent(citation.document)}/${encodeURIComponent(citation.section)}` }, t("chat.open")),
      is_web ? h("a", { href: citation.source, target: "_blank", rel: "noopener noreferrer nofollow" }, t("chat.open_link")) : null));
  document.body.append(card);
  settle(card, anchor);
  open = { card, anchor, timer: null };
  anchor.setAttribute("aria-expanded", "true");
  for (const element of [card, anchor]) {
    element.addEventListener("mouseleave", leave);
    element.addEventListener("mouseenter", stay);
  }
  card.addEventListener("click", (event) => { if (event.target.closest("a")) close(); });
  if (focus) card.querySelector("button").focus();
}

function settle(card, anchor) {
  const at = anchor.getBoundingClientRect();
  const width = Math.min(420, innerWidth - 24);
  card.style.width = `${width}px`;
  card.style.left = `${Math.max(12, Math.min(at.left, innerWidth - width - 12))}px`;
  const tall = card.getBoundingClientRect().height;
  const below = at.bottom + 8 + tall < innerHeight;
  card.style.top = `${below ? at.bottom + 8 : Math.max(12, at.top - tall - 8)}px`;
}

function stay() {
  clearTimeout(open?.timer);
}

function leave() {
  if (!open) return;
  clearTimeout(open.timer);
  open.timer = setTimeout(() => { if (open && !open.card.contains(document.activeElement)) close(); }, LEAVE_MILLISECONDS);
}

function close() {
  if (!open) return;
  clearTimeout(open.timer);
  for (const type of ["mouseleave", "mouseenter"]) open.anchor.removeEventListener(type, type === "mouseleave" ? leave : stay);
  open.anchor.removeAttribute("aria-expanded");
  open.card.remove();
  open = null;
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !open) return;
  const { anchor, card } = open;
  const inside = card.contains(document.activeElement);
  close();
  if (inside) { anchor.focus(); close(); }
});
document.addEventListener("focusin", (event) => {
  if (open && !open.card.contains(event.target) && event.target !== open.anchor) close();
});
document.addEventListener("pointerdown", (event) => {
  if (open && !open.card.contains(event.target) && event.target !== open.anchor) close();
});
document.addEventListener("scroll", (event) => { if (open && !open.card.contains(event.target)) close(); }, true);
