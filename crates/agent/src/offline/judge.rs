//! Judges passages by their evidence: how much of the question they say, and how near they are to it.

use super::recollect::recollect;
use super::words::Asked;
use crate::context::Conversation;
use crate::knowledge::Passage;
use crate::language::Language;
use crate::turn::{NextAction, Verdict};

/// A passage that says less of the question than this, and is not near it either, is left out.
const COVERAGE_MIN: f32 = 0.2;
const SIMILARITY_MIN: f32 = 0.35;

/// What speaks for a passage, by how much: the words of the question that it and its headings say, what the search
/// thinks of it, and its nearness, which counts more where the languages differ and words can say less. Chosen on the
/// odd half of the demo's questions; `saem eval copilot` reports the even one.
const BY_WORDS: f32 = 4.84;
const BY_HEADINGS: f32 = 0.93;
const BY_SEARCH: f32 = 2.82;
const BY_NEARNESS: f32 = 2.99;
const BY_NEARNESS_ACROSS: f32 = 7.04;
const ACROSS: f32 = -1.02;

/// The evidence at which it is as likely as not that a passage answers, and how fast that changes.
const EVEN: f32 = 6.0;
const STEEPNESS: f32 = 1.3;

/// What is left of the confidence when the question names something that no passage has heard of.
const UNHEARD: f32 = 0.4;

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
    let (asked, language) = (Asked::new(query), Language::of(query));
    let written = passages.iter().map(|passage| asked.coverage(&passage.text));
    let written = written.fold(0.0, f32::max);
    if let Some(said) = recollect(question, conversation).filter(|said| said.coverage > written) {
        let confidence = said.coverage;
        return Verdict { is_sufficient: true, confidence, ..Verdict::default() };
    }
    let mut evidence: Vec<(usize, f32)> = passages
        .iter()
        .enumerate()
        .filter_map(|(place, passage)| Some((place, evidence(&asked, language, passage)?)))
        .collect();
    // The order of the search decides between equals.
    evidence.sort_by(|a, b| b.1.total_cmp(&a.1));
    let best = evidence.first().map_or(0.0, |(_, evidence)| *evidence);
    let sure = 1.0 / (1.0 + (-STEEPNESS * (best - EVEN)).exp());
    let texts: Vec<String> = passages.iter().map(|passage| whole(passage).to_lowercase()).collect();
    let is_unheard_of = asked.unheard(&texts).next().is_some();
    let confidence = if is_unheard_of { sure * UNHEARD } else { sure };
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
fn evidence(asked: &Asked, question: Language, passage: &Passage) -> Option<f32> {
    let coverage = asked.coverage(&whole(passage));
    let similarity = passage.found.similarity.unwrap_or(0.0).max(0.0);
    if coverage < COVERAGE_MIN && similarity < SIMILARITY_MIN {
        return None;
    }
    let is_same = question.shares_words_with(Language::of(&passage.text));
    let nearness =
        if is_same { BY_NEARNESS * similarity } else { BY_NEARNESS_ACROSS * similarity + ACROSS };
    let headings = BY_HEADINGS * asked.coverage(&headings(passage));
    Some(BY_WORDS * coverage + headings + BY_SEARCH * passage.score + nearness)
}

fn headings(passage: &Passage) -> String {
    format!("{}\n{}", passage.title, passage.heading_path.join("\n"))
}

fn whole(passage: &Passage) -> String {
    format!("{}\n{}", headings(passage), passage.text)
}
