//! Takes texts apart as o200k does: into pieces, and these into tokens.

use super::classes::Classes;
use super::merger::Merger;
use super::pieces::pieces;
use super::vocabulary::{TOKEN_BYTES_MAX, Vocabulary};

#[derive(Debug)]
pub(super) struct O200k {
    classes: Classes,
    vocabulary: Vocabulary,
}

impl O200k {
    /// `None` if an asset is damaged.
    pub(super) fn load() -> Option<Self> {
        Some(Self { classes: Classes::load()?, vocabulary: Vocabulary::load()? })
    }

    /// The number of a text's tokens. Words that look like tokens for special purposes are text like any other.
    pub(super) fn count(&self, text: &str) -> usize {
        let mut merger = Merger::default();
        let mut count = 0;
        for piece in pieces(text, &self.classes) {
            merger.tokens(piece.as_bytes(), &self.vocabulary, |_| count += 1);
        }
        count
    }

    /// The lengths of a text's tokens, in bytes: all of them, or at least as many as are asked for.
    pub(super) fn lengths(&self, text: &str, tokens_min: usize) -> Vec<usize> {
        let mut merger = Merger::default();
        let mut lengths = Vec::new();
        for piece in pieces(text, &self.classes) {
            if lengths.len() >= tokens_min {
                break;
            }
            merger.tokens(piece.as_bytes(), &self.vocabulary, |length| lengths.push(length));
        }
        lengths
    }

    /// The length of the beginning of a text that has no more than so many tokens, and ends between two characters.
    pub(super) fn clip(&self, text: &str, tokens_max: usize) -> usize {
        // No token is longer, so what is behind this place is out of reach, and a piece without end is not taken whole.
        let reach = text.floor_char_boundary(tokens_max.saturating_mul(TOKEN_BYTES_MAX));
        let text = text.get(..reach).unwrap_or(text);
        let mut end = self.lengths(text, tokens_max).into_iter().take(tokens_max).sum::<usize>();
        if end == text.len() {
            return end;
        }
        loop {
            let start = text.get(..text.floor_char_boundary(end)).unwrap_or_default();
            // A beginning may be cut into other tokens than it was as a part of the whole. That there are more of them
            // has not been seen in millions of texts, but nothing forbids it.
            if start.is_empty() || self.count(start) <= tokens_max {
                return start.len();
            }
            end = start.len() - 1;
        }
    }
}
