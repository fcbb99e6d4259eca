//! Remembers how many tokens a piece has: a few thousand words make up most of what is counted.

use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::quality::RandomState;

/// Places for pieces, a power of two: 512 KiB, more places than a corpus has common words.
const PLACES: usize = 1 << 16;

/// Longest piece that is remembered, in bytes: longer ones are hardly ever the same.
const PIECE_BYTES_MAX: usize = 64;

/// Low bits of a place that hold the count; the others hold the piece's hash.
const COUNT_BITS: u32 = 8;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

/// The counts of the pieces seen last, one for each place. Threads share it without waiting for each other: a place is
/// one word, which is either of one piece or of another.
#[derive(Debug)]
pub(super) struct Counts {
    places: Vec<AtomicU64>,
    /// Drawn anew for each process, so that nobody can write two words that pass for one.
    hasher: RandomState,
}

impl Default for Counts {
    fn default() -> Self {
        let places = std::iter::repeat_with(AtomicU64::default).take(PLACES).collect();
        Self { places, hasher: RandomState::default() }
    }
}

impl Counts {
    /// The count of a piece, as remembered or else as it is counted now.
    pub(super) fn of(&self, piece: &[u8], count: impl FnOnce() -> usize) -> usize {
        if piece.len() > PIECE_BYTES_MAX {
            return count();
        }
        // The place comes from the hash's low bits, which the count then takes the room of.
        let hash = self.hasher.hash_one(piece);
        let Some(place) = self.places.get(hash as usize % PLACES) else { return count() };
        let known = place.load(Ordering::Relaxed);
        if known & !COUNT_MASK == hash & !COUNT_MASK && known & COUNT_MASK != 0 {
            return (known & COUNT_MASK) as usize;
        }
        let counted = count();
        // A piece of so few bytes has no more tokens than fit.
        place.store(hash & !COUNT_MASK | counted as u64 & COUNT_MASK, Ordering::Relaxed);
        counted
    }
}
