//! A set of small numbers.

/// Numbers from 0 up to a fixed end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
    count: usize,
}

impl Bits {
    /// An empty set for numbers below `end`.
    pub(crate) fn new(end: u32) -> Self {
        Self { words: vec![0; (end as usize).div_ceil(64)], count: 0 }
    }

    pub(crate) fn insert(&mut self, number: u32) {
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            let bit = 1u64 << (number % 64);
            self.count += usize::from(*word & bit == 0);
            *word |= bit;
        }
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// How many numbers are in it.
    pub(crate) fn count(&self) -> usize {
        self.count
    }
}
