// Builds elements. Text is always set as text, and letters that hide or turn others are left out.

const HIDDEN = /[\u00AD\u061C\u115F\u1160\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\u206A-\u206F\u3164\uFEFF\uFFA0]|\uDB40[\uDC00-\uDC7F]/g;
const SVG = "http://www.w3.org/2000/svg";

/** The text as the eye should see it. */
export function clean(text) {
  return String(text ?? "").replace(HIDDEN, "");
}

/** An element with attributes, listeners (`onclick: …`) and children. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An element of a drawing. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : clean(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : clean(child));
  }
  return element;
}

/** Replaces what an element holds. */
export function set(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

const PATHS = {
  chat: "M4 5h16v11H9l-5 4z",
  documents: "M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h7",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16.200 16.200 21 21",
  research: "M4 19V7l8-3 8 3v12M4 19h16M9 19v-6h6v6M12 4v5",
  tools: "M14.500 6.500a4 4 0 0 0 5 5L10 21l-4-4 9.500-9.500zM14.500 6.500 17 4l3 3-2.500 2.500",
  agents: "M5 9h14v10H5zM12 5v4M12 3.500v1.500M9 13v1.500M15 13v1.500M2 13v3M22 13v3",
  activity: "M4 19V5M4 19h16M8 16v-5M12 16V8M16 16v-3M20 16V6",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.500v5M9 14.500v5",
  memory: "M5 5h14v14H5zM9 9h6v6H9zM9 2v3M15 2v3M9 19v3M15 19v3M2 9h3M2 15h3M19 9h3M19 15h3",
  plus: "M12 5v14M5 12h14",
  send: "M5 12h13M12 5l7 7-7 7",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  retry: "M4 12a8 8 0 1 0 2.500-5.800M4 4v4h4",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13M10 11v5M14 11v5",
  export: "M12 4v11M7 10l5 5 5-5M5 20h14",
  upload: "M12 20V9M7 14l5-5 5 5M5 4h14",
  how: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5M12 7.500v.500",
  close: "M6 6l12 12M18 6 6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  moon: "M20 14.500A8 8 0 0 1 9.500 4 8 8 0 1 0 20 14.500z",
  leave: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
  back: "M11 5l-7 7 7 7M4 12h16",
  check: "M5 12.500 10 17 19 7",
  key: "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12.500 20 4M16 8l3 3",
  link: "M10 14l10-10M14 4h6v6M18 14v6H4V6h6",
};

/** A small drawing; it says nothing to a screen reader, its button does. */
export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: PATHS[name] }));
}

/** A button with a drawing, and words that are shown or only spoken. */
export function iconButton(name, label, onclick, props = {}) {
  const { text, ...rest } = props;
  return h("button", { type: "button", class: "icon-button", title: text ? null : label, "aria-label": text ? null : label, onclick, ...rest },
    icon(name), text ? h("span", {}, label) : null);
}

/** The text with these words marked. */
export function marked(text, words) {
  const wanted = [...new Set(words.filter((word) => word.length > 1))].sort((a, b) => b.length - a.length);
  const shown = clean(text);
  if (wanted.length === 0) return [shown];
  const pattern = new RegExp(`(${wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi");
  return shown.split(pattern).map((part, place) => (place % 2 === 1 ? h("mark", {}, part) : part));
}
