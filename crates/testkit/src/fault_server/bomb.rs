//! Gzip data that is a thousand times larger when it is unpacked.

/// Bytes that one match stands for, the longest there is.
const MATCH_BYTES: usize = 258;

/// A gzip stream without an end of some `mebibytes` of the letter `a`.
pub(super) fn gzip(mebibytes: usize) -> Vec<u8> {
    let mut bits = Bits { bytes: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], filled: 8 };
    // A block of the fixed code that is not the last.
    bits.push(0b010, 3);
    bits.push_code(0x30 + u32::from(b'a'), 8);
    for _ in 0..mebibytes * 1024 * 1024 / MATCH_BYTES {
        // Length 258, distance 1.
        bits.push_code(0b1100_0101, 8);
        bits.push_code(0, 5);
    }
    bits.bytes
}

struct Bits {
    bytes: Vec<u8>,
    /// Bits of the last byte that are taken.
    filled: u32,
}

impl Bits {
    /// Numbers go in with their lowest bit first.
    fn push(&mut self, number: u32, count: u32) {
        for place in 0..count {
            if self.filled == 8 {
                self.bytes.push(0);
                self.filled = 0;
            }
            let bit = u8::from(number >> place & 1 == 1);
            if let Some(last) = self.bytes.last_mut() {
                *last |= bit << self.filled;
            }
            self.filled += 1;
        }
    }

    /// Codes go in with their highest bit first.
    fn push_code(&mut self, code: u32, count: u32) {
        self.push(code.reverse_bits() >> (32 - count), count);
    }
}
