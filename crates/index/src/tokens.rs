//! Takes texts apart into terms, each as a number: who has met a term before need not look at its letters again.

mod known;
mod slots;
mod vocabulary;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::analysis::{Word, words};

use self::known::KnownPieces;
pub(crate) use self::vocabulary::{Terms, Vocabulary};

/// Terms of one field after which an analyzer begins anew: those of some hundred thousand documents, in some ten megabytes.
const TERMS_MAX: usize = 1 << 18;

/// The terms of a text, by field, as numbers. Each field has its own statistics: a pair of syllables is
/// never as rare as a word.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TextTerms {
    /// Stems, codes and their parts.
    pub(crate) words: Vec<u32>,
    /// Pairs of syllables.
    pub(crate) grams: Vec<u32>,
}

impl TextTerms {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.grams.is_empty()
    }
}

/// What the numbers of terms stand for.
#[derive(Default)]
pub(crate) struct Vocabularies {
    words: Mutex<Vocabulary>,
    grams: Mutex<Vocabulary>,
}

impl Vocabularies {
    pub(crate) fn words(&self) -> MutexGuard<'_, Vocabulary> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn grams(&self) -> MutexGuard<'_, Vocabulary> {
        self.grams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Signs that are never part of a word at its edge; without them more pieces are alike.
pub(crate) fn is_edge(letter: char) -> bool {
    matches!(
        letter,
        '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '"' | '\'' | '`' | '*' | '|'
    )
}

/// Takes texts apart. It remembers the pieces it has seen: most of a text are.
#[derive(Default)]
pub(crate) struct Analyzer {
    known: KnownPieces,
    vocabularies: Arc<Vocabularies>,
}

impl Analyzer {
    /// What the numbers that it gives stand for.
    pub(crate) fn vocabularies(&self) -> Arc<Vocabularies> {
        Arc::clone(&self.vocabularies)
    }

    /// Begins anew when there are too many terms: numbers that were given before stand for what they did.
    pub(crate) fn renew_if_full(&mut self) {
        let terms = self.vocabularies.words().len().max(self.vocabularies.grams().len());
        if terms > TERMS_MAX {
            self.known.forget();
            self.vocabularies = Arc::default();
        }
    }

    /// Takes `text` apart once, for all fields. No word reaches across a blank, so each piece between two is
    /// taken by itself. Words that say nothing are left out, as questions leave them out, unless there are no others.
    pub(crate) fn terms(&mut self, text: &str) -> TextTerms {
        let terms = self.content_terms(text);
        if terms.is_empty() { self.number(text, |_| true) } else { terms }
    }

    fn content_terms(&mut self, text: &str) -> TextTerms {
        // In English a word is some six letters, in Korean two syllables of three bytes each; with some to spare.
        let room = text.len() / 4;
        let mut terms =
            TextTerms { words: Vec::with_capacity(room), grams: Vec::with_capacity(room) };
        for piece in text.split_ascii_whitespace() {
            let piece = piece.trim_matches(is_edge);
            if piece.is_empty() || self.known.add(piece, &mut terms) {
                continue;
            }
            let fresh = self.number(piece, Word::says_something);
            self.known.keep(piece, &fresh);
            terms.words.extend(fresh.words);
            terms.grams.extend(fresh.grams);
        }
        terms
    }

    /// The terms of the words that are `wanted`.
    fn number(&self, text: &str, wanted: impl Fn(&Word) -> bool) -> TextTerms {
        let mut terms = TextTerms::default();
        let (mut words_known, mut grams_known) =
            (self.vocabularies.words(), self.vocabularies.grams());
        for word in words(text).iter().filter(|word| wanted(word)) {
            let stem = Some(&word.stem).filter(|stem| !stem.is_empty());
            for term in stem.into_iter().chain(&word.parts).chain(&word.humps) {
                terms.words.push(words_known.number(term));
            }
            for gram in &word.grams {
                terms.grams.push(grams_known.number(&gram.text));
            }
        }
        terms
    }
}

#[cfg(test)]
mod tests {
    use agent::analysis::TERM_LETTERS_MAX;

    use super::*;

    /// The terms of a text, as they are written.
    fn terms(text: &str) -> (Vec<String>, Vec<String>) {
        let mut analyzer = Analyzer::default();
        let vocabularies = analyzer.vocabularies();
        let TextTerms { words, grams } = analyzer.terms(text);
        (vocabularies.words().written(&words), vocabularies.grams().written(&grams))
    }

    #[test]
    fn the_terms_of_a_text_are_told_apart_by_field() {
        let (words, grams) = terms("NB-4031 오류는");
        assert_eq!(words, ["nb4031", "nb", "4031", "오류"]);
        assert_eq!(grams, ["오류", "류는"]);
    }

    #[test]
    fn a_piece_that_comes_again_has_the_same_terms() {
        let (words, grams) = terms("오류는 NB-4031, 오류는 (오류는");
        assert_eq!(words, ["오류", "nb4031", "nb", "4031", "오류", "오류"]);
        assert_eq!(grams, ["오류", "류는"].repeat(3));
    }

    #[test]
    fn a_term_has_a_longest_length_and_its_syllables_are_found_all_the_same() {
        let long = "a1".repeat(TERM_LETTERS_MAX);
        assert!(terms(&long).0.is_empty());
        assert!(!terms(&"가나".repeat(TERM_LETTERS_MAX)).1.is_empty());
    }

    #[test]
    fn text_without_words_gives_no_terms() {
        for text in ["", " \n\t", "…!?", "🙂🙂", "\u{0}\u{301}"] {
            assert_eq!(terms(text), (Vec::new(), Vec::new()), "{text:?}");
        }
    }

    #[test]
    fn an_analyzer_with_too_many_terms_begins_anew_and_the_old_numbers_stay_known() {
        let mut analyzer = Analyzer::default();
        let before = analyzer.vocabularies();
        let old = analyzer.terms("예산 first").words;
        for number in 0..=TERMS_MAX {
            analyzer.terms(&format!("w{number}"));
        }
        assert!(Arc::ptr_eq(&before, &analyzer.vocabularies()));
        analyzer.renew_if_full();
        let after = analyzer.vocabularies();
        assert!(!Arc::ptr_eq(&before, &after));
        assert_eq!(before.words().written(&old), ["예산", "first"]);
        let new = analyzer.terms("first").words;
        assert_eq!(after.words().written(&new), ["first"]);
    }
}
