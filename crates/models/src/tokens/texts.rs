//! Remembers what was found of whole texts: a passage, an instruction or a turn is counted for every question that it is shown to.

use std::hash::{BuildHasher as _, Hash};
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::quality::RandomState;

/// Places for texts, a power of two: 128 KiB, more than the passages and turns that are shown within a minute.
const PLACES: usize = 1 << 13;

/// Shorter texts are a few pieces, which are remembered themselves.
const TEXT_BYTES_MIN: usize = 64;

/// Numbers of the texts seen last, one for each place. Threads share it without waiting for each other: what one of them
/// has half written fits no text.
#[derive(Debug)]
pub(super) struct Texts {
    places: Vec<Place>,
    /// Drawn anew for each process, so that nobody can write two texts that pass for one.
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Place {
    /// The hash of the text and the number, each taken from the other.
    mark: AtomicU64,
    number: AtomicU64,
}

impl Default for Texts {
    fn default() -> Self {
        let places = std::iter::repeat_with(Place::default).take(PLACES).collect();
        Self { places, hasher: RandomState::default() }
    }
}

impl Texts {
    /// A number of a text, as remembered or else as it is found now; `which` tells several numbers of one text apart.
    pub(super) fn of(&self, text: &str, which: impl Hash, find: impl FnOnce() -> usize) -> usize {
        if text.len() < TEXT_BYTES_MIN {
            return find();
        }
        let hash = self.hasher.hash_one((text, which));
        let Some(place) = self.places.get(hash as usize % PLACES) else { return find() };
        let number = place.number.load(Ordering::Relaxed);
        // A place that nothing was put into says 0 of a text whose hash is 0: no text has no tokens, so it is found anew.
        if number != 0 && place.mark.load(Ordering::Relaxed) ^ number == hash {
            return number as usize;
        }
        let found = find();
        place.number.store(found as u64, Ordering::Relaxed);
        place.mark.store(hash ^ found as u64, Ordering::Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_once_for_each_text_and_question() {
        let texts = Texts::default();
        let long = "a passage that is shown to many questions ".repeat(3);
        for _ in 0..2 {
            assert_eq!(texts.of(&long, 1, || 7), 7);
            assert_eq!(texts.of(&long, 2, || 8), 8);
        }
        assert_eq!(texts.of(&long, 1, || 9), 7, "it is remembered");
        assert_eq!(texts.of(&format!("{long}."), 1, || 9), 9, "of another text, another number");
        assert_eq!(texts.of("short", 1, || 7), 7);
        assert_eq!(texts.of("short", 1, || 9), 9);
    }
}
