// What the page says, in Korean and English: the browser's language, unless the person has chosen.
import { kept } from "./store.js";
import english from "./words/en.js";
import english_agents from "./words/en_agents.js";
import korean from "./words/ko.js";
import korean_agents from "./words/ko_agents.js";

const en = { ...english, ...english_agents };
const ko = { ...korean, ...korean_agents };
const LANGUAGES = { en, ko };

/** What the server says, by its English words. Only who reads Korean needs it. */
let sentences = [];
let chosen = LANGUAGES[kept.get("language")] ? kept.get("language") : ofBrowser();
document.documentElement.lang = chosen;
await learn(chosen);

function ofBrowser() {
  return navigator.languages.map((name) => name.slice(0, 2)).find((name) => LANGUAGES[name]) ?? "en";
}

export function language() {
  return chosen;
}

async function learn(name) {
  if (name !== "ko" || sentences.length) return;
  // Without them the server is heard in its own words.
  const { default: known } = await import("./words/ko_server.js").catch(() => ({ default: [] }));
  sentences = known.map(([english, korean]) => ({ is: sentence(english), names: parts(english), korean }));
}

export async function choose(name) {
  await learn(name);
  chosen = name;
  kept.set("language", name);
  document.documentElement.lang = name;
}

/** The words of this name, with `{parts}` filled in. */
export function t(name, parts = {}) {
  const words = LANGUAGES[chosen][name] ?? en[name] ?? name;
  return words.replace(/\{(\w+)\}/g, (_, part) => String(parts[part] ?? ""));
}

/** What the server calls something, in words; as it is, where there are none. */
export function named(group, name) {
  const known = `${group}.${name}`;
  return LANGUAGES[chosen][known] ?? en[known] ?? name;
}

/** Parts of what the server says that are its own words too; all others are names and numbers. */
const WORDS = new Set(["place", "says", "snapshots", "why"]);

function parts(words) {
  return [...words.matchAll(/\{(\w+)\}/g)].map((part) => part[1]);
}

function sentence(words) {
  const plain = words.split(/\{\w+\}/).map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${plain.join("(.+?)")}$`, "s");
}

/** What the server said, in the person's language where that is known; its own words otherwise. */
export function heard(words) {
  if (chosen !== "ko" || !words) return words;
  for (const { is, names, korean } of sentences) {
    const found = is.exec(words);
    if (!found) continue;
    const part = (name) => (WORDS.has(name) ? heard : String)(found[names.indexOf(name) + 1]);
    return particles(korean.replace(/\{(\w+)\}/g, (_, name) => part(name)));
  }
  // Several reasons are one line.
  return words.includes("; ") ? words.split("; ").map(heard).join("; ") : words;
}

/** Of a particle that is written both ways, the one that fits the syllable before it. */
function particles(words) {
  return words.replace(/([가-힣])(을\(를\)|이\(가\)|은\(는\))/g, (_, before, both) =>
    before + ((before.charCodeAt(0) - 0xac00) % 28 ? both[0] : both[2]));
}

const locale = () => (chosen === "ko" ? "ko-KR" : "en-GB");

/** What writes numbers and times in a language: slow to make, so that each is made once. */
const writers = new Map();

function writer(Kind, options) {
  const name = `${Kind.name} ${locale()} ${JSON.stringify(options)}`;
  if (!writers.has(name)) writers.set(name, new Kind(locale(), options));
  return writers.get(name);
}

export function number(value, digits = 0) {
  // The first writer takes longer than all the rest of the welcome, and up to a thousand it changes nothing.
  if (Number.isInteger(value) && value >= 0 && value < 1000) return String(value);
  return writer(Intl.NumberFormat, { maximumFractionDigits: digits }).format(value ?? 0);
}

export const share = (value) => writer(Intl.NumberFormat, { style: "percent", maximumFractionDigits: 0 }).format(value ?? 0);

/** Dollars, with as many digits as say something. */
export function money(value) {
  if (value === null || value === undefined) return t("price.unknown");
  const digits = value === 0 || value >= 1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(value)));
  return `$${value.toFixed(digits)}`;
}

export function bytes(value) {
  const units = ["B", "kB", "MB", "GB"];
  let [size, unit] = [value, 0];
  while (size >= 1000 && unit < units.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${number(size, size < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}

export function seconds(milliseconds) {
  return milliseconds < 1000 ? `${number(milliseconds)} ms` : `${number(milliseconds / 1000, 1)} s`;
}

export const moment = (milliseconds) =>
  writer(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "short" }).format(milliseconds);

/** How long ago, roughly. */
export function ago(milliseconds) {
  const relative = writer(Intl.RelativeTimeFormat, { numeric: "auto" });
  const minutes = Math.round((milliseconds - Date.now()) / 60_000);
  if (Math.abs(minutes) < 60) return relative.format(minutes, "minute");
  const hours = Math.round(minutes / 60);
  if (Math.abs(hours) < 24) return relative.format(hours, "hour");
  return relative.format(Math.round(hours / 24), "day");
}

/** What went wrong, for a person: why, and what to do. */
export function said(problem) {
  if (problem.code === "unreachable") return t("problem.unreachable");
  if (problem.code === "broke_off") return t("problem.broke_off");
  return [problem.detail || problem.title || problem.message, problem.action].filter(Boolean).map(heard).join(" ");
}
