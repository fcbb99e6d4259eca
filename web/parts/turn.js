// One turn: the question, what Saem is doing, the answer as it grows, its sources, and what can be done with it.
import { h, icon, iconButton, set as put } from "../dom.js";
import { show } from "../rich.js";
import { moment, money, named, number, said, seconds, t } from "../words.js";
import { cardFor } from "./citation.js";
import { copy, fetched } from "./dialogs.js";

export class TurnView {
  #turn;
  #ask;

  constructor(turn, { ask }) {
    this.#turn = turn;
    this.#ask = ask;
    this.question = h("div", { class: "question" });
    this.now = h("p", { class: "doing", role: "status" });
    this.rich = h("div", { class: "rich" });
    this.rest = h("div", { class: "rest" });
    this.element = h("article", { class: "turn" }, this.question,
      h("div", { class: "answer" }, h("h2", { class: "spoken" }, t("chat.answer")), this.now, this.rich, this.rest));
    this.#drawQuestion();
    this.rich.addEventListener("click", (event) => this.#cite(event));
    this.rich.addEventListener("mouseover", (event) => this.#cite(event));
    this.rich.addEventListener("focusin", (event) => this.#cite(event));
    if (turn.id) this.done(turn);
    else if (turn.number) this.#said(turn);
    else this.doing({ doing: "thinking" });
  }

  #drawQuestion() {
    put(this.question, h("h2", { class: "spoken" }, t("chat.you")), h("p", { class: "asked" }, this.#turn.question),
      iconButton("edit", t("chat.edit"), () => this.#edit(), { class: "icon-button small" }));
  }

  /** The question again, to be changed and asked anew. */
  #edit() {
    const field = h("textarea", { rows: "3", "aria-label": t("chat.edit"), value: this.#turn.question });
    const send = (event) => {
      event?.preventDefault();
      const question = field.value.trim();
      this.#drawQuestion();
      if (question) this.#ask(question);
    };
    field.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") { this.#drawQuestion(); this.question.querySelector("button").focus(); }
      if (event.key === "Enter" && !event.shiftKey) send(event);
    });
    put(this.question, h("form", { class: "editing", onsubmit: send }, field,
      h("footer", {}, h("button", { type: "button", onclick: () => this.#drawQuestion() }, t("app.cancel")), h("button", { class: "primary" }, t("chat.edit_send")))));
    field.focus();
  }

  doing(data) {
    const parts = { ...data, names: data.names?.join(", ") };
    put(this.now, h("span", { class: "pulse", "aria-hidden": "true" }), t(`doing.${data.doing}`, parts));
    this.now.hidden = false;
  }

  text({ html }) {
    if (html) show(this.rich, html);
    this.#nameCitations();
  }

  done(turn) {
    this.#turn = turn;
    this.now.hidden = true;
    show(this.rich, { keep: 0, blocks: turn.html ?? [] });
    this.#nameCitations();
    put(this.rest, this.#notes(), this.#menu(), this.#sources(), this.#actions());
  }

  /** A turn of which only the words are kept: its numbers lead nowhere any more. */
  #said(turn) {
    this.now.hidden = true;
    show(this.rich, { keep: 0, blocks: turn.html ?? [] });
    for (const mark of this.rich.querySelectorAll("button.cite")) mark.disabled = true;
    put(this.rest, h("footer", { class: "actions" }, iconButton("copy", t("chat.copy"), () => copy(turn.answer)),
      iconButton("retry", t("chat.retry"), () => this.#ask(turn.question)),
      h("span", { class: "facts" }, [moment(turn.at), turn.is_complete ? null : t("outcome.incomplete")].filter(Boolean).join(" · "))));
  }

  stopped() {
    this.now.hidden = true;
    put(this.rest, h("p", { class: "trouble" }, t("chat.stopped")), this.#again());
  }

  failed(problem) {
    this.now.hidden = true;
    put(this.rest, h("p", { class: "trouble", role: "alert" }, said(problem)), this.#again());
  }

  #again() {
    return h("div", { class: "actions" }, iconButton("retry", t("chat.retry"), () => this.#ask(this.#turn.question), { text: true }));
  }

  #notes() {
    const kinds = { partial: "warn", not_found: "warn", in_preparation: "warn", long: "bad", incomplete: "bad" };
    const kind = kinds[this.#turn.outcome];
    return kind ? h("p", {}, h("span", { class: `badge ${kind}` }, named("outcome", this.#turn.outcome))) : null;
  }

  /** Where else to look, when the documents do not say. */
  #menu() {
    if (!this.#turn.menu.length) return null;
    // A link that is only a path belongs to the product, whose address is not known here: it can be copied.
    const place = ({ title, link }) => (/^https?:\/\//i.test(link)
      ? h("a", { class: "button", href: link, target: "_blank", rel: "noopener noreferrer" }, icon("link"), h("span", {}, title))
      : h("button", { type: "button", title: link, onclick: () => copy(link) }, h("span", {}, title), h("small", {}, link)));
    return h("nav", { class: "menu-links", "aria-label": t("chat.places") }, this.#turn.menu.map(place));
  }

  #sources() {
    const { citations } = this.#turn;
    if (!citations.length) return null;
    const row = (citation) => {
      const button = h("button", { type: "button", class: "source" }, h("b", {}, number(citation.number)), h("span", {}, citation.title),
        citation.heading_path.length ? h("small", {}, citation.heading_path.at(-1)) : null);
      button.addEventListener("click", () => cardFor(button, citation, this.#turn.question, { focus: true }));
      return h("li", {}, button);
    };
    return h("section", { class: "sources", "aria-label": t("chat.sources") }, h("ol", {}, citations.map(row)));
  }

  #actions() {
    const turn = this.#turn;
    const tokens = turn.calls.reduce((sum, call) => sum + call.tokens_in + call.tokens_out, 0);
    const facts = [seconds(turn.took_milliseconds), tokens ? t("how.tokens", { used: number(tokens) }) : null, turn.calls.length && turn.cost !== null ? money(turn.cost) : null];
    return h("footer", { class: "actions" },
      iconButton("copy", t("chat.copy"), () => copy(turn.answer)),
      iconButton("retry", t("chat.retry"), () => this.#ask(turn.question)),
      h("button", { type: "button", class: "icon-button", onclick: () => this.#explain() }, icon("how"), h("span", {}, t("chat.how"))),
      h("span", { class: "facts" }, facts.filter(Boolean).join(" · ")));
  }

  /** Opens the drawer that says how this was answered, unless the person has gone elsewhere before it came. */
  async #explain() {
    const drawer = await fetched(import("./how.js"));
    if (this.element.isConnected) drawer?.how(this.#turn);
  }

  #nameCitations() {
    for (const mark of this.rich.querySelectorAll("button.cite")) {
      const citation = this.#citation(mark);
      mark.setAttribute("aria-label", t("chat.source", { number: mark.dataset.cite, title: citation?.title ?? "" }));
      mark.classList.toggle("waiting", !citation);
    }
  }

  #citation(mark) {
    return this.#turn.citations?.find((citation) => citation.number === Number(mark.dataset.cite));
  }

  #cite(event) {
    const mark = event.target.closest?.("button.cite");
    const citation = mark && this.#citation(mark);
    if (citation) cardFor(mark, citation, this.#turn.question, { focus: event.type === "click" });
  }
}

/** The place of a turn that is on its way, or that is not kept any more. */
export function missing(place, is_gone) {
  return h("article", { class: "turn missing" }, h("p", { class: "quiet" }, t(is_gone ? "chat.gone" : "chat.coming", { number: number(place) })));
}
