//! A table of things that are found by their hash: who finds a slot taken takes the next.

/// Slots at first, a power of two: the index of a small tenant needs few.
const SLOTS_FIRST: usize = 1 << 10;

/// Half of the slots stay free, so that a walk from slot to slot is short, and ends.
#[derive(Default)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    taken: usize,
}

/// One without a mark is free.
#[derive(Clone, Copy, Default)]
struct Slot<T> {
    /// A part of the thing's hash: another thing is seldom looked at.
    mark: u32,
    thing: T,
}

/// The part of a hash that is kept; it says where the walk begins, too.
fn mark_of(hash: u64) -> u32 {
    (hash >> 32) as u32 | 1
}

impl<T: Copy + Default> Slots<T> {
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// The thing with this hash that is the one.
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let mark = mark_of(hash);
        let mut at = self.home(mark);
        loop {
            // None where there are no slots yet.
            let slot = self.slots.get(at).filter(|slot| slot.mark != 0)?;
            if slot.mark == mark && is_it(&slot.thing) {
                return Some(slot.thing);
            }
            at = self.next(at);
        }
    }

    /// Takes in a thing that is not there.
    pub(super) fn put(&mut self, hash: u64, thing: T) {
        if self.taken >= self.slots.len() / 2 {
            let slots = (self.slots.len() * 2).max(SLOTS_FIRST);
            let before = std::mem::replace(&mut self.slots, vec![Slot::default(); slots]);
            before.into_iter().filter(|slot| slot.mark != 0).for_each(|slot| self.place(slot));
        }
        self.place(Slot { mark: mark_of(hash), thing });
        self.taken += 1;
    }

    /// Forgets everything; the slots stay.
    pub(super) fn clear(&mut self) {
        self.slots.fill(Slot::default());
        self.taken = 0;
    }

    fn place(&mut self, slot: Slot<T>) {
        let mut at = self.home(slot.mark);
        while self.slots.get(at).is_some_and(|taken| taken.mark != 0) {
            at = self.next(at);
        }
        if let Some(free) = self.slots.get_mut(at) {
            *free = slot;
        }
    }

    // The number of slots is a power of two, which the compiler does not know: a division takes longer than all the rest.

    fn home(&self, mark: u32) -> usize {
        (mark >> 1) as usize & self.slots.len().wrapping_sub(1)
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & self.slots.len().wrapping_sub(1)
    }
}
