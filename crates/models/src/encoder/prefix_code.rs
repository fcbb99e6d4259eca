//! Prefix codes: the asset writes what is frequent with few bits.

use super::asset::{DamagedAsset, Reader};

/// Longest code word, in bits: a table of 4,096 entries reads one symbol in one step.
pub(super) const WORD_BITS_MAX: u32 = 12;
/// Symbols of a code: every byte has a word.
const SYMBOLS: usize = 256;

/// A code, as a table: by the next bits, the symbol they begin with and its length.
#[derive(Debug)]
pub(super) struct Code {
    table: Vec<(u8, u8)>,
}

impl Code {
    /// Reads the length of each symbol's code word. The words follow from these: shorter first,
    /// then by symbol, each one higher than the one before.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DamagedAsset> {
        let lengths = reader.bytes(SYMBOLS)?;
        let mut table = Vec::with_capacity(1 << WORD_BITS_MAX);
        for length in 1..=WORD_BITS_MAX {
            for (symbol, own) in (0..=u8::MAX).zip(lengths) {
                if u32::from(*own) == length {
                    table.resize(table.len() + (1 << (WORD_BITS_MAX - length)), (symbol, *own));
                }
            }
        }
        if table.len() != 1 << WORD_BITS_MAX {
            return Err(DamagedAsset("a code is not complete"));
        }
        Ok(Self { table })
    }

    /// Fills `symbols` with what the bytes say; behind their end come zero bits.
    pub(super) fn decode(&self, bytes: &[u8], symbols: &mut [u8]) {
        let mut bytes = bytes.iter();
        // The next bits, from the highest on, and how many there are.
        let (mut window, mut left) = (0_u64, 0_u32);
        for symbol in symbols {
            if left < WORD_BITS_MAX {
                while left <= 56 {
                    window |= u64::from(bytes.next().copied().unwrap_or(0)) << (56 - left);
                    left += 8;
                }
            }
            let next = usize::try_from(window >> (64 - WORD_BITS_MAX)).unwrap_or_default();
            let (found, length) = self.table.get(next).copied().unwrap_or((0, 1));
            *symbol = found;
            window <<= length;
            left = left.saturating_sub(u32::from(length));
        }
    }
}
