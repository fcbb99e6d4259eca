//! Ranks some thousand short texts by a question, in memory: by the words of both languages, and by nearness of meaning.
//!
//! It is for lists that change at any moment and that every caller sees a different part of: what counts is worked out
//! over the texts that were passed in, so a score says nothing about others.

use std::collections::BTreeSet;

use crate::analysis::{GramPlace, Word, WordKind, translations, words};

/// Words of a question that count: a long question is a text, and its first words say what it is about.
const QUESTION_WORDS_MAX: usize = 32;

/// What a word counts that was met through the glossary, or in most of its pairs of syllables.
const TRANSLATED: f32 = 0.9;
const IN_PAIRS: f32 = 0.8;

/// The share of a Korean word's pairs of syllables that have to be there.
const PAIRS_MIN: f32 = 0.6;

/// A code or a name is worth more than its rarity says.
const CODE_WEIGHT: f32 = 1.5;

/// Cosines between these two say nothing, and everything: what the built-in encoder gives to strangers and to paraphrases.
const COSINE_FAR: f32 = 0.35;
const COSINE_NEAR: f32 = 0.75;

/// What words count beside meaning, and what meaning counts alone: a question in another language shares no words.
const WORDS_SHARE: f32 = 0.6;
const MEANING_ALONE: f32 = 0.8;

/// Below this a text is not about the question.
pub const RELEVANCE_MIN: u8 = 15;

/// A text, taken apart.
#[derive(Debug, Clone, Default)]
pub struct ShortText {
    terms: BTreeSet<String>,
}

impl ShortText {
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut terms = BTreeSet::new();
        for word in words(text) {
            terms.extend(word.grams.into_iter().map(|gram| gram.text));
            terms.extend(word.parts);
            terms.extend(word.humps);
            terms.insert(word.stem);
        }
        terms.remove("");
        Self { terms }
    }

    fn has(&self, term: &str) -> bool {
        self.terms.contains(term)
    }
}

/// A text that counts for a thing, and its vector if it has one.
pub type Counted<'a> = (&'a ShortText, Option<&'a [f32]>);

/// A question, taken apart.
#[derive(Debug, Clone)]
pub struct ShortQuestion {
    words: Vec<Asked>,
    vector: Option<Vec<f32>>,
}

#[derive(Debug, Clone)]
struct Asked {
    word: Word,
    translated: Vec<Word>,
}

impl ShortQuestion {
    /// `vector` is the question's embedding, if there is an embedder.
    #[must_use]
    pub fn of(text: &str, vector: Option<Vec<f32>>) -> Self {
        let all = words(text);
        let translated = translations(&all);
        let asked = all.into_iter().filter(Word::says_something).take(QUESTION_WORDS_MAX);
        let words = asked.map(|word| {
            let of_it = translated.iter().filter(|other| other.from == word.from);
            Asked { translated: of_it.map(|other| other.word.clone()).collect(), word }
        });
        Self { words: words.collect(), vector }
    }

