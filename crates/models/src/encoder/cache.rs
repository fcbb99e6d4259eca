//! A bounded cache of what was computed for a piece, shared by all who encode.
//!
//! A few pieces make up most of any text, and many come once in a while. So it is not the latest
//! that stay but those asked for most often, counted for every piece and forgotten by halves.

use std::sync::Arc;

/// Most memory the cache may take, in bytes: the some five thousand pieces that make up nine
/// tenths of Korean and English text.
const CACHE_BYTES_MAX: usize = 32 << 20;
/// Share of it that questions may fill: a server that is only asked things does not need the pieces of all documents,
/// and remembers the vectors of whole questions besides.
const QUESTIONS_SHARE: usize = 8;
/// How many entries are compared when one must go.
const COMPARED: usize = 8;
/// After so many questions for each entry, all counts are halved.
const QUESTIONS_PER_ENTRY: usize = 16;

/// What pieces were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// A text or two.
    Question,
    /// Texts by the hundred.
    Documents,
}

/// The cache, with room for every piece's count.
#[derive(Debug)]
pub(super) struct Cache<T> {
    /// By piece.
    slots: Vec<Slot<T>>,
    /// The pieces that are there, in a ring.
    ring: Vec<u32>,
    hand: usize,
    entries_max: usize,
    /// Questions since the counts were halved.
    questions: usize,
}

#[derive(Debug)]
struct Slot<T> {
    value: Option<Arc<T>>,
    asked: u16,
}

impl<T> Cache<T> {
    /// An empty cache for so many different pieces.
    pub(super) fn new(pieces: usize) -> Self {
        let slots = std::iter::repeat_with(|| Slot { value: None, asked: 0 }).take(pieces);
        let entries_max = CACHE_BYTES_MAX / size_of::<T>().max(1);
        Self { slots: slots.collect(), ring: Vec::new(), hand: 0, entries_max, questions: 0 }
    }

    /// What is known of each of these pieces.
    pub(super) fn find(&mut self, pieces: &[u32]) -> Vec<Option<Arc<T>>> {
        self.questions += pieces.len();
        if self.questions > QUESTIONS_PER_ENTRY * self.entries_max {
            self.questions = 0;
            for slot in &mut self.slots {
                slot.asked /= 2;
            }
        }
        let find = |piece: &u32| {
            let slot = self.slots.get_mut(*piece as usize)?;
            slot.asked = slot.asked.saturating_add(1);
            slot.value.clone()
        };
        pieces.iter().map(find).collect()
    }

    /// Keeps what was computed, as far as it is asked for more often than something that is there.
    pub(super) fn keep(&mut self, pieces: &[u32], values: &[Arc<T>], load: Load) {
        let entries_max = match load {
            Load::Question => self.entries_max.div_ceil(QUESTIONS_SHARE),
            Load::Documents => self.entries_max,
        };
        for (piece, value) in pieces.iter().zip(values) {
            let known = self.slots.get(*piece as usize).is_none_or(|slot| slot.value.is_some());
            if known || !self.make_room(*piece, entries_max) {
                continue;
            }
            if let Some(slot) = self.slots.get_mut(*piece as usize) {
                slot.value = Some(Arc::clone(value));
            }
        }
    }

    /// Puts a piece into the ring, in place of another if it is full; or else says no.
    fn make_room(&mut self, piece: u32, entries_max: usize) -> bool {
        if self.ring.len() < entries_max {
            self.ring.push(piece);
            return true;
        }
        let asked = |piece: u32| self.slots.get(piece as usize).map_or(0, |slot| slot.asked);
        let around = (0..COMPARED).map(|step| (self.hand + step) % self.ring.len().max(1));
        let places = around.filter_map(|at| Some((at, *self.ring.get(at)?)));
        let rarest = places.min_by_key(|(_, other)| asked(*other));
        self.hand = (self.hand + COMPARED) % self.ring.len().max(1);
        let Some((at, other)) = rarest.filter(|(_, other)| asked(*other) < asked(piece)) else {
            return false;
        };
        if let Some(slot) = self.slots.get_mut(other as usize) {
            slot.value = None;
        }
        if let Some(place) = self.ring.get_mut(at) {
            *place = piece;
        }
        true
    }
}
