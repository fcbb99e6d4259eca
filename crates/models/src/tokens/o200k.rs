//! Takes texts apart as o200k does: into pieces, and these into tokens.

use super::classes::Classes;
use super::counts::Counts;
use super::merger::Merger;
use super::pieces::pieces;
use super::texts::Texts;
use super::vocabulary::{TOKEN_BYTES_MAX, Vocabulary};

/// Pieces at the end of a text that may be others when it is cut there: a piece looks no further than the next but one.
const PIECES_CHANGED_MAX: usize = 4;

/// What is remembered of a text beside the lengths that it was cut to.
const COUNT: Option<usize> = None;

#[derive(Debug)]
pub(super) struct O200k {
    classes: Classes,
    vocabulary: Vocabulary,
    counts: Counts,
    texts: Texts,
}

impl O200k {
    /// `None` if an asset is damaged.
    pub(super) fn load() -> Option<Self> {
        Some(Self {
            classes: Classes::load()?,
            vocabulary: Vocabulary::load()?,
            counts: Counts::default(),
            texts: Texts::default(),
        })
    }

    /// The number of a text's tokens. Words that look like tokens for special purposes are text like any other.
    pub(super) fn count(&self, text: &str) -> usize {
        self.texts.of(text, COUNT, || self.count_anew(text))
    }

    fn count_anew(&self, text: &str) -> usize {
        let mut merger = Merger::default();
        let pieces = pieces(text, &self.classes);
        pieces.map(|piece| self.count_piece(piece, &mut merger)).sum()
    }

    fn count_piece(&self, piece: &str, merger: &mut Merger) -> usize {
        self.counts.of(piece.as_bytes(), || {
            let mut count = 0;
            merger.tokens(piece.as_bytes(), &self.vocabulary, |_| count += 1);
            count
        })
    }

    /// The length of the beginning of a text that has no more than so many tokens, and ends between two characters.
    pub(super) fn clip(&self, text: &str, tokens_max: usize) -> usize {
        self.texts.of(text, Some(tokens_max), || self.clip_anew(text, tokens_max))
    }

    fn clip_anew(&self, text: &str, tokens_max: usize) -> usize {
        // No token is longer, so what is behind this place is out of reach, and a piece without end is not taken whole.
        let reach = text.floor_char_boundary(tokens_max.saturating_mul(TOKEN_BYTES_MAX));
        let text = text.get(..reach).unwrap_or(text);
        let mut merger = Merger::default();
        // Where the last few pieces begin, and the tokens before each.
        let mut starts = [(0, 0); PIECES_CHANGED_MAX];
        let (mut end, mut count) = (0, 0);
        for piece in pieces(text, &self.classes) {
            let own = self.count_piece(piece, &mut merger);
            if count + own > tokens_max {
                end += self.length_of(piece, tokens_max - count, &mut merger);
                return self.shorten(text, end, tokens_max, starts);
            }
            starts.rotate_left(1);
            if let Some(last) = starts.last_mut() {
                *last = (end, count);
            }
            (end, count) = (end + piece.len(), count + own);
        }
        end
    }

    /// The length of so many tokens of a piece.
    fn length_of(&self, piece: &str, tokens: usize, merger: &mut Merger) -> usize {
        let mut lengths = Vec::new();
        merger.tokens(piece.as_bytes(), &self.vocabulary, |length| lengths.push(length));
        lengths.into_iter().take(tokens).sum()
    }

    /// Moves the end of a beginning back until it has no more than so many tokens by itself.
    fn shorten(
        &self,
        text: &str,
        mut end: usize,
        tokens_max: usize,
        starts: [(usize, usize); PIECES_CHANGED_MAX],
    ) -> usize {
        loop {
            let start = text.get(..text.floor_char_boundary(end)).unwrap_or_default();
            // The pieces well before the end are those of the whole text, and are counted already.
            let known = starts.iter().find(|(place, _)| *place <= start.len());
            let (place, before) = known.copied().unwrap_or_default();
            let rest = start.get(place..).unwrap_or(start);
            // A beginning may be cut into other tokens than it was as a part of the whole. That there are more of them
            // has not been seen in millions of texts, but nothing forbids it.
            if start.is_empty() || before + self.count_anew(rest) <= tokens_max {
                return start.len();
            }
            end = start.len() - 1;
        }
    }
}
