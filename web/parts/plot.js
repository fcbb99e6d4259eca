// Small plots, drawn as SVG: columns over days, and bars by name. The numbers are in a table for who cannot see them.
import { h, svg } from "../dom.js";

const WIDTH = 560;
const HEIGHT = 150;
const LEFT = 60;
const BOTTOM = 20;
const TOP = 10;

/** Columns of `{name, value}`; `format` writes a value. */
export function columns(title, points, format) {
  const most = Math.max(...points.map((point) => point.value), 0);
  const inner = { width: WIDTH - LEFT - 4, height: HEIGHT - TOP - BOTTOM };
  const step = inner.width / Math.max(points.length, 1);
  const lines = most > 0 ? [0, 0.5, 1] : [0];
  const shapes = lines.flatMap((share) => {
    const y = TOP + inner.height * (1 - share);
    return [
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH - 4, y1: y, y2: y }),
      svg("text", { class: "axis", x: LEFT - 6, y: y + 4, "text-anchor": "end" }, format(most * share)),
    ];
  });
  points.forEach((point, place) => {
    const tall = most > 0 ? (point.value / most) * inner.height : 0;
    const x = LEFT + place * step;
    shapes.push(svg("rect", { class: "column", x: x + step * 0.15, y: TOP + inner.height - tall, width: Math.max(1, step * 0.7), height: tall, rx: Math.min(3, step / 4) },
      svg("title", {}, `${point.name}: ${format(point.value)}`)));
    const every = Math.ceil(points.length / 6);
    if (place % every === 0) shapes.push(svg("text", { class: "axis", x: x + step / 2, y: HEIGHT - 5, "text-anchor": "middle" }, point.short ?? point.name));
  });
  const drawing = svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title }, ...shapes);
  return h("figure", {}, h("figcaption", {}, title), drawing, spoken(title, points, format));
}

/** Bars of `{name, value}`, the longest first. */
export function bars(title, points, format) {
  const sorted = [...points].sort((a, b) => b.value - a.value);
  const most = Math.max(...sorted.map((point) => point.value), 0);
  const rows = sorted.map((point) => {
    const bar = h("span", { class: "bar-fill" });
    bar.style.width = `${most > 0 ? Math.max(1, (point.value / most) * 100) : 1}%`;
    return h("li", {}, h("span", { class: "bar-name" }, point.name), h("span", { class: "bar-track", "aria-hidden": "true" }, bar), h("span", { class: "bar-value" }, format(point.value)));
  });
  return h("figure", {}, h("figcaption", {}, title), h("ul", { class: "bars" }, rows));
}

/** One bar in parts: `{name, value, kind}`, of at most `whole`. */
export function stack(title, parts, format) {
  const whole = parts.reduce((sum, part) => sum + part.value, 0) || 1;
  const pieces = parts.map((part, place) => {
    const piece = h("span", { class: `piece tone-${place % 8}`, title: `${part.name}: ${format(part.value)}` });
    piece.style.width = `${(part.value / whole) * 100}%`;
    return piece;
  });
  const legend = parts.map((part, place) => h("li", {}, h("i", { class: `tone-${place % 8}`, "aria-hidden": "true" }), part.name, h("b", {}, format(part.value))));
  return h("figure", {}, h("div", { class: "stack", role: "img", "aria-label": title }, pieces), h("ul", { class: "legend" }, legend));
}

/** Lines over steps, each value from 0 to 1. */
export function lines(title, steps, series) {
  const [wide, left] = [320, 40];
  const inner = { width: wide - left - 14, height: HEIGHT - TOP - BOTTOM };
  const x = (place) => left + (steps.length > 1 ? (place / (steps.length - 1)) * inner.width : inner.width / 2);
  const y = (value) => TOP + inner.height * (1 - value);
  const grid = [0, 0.5, 1].flatMap((value) => [
    svg("line", { class: "grid", x1: left, x2: wide - 4, y1: y(value), y2: y(value) }),
    svg("text", { class: "axis", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, `${value * 100}%`)]);
  const names = steps.map((name, place) => svg("text", { class: "axis", x: x(place), y: HEIGHT - 5, "text-anchor": "middle" }, name));
  const drawn = series.flatMap(({ name, values }, tone) => [
    svg("polyline", { class: `line stroke-${tone}`, points: values.map((value, place) => `${x(place)},${y(value)}`).join(" ") }),
    ...values.map((value, place) => svg("circle", { class: `dot stroke-${tone}`, cx: x(place), cy: y(value), r: 4 }, svg("title", {}, `${name} ${steps[place]}: ${Math.round(value * 100)}%`)))]);
  const legend = series.map(({ name, values }, tone) => h("li", {}, h("i", { class: `tone-${tone}`, "aria-hidden": "true" }), name, h("b", {}, `${Math.round((values.at(-1) ?? 0) * 100)}%`)));
  return h("figure", { class: "scores" }, h("figcaption", {}, title), svg("svg", { class: "plot", viewBox: `0 0 ${wide} ${HEIGHT}`, role: "img", "aria-label": title }, ...grid, ...names, ...drawn), h("ul", { class: "legend" }, legend));
}

/** How much of something is used, of how much there is if that is bounded. */
export function meter(name, used, allowed, format) {
  const words = allowed === null ? format(used) : `${format(used)} / ${format(allowed)}`;
  const bar = allowed === null ? null : h("progress", { max: Math.max(allowed, 1), value: Math.min(used, allowed), "aria-label": `${name}: ${words}` });
  return h("div", { class: "meter" }, h("span", {}, name), h("span", { class: "bar-value" }, words), bar);
}

function spoken(title, points, format) {
  const rows = points.filter((point) => point.value > 0).map((point) => h("tr", {}, h("th", { scope: "row" }, point.name), h("td", {}, format(point.value))));
  return h("table", { class: "spoken" }, h("caption", {}, title), h("tbody", {}, rows));
}
