// A conversation of any length: only what is in sight is there, whatever height each piece has, and what is read stays where it is.
import { h } from "../dom.js";

/** Pixels beyond the frame that are drawn too, so that scrolling finds something there. */
const AROUND = 800;

/** Looks at the heights again at most so often: each look draws what the last one found missing. */
const LOOKS = 6;

/**
 * Pieces in a scrolling frame. `draw(item)` gives the element of one, `guess` is its height before anybody has seen it,
 * and `seen(first, last)` is told which places are in sight.
 */
export class LongTalk {
  #rows = [];
  #first = 0;
  #last = 0;
  #waiting = false;

  constructor(frame, { guess, draw, label, seen = () => {} }) {
    Object.assign(this, { frame, guess, draw, seen });
    this.before = h("div", { role: "presentation" });
    this.after = h("div", { role: "presentation" });
    this.element = h("div", { class: "long-talk", "aria-label": label, role: label ? "group" : null }, this.before, this.after);
    frame.addEventListener("scroll", () => this.#soon(), { passive: true });
    frame.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#soon()).observe(this.element);
    new ResizeObserver(() => this.#soon()).observe(frame);
  }

  get items() {
    return this.#rows.map((row) => row.item);
  }

  /** Shows these and nothing else. */
  show(items) {
    for (const row of this.#rows) row.element?.remove();
    this.#rows = items.map((item) => ({ item, height: this.guess, element: null }));
    [this.#first, this.#last] = [0, 0];
    this.place();
  }

  add(item) {
    this.#rows.push({ item, height: this.guess, element: null });
    this.place();
  }

  /** Puts another item where one was. */
  change(place, item) {
    const row = this.#rows[place];
    row.item = item;
    if (!row.element) return;
    const element = this.draw(item, place);
    row.element.replaceWith(element);
    row.element = element;
  }

  isNearEnd(pixels) {
    const { scrollHeight, scrollTop, clientHeight } = this.frame;
    return scrollHeight - scrollTop - clientHeight < pixels;
  }

  toEnd() {
    // What is drawn at the end is seldom as tall as was guessed, and then the end is elsewhere.
    for (let look = 0; look < LOOKS; look += 1) {
      this.frame.scrollTop = this.frame.scrollHeight;
      this.place();
    }
    this.frame.scrollTop = this.frame.scrollHeight;
  }

  toBeginning() {
    this.frame.scrollTop = 0;
    this.place();
  }

  /** The browser's own way to an end takes a moment, and is called off by what comes in meanwhile and is kept in its place. */
  #key(event) {
    const isTyped = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.defaultPrevented || isTyped || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    if (event.key === "End") this.toEnd();
    else this.toBeginning();
  }

  #soon() {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => { this.#waiting = false; if (this.element.isConnected) this.place(); });
  }

  /** Draws what is in sight, and takes out what is not. */
  place() {
    const held = this.#held();
    for (let look = 0; look < LOOKS; look += 1) {
      const [first, last] = this.#range();
      const same = first === this.#first && last === this.#last;
      this.#draw(first, last);
      const moved = this.#measure();
      const off = held?.element.isConnected ? held.element.getBoundingClientRect().top - held.top : 0;
      // Less than a pixel is nothing that moved, and scrolling for it would begin it all again.
      if (Math.abs(off) >= 1) this.frame.scrollTop += off;
      if (same && !moved) break;
    }
    this.seen(this.#first, this.#last);
  }

  /** The first piece that is in sight: it stays where it is. */
  #held() {
    const edge = this.frame.getBoundingClientRect().top;
    for (const { element } of this.#rows.slice(this.#first, this.#last)) {
      const box = element?.isConnected ? element.getBoundingClientRect() : null;
      if (box && box.bottom > edge) return { element, top: box.top };
    }
    return null;
  }

  #range() {
    const [from, to] = [this.frame.scrollTop - AROUND, this.frame.scrollTop + (this.frame.clientHeight || 600) + AROUND];
    let [first, top] = [0, 0];
    while (first < this.#rows.length && top + this.#rows[first].height < from) top += this.#rows[first++].height;
    let last = first;
    while (last < this.#rows.length && top < to) top += this.#rows[last++].height;
    return [first, last];
  }

  #draw(first, last) {
    for (let place = this.#first; place < this.#last; place += 1) {
      const row = this.#rows[place];
      if (row && (place < first || place >= last)) { row.element?.remove(); row.element = null; }
    }
    let next = this.after;
    for (let place = last - 1; place >= first; place -= 1) {
      const row = this.#rows[place];
      row.element ??= this.draw(row.item, place);
      if (row.element.nextSibling !== next) this.element.insertBefore(row.element, next);
      next = row.element;
    }
    [this.#first, this.#last] = [first, last];
  }

  /** Learns how tall what is drawn is; says whether anything is taller or smaller than was thought. */
  #measure() {
    let moved = false;
    for (const row of this.#rows.slice(this.#first, this.#last)) {
      const tall = row.element.offsetHeight + (parseFloat(getComputedStyle(row.element).marginBottom) || 0);
      if (tall > 0 && Math.abs(tall - row.height) > 0.5) { row.height = tall; moved = true; }
    }
    const sum = (rows) => rows.reduce((all, row) => all + row.height, 0);
    this.before.style.height = `${sum(this.#rows.slice(0, this.#first))}px`;
    this.after.style.height = `${sum(this.#rows.slice(this.#last))}px`;
    return moved;
  }
}
