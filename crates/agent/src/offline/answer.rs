//! Answers with the sentences of the best passages that say most of what was asked, each with its citation.

use super::words::Asked;
use crate::knowledge::Passage;
use crate::retrieval::{is_faq, pair};
use crate::sentences::sentences;

/// Passages that an answer draws from.
const PASSAGES_MAX: usize = 3;

/// Sentences that are taken from one passage, and characters of an answer.
const SENTENCES_MAX: usize = 4;
const CHARS_MAX: usize = 1400;

/// A further passage must say this much of what the best one says.
const SHARE_OF_BEST: f32 = 0.75;

/// An answer made of what stands in the passages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted {
    /// Paragraphs, each with the number of its passage in square brackets behind it.
    pub text: String,
    /// The places of the passages that it cites, in order.
    pub cited: Vec<usize>,
}

/// Answers from passages, the best first; `[1]` is the first of them.
#[must_use]
pub fn answer(question: &str, passages: &[Passage]) -> Extracted {
    let asked = Asked::new(question);
    let best = passages.first().map_or(0.0, |passage| said_by(&asked, passage));
    let (mut paragraphs, mut cited) = (Vec::new(), Vec::new());
    let mut chars = 0;
    for (place, passage) in passages.iter().enumerate().take(PASSAGES_MAX) {
        if place > 0 && said_by(&asked, passage) < SHARE_OF_BEST * best {
            continue;
        }
        let part = without_relative_links(&part(&asked, passage));
        let length = part.chars().count();
        let is_new = !paragraphs.iter().any(|known: &String| known.contains(part.as_str()));
        if part.is_empty() || !is_new || (chars > 0 && chars + length > CHARS_MAX) {
            continue;
        }
        chars += length;
        paragraphs.push(cite(&part, place + 1));
        cited.push(place);
    }
    Extracted { text: paragraphs.join("\n\n"), cited }
}

fn said_by(asked: &Asked, passage: &Passage) -> f32 {
    asked.coverage(&format!("{}\n{}", passage.heading_path.join("\n"), passage.text))
}

/// What of a passage goes into the answer.
fn part(asked: &Asked, passage: &Passage) -> String {
    if is_faq(passage) {
        return without_question(&passage.text).to_owned();
    }
    let has = |tag: &str| {
        passage
            .tags
            .get(tag)
            .is_some_and(|values| values.iter().any(|value| value.to_string() == "true"))
    };
    // Steps, tables and code say nothing in pieces.
    let is_block = has("has_steps") || has("has_table") || has("has_code");
    if is_block && passage.text.chars().count() <= CHARS_MAX {
        return passage.text.trim().to_owned();
    }
    best_sentences(asked, &passage.text)
}

/// Links to other files lead nowhere from an answer: their words stay.
fn without_relative_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (target, behind) = after.split_once(')').unwrap_or((after, ""));
        let is_link = before.contains('[') && !target.contains(char::is_whitespace);
        if is_link && !target.contains("://") && after.contains(')') {
            let open = before.rfind('[').unwrap_or(0);
            plain.push_str(before.get(..open).unwrap_or_default());
            plain.push_str(before.get(open + 1..).unwrap_or_default());
            rest = behind;
        } else {
            plain.push_str(before);
            plain.push_str("](");
            rest = after;
        }
    }
    plain.push_str(rest);
    plain
}

/// A pair without the question that was asked: what stands before the blank line, else its first line or sentence, if
/// more follows.
fn without_question(text: &str) -> &str {
    let text = text.trim();
    if let Some((_, answer)) = pair(text) {
        return answer;
    }
    let first = sentences(text).next().map_or(0, |range| range.end);
    let (question, answer) = text.split_at_checked(first).unwrap_or((text, ""));
    let answer = answer.trim();
    if question.trim_end().ends_with(['?', '？', '요', '.']) && !answer.is_empty() {
        answer
    } else {
        text
    }
}

/// The sentences that say most of what was asked, and those between them, in their order.
fn best_sentences(asked: &Asked, text: &str) -> String {
    let ranges: Vec<&str> = sentences(text).filter_map(|range| text.get(range)).collect();
    if ranges.len() <= SENTENCES_MAX {
        return text.trim().to_owned();
    }
    let scores: Vec<f32> = ranges.iter().map(|sentence| asked.coverage(sentence)).collect();
    // A run of sentences reads better than pieces from here and there.
    let windows = scores.windows(SENTENCES_MAX);
    let sums = windows.map(|window| window.iter().sum::<f32>());
    let best = sums.enumerate().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    let start = best.map_or(0, |(start, _)| start);
    let run = ranges.get(start..start + SENTENCES_MAX).unwrap_or_default();
    run.concat().trim().to_owned()
}

/// Puts the number behind a paragraph; behind a block on a line of its own.
fn cite(text: &str, number: usize) -> String {
    let is_block =
        text.ends_with("```") || text.lines().last().is_some_and(|line| line.starts_with('|'));
    if is_block { format!("{text}\n\n[{number}]") } else { format!("{text} [{number}]") }
}
