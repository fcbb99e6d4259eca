// A list of any length: only the rows in sight are there, so that ten thousand scroll like ten.
import { h } from "../dom.js";

const AROUND = 8;

/** A scrolling list of rows of one height; `row(item, place)` draws one, `more()` is called near the end. */
export function longList({ height, row, label, more = () => {} }) {
  const space = h("div", { class: "long-space", role: "presentation" });
  const frame = h("div", { class: "long-list", role: "list", "aria-label": label, tabindex: "0" }, space);
  let items = [];
  const drawn = new Map();

  function draw() {
    // To ask how tall the frame is makes the browser lay out the whole page at once.
    if (!items.length) { more(); return; }
    const first = Math.max(0, Math.floor(frame.scrollTop / height) - AROUND);
    const last = Math.min(items.length, Math.ceil((frame.scrollTop + (frame.clientHeight || 600)) / height) + AROUND);
    for (const [place, element] of drawn) {
      if (place < first || place >= last) { element.remove(); drawn.delete(place); }
    }
    for (let place = first; place < last; place += 1) {
      if (drawn.has(place)) continue;
      const element = h("div", { class: "long-row", role: "listitem", "aria-setsize": items.length, "aria-posinset": place + 1 }, row(items[place], place));
      element.style.transform = `translateY(${place * height}px)`;
      element.style.height = `${height}px`;
      const next = [...drawn.keys()].filter((other) => other > place).sort((a, b) => a - b)[0];
      space.insertBefore(element, next === undefined ? null : drawn.get(next));
      drawn.set(place, element);
    }
    if (last >= items.length - AROUND) more();
  }

  let waiting = false;
  frame.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  });
  new ResizeObserver(draw).observe(frame);

  return {
    element: frame,
    show(now) {
      items = now;
      for (const element of drawn.values()) element.remove();
      drawn.clear();
      space.style.height = `${items.length * height}px`;
      draw();
    },
  };
}
