//! Remembers the terms of short pieces of text, each beside its piece: most of what is looked up is found in one place.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;

use super::TextTerms;
use super::slots::Slots;

/// Pieces that are remembered: a language's common ones fit, and a few megabytes hold them.
const KNOWN_MAX: usize = 1 << 16;

/// Longest piece that is remembered, in bytes: what is common is short.
const PIECE_BYTES_MAX: usize = 48;

/// What the numbers of one piece's terms may take at the most; those of so short a piece take less.
const NUMBERS_BYTES_MAX: usize = u16::MAX as usize;

/// Pieces and their terms. When it is full it forgets all: what is common is soon back.
#[derive(Default)]
pub(super) struct KnownPieces {
    places: Slots<Place>,
    /// Each piece, then the numbers of the terms of its words, then those of its pairs of syllables.
    bytes: Vec<u8>,
    hasher: RandomState,
}

/// Where a piece stands among the bytes.
#[derive(Clone, Copy, Default)]
struct Place {
    start: u32,
    piece_bytes: u16,
    words_bytes: u16,
    grams_bytes: u16,
}

impl KnownPieces {
    /// Adds the terms of a piece, if it is known; says whether it is.
    pub(super) fn add(&self, piece: &str, terms: &mut TextTerms) -> bool {
        let hash = self.hasher.hash_one(piece);
        let is_it = |place: &Place| self.slice(place, 0, place.piece_bytes) == piece.as_bytes();
        let Some(place) = self.places.find(hash, is_it) else { return false };
        let words = self.slice(&place, place.piece_bytes, place.words_bytes);
        let before = place.piece_bytes + place.words_bytes;
        let grams = self.slice(&place, before, place.grams_bytes);
        terms.words.extend(numbers(words));
        terms.grams.extend(numbers(grams));
        true
    }

    /// Remembers the terms of a piece that is not known.
    pub(super) fn keep(&mut self, piece: &str, terms: &TextTerms) {
        let numbers_bytes = 4 * (terms.words.len() + terms.grams.len());
        if piece.len() > PIECE_BYTES_MAX || piece.len() + numbers_bytes > NUMBERS_BYTES_MAX {
            return;
        }
        if self.places.taken() >= KNOWN_MAX {
            self.forget();
        }
        let Ok(start) = u32::try_from(self.bytes.len()) else { return };
        let short = |bytes: usize| u16::try_from(bytes).unwrap_or(u16::MAX);
        self.bytes.extend(piece.as_bytes());
        for number in terms.words.iter().chain(&terms.grams) {
            self.bytes.extend(number.to_le_bytes());
        }
        let place = Place {
            start,
            piece_bytes: short(piece.len()),
            words_bytes: short(4 * terms.words.len()),
            grams_bytes: short(4 * terms.grams.len()),
        };
        self.places.put(self.hasher.hash_one(piece), place);
    }

    /// Forgets all pieces.
    pub(super) fn forget(&mut self) {
        self.places.clear();
        self.bytes.clear();
    }

    fn slice(&self, place: &Place, from: u16, bytes: u16) -> &[u8] {
        let start = place.start as usize + usize::from(from);
        self.bytes.get(start..start + usize::from(bytes)).unwrap_or_default()
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(words: &[u32], grams: &[u32]) -> TextTerms {
        TextTerms { words: words.to_vec(), grams: grams.to_vec() }
    }

    fn find(known: &KnownPieces, piece: &str) -> Option<TextTerms> {
        let mut found = TextTerms::default();
        known.add(piece, &mut found).then_some(found)
    }

    #[test]
    fn what_was_kept_is_found_until_there_is_no_more_room() {
        let mut known = KnownPieces::default();
        assert_eq!(find(&known, "샘물"), None);
        known.keep("샘물", &terms(&[7], &[]));
        let of = |number: usize| u32::try_from(number).unwrap();
        for number in 0..KNOWN_MAX - 1 {
            known.keep(&format!("piece{number}"), &terms(&[of(number)], &[1, 2]));
        }
        assert_eq!(find(&known, "샘물"), Some(terms(&[7], &[])));
        for number in 0..KNOWN_MAX - 1 {
            let expected = Some(terms(&[of(number)], &[1, 2]));
            assert_eq!(find(&known, &format!("piece{number}")), expected);
        }
        assert_eq!(find(&known, "piece"), None);
        known.keep("one more", &terms(&[], &[]));
        assert_eq!(find(&known, "one more"), Some(terms(&[], &[])));
        assert_eq!(find(&known, "샘물"), None);
    }

    #[test]
    fn what_is_long_is_not_kept() {
        let mut known = KnownPieces::default();
        let long = "x".repeat(PIECE_BYTES_MAX + 1);
        known.keep(&long, &terms(&[1], &[]));
        assert_eq!(find(&known, &long), None);
        known.keep("x", &terms(&vec![1; NUMBERS_BYTES_MAX / 4 + 1], &[]));
        assert!(find(&known, "x").is_none());
    }
}
