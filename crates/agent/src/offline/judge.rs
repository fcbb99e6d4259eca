//! Judges passages by their evidence: how much of the question they say, and how near they are to it.

use super::recollect::recollect;
use super::words::Asked;
use crate::context::Conversation;
use crate::knowledge::Passage;
use crate::turn::{NextAction, Verdict};

/// A passage that says less of the question than this, and is not near it either, is left out.
const COVERAGE_MIN: f32 = 0.2;
const SIMILARITY_MIN: f32 = 0.35;

/// What a passage's evidence adds up from: the words it says itself, those of its headings, and its nearness.
const BY_WORDS: f32 = 0.62;
const BY_NEARNESS: f32 = 0.5;

/// The evidence at which it is as likely as not that a passage answers, and how fast that changes.
const EVEN: f32 = 0.47;
const STEEPNESS: f32 = 11.0;

/// The confidence from which passages are taken to be enough.
const ENOUGH: f32 = 0.62;

/// Passages that an answer is made from at most.
const RANKED_MAX: usize = 5;

/// The verdict that the evidence gives. What was said counts before what is written, if the question is about it.
/// `question` is as it was asked, `query` as it was searched for.
#[must_use]
pub fn judge(
    question: &str,
    query: &str,
    passages: &[Passage],
    conversation: &Conversation<'_>,
) -> Verdict {
    let asked = Asked::new(query);
    let written = passages.iter().map(|passage| asked.coverage(&passage.text));
    let written = written.fold(0.0, f32::max);
    if let Some(said) = recollect(question, conversation).filter(|said| said.coverage > written) {
        let confidence = said.coverage;
        return Verdict { is_sufficient: true, confidence, ..Verdict::default() };
    }
    let mut evidence: Vec<(usize, f32)> = passages
        .iter()
        .enumerate()
        .filter_map(|(place, passage)| Some((place, evidence(&asked, passage)?)))
        .collect();
    // The order of the search decides between equals.
    evidence.sort_by(|a, b| b.1.total_cmp(&a.1));
    let best = evidence.first().map_or(0.0, |(_, evidence)| *evidence);
    let confidence = 1.0 / (1.0 + (-STEEPNESS * (best - EVEN)).exp());
    let is_sufficient = confidence >= ENOUGH;
    let ranked_indices = evidence.iter().take(RANKED_MAX).map(|(place, _)| *place).collect();
    Verdict {
        ranked_indices,
        is_sufficient,
        missing: Vec::new(),
        next_action: (!is_sufficient).then_some(NextAction::GetSection),
        refined_query: None,
        confidence,
    }
}

/// How much speaks for a passage; none for one that has nothing to do with the question.
fn evidence(asked: &Asked, passage: &Passage) -> Option<f32> {
    let text = format!("{}\n{}\n{}", passage.title, passage.heading_path.join("\n"), passage.text);
    let coverage = asked.coverage(&text);
    let similarity = passage.found.similarity.unwrap_or(0.0).max(0.0);
    if coverage < COVERAGE_MIN && similarity < SIMILARITY_MIN {
        return None;
    }
    // The search knows more than these words: rare ones, other spellings, the other language.
    let ranked = 0.08 * passage.score;
    Some(BY_WORDS * coverage + BY_NEARNESS * similarity + ranked)
}
