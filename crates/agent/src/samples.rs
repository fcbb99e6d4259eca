//! What the tests of this crate are made from. The samples of `testkit` are of another build of these types.

use std::sync::Arc;

use crate::filter::{TagValue, Tags};
use crate::identity::Timestamp;
use crate::knowledge::{Excerpt, Found, Passage};
use crate::memory::SaidTurn;
use crate::model::Tokenizer;
use crate::names::{DocumentId, SectionId};
use crate::retrieval::Marks;

/// A token for each word.
pub(crate) struct Words;

impl Tokenizer for Words {
    fn count(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn clip<'text>(&self, text: &'text str, tokens_max: usize) -> &'text str {
        let word = text.split_whitespace().nth(tokens_max);
        let end = word.map_or(text.len(), |word| word.as_ptr() as usize - text.as_ptr() as usize);
        text.get(..end).unwrap_or(text)
    }
}

/// The id of one digit.
pub(crate) fn document(digit: char) -> DocumentId {
    digit.to_string().repeat(32).parse().unwrap()
}

/// The first chunk of a document of this type.
pub(crate) fn passage(kind: &str, heading: &str, text: &str) -> Passage {
    let excerpt = Excerpt {
        document: document('0'),
        chunk: 0,
        section: SectionId { document: document('0'), ordinal: 0 },
        title: heading.to_owned(),
        source: "sample.md".to_owned(),
        heading_path: vec![heading.to_owned()],
        text: text.to_owned(),
        range: 0..0,
        tags: Tags::from([("doc_type".to_owned(), vec![TagValue::Text(kind.to_owned())])]),
        marks: Marks::default(),
    };
    Passage { excerpt: Arc::new(excerpt), score: 1.0, found: Found::default() }
}

/// A whole turn.
pub(crate) fn said(number: u64, question: &str, answer: &str) -> SaidTurn {
    SaidTurn {
        number,
        at: Timestamp(number),
        question: question.to_owned(),
        answer: answer.to_owned(),
        is_complete: true,
    }
}
