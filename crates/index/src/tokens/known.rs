//! Remembers the terms of short pieces of text, each beside its piece: most of what is looked up is found in one place.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;

/// Places of the table at first and at most, powers of two: the index of a small tenant needs few.
const PLACES_FIRST: usize = 1 << 10;
const PLACES_MAX: usize = 1 << 17;

/// Pieces that are remembered: a language's common ones fit, half of the places stay empty, and a few megabytes hold them.
const KNOWN_MAX: usize = PLACES_MAX / 2;

/// Longest piece that is remembered, in bytes: what is common is short.
const PIECE_BYTES_MAX: usize = 48;

/// What the terms of one piece may take at the most; those of so short a piece take less.
const TERMS_BYTES_MAX: usize = u16::MAX as usize;

/// Pieces and their terms. When it is full it forgets all: what is common is soon back.
#[derive(Default)]
pub(super) struct KnownPieces {
    /// By hash; who finds a place taken takes the next. Empty until something is kept.
    places: Vec<Place>,
    /// Each piece, then the terms of its words, then those of its pairs of syllables.
    texts: String,
    count: usize,
    hasher: RandomState,
}

/// Where a piece stands in the texts. One without a length is free.
#[derive(Clone, Copy, Default)]
struct Place {
    /// A part of the piece's hash: another piece is seldom looked at.
    mark: u32,
    start: u32,
    piece_bytes: u16,
    words_bytes: u16,
    grams_bytes: u16,
}

impl KnownPieces {
    /// The terms of a piece's words and of its pairs of syllables.
    pub(super) fn find(&self, piece: &str) -> Option<(&str, &str)> {
        if !is_kept(piece) || self.places.is_empty() {
            return None;
        }
        let (mut at, mark) = self.place_of(piece);
        loop {
            // Half of the places are free, so that the walk ends.
            let place = self.places.get(at).filter(|place| place.piece_bytes > 0)?;
            if place.mark == mark && self.slice(place, 0, place.piece_bytes) == piece {
                let words = self.slice(place, place.piece_bytes, place.words_bytes);
                let before = place.piece_bytes + place.words_bytes;
                return Some((words, self.slice(place, before, place.grams_bytes)));
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }

    /// Remembers the terms of a piece that was not found.
    pub(super) fn keep(&mut self, piece: &str, words: &str, grams: &str) {
        let bytes = piece.len() + words.len() + grams.len();
        if !is_kept(piece) || bytes > TERMS_BYTES_MAX {
            return;
        }
        self.make_room();
        let (at, mark) = self.free_place(piece);
        let length = |text: &str| u16::try_from(text.len()).unwrap_or(u16::MAX);
        let (Some(place), Ok(start)) = (self.places.get_mut(at), u32::try_from(self.texts.len()))
        else {
            return;
        };
        *place = Place {
            mark,
            start,
            piece_bytes: length(piece),
            words_bytes: length(words),
            grams_bytes: length(grams),
        };
        for text in [piece, words, grams] {
            self.texts.push_str(text);
        }
        self.count += 1;
    }

    /// Sees to it that half of the places stay free.
    fn make_room(&mut self) {
        let places = self.places.len();
        if self.count < places / 2 {
            return;
        }
        if self.count >= KNOWN_MAX {
            self.places.fill(Place::default());
            self.texts.clear();
            self.count = 0;
            return;
        }
        let larger = vec![Place::default(); (places * 2).max(PLACES_FIRST)];
        for place in std::mem::replace(&mut self.places, larger) {
            if place.piece_bytes > 0 {
                let (at, _) = self.free_place(self.slice(&place, 0, place.piece_bytes));
                if let Some(free) = self.places.get_mut(at) {
                    *free = place;
                }
            }
        }
    }

    /// Where a piece that is not there can stand, and its mark.
    fn free_place(&self, piece: &str) -> (usize, u32) {
        let (mut at, mark) = self.place_of(piece);
        while self.places.get(at).is_some_and(|place| place.piece_bytes > 0) {
            at = (at + 1) & (self.places.len() - 1);
        }
        (at, mark)
    }

    /// The first place to look at, and what stands there.
    fn place_of(&self, piece: &str) -> (usize, u32) {
        let hash = self.hasher.hash_one(piece);
        // The length is a power of two, which the compiler does not know: a division takes longer than all the rest.
        (hash as usize & self.places.len().wrapping_sub(1), (hash >> 32) as u32)
    }

    fn slice(&self, place: &Place, from: u16, bytes: u16) -> &str {
        let start = place.start as usize + usize::from(from);
        self.texts.get(start..start + usize::from(bytes)).unwrap_or_default()
    }
}

fn is_kept(piece: &str) -> bool {
    !piece.is_empty() && piece.len() <= PIECE_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_found_until_there_is_no_more_room() {
        let mut known = KnownPieces::default();
        assert_eq!(known.find("샘물"), None);
        known.keep("샘물", "샘", "");
        for number in 0..KNOWN_MAX - 1 {
            known.keep(&format!("piece{number}"), &format!("word{number}"), "gram");
        }
        assert_eq!(known.find("샘물"), Some(("샘", "")));
        for number in 0..KNOWN_MAX - 1 {
            let word = format!("word{number}");
            assert_eq!(known.find(&format!("piece{number}")), Some((word.as_str(), "gram")));
        }
        assert_eq!(known.find("piece"), None);
        known.keep("one more", "", "");
        assert_eq!(known.find("one more"), Some(("", "")));
        assert_eq!(known.find("샘물"), None);
    }

    #[test]
    fn what_is_long_or_empty_is_not_kept() {
        let mut known = KnownPieces::default();
        for piece in ["", &"x".repeat(PIECE_BYTES_MAX + 1)] {
            known.keep(piece, "word", "");
            assert_eq!(known.find(piece), None);
        }
        known.keep("x", &"y".repeat(TERMS_BYTES_MAX), "");
        assert_eq!(known.find("x"), None);
    }
}
