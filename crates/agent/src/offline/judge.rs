//! Judges passages by their evidence: how much of the question they say, and how near they are to it.

use super::recollect::recollect;
use super::words::Asked;
use crate::context::Conversation;
use crate::knowledge::Passage;
use crate::language::Language;
use crate::retrieval;
use crate::sentences::sentences;
use crate::turn::{NextAction, Verdict};

/// A passage that says less of the question than this, and is not near it either, is left out.
const COVERAGE_MIN: f32 = 0.2;
const SIMILARITY_MIN: f32 = 0.35;

/// What speaks for one passage before another, by how much: the words of the question that it and its headings say, what
/// the search thinks of it, and its nearness, which counts more where the languages differ and words can say less. These
/// and the weights below were chosen on the odd half of the demo's questions; `saem eval copilot` reports the even one.
const BY_WORDS: f32 = 4.66;
const BY_HEADINGS: f32 = 1.11;
const BY_SEARCH: f32 = 2.13;
const BY_NEARNESS: f32 = 2.54;
const BY_NEARNESS_ACROSS: f32 = 7.33;
const ACROSS: f32 = -1.46;

/// What speaks for the best passage being an answer. What the search thinks of it is not among it: the first of a search
/// is the first whether it answers or not. How much a single sentence says is: words that meet by chance stand apart.
const SURE_BY_WORDS: f32 = 3.37;
const SURE_BY_HEADINGS: f32 = 2.59;
const SURE_BY_SENTENCE: f32 = 2.42;
const SURE_BY_NEARNESS: f32 = 2.72;
const SURE_BY_NEARNESS_ACROSS: f32 = 3.10;
const SURE_ACROSS: f32 = 0.64;

/// The sum of it at which it is as likely as not that the passage answers.
const EVEN: f32 = 4.24;

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
    let first = passages.get(evidence.first().map_or(0, |(place, _)| *place));
    let best = first.map_or(0.0, |first| assurance(&asked, language, first));
    let sure = 1.0 / (1.0 + (EVEN - best).exp());
    let is_unheard_of =
        first.is_none_or(|first| keeps_names(language, first)) && has_unheard(&asked, passages);
    let confidence = if is_unheard_of { sure * UNHEARD } else { sure };
    let is_sufficient = confidence >= ENOUGH;
    let ranked_indices = evidence.iter().take(RANKED_MAX).map(|(place, _)| *place).collect();
    Verdict {
        ranked_indices,
        is_sufficient,
        missing: Vec::new(),
        next_action: (!is_sufficient && !first.is_some_and(is_whole))
            .then_some(NextAction::GetSection),
        refined_query: None,
        confidence,
    }
}

/// Whether names of the question stand in the passage as they are: Korean texts spell those of an English one anew.
fn keeps_names(question: Language, passage: &Passage) -> bool {
    question != Language::English || question.shares_words_with(Language::of(&passage.text))
}

fn has_unheard(asked: &Asked, passages: &[Passage]) -> bool {
    let texts: Vec<String> = passages.iter().map(|passage| whole(passage).to_lowercase()).collect();
    asked.unheard(&texts).next().is_some()
}

/// Whether there is no more to read around it: beside a pair of a FAQ stand pairs about something else.
fn is_whole(passage: &Passage) -> bool {
    retrieval::is_faq(passage) && retrieval::pair(&passage.text).is_some()
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

/// How much speaks for the passage being an answer.
fn assurance(asked: &Asked, question: Language, passage: &Passage) -> f32 {
    let similarity = passage.found.similarity.unwrap_or(0.0).max(0.0);
    let is_same = question.shares_words_with(Language::of(&passage.text));
    let nearness = if is_same {
        SURE_BY_NEARNESS * similarity
    } else {
        SURE_BY_NEARNESS_ACROSS * similarity + SURE_ACROSS
    };
    let sentences = sentences(&passage.text).filter_map(|range| passage.text.get(range));
    let sentence = sentences.map(|sentence| asked.coverage(sentence)).fold(0.0, f32::max);
    SURE_BY_WORDS * asked.coverage(&whole(passage))
        + SURE_BY_HEADINGS * asked.coverage(&headings(passage))
        + SURE_BY_SENTENCE * sentence
        + nearness
}

fn headings(passage: &Passage) -> String {
    format!("{}\n{}", passage.title, passage.heading_path.join("\n"))
}

fn whole(passage: &Passage) -> String {
    format!("{}\n{}", headings(passage), passage.text)
}
