//! Puts a text's terms into the form that tantivy indexes: for each field one string of terms with a sign between them.

mod known;

use agent::analysis::{Word, words};
use known::KnownPieces;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Stands after each term. Words are made of letters, digits and few signs; tags give it up.
pub(crate) const SEPARATOR: char = '\u{1f}';
const SEPARATOR_BYTE: u8 = b'\x1f';

/// The terms of a text, sorted by field. Each field has its own statistics: a pair of syllables is
/// never as rare as a word.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TextTerms {
    /// Stems, codes and their parts.
    pub(crate) words: Terms,
    /// Pairs of syllables.
    pub(crate) grams: Terms,
}

/// Terms one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Terms(String);

impl Terms {
    pub(crate) fn push(&mut self, term: &str) {
        self.0.push_str(term);
        self.0.push(SEPARATOR);
    }

    /// As a field's value.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Signs that are never part of a word at its edge; without them more pieces are alike.
fn is_edge(letter: char) -> bool {
    matches!(
        letter,
        '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '"' | '\'' | '`' | '*' | '|'
    )
}

/// Takes texts apart. It remembers the pieces it has seen: most of a text are.
#[derive(Default)]
pub(crate) struct Analyzer {
    known: KnownPieces,
}

impl Analyzer {
    /// Takes `text` apart once, for all fields. No word reaches across a blank, so each piece between two is
    /// taken by itself. Words that say nothing are left out, as questions leave them out, unless there are no others.
    pub(crate) fn terms(&mut self, text: &str) -> TextTerms {
        let terms = self.content_terms(text);
        if terms.is_empty() { TextTerms::of(text, |_| true) } else { terms }
    }

    fn content_terms(&mut self, text: &str) -> TextTerms {
        let mut terms = TextTerms::with_capacity(text.len());
        for piece in text.split_ascii_whitespace() {
            let piece = piece.trim_matches(is_edge);
            if piece.is_empty() {
                continue;
            }
            if let Some((words, grams)) = self.known.find(piece) {
                terms.words.0.push_str(words);
                terms.grams.0.push_str(grams);
            } else {
                let fresh = TextTerms::of(piece, Word::says_something);
                self.known.keep(piece, fresh.words.as_str(), fresh.grams.as_str());
                terms.words.0.push_str(fresh.words.as_str());
                terms.grams.0.push_str(fresh.grams.as_str());
            }
        }
        terms
    }
}

impl TextTerms {
    /// With room for the terms of about so many bytes of text.
    fn with_capacity(bytes: usize) -> Self {
        let terms = || Terms(String::with_capacity(bytes + bytes / 2));
        Self { words: terms(), grams: terms() }
    }

    /// The terms of the words that are `wanted`.
    fn of(text: &str, wanted: impl Fn(&Word) -> bool) -> Self {
        let mut terms = Self::default();
        for word in words(text).iter().filter(|word| wanted(word)) {
            if !word.stem.is_empty() {
                terms.words.push(&word.stem);
            }
            for part in word.parts.iter().chain(&word.humps) {
                terms.words.push(part);
            }
            for gram in &word.grams {
                terms.grams.push(&gram.text);
            }
        }
        terms
    }

    fn is_empty(&self) -> bool {
        self.words.0.is_empty() && self.grams.0.is_empty()
    }
}

/// Gives tantivy the terms of a [`Terms`] string.
///
/// tantivy's own form for text that is taken apart already is written to JSON and read again for every passage.
#[derive(Clone, Default)]
pub(crate) struct TermsTokenizer {
    token: Token,
}

impl TermsTokenizer {
    /// The name under which an index knows it.
    pub(crate) const NAME: &'static str = "terms";
}

impl Tokenizer for TermsTokenizer {
    type TokenStream<'a> = TermsStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermsStream<'a> {
        self.token.reset();
        TermsStream { rest: text, token: &mut self.token }
    }
}

pub(crate) struct TermsStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl TokenStream for TermsStream<'_> {
    fn advance(&mut self) -> bool {
        // Terms are short: looking at one byte after another finds their end sooner than a search made for long texts.
        let Some(end) = self.rest.bytes().position(|byte| byte == SEPARATOR_BYTE) else {
            return false;
        };
        let (term, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest.get(1..).unwrap_or_default();
        self.token.text.clear();
        self.token.text.push_str(term);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use agent::analysis::TERM_LETTERS_MAX;

    use super::*;

    /// What tantivy makes of a field's value.
    fn terms_of(value: &Terms) -> Vec<String> {
        let mut terms = Vec::new();
        TermsTokenizer::default()
            .token_stream(value.as_str())
            .process(&mut |token| terms.push(token.text.clone()));
        terms
    }

    fn text_terms(text: &str) -> TextTerms {
        Analyzer::default().terms(text)
    }

    #[test]
    fn the_terms_of_a_text_reach_the_index_one_by_one() {
        let terms = text_terms("NB-4031 오류는");
        assert_eq!(terms_of(&terms.words), ["nb4031", "nb", "4031", "오류"]);
        assert_eq!(terms_of(&terms.grams), ["오류", "류는"]);
    }

    #[test]
    fn a_term_has_a_longest_length_and_its_syllables_are_found_all_the_same() {
        let long = "a1".repeat(TERM_LETTERS_MAX);
        assert!(terms_of(&text_terms(&long).words).is_empty());
        assert!(!terms_of(&text_terms(&"가나".repeat(TERM_LETTERS_MAX)).grams).is_empty());
    }

    #[test]
    fn text_without_words_gives_no_terms() {
        for text in ["", " \n\t", "…!?", "🙂🙂", "\u{0}\u{301}"] {
            assert_eq!(text_terms(text), TextTerms::default(), "{text:?}");
        }
    }
}
