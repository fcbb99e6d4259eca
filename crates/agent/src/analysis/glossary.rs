//! Says what a Korean word of work and software is in English, and the other way round.
//!
//! A question in one language cannot meet a text in the other by its words. These few hundred words are what such
//! questions are mostly made of; what they mean beyond that is left to the vectors.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Word, words};

/// The words of both languages, from the file beside this one.
static GLOSSARY: LazyLock<Glossary> =
    LazyLock::new(|| Glossary::read(include_str!("glossary.txt")));

/// Most words in a phrase of the glossary.
const PHRASE_WORDS_MAX: usize = 3;

/// Shortest known part of a Korean compound, in syllables: shorter ones are found in everything.
const PART_SYLLABLES_MIN: usize = 2;

/// What stands in the other language for one of a question's words.
pub struct Translation {
    pub word: &'static Word,
    /// Where in the question the word stands that it is said for, in bytes.
    pub from: usize,
}

/// The other language's words for everything in a question that the glossary knows.
#[must_use]
pub fn translations(question: &[Word]) -> Vec<Translation> {
    GLOSSARY.translations(question)
}

#[derive(Default)]
struct Glossary {
    /// By the stems of a word or phrase, with a blank between them.
    known: HashMap<String, Vec<Word>>,
}

impl Glossary {
    fn read(text: &str) -> Self {
        let mut glossary = Self::default();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        for (korean, english) in lines.filter_map(|line| line.split_once('=')) {
            glossary.add(korean, english);
            glossary.add(english, korean);
        }
        glossary
    }

    fn add(&mut self, names: &str, others: &str) {
        let others: Vec<Word> =
            others.split(',').flat_map(words).filter(Word::says_something).collect();
        for name in names.split(',') {
            let known = self.known.entry(key(&words(name)).into_owned()).or_default();
            for other in &others {
                if !known.iter().any(|word| word.stem == other.stem) {
                    known.push(other.clone());
                }
            }
        }
    }

    fn translations(&'static self, question: &[Word]) -> Vec<Translation> {
        let mut found = Vec::new();
        let mut rest = question;
        while let Some(first) = rest.first() {
            let from = first.from;
            let translation = |word| Translation { word, from };
            let (taken, others) = self.longest_phrase(rest);
            if taken > 0 {
                found.extend(others.iter().map(translation));
            } else {
                found.extend(self.parts(&first.stem).into_iter().map(translation));
            }
            rest = rest.get(taken.max(1)..).unwrap_or_default();
        }
        found
    }

    /// How many of the first words are in the glossary as one, and what that is in the other language.
    fn longest_phrase(&self, question: &[Word]) -> (usize, &[Word]) {
        let lengths = (1..=PHRASE_WORDS_MAX.min(question.len())).rev();
        let known = |length| {
            let others = self.known.get(&*key(question.get(..length)?))?;
            Some((length, others.as_slice()))
        };
        lengths.filter_map(known).next().unwrap_or_default()
    }

    /// The known words that a Korean compound is made of, from left to right, the longest first.
    fn parts(&self, stem: &str) -> Vec<&Word> {
        let mut others = Vec::new();
        let ends: Vec<usize> = stem.char_indices().map(|(at, _)| at).chain([stem.len()]).collect();
        let mut first = 0;
        while first + PART_SYLLABLES_MIN < ends.len() {
            let known = (first + PART_SYLLABLES_MIN..ends.len()).rev().find_map(|last| {
                let part = stem.get(*ends.get(first)?..*ends.get(last)?)?;
                let is_korean = part.chars().all(super::letters::is_hangul);
                Some((last, self.known.get(part).filter(|_| is_korean)?))
            });
            match known {
                Some((last, words)) => {
                    others.extend(words);
                    first = last;
                }
                None => first += 1,
            }
        }
        others
    }
}

fn key(words: &[Word]) -> Cow<'_, str> {
    if let [word] = words {
        return Cow::Borrowed(&word.stem);
    }
    let stems: Vec<&str> = words.iter().map(|word| word.stem.as_str()).collect();
    Cow::Owned(stems.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(question: &str, expected: &[&str]) {
        let found = translations(&words(question));
        let stems: Vec<&str> = found.iter().map(|found| found.word.stem.as_str()).collect();
        assert_eq!(stems, expected, "{question}");
    }

    #[test]
    fn what_is_known_is_said_in_the_other_language() {
        check("쿠버네티스는 무엇인가요?", &["kubernet", "k8s"]);
        check("Kubernetes", &["쿠버네티스"]);
        check("the exchange rate", &["환율"]);
        check("환율을", &["exchang", "rate"]);
        check("결제수단", &["payment", "bill"]);
        check("나무 zebra", &[]);
        check("", &[]);
    }

    #[test]
    fn it_says_where_the_word_stands() {
        let question = words("내 환율");
        let froms: Vec<usize> = translations(&question).iter().map(|found| found.from).collect();
        assert_eq!(froms, [4, 4]);
    }

    #[test]
    fn every_line_of_the_glossary_gives_something_both_ways() {
        for (names, others) in GLOSSARY.known.iter().map(|(name, others)| (name, others.len())) {
            assert!(!names.is_empty() && others > 0, "{names}");
        }
    }
}
