//! Brings back older turns word for word: those that share a question's words, the best that fit into so many tokens.
//!
//! A memory is written before anybody knows what will be asked; this looks once the question is there. Turns are
//! ranked as a search engine ranks documents (BM25). The same question over the same turns brings back the same.

mod terms;
#[cfg(test)]
mod tests;

use self::terms::{Counted, Terms};
use super::SaidTurn;
use crate::context;
use crate::model::Tokenizer;

/// Turns of a session that are looked through, the newest: a thousand take some twenty milliseconds, while somebody
/// waits for the answer.
pub const RECALLED_FROM_MAX: usize = 1000;

/// How soon a word said again counts no more, and how much a long turn is held against it: BM25's usual values.
const SATURATION: f64 = 1.2;
const LENGTH_SHARE: f64 = 0.75;

/// What a turn gets of the score of the one before and the one after it: an answer often follows what it is about,
/// and a correction what it corrects, in other words.
const SHARE_OF_BEFORE: f64 = 0.5;
const SHARE_OF_AFTER: f64 = 0.25;

/// A turn with less than this of the best one's score has hardly a word of the question.
const SHARE_OF_BEST_MIN: f64 = 0.1;

/// Turns that do not fit before no more are tried: each is counted, and the worse ones are worth less and less.
const PASSED_OVER_MAX: usize = 5;

/// Answers that are cut to less than this say too little to be worth their place.
const CLIPPED_TOKENS_MIN: usize = 24;

/// The turns that a question brings back, whole and in the order in which they were said.
///
/// `older` is in that order too. A turn that does not fit is passed over for the next best, but the answer of the
/// very best is cut where it alone would be too long.
#[must_use]
pub fn recall(
    question: &str,
    older: &[SaidTurn],
    tokens_max: usize,
    tokenizer: &dyn Tokenizer,
) -> Vec<SaidTurn> {
    let older = older.get(older.len().saturating_sub(RECALLED_FROM_MAX)..).unwrap_or_default();
    let mut left = tokens_max;
    let mut passed_over = 0;
    let mut recalled: Vec<SaidTurn> = Vec::new();
    for turn in ranked(question, older) {
        let whole = context::turn_tokens(turn, tokenizer);
        let is_best = recalled.is_empty() && passed_over == 0;
        if whole <= left {
            left -= whole;
            recalled.push(turn.clone());
        } else if let Some(cut) = is_best.then(|| clipped(turn, left, tokenizer)).flatten() {
            left = left.saturating_sub(context::turn_tokens(&cut, tokenizer));
            recalled.push(cut);
        } else {
            passed_over += 1;
        }
        if passed_over == PASSED_OVER_MAX {
            break;
        }
    }
    recalled.sort_by_key(|turn| turn.number);
    recalled
}

/// A turn with as much of its answer as fits beside the question; none if that is not worth reading.
fn clipped(turn: &SaidTurn, tokens_max: usize, tokenizer: &dyn Tokenizer) -> Option<SaidTurn> {
    let mut cut = SaidTurn { answer: String::new(), is_complete: false, ..turn.clone() };
    // One for the dots.
    let room = tokens_max.saturating_sub(context::turn_tokens(&cut, tokenizer) + 1);
    if room < CLIPPED_TOKENS_MIN {
        return None;
    }
    cut.answer = format!("{}…", tokenizer.clip(&turn.answer, room).trim_end());
    Some(cut)
}

/// The turns that have to do with the question, the best first and of equals the newest.
fn ranked<'a>(question: &str, older: &'a [SaidTurn]) -> Vec<&'a SaidTurn> {
    let scores = scores(question, older);
    let best = scores.iter().copied().fold(0.0, f64::max);
    let is_near = |score: f64| score > 0.0 && score >= SHARE_OF_BEST_MIN * best;
    let scored = scores.into_iter().zip(older);
    let mut ranked: Vec<(f64, &SaidTurn)> = scored.filter(|(score, _)| is_near(*score)).collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(other.1.number.cmp(&one.1.number)));
    ranked.into_iter().map(|(_, turn)| turn).collect()
}

/// How much each turn says of the question, itself and by what stands beside it.
fn scores(question: &str, older: &[SaidTurn]) -> Vec<f64> {
    let terms = Terms::of(question);
    let text = |turn: &SaidTurn| format!("{}\n{}", turn.question, turn.answer);
    let counted: Vec<Counted> = older.iter().map(|turn| terms.count(&text(turn))).collect();
    let weights = rarity(&counted, terms.len());
    let all: usize = counted.iter().map(|turn| turn.length).sum();
    let usual_length = all as f64 / counted.len().max(1) as f64;
    let own: Vec<f64> = counted.iter().map(|turn| score(turn, &weights, usual_length)).collect();
    let at = |place: Option<usize>| place.and_then(|place| own.get(place)).copied().unwrap_or(0.0);
    let beside = |place: usize| {
        SHARE_OF_BEFORE * at(place.checked_sub(1)) + SHARE_OF_AFTER * at(place.checked_add(1))
    };
    own.iter().enumerate().map(|(place, score)| score + beside(place)).collect()
}

/// How much each term says: the fewer turns have it, the more.
fn rarity(counted: &[Counted], terms: usize) -> Vec<f64> {
    let all = counted.len() as f64;
    let having = |term: usize| counted.iter().filter(|turn| turn.times(term) > 0).count() as f64;
    (0..terms).map(|term| (1.0 + (all - having(term) + 0.5) / (having(term) + 0.5)).ln()).collect()
}

fn score(turn: &Counted, weights: &[f64], usual_length: f64) -> f64 {
    let length = turn.length as f64 / usual_length.max(1.0);
    let slack = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * length);
    let gain = |term: usize, weight: &f64| {
        let times = f64::from(turn.times(term));
        weight * times * (SATURATION + 1.0) / (times + slack)
    };
    weights.iter().enumerate().map(|(term, weight)| gain(term, weight)).sum()
}
