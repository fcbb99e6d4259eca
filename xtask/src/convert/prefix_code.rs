//! Prefix codes: what is frequent is written with few bits.

use std::collections::BinaryHeap;

/// Symbols of a code.
const SYMBOLS: usize = 256;
/// The symbol of zero where symbols stand for differences.
pub(crate) const ZERO_SYMBOL: u8 = 128;
/// Longest code word, in bits: what the reader looks up in one step.
const BITS_MAX: u8 = 12;
/// How many codes the rows share: they differ most in how far they spread, and more gain nothing.
const CODES: usize = 16;
/// How often rows and codes are fitted to each other.
const ROUNDS: usize = 6;

/// A code: the length of each symbol's word. The words are the canonical ones.
pub(crate) struct Code {
    pub(crate) lengths: [u8; SYMBOLS],
    words: [u16; SYMBOLS],
}

impl Code {
    /// A row in this code, filled up to whole bytes.
    pub(crate) fn encode(&self, row: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (mut window, mut filled) = (0_u32, 0);
        for symbol in row {
            let word = self.words.get(usize::from(*symbol)).copied().unwrap_or(0);
            let length = self.lengths.get(usize::from(*symbol)).copied().unwrap_or(0);
            window = (window << length) | u32::from(word);
            filled += length;
            while filled >= 8 {
                filled -= 8;
                bytes.push((window >> filled) as u8);
            }
        }
        if filled > 0 {
            bytes.push((window << (8 - filled)) as u8);
        }
        bytes
    }

    /// The best code for these symbols.
    pub(crate) fn of(symbols: &[u8]) -> Self {
        Self::new(&count(std::iter::once(symbols)))
    }

    fn new(counts: &[u64; SYMBOLS]) -> Self {
        let mut counts = *counts;
        // Rarer symbols are taken to be more frequent until no word is too long.
        let mut least = 1;
        loop {
            for count in &mut counts {
                *count = (*count).max(least);
            }
            let lengths = word_lengths(&counts);
            if lengths.iter().all(|length| *length <= BITS_MAX) {
                return Self { lengths, words: canonical_words(&lengths) };
            }
            least *= 2;
        }
    }

    fn bits(&self, row: &[u8]) -> usize {
        let length = |symbol: &u8| self.lengths.get(usize::from(*symbol)).copied().unwrap_or(0);
        row.iter().map(|symbol| usize::from(length(symbol))).sum()
    }
}

/// The number of the code that makes a row shortest.
pub(crate) fn shortest(codes: &[Code], row: &[u8]) -> usize {
    let by_bits = codes.iter().enumerate().min_by_key(|(_, code)| code.bits(row));
    by_bits.map_or(0, |(number, _)| number)
}

/// Fits codes to rows, starting from groups of rows that spread equally far.
pub(crate) fn fit(rows: &[Vec<u8>]) -> Vec<Code> {
    let spread = |row: &Vec<u8>| -> u64 {
        row.iter().map(|symbol| u64::from(symbol.abs_diff(ZERO_SYMBOL)).pow(2)).sum()
    };
    let mut sorted: Vec<&Vec<u8>> = rows.iter().collect();
    sorted.sort_by_key(|row| spread(row));
    let group = sorted.len().div_ceil(CODES).max(1);
    let mut codes: Vec<Code> = sorted
        .chunks(group)
        .map(|group| Code::new(&count(group.iter().map(|row| row.as_slice()))))
        .collect();
    for _ in 0..ROUNDS {
        let mut groups = vec![Vec::new(); codes.len()];
        for row in rows {
            if let Some(group) = groups.get_mut(shortest(&codes, row)) {
                group.push(row);
            }
        }
        codes = groups
            .iter()
            .map(|group| Code::new(&count(group.iter().map(|row| row.as_slice()))))
            .collect();
    }
    codes
}

fn count<'r>(rows: impl Iterator<Item = &'r [u8]>) -> [u64; SYMBOLS] {
    let mut counts = [0; SYMBOLS];
    for symbol in rows.flatten() {
        if let Some(count) = counts.get_mut(usize::from(*symbol)) {
            *count += 1;
        }
    }
    counts
}

/// Huffman's lengths: the two rarest groups become one until one is left, and each time a group is
/// merged its symbols' words grow by a bit.
fn word_lengths(counts: &[u64; SYMBOLS]) -> [u8; SYMBOLS] {
    let mut lengths = [0_u8; SYMBOLS];
    let mut heap: BinaryHeap<_> = counts
        .iter()
        .enumerate()
        .map(|(symbol, count)| (std::cmp::Reverse(*count), vec![symbol]))
        .collect();
    while let (Some((rarest, mut symbols)), Some((second, others))) = (heap.pop(), heap.pop()) {
        symbols.extend(others);
        for symbol in &symbols {
            if let Some(length) = lengths.get_mut(*symbol) {
                *length += 1;
            }
        }
        heap.push((std::cmp::Reverse(rarest.0 + second.0), symbols));
        if heap.len() == 1 {
            break;
        }
    }
    lengths
}

/// Words by length, then by symbol, each one higher than the one before.
fn canonical_words(lengths: &[u8; SYMBOLS]) -> [u16; SYMBOLS] {
    let mut words = [0; SYMBOLS];
    let mut next = 0;
    for length in 1..=BITS_MAX {
        next <<= 1;
        for (word, _) in words.iter_mut().zip(lengths).filter(|(_, own)| **own == length) {
            *word = next;
            next += 1;
        }
    }
    words
}
