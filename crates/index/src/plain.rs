//! Indexes texts as tantivy does by itself, word by word: what our own segments are held against.

use agent::analysis::{Word, words};
use tantivy::TantivyDocument;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::query::{KeywordFields, TOKENIZER};
use crate::tokens::is_edge;

/// Between two terms; no word holds it.
const SEPARATOR: char = '\u{1f}';

/// Tells an index how the terms of its fields are written.
pub(crate) fn register_tokenizer(index: &tantivy::Index) {
    index.tokenizers().register(TOKENIZER, TermsTokenizer::default());
}

/// Adds a passage. `heading` is the document's title and the path of headings above the text;
/// it counts as part of the text too, which often takes its subject as said.
pub(crate) fn add(fields: KeywordFields, to: &mut TantivyDocument, heading: &str, body: &str) {
    let (heading, body) = (terms(heading), terms(body));
    to.add_text(fields.heading, &heading.0);
    for (words, grams) in [heading, body] {
        to.add_text(fields.words, words);
        to.add_text(fields.grams, grams);
    }
}

/// Terms as the value of a field.
pub(crate) fn joined<'a>(terms: impl IntoIterator<Item = &'a str>) -> String {
    terms.into_iter().flat_map(|term| [term.to_owned(), SEPARATOR.to_string()]).collect()
}

/// The terms of a text's words, and of its pairs of syllables.
fn terms(text: &str) -> (String, String) {
    let pieces = text.split_ascii_whitespace().map(|piece| piece.trim_matches(is_edge));
    let content: Vec<Word> = pieces.flat_map(words).filter(Word::says_something).collect();
    let is_nothing = |word: &Word| word.stem.is_empty() && word.grams.is_empty();
    let words = if content.iter().all(is_nothing) { words(text) } else { content };
    let grams = words.iter().flat_map(|word| &word.grams).map(|gram| gram.text.as_str());
    let stems = words.iter().flat_map(|word| {
        let stem = Some(&word.stem).filter(|stem| !stem.is_empty());
        stem.into_iter().chain(&word.parts).chain(&word.humps).map(String::as_str)
    });
    (joined(stems), joined(grams))
}

#[derive(Clone, Default)]
struct TermsTokenizer {
    token: Token,
}

impl Tokenizer for TermsTokenizer {
    type TokenStream<'a> = TermsStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermsStream<'a> {
        self.token.reset();
        TermsStream { rest: text, token: &mut self.token }
    }
}

struct TermsStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl TokenStream for TermsStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((term, rest)) = self.rest.split_once(SEPARATOR) else { return false };
        self.rest = rest;
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
