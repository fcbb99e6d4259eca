//! A bounded cache of what was computed for a piece, shared by all who encode.
//!
//! A few pieces make up most of any text, and many come once in a while. So it is not the latest
//! that stay but those asked for most often, counted for every piece and forgotten by halves.

use std::num::NonZeroU32;
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

/// The cache. Of every piece it knows how often it was asked for, so what it keeps of each is small.
#[derive(Debug)]
pub(super) struct Cache<T> {
    /// By piece, where it is in the ring.
    places: Vec<Option<NonZeroU32>>,
    /// By piece, how often it was asked for.
    asked: Vec<u16>,
    /// The pieces that are there.
    ring: Vec<(u32, Arc<T>)>,
    hand: usize,
    entries_max: usize,
    /// Questions since the counts were halved.
    questions: usize,
}

impl<T> Cache<T> {
    /// An empty cache for so many different pieces.
    pub(super) fn new(pieces: usize) -> Self {
        let entries_max = CACHE_BYTES_MAX / size_of::<T>().max(1);
        Self {
            places: vec![None; pieces],
            asked: vec![0; pieces],
            ring: Vec::new(),
            hand: 0,
            entries_max,
            questions: 0,
        }
    }

    /// What is known of each of these pieces.
    pub(super) fn find(&mut self, pieces: &[u32]) -> Vec<Option<Arc<T>>> {
        self.questions += pieces.len();
        if self.questions > QUESTIONS_PER_ENTRY * self.entries_max {
            self.questions = 0;
            for asked in &mut self.asked {
                *asked /= 2;
            }
        }
        let find = |piece: &u32| {
            let asked = self.asked.get_mut(*piece as usize)?;
            *asked = asked.saturating_add(1);
            let (_, value) = self.ring.get(self.place(*piece)?)?;
            Some(Arc::clone(value))
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
            let is_new = (*piece as usize) < self.places.len() && self.place(*piece).is_none();
            if is_new && let Some(at) = self.make_room(*piece, entries_max) {
                self.put(at, *piece, Arc::clone(value));
            }
        }
    }

    fn place(&self, piece: u32) -> Option<usize> {
        let place = self.places.get(piece as usize).copied().flatten()?;
        Some(place.get() as usize - 1)
    }

    /// A place in the ring for a piece: behind all others, or that of another if it is full and the other is asked for
    /// less often.
    fn make_room(&mut self, piece: u32, entries_max: usize) -> Option<usize> {
        let length = self.ring.len();
        if length < entries_max {
            return Some(length);
        }
        let asked = |piece: u32| self.asked.get(piece as usize).copied().unwrap_or(0);
        let around = (0..COMPARED).map(|step| (self.hand + step) % length.max(1));
        let places = around.filter_map(|at| Some((at, self.ring.get(at)?.0)));
        let rarest = places.min_by_key(|(_, other)| asked(*other));
        self.hand = (self.hand + COMPARED) % length.max(1);
        let (at, _) = rarest.filter(|(_, other)| asked(*other) < asked(piece))?;
        Some(at)
    }

    fn put(&mut self, at: usize, piece: u32, value: Arc<T>) {
        match self.ring.get_mut(at) {
            Some(entry) => {
                let (other, _) = std::mem::replace(entry, (piece, value));
                if let Some(place) = self.places.get_mut(other as usize) {
                    *place = None;
                }
            }
            None => self.ring.push((piece, value)),
        }
        let place = u32::try_from(at + 1).ok().and_then(NonZeroU32::new);
        if let Some(slot) = self.places.get_mut(piece as usize) {
            *slot = place;
        }
    }
}
