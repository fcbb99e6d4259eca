//! Planning, judging and writing without a model: by the words of the question, and with the words of the sources.

use std::collections::BTreeSet;

use super::message::ProviderId;
use super::report::is_korean;
use super::source::Source;
use super::thought::{ClaimThought, PlanThought, QuoteThought, SectionThought, StepThought};
use crate::language::Language;
use crate::offline::Asked;
use crate::sentences::sentences;
use crate::text::clip;

/// Words between parts of a question.
const BETWEEN: [&str; 12] = [
    ",",
    ";",
    "?",
    "·",
    " and ",
    " or ",
    " versus ",
    " vs ",
    " 및 ",
    " 그리고 ",
    " 또는 ",
    "하고 ",
];

/// Words that a part must have to be looked for by itself.
const PART_WORDS_MIN: usize = 2;

/// Seconds that one search takes, about.
const SEARCH_SECONDS: u64 = 3;

/// How much of a section's subject a sentence says to be taken, and how many are taken.
const SAID_MIN: f32 = 0.34;
const SENTENCES_MAX: usize = 6;

/// Shortest and longest sentence that says something by itself, in characters and in bytes.
const SENTENCE_CHARS_MIN: usize = 15;
const SENTENCE_BYTES_MAX: usize = 1_200;

/// A plan: the whole question, then each of its parts, or its words alone.
pub(super) fn plan(question: &str, providers: &[ProviderId], steps_max: usize) -> PlanThought {
    let language = Language::of(question);
    let mut queries = vec![question.trim().to_owned()];
    let mut parts = vec![question.to_owned()];
    for between in BETWEEN {
        parts = parts.iter().flat_map(|part| part.split(between)).map(str::to_owned).collect();
    }
    let has_words = |part: &&String| Asked::new(part).words().len() >= PART_WORDS_MIN;
    let parts: Vec<&String> = parts.iter().filter(has_words).collect();
    if parts.len() > 1 {
        queries.extend(parts.iter().map(|part| part.trim().to_owned()));
    } else {
        queries.push(Asked::new(question).words().join(" "));
    }
    let mut known = BTreeSet::new();
    queries.retain(|query| !query.is_empty() && known.insert(query.to_lowercase()));
    queries.truncate(steps_max);
    let sources: Vec<String> = providers.iter().map(|id| id.as_str().to_owned()).collect();
    let step = |query: &String| StepThought {
        description: clip(query, 300).to_owned(),
        sources: sources.clone(),
        keywords: vec![query.clone()],
    };
    let strategy = if is_korean(language) {
        "질문 전체를 찾은 다음 그 부분들을 찾는다."
    } else {
        "The whole question first, then its parts."
    };
    let searches = queries.len().saturating_mul(sources.len().max(1)) as u64;
    PlanThought {
        strategy: strategy.to_owned(),
        steps: queries.iter().map(step).collect(),
        estimated_seconds: SEARCH_SECONDS.saturating_mul(searches),
    }
}

/// A section: the sentences of the sources that say most of its subject, each with itself as its quote. What stands in
/// `known` was said before.
pub(super) fn section(
    question: &str,
    heading: &str,
    sources: &[&Source],
    known: &BTreeSet<String>,
) -> SectionThought {
    let (asked, titled) = (Asked::new(question), Asked::new(heading));
    let mut found: Vec<(f32, usize, u32, String)> = Vec::new();
    for (number, source) in (1..).zip(sources) {
        for sentence in spoken(source) {
            let said = asked.coverage(&sentence).max(titled.coverage(&sentence));
            if said >= SAID_MIN && !known.contains(&sentence) {
                found.push((said, found.len(), number, sentence));
            }
        }
    }
    // The better ones stay, in the order in which they stand.
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut said = BTreeSet::new();
    found.retain(|(_, _, _, sentence)| said.insert(sentence.to_lowercase()));
    found.truncate(SENTENCES_MAX);
    found.sort_by_key(|(_, place, _, _)| *place);
    let not_found = if found.is_empty() { vec![heading.to_owned()] } else { Vec::new() };
    let claim = |(_, _, source, sentence): (f32, usize, u32, String)| ClaimThought {
        text: sentence.clone(),
        citations: vec![QuoteThought { source, quote: sentence }],
    };
    SectionThought { claims: found.into_iter().map(claim).collect(), not_found }
}

/// The sentences of a source that can stand alone, without the signs of lists around them.
fn spoken(source: &Source) -> Vec<String> {
    let mut all = Vec::new();
    for excerpt in &source.excerpts {
        for range in sentences(&excerpt.text) {
            let sentence = excerpt.text.get(range).unwrap_or_default();
            // What a blank line parts are no words of one sentence.
            for part in sentence.split("\n\n") {
                all.extend(standing_alone(part));
            }
        }
    }
    all
}

fn standing_alone(sentence: &str) -> Option<String> {
    let trimmed = sentence.trim();
    let is_block = trimmed.starts_with(['#', '|', '`', '<', '{']) || trimmed.contains("```");
    let bare = trimmed.trim_start_matches(|letter: char| {
        letter.is_whitespace() || matches!(letter, '-' | '*' | '>' | '•' | '+')
    });
    let flat = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_good = !is_block
        && !flat.ends_with(['?', ':'])
        && flat.len() <= SENTENCE_BYTES_MAX
        && flat.chars().count() >= SENTENCE_CHARS_MIN;
    is_good.then_some(flat)
}

/// As much of a source as fits, from where it says most of what is asked.
pub(super) fn best_part(asked: &Asked, source: &Source, bytes_max: usize) -> String {
    let mut parts: Vec<(usize, f32, &str)> = source
        .excerpts
        .iter()
        .enumerate()
        .map(|(place, excerpt)| (place, asked.coverage(&excerpt.text), excerpt.text.as_str()))
        .collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut taken: Vec<(usize, String)> = Vec::new();
    let mut left = bytes_max;
    for (place, _, text) in parts {
        let part = best_run(asked, text, left);
        if part.is_empty() {
            break;
        }
        left = left.saturating_sub(part.len() + 2);
        taken.push((place, part));
    }
    taken.sort_by_key(|(place, _)| *place);
    taken.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join("\n\n")
}

/// The run of sentences that says most of what is asked, of those that fit.
fn best_run(asked: &Asked, text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.trim().to_owned();
    }
    let ranges: Vec<_> = sentences(text).collect();
    let scores: Vec<f32> = ranges
        .iter()
        .map(|range| asked.coverage(text.get(range.clone()).unwrap_or_default()))
        .collect();
    let mut best: (f32, usize, usize) = (-1.0, 0, 0);
    let (mut first, mut sum) = (0, 0.0);
    for (last, range) in ranges.iter().enumerate() {
        sum += scores.get(last).copied().unwrap_or(0.0);
        while let Some(start) = ranges.get(first).map(|range| range.start)
            && range.end - start > bytes_max
            && first < last
        {
            sum -= scores.get(first).copied().unwrap_or(0.0);
            first += 1;
        }
        let start = ranges.get(first).map_or(0, |range| range.start);
        if sum > best.0 {
            best = (sum, start, range.end);
        }
    }
    clip(text.get(best.1..best.2).unwrap_or(text), bytes_max).trim().to_owned()
}
