// What the agents of a run say, a line each: who, what, and what came of it.
import { h, iconButton } from "../dom.js";
import { heard, named, number, share, t } from "../words.js";

const VERDICTS = { verified: "good", similar: "warn", unsupported: "bad" };

/** What is said of money and time is shown as bars, not as lines. */
const UNSHOWN = new Set(["budget_update"]);

const kindOf = ({ content, message_type }) => content.action ?? content.event ?? message_type;

export function isShown(message) {
  return !UNSHOWN.has(kindOf(message));
}

/** Whether it tells a plan that is followed. */
export function isPlan(message) {
  return kindOf(message) === "search";
}

/** `again` does a step of a plan anew; none where that cannot be. */
export function messageView(message, { again = null } = {}) {
  const kind = kindOf(message);
  const is_error = message.message_type === "error";
  const at = new Date(message.timestamp);
  const body = is_error ? fault(message.content) : (SAID[kind] ?? unknown)(message.content, { again });
  return h("article", { class: `message from-${message.sender} ${is_error ? "is-error" : ""}`, "data-seq": message.seq },
    h("header", {}, h("b", { class: "party" }, named("party", message.sender)), h("small", {}, message.recipient ? `→ ${named("party", message.recipient)}` : null),
      h("time", { datetime: message.timestamp }, at.toLocaleTimeString())), h("div", { class: "message-body" }, body));
}

const list = (all) => (all?.length ? h("ul", {}, all.map((one) => h("li", {}, one))) : null);
const steps = (all, again = null) => h("ol", {}, all.map((step) => h("li", {}, step.description, " ", step.keywords.map((word) => [h("span", { class: "badge" }, word), " "]), h("small", {}, step.sources.join(", ")), " ",
  again ? iconButton("retry", t("research.step_again", { step: number(step.step_number) }), () => again(step.step_number), { class: "icon-button small" }) : null)));

/** What a plan stands on. */
export function standing(on) {
  if (!on) return null;
  const known = on.known_steps.length ? t("research.known_steps", { steps: on.known_steps.map((step) => number(step)).join(", ") }) : null;
  const words = on.again_step ? t("research.stands_again", { step: number(on.again_step), count: number(on.sources) }) : t("research.stands_follows", { question: on.question, count: number(on.sources) });
  return h("p", { class: "quiet" }, [words, known].filter(Boolean).join(" · "));
}

function fault(content) {
  return [h("p", { class: "trouble" }, h("span", { class: "badge bad" }, named("error_type", content.error_type)), " ", heard(content.error_message)),
    content.suggested_action ? h("p", { class: "quiet" }, heard(content.suggested_action)) : null,
    content.recoverable ? h("p", { class: "quiet" }, t("research.recoverable")) : null, details(content.details)];
}

function details(of) {
  return of ? h("details", {}, h("summary", {}, t("research.details")), h("pre", { tabindex: "0" }, JSON.stringify(of, null, 2))) : null;
}

function unknown(content) {
  return h("pre", { tabindex: "0" }, JSON.stringify(content, null, 2));
}

const SAID = {
  submit_query: ({ query, sources }) => [h("p", {}, query), sources?.length ? h("small", {}, sources.join(", ")) : null],
  plan_approval({ request, decision, edited_plan: edited }) {
    if (request) return [h("p", {}, t("research.asks_plan", { count: number(request.search_steps.length) })), steps(request.search_steps), standing(request.stands_on)];
    return [h("p", {}, h("span", { class: `badge ${decision === "refuse" ? "bad" : "good"}` }, named("decision", decision))), edited?.length ? steps(edited) : null];
  },
  search: ({ strategy, search_steps: all, stands_on: on }, { again }) => [h("p", {}, strategy), steps(all, again), standing(on)],
  search_progress: ({ step_number: step, step_description: words, progress, sources_found: found }) =>
    [h("p", {}, t("research.searches", { step: number(step), words }), " ", h("span", { class: "badge" }, t("research.hits", { count: number(found) })), " ", h("small", {}, share(progress)))],
  source_read({ title, provider, characters, address }) {
    const is_web = /^https?:\/\//i.test(address ?? "");
    return [h("p", {}, t("research.read"), " ", is_web ? h("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" }, title) : h("b", {}, title)),
      h("p", {}, h("span", { class: "badge" }, provider), " ", h("small", {}, t("research.characters", { count: number(characters) })))];
  },
  search_completed: ({ total_results: total, results_by_source: by, execution_time: took }) =>
    [h("p", {}, t("research.searched", { count: number(total), seconds: number(took) })), h("p", {}, Object.entries(by ?? {}).map(([name, count]) => [h("span", { class: "badge" }, `${name}: ${number(count)}`), " "]))],
  quality_assessment: ({ quality_score: quality, relevance_score: relevance, coverage_score: coverage, feedback, needs_more_search: more, recommendations }) =>
    [h("p", {}, [["quality", quality], ["relevance", relevance], ["coverage", coverage]].map(([name, value]) => [h("span", { class: "badge" }, `${t(`research.${name}`)} ${share(value)}`), " "]),
      more ? h("span", { class: "badge warn" }, t("research.more")) : h("span", { class: "badge good" }, t("how.enough"))), feedback ? h("p", {}, feedback) : null, list(recommendations)],
  additional_search: ({ reason, keywords }) => [h("p", {}, heard(reason)), h("p", {}, keywords.map((word) => [h("span", { class: "badge" }, word), " "]))],
  generate_answer: ({ suggested_structure: structure, approved_result_ids: ids }) => [h("p", {}, t("research.write_from", { count: number(ids.length) })), list(structure)],
  writing_progress: ({ current_section: section, sections_completed: done, total_sections: all }) => h("p", {}, t("research.writes", { section, done: number(done), all: number(all) })),
  review_draft: ({ sections, word_count: words }) => h("p", {}, t("research.draft", { sections: number(sections.length), words: number(words) })),
  citation_check: ({ claim_id: claim, quote, verdict }) => h("p", {}, h("span", { class: `badge ${VERDICTS[verdict] ?? ""}` }, named("verdict", verdict)), " ", h("small", {}, claim), " “", quote, "”"),
  approval: ({ approved, supported_share: supported, feedback }) => [h("p", {}, h("span", { class: `badge ${approved ? "good" : "warn"}` }, t(approved ? "research.approved" : "research.not_approved")), " ", t("research.supported", { share: share(supported) })), feedback ? h("p", { class: "quiet" }, feedback) : null],
  final_approval: ({ unsupported_claims: left }) => h("p", {}, left ? t("research.final_but", { count: number(left) }) : t("research.final")),
  answer_completed: ({ total_sources: sources, word_count: words }) => h("p", {}, t("research.completed", { sources: number(sources), words: number(words) })),
  answer_ready: ({ stop_reason: why }) => h("p", {}, h("span", { class: "badge good" }, t("research.over")), " ", named("ended", why)),
  run_control: ({ control, instruction }) => h("p", {}, h("span", { class: "badge" }, named("control", control)), " ", instruction),
  tool_approval: ({ request, decision }) => (request ? [h("p", {}, heard(request.reason), " ", h("span", { class: "badge" }, request.provider)), details(request.arguments)] : h("p", {}, named("decision", decision?.approved ? "approve" : "refuse"))),
};
