//! What the agents of a research run get to read.

use std::borrow::Cow;

use super::{Shown, language_name, unfenced};

use crate::language::Language;
use crate::model::{Message, repair_json};
use crate::research::call::Purpose;
use crate::research::message::{ProviderId, SearchStep};
use crate::research::source::Source;
use crate::text::clip;

const FOLLOW: &str = include_str!("../../prompts/research_follow.md");
const PLAN: &str = include_str!("../../prompts/research_plan.md");
const CHOOSE: &str = include_str!("../../prompts/research_choose.md");
const ASSESS: &str = include_str!("../../prompts/research_assess.md");
const WRITE: &str = include_str!("../../prompts/research_write.md");

/// Bytes of sources that one question to a model shows, and of one of them: about 4,000 tokens, which leaves half of
/// a small model's context.
const SOURCES_BYTES_MAX: usize = 14_000;
const SOURCE_BYTES_MAX: usize = 2_400;

/// Bytes of a source that a judge sees: the beginning tells what it is about.
const JUDGED_BYTES_MAX: usize = 500;

/// Longest question, instruction and wrong answer that are shown, in bytes.
const TEXT_BYTES_MAX: usize = 4_000;

/// Bytes of a report that a plan for what follows it is made with: its short answer and most of its sections.
const REPORT_BYTES_MAX: usize = 6_000;

/// What all questions of a run start from.
#[derive(Debug, Clone, Copy)]
pub struct Research<'a> {
    pub question: &'a str,
    pub language: Language,
    /// What the user wants besides, the oldest first.
    pub instructions: &'a [String],
    /// What the report was about that the question follows.
    pub follows: Option<&'a str>,
}

/// What was there before a plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before<'a> {
    /// The steps of a plan that came to too little.
    pub given_up: Option<&'a str>,
    /// The report that the question follows.
    pub report: Option<&'a str>,
}

/// The messages for a plan.
#[must_use]
pub fn research_plan(
    research: &Research<'_>,
    sources: &[ProviderId],
    steps_max: usize,
    before: Before<'_>,
) -> Vec<Message> {
    let names: Vec<&str> = sources.iter().map(ProviderId::as_str).collect();
    let system = PLAN
        .trim_end()
        .replace("{{steps}}", &steps_max.to_string())
        .replace("{{language}}", language_name(research.language))
        .replace("{{sources}}", &names.join(", "));
    let mut text = asked(research);
    if let Some(report) = before.report {
        let report = unfenced(clip(report, REPORT_BYTES_MAX));
        text.push_str(&format!("\n\n{}", FOLLOW.trim_end().replace("{{report}}", report.trim())));
    }
    if let Some(given_up) = before.given_up {
        let given_up = short(given_up);
        text.push_str(&format!("\n\nA plan before this one found too little: {given_up}"));
    }
    vec![Message::system(system), Message::user(text)]
}

/// The messages for a choice among these agents, each with what it would do.
#[must_use]
pub fn research_choice(
    research: &Research<'_>,
    agents: &[(&str, &str)],
    happened: &str,
) -> Vec<Message> {
    let lines: Vec<String> =
        agents.iter().map(|(name, does)| format!("- {name}: {does}")).collect();
    let system = CHOOSE.trim_end().replace("{{agents}}", &lines.join("\n"));
    let text = format!("{}\n\nWhat happened so far: {}", asked(research), short(happened));
    vec![Message::system(system), Message::user(text)]
}

/// The messages for a judgement of what was found.
#[must_use]
pub fn research_assessment(
    research: &Research<'_>,
    steps: &[SearchStep],
    sources: &[&Source],
    sections_max: usize,
) -> Vec<Message> {
    let system = ASSESS
        .trim_end()
        .replace("{{language}}", language_name(research.language))
        .replace("{{sections}}", &sections_max.to_string());
    let steps: Vec<String> =
        steps.iter().map(|step| format!("{}. {}", step.step_number, step.description)).collect();
    let shown = shown(sources, JUDGED_BYTES_MAX, &|source| source.text());
    let text = format!(
        "{}\n\nThe plan:\n{}\n\nWhat was found:\n{shown}",
        asked(research),
        unfenced(&steps.join("\n"))
    );
    vec![Message::system(system), Message::user(text)]
}

/// The messages for one section; `part` picks what is shown of a source.
#[must_use]
pub fn research_section(
    research: &Research<'_>,
    heading: &str,
    headings: &[String],
    sources: &[&Source],
    part: &dyn Fn(&Source, usize) -> String,
    feedback: Option<&str>,
) -> Vec<Message> {
    let system = WRITE.trim_end().replace("{{language}}", language_name(research.language));
    let each = (SOURCES_BYTES_MAX / sources.len().max(1)).min(SOURCE_BYTES_MAX);
    let shown = shown(sources, each, &|source| part(source, each));
    let mut text = format!(
        "{shown}\n{}\n\nSections of the report: {}\nWrite the section: {}",
        asked(research),
        short(&headings.join(" | ")),
        short(heading)
    );
    if let Some(feedback) = feedback {
        text.push_str(&format!(
            "\n\nThe last draft of it was not good enough: {}",
            short(feedback)
        ));
    }
    vec![Message::system(system), Message::user(text)]
}

/// The same messages, with an answer that could not be used and why.
#[must_use]
pub fn research_repair(
    mut messages: Vec<Message>,
    purpose: Purpose,
    answer: &str,
    fault: &str,
) -> Vec<Message> {
    // Servers refuse an empty message of the model.
    let answer = if answer.trim().is_empty() { "{}" } else { clip(answer, TEXT_BYTES_MAX) };
    messages.push(Message::assistant(answer));
    messages.push(Message::user(repair_json(fault, purpose.shape().schema.value())));
    messages
}

fn asked(research: &Research<'_>) -> String {
    let mut text = format!("Question: {}", short(research.question));
    if let Some(follows) = research.follows {
        text.push_str(&format!("\nIt follows a report on: {}", short(follows)));
    }
    for instruction in research.instructions {
        text.push_str(&format!("\nThe user adds: {}", short(instruction)));
    }
    text
}

fn short(text: &str) -> String {
    unfenced(clip(text, TEXT_BYTES_MAX)).into_owned()
}

/// Sources between marks, numbered from 1; those for which there is no room are left out.
fn shown(sources: &[&Source], bytes_max: usize, part: &dyn Fn(&Source) -> String) -> String {
    let mut left = SOURCES_BYTES_MAX;
    let mut all = String::new();
    for (number, source) in (1..).zip(sources) {
        let text = part(source);
        let text = unfenced(&text);
        let text = clip(&text, bytes_max).trim();
        if text.len() > left {
            break;
        }
        left -= text.len();
        let place = format!("{} · {}", source.title, source.place).replace('\n', " ");
        let place = unfenced(&place).into_owned();
        all.push_str(&source_fenced(&Shown { number, place, text: Cow::Borrowed(text) }));
    }
    all
}

fn source_fenced(Shown { number, place, text }: &Shown<'_>) -> String {
    format!("<<<source [{number}] {place}\n{text}\n>>>\n")
}