    /// How relevant each thing is, 0 to 100; a thing is the texts that count for it.
    #[must_use]
    pub fn relevances(&self, things: &[Vec<Counted<'_>>]) -> Vec<u8> {
        let degrees: Vec<Vec<f32>> = things.iter().map(|texts| self.degrees(texts)).collect();
        let weights: Vec<f32> =
            (0..self.words.len()).map(|place| self.weight(place, &degrees)).collect();
        let total: f32 = weights.iter().sum();
        let mut relevances = Vec::with_capacity(things.len());
        for (texts, degrees) in things.iter().zip(&degrees) {
            let met: f32 =
                degrees.iter().zip(&weights).map(|(degree, weight)| degree * weight).sum();
            let coverage = if total > 0.0 { met / total } else { 0.0 };
            relevances.push(percent(combined(coverage, self.nearness(texts))));
        }
        relevances
    }

    /// How much of each word of the question is met in the texts: 0 to 1.
    fn degrees(&self, texts: &[Counted<'_>]) -> Vec<f32> {
        let best =
            |asked: &Asked| texts.iter().map(|(text, _)| degree(asked, text)).fold(0.0, f32::max);
        self.words.iter().map(best).collect()
    }

    /// Words that few have say more.
    fn weight(&self, place: usize, degrees: &[Vec<f32>]) -> f32 {
        let met = degrees.iter().filter(|all| all.get(place).is_some_and(|degree| *degree > 0.0));
        let (all, met) = (count(degrees.len()), count(met.count()));
        let rarity = (1.0 + (all + 1.0) / (met + 0.5)).ln();
        let is_code = self.words.get(place).is_some_and(|asked| asked.word.kind == WordKind::Code);
        if is_code { rarity * CODE_WEIGHT } else { rarity }
    }

    fn nearness(&self, texts: &[Counted<'_>]) -> Option<f32> {
        let question = self.vector.as_ref()?;
        let cosines = texts.iter().filter_map(|(_, vector)| Some(cosine(question, (*vector)?)));
        let nearest = cosines.fold(f32::MIN, f32::max);
        Some(((nearest - COSINE_FAR) / (COSINE_NEAR - COSINE_FAR)).clamp(0.0, 1.0))
    }
}

fn degree(asked: &Asked, text: &ShortText) -> f32 {
    let own = met(&asked.word, text);
    let other = asked.translated.iter().map(|word| TRANSLATED * met(word, text));
    other.fold(own, f32::max)
}

fn met(word: &Word, text: &ShortText) -> f32 {
    if !word.stem.is_empty() && text.has(&word.stem) {
        return 1.0;
    }
    let pairs: Vec<&str> = word
        .grams
        .iter()
        .filter(|gram| gram.place == GramPlace::Stem)
        .map(|gram| gram.text.as_str())
        .chain(word.parts.iter().map(String::as_str))
        .collect();
    if pairs.is_empty() {
        return 0.0;
    }
    let found = pairs.iter().filter(|pair| text.has(pair)).count();
    let share = count(found) / count(pairs.len());
    if share >= PAIRS_MIN { IN_PAIRS * share } else { 0.0 }
}

fn combined(coverage: f32, nearness: Option<f32>) -> f32 {
    match nearness {
        None => coverage,
        Some(nearness) => {
            let both = WORDS_SHARE * coverage + (1.0 - WORDS_SHARE) * nearness;
            both.max(MEANING_ALONE * nearness)
        }
    }
}

/// Both are unit vectors.
fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

fn count(number: usize) -> f32 {
    number as f32
}

/// What is no number becomes 0.
fn percent(share: f32) -> u8 {
    (share.clamp(0.0, 1.0) * 100.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 4] = [
        "Painter. Draws pictures from a description.\nimage generation, 그림",
        "그림 도우미. 설명을 보고 이미지를 생성합니다.",
        "Ledger. Reconciles invoices and payments.\n정산",
        "Weather. Tells the forecast for a city.",
    ];

    #[track_caller]
    fn check(question: &str, expected: &[usize]) {
        let texts = TEXTS.map(ShortText::of);
        let things: Vec<_> = texts.iter().map(|text| vec![(text, None)]).collect();
        let relevances = ShortQuestion::of(question, None).relevances(&things);
        let mut found: Vec<usize> =
            (0..TEXTS.len()).filter(|place| relevances[*place] >= RELEVANCE_MIN).collect();
        found.sort_by_key(|place| std::cmp::Reverse(relevances[*place]));
        assert_eq!(found, expected, "{question}: {relevances:?}");
    }

    #[test]
    fn texts_are_found_by_words_of_either_language_whatever_their_endings() {
        check("이미지를 생성하는 에이전트", &[1]);
        check("create an image", &[0, 1]);
        check("그림", &[0, 1]);
        check("invoices", &[2]);
        check("정산은 누가 하나요?", &[2]);
        check("forecasts", &[3]);
        check("quantum chess", &[]);
        check("", &[]);
    }

    #[test]
    fn meaning_finds_what_shares_no_word_and_absent_vectors_do_no_harm() {
        let text = ShortText::of("x");
        let question = ShortQuestion::of("y", Some(vec![1.0, 0.0]));
        let (near, far) = ([0.8, 0.6], [0.1, 0.99]);
        let things = vec![
            vec![(&text, Some(&near[..]))],
            vec![(&text, Some(&far[..]))],
            vec![(&text, None)],
            vec![],
        ];
        assert_eq!(question.relevances(&things), [80, 0, 0, 0]);
    }

    #[test]
    fn a_score_is_made_of_the_texts_that_were_passed_in_alone() {
        let [one, two, ..] = TEXTS.map(ShortText::of);
        let question = ShortQuestion::of("그림 invoices", None);
        let alone = question.relevances(&[vec![(&one, None)]]);
        let again = question.relevances(&[vec![(&one, None)], vec![(&two, None)]]);
        assert_eq!(alone.len() + 1, again.len());
        assert!(alone[0] > 0 && again[0] > 0);
    }
}
