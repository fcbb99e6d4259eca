//! Joins the bytes of a piece to tokens: of two neighbours that make a token, always those whose token ranks first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::{Rank, Vocabulary};

/// Length of what is joined at once, in bytes. No text for people has a longer piece; in other text the count may be
/// off by a token or two for each cut. It bounds the memory, which is about 30 times as much.
const JOINED_BYTES_MAX: usize = 256 * 1024;

/// The rank of neighbours that make no token.
const NO_TOKEN: Rank = Rank::MAX;

/// Joins one piece after the other; kept between them for its memory.
#[derive(Debug, Default)]
pub(super) struct Merger {
    /// By byte of the piece, the part that begins there, if one still does.
    parts: Vec<Part>,
    /// Neighbours that make a token, the next to be joined on top: rank, and where the first of them begins.
    waiting: BinaryHeap<Reverse<(Rank, u32)>>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    /// Where the part before this one begins; at the first, its own place.
    previous: u32,
    /// Where this part ends, and the next begins.
    end: u32,
    /// The rank of the token that this part and the next make.
    rank: Rank,
}

impl Merger {
    /// Calls `take` with the length of each of a piece's tokens, in order.
    pub(super) fn tokens(
        &mut self,
        piece: &[u8],
        vocabulary: &Vocabulary,
        mut take: impl FnMut(usize),
    ) {
        for bytes in piece.chunks(JOINED_BYTES_MAX) {
            if vocabulary.rank(bytes).is_some() {
                take(bytes.len());
                continue;
            }
            self.join(bytes, vocabulary);
            let mut start = 0;
            while let Some(part) = self.parts.get(start) {
                let end = part.end as usize;
                take(end - start);
                start = end;
            }
        }
    }

    /// Joins what can be joined.
    fn join(&mut self, bytes: &[u8], vocabulary: &Vocabulary) {
        self.parts.clear();
        self.waiting.clear();
        for (place, end) in (0..bytes.len()).zip(1..) {
            let rank = rank(bytes, place, place + 2, vocabulary);
            self.parts.push(Part { previous: end.max(2) - 2, end, rank });
            if rank != NO_TOKEN {
                self.waiting.push(Reverse((rank, end - 1)));
            }
        }
        while let Some(Reverse((rank, start))) = self.waiting.pop() {
            // The parts may have become others since they were noted.
            if self.parts.get(start as usize).is_some_and(|part| part.rank == rank) {
                self.join_two(bytes, start, vocabulary);
            }
        }
    }

    /// Joins the part at `start` with the next one; `None` if there is none.
    fn join_two(&mut self, bytes: &[u8], start: u32, vocabulary: &Vocabulary) -> Option<()> {
        let Part { previous, end: middle, .. } = *self.parts.get(start as usize)?;
        let gone = self.parts.get_mut(middle as usize)?;
        // It is not looked at again, but for the note of what it made with its next one.
        gone.rank = NO_TOKEN;
        let end = gone.end;
        self.parts.get_mut(start as usize)?.end = end;
        let next_end = self.parts.get_mut(end as usize).map(|next| {
            next.previous = start;
            next.end
        });
        let with_next = next_end.map_or(NO_TOKEN, |next_end| {
            rank(bytes, start as usize, next_end as usize, vocabulary)
        });
        self.note(start, with_next);
        if start > 0 {
            let with_previous = rank(bytes, previous as usize, end as usize, vocabulary);
            self.note(previous, with_previous);
        }
        Some(())
    }

    /// Notes what the part at `start` and the next one make.
    fn note(&mut self, start: u32, rank: Rank) {
        if let Some(part) = self.parts.get_mut(start as usize) {
            part.rank = rank;
        }
        if rank != NO_TOKEN {
            self.waiting.push(Reverse((rank, start)));
        }
    }
}

fn rank(bytes: &[u8], start: usize, end: usize, vocabulary: &Vocabulary) -> Rank {
    bytes.get(start..end).and_then(|token| vocabulary.rank(token)).unwrap_or(NO_TOKEN)
}
