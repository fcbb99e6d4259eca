// What an agent says of itself: words of whoever wrote its card, set as text; links only to the web, and none opens by itself.
import { h } from "../dom.js";
import { named, t } from "../words.js";

const HEALTH = { up: "good", failing: "warn", down: "bad", unknown: "" };
const STANDING = { approved: "good", pending: "warn", deprecated: "bad" };

export function healthBadge({ condition }) {
  return h("span", { class: `badge ${HEALTH[condition] ?? ""}` }, named("health", condition));
}

export function standingBadge(standing) {
  return h("span", { class: `badge ${STANDING[standing] ?? ""}` }, named("agent_standing", standing));
}

/** A card of any version, as people read it. */
export function cardOf(card, identifier) {
  const row = (name, value) => (value ? h("div", {}, h("dt", {}, t(`agents.${name}`)), h("dd", {}, value)) : null);
  const places = card.supportedInterfaces ?? [];
  const spoken = places.map((one) => h("p", {}, h("code", {}, one.url), h("small", {}, `${one.protocolBinding ?? ""} ${one.protocolVersion ?? ""}`)));
  const can = Object.entries(card.capabilities ?? {}).filter(([, value]) => value === true).map(([name]) => h("span", { class: "badge" }, named("capability", name)));
  return h("div", { class: "agent-card" },
    card.description ? h("p", { class: "described" }, card.description) : null,
    h("dl", { class: "about" }, identifier ? h("div", { class: "whole-row" }, h("dt", {}, t("agents.identifier")), h("dd", {}, h("code", {}, identifier))) : null, row("version", card.version), row("provider", provider(card.provider)),
      row("capabilities", can.length ? can : null), row("input", (card.defaultInputModes ?? []).join(", ")), row("output", (card.defaultOutputModes ?? []).join(", "))),
    spoken.length ? h("section", {}, h("h4", {}, t("agents.places")), spoken) : null,
    skills(card.skills ?? []),
    h("details", {}, h("summary", {}, t("agents.raw")), h("pre", { tabindex: "0" }, JSON.stringify(card, null, 2))));
}

/** Whoever is behind it; an address that is not of the web is only shown. */
function provider(one) {
  if (!one?.organization) return null;
  if (!/^https?:\/\//i.test(one.url ?? "")) return one.organization;
  return h("a", { href: one.url, target: "_blank", rel: "noopener noreferrer nofollow" }, one.organization);
}

function skills(all) {
  if (!all.length) return null;
  const row = (skill) => h("li", {}, h("b", {}, skill.name || skill.id), " ", h("code", {}, skill.id),
    skill.description ? h("p", {}, skill.description) : null,
    skill.tags?.length ? h("p", { class: "tags" }, skill.tags.map((tag) => h("span", { class: "badge" }, tag))) : null,
    skill.examples?.length ? h("p", { class: "quiet" }, skill.examples.join(" · ")) : null);
  return h("section", {}, h("h4", {}, t("agents.skills")), h("ul", { class: "skills" }, all.map(row)));
}
