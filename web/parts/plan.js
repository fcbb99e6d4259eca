// The plan of a run: its steps as the planning agent wants them, changed, approved or refused by a person.
import { h, iconButton } from "../dom.js";
import { number, t } from "../words.js";
import { standing } from "./timeline.js";

/** `decide` gets what goes to the server: approved as it is, or with the steps as they stand here. */
export function planForm({ strategy, search_steps: steps, estimated_time, goes_on_after, stands_on: on }, decide) {
  const rows = h("ol", { class: "plan-steps" });
  const add = (step) => { rows.append(stepRow(step)); };
  steps.forEach(add);
  const read = () => [...rows.children].map((row, place) => ({
    step_number: place + 1, description: row.description.value.trim(), keywords: words(row.keywords.value), sources: words(row.sources.value),
  })).filter((step) => step.description && step.keywords.length);
  const same = (now) => JSON.stringify(now) === JSON.stringify(steps.map((step, place) => ({ step_number: place + 1, description: step.description, keywords: step.keywords, sources: step.sources })));
  const approve = (event) => {
    event.preventDefault();
    const now = read();
    decide(same(now) ? { decision: "approve" } : { decision: "edit", steps: now });
  };
  return h("form", { class: "card plan", onsubmit: approve }, h("h2", {}, t("research.plan_title")), strategy ? h("p", {}, strategy) : null, standing(on),
    h("p", { class: "quiet" }, [t("research.estimated", { seconds: number(estimated_time) }), goes_on_after ? t("research.goes_on", { seconds: number(goes_on_after) }) : null].filter(Boolean).join(" · ")), rows,
    h("button", { type: "button", class: "plain", onclick: () => { add({ description: "", keywords: [], sources: steps[0]?.sources ?? ["local"] }); rows.lastChild.description.focus(); } }, t("research.add_step")),
    h("footer", {}, h("button", { type: "button", class: "danger", onclick: () => decide({ decision: "refuse" }) }, t("research.refuse")), h("button", { class: "primary" }, t("research.approve"))));
}

function stepRow(step) {
  const description = h("input", { value: step.description, "aria-label": t("research.step") });
  const keywords = h("input", { value: step.keywords.join(", "), "aria-label": t("research.keywords") });
  const sources = h("input", { value: step.sources.join(", "), "aria-label": t("research.sources") });
  const row = h("li", {}, h("label", {}, t("research.step"), description), h("div", { class: "pair-fields" }, h("label", {}, t("research.keywords"), keywords), h("label", {}, t("research.sources"), sources)),
    iconButton("trash", t("research.remove_step"), () => row.remove(), { class: "icon-button small danger" }));
  return Object.assign(row, { description, keywords, sources });
}

const words = (text) => text.split(",").map((word) => word.trim()).filter(Boolean);
