//! Puts a text's terms into the form that tantivy indexes, one list for each field.

use tantivy::tokenizer::{PreTokenizedString, Token};

use super::{Word, words};

/// The terms of a text, sorted by field. Each field has its own statistics: a pair of syllables is
/// never as rare as a word.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TextTerms {
    /// Stems, codes and their parts.
    pub(crate) words: Vec<Token>,
    /// Pairs of syllables.
    pub(crate) grams: Vec<Token>,
    /// Two neighbouring stems as one term: phrases at the price of a word.
    pub(crate) pairs: Vec<Token>,
}

impl TextTerms {
    /// Takes `text` apart once, for all fields.
    pub(crate) fn of(text: &str) -> Self {
        let words = words(text);
        let mut terms = Self::default();
        for (position, word) in words.iter().enumerate() {
            let token = |text: &str| Token {
                offset_from: word.from,
                offset_to: word.to,
                position,
                text: text.to_owned(),
                position_length: 1,
            };
            let whole = Some(&word.stem).filter(|stem| !stem.is_empty());
            let parts = word.parts.iter().chain(&word.humps);
            terms.words.extend(whole.into_iter().chain(parts).map(|text| token(text)));
            terms.grams.extend(word.grams.iter().map(|gram| token(&gram.text)));
            let next = words.get(position + 1);
            let pair = next.and_then(|next| pair(word, next));
            terms.pairs.extend(pair.map(|text| token(&text)));
        }
        terms
    }
}

/// The term of two neighbours; the space keeps it apart from every word.
pub(crate) fn pair(first: &Word, second: &Word) -> Option<String> {
    let both = !first.stem.is_empty() && !second.stem.is_empty();
    both.then(|| format!("{} {}", first.stem, second.stem))
}

/// Tokens as a field's value. tantivy reads only the tokens; the text is kept elsewhere.
pub(crate) fn value(tokens: Vec<Token>) -> PreTokenizedString {
    PreTokenizedString { text: String::new(), tokens }
}
