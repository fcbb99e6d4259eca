//! One bit a number: codes from which a product with a query can be estimated without bias.
//!
//! After RaBitQ (Gao and Long, 2024). A code holds the signs of a vector's difference to its
//! centroid. For a query q, a centroid c, a vector o with r = o - c and s = the signs of r,
//!
//! ```text
//! q·o = q·c + c·r + (q - c)·r,   and   (q - c)·r ≈ (|r|² / |r|₁) · (q·s - c·s)
//! ```
//!
//! is right on average over random rotations. Everything but q·c and q·s is known when the code
//! is made, so a vector carries two numbers, an offset and a slope, and a query needs one table
//! for all centroids.
//!
//! Codes lie in blocks of 32 vectors. A block begins with the 32 offsets and the 32 slopes, each the
//! upper half of an f32, which is exact enough: the estimate itself is off by ten times as much.
//! Then comes, for each four dimensions, a group of 16 bytes: the low halves are four signs of each
//! of the vectors 0 to 15, the high halves those of 16 to 31. A sum over signs is thereby a sum of
//! look-ups in tables of 16 small numbers, which processors do for many vectors at once.

use pulp::{Arch, Simd, WithSimd};

/// Vectors in a block.
pub(super) const BLOCK: usize = 32;

/// Dimensions that share one look-up.
pub(super) const GROUP: usize = 4;

/// Bytes of one group in a block, and entries of one group in a table.
pub(super) const GROUP_BYTES: usize = 16;

/// Bytes before the groups: an offset and a slope for each vector.
pub(super) const FACTORS_BYTES: usize = FACTOR_BYTES * 2;

/// Bytes of the offsets of a block, and of its slopes.
pub(super) const FACTOR_BYTES: usize = BLOCK * 2;

/// Largest entry of a table. Eight of them add up within a byte; rounding to it adds a twentieth
/// of the error that having one bit a number makes anyway.
const ENTRY_MAX: f32 = 31.0;

/// Bytes of a block of vectors with `width` numbers.
pub(super) fn block_bytes(width: usize) -> usize {
    FACTORS_BYTES + width / GROUP * GROUP_BYTES
}

/// Writes the blocks of one cluster, vector by vector.
pub(super) struct BlockWriter<'a> {
    centroid: &'a [f32],
    block: Vec<u8>,
    filled: usize,
}

impl<'a> BlockWriter<'a> {
    pub(super) fn new(centroid: &'a [f32]) -> Self {
        Self { centroid, block: vec![0; block_bytes(centroid.len())], filled: 0 }
    }

    /// Adds a vector; returns the block's bytes when it was the last that fits.
    pub(super) fn push(&mut self, vector: &[f32]) -> Option<&[u8]> {
        if self.filled == BLOCK {
            self.block.fill(0);
            self.filled = 0;
        }
        let place = self.filled;
        let (factors, groups) = self.block.split_at_mut(FACTORS_BYTES);
        let shift = if place < GROUP_BYTES { 0 } else { 4 };
        let pairs = vector.as_chunks::<GROUP>().0.iter().zip(self.centroid.as_chunks::<GROUP>().0);
        for ((ours, centre), group) in pairs.zip(groups.as_chunks_mut::<GROUP_BYTES>().0) {
            let mut signs = 0_u8;
            for (bit, (number, centre)) in ours.iter().zip(centre).enumerate() {
                signs |= u8::from(number - centre >= 0.0) << bit;
            }
            if let Some(byte) = group.get_mut(place % GROUP_BYTES) {
                *byte |= signs << shift;
            }
        }
        let Sums { squares, absolutes, along, signed } = Sums::of(vector, self.centroid);
        let slope = if absolutes > 0.0 { squares / absolutes } else { 0.0 };
        let offset: f32 = along - slope * signed;
        let (offsets, slopes) = factors.split_at_mut(FACTOR_BYTES);
        for (part, factor) in [(offsets, offset), (slopes, slope)] {
            if let Some(bytes) = part.as_chunks_mut().0.get_mut(place) {
                *bytes = upper_half(factor).to_le_bytes();
            }
        }
        self.filled += 1;
        (self.filled == BLOCK).then_some(self.block.as_slice())
    }

    /// The last block, if it is neither empty nor full.
    pub(super) fn rest(&self) -> Option<&[u8]> {
        (0 < self.filled && self.filled < BLOCK).then_some(self.block.as_slice())
    }
}

/// What a vector's offset and slope are made from: sums over its difference to its centroid.
#[derive(Default)]
struct Sums {
    squares: f32,
    absolutes: f32,
    /// The product with the centroid.
    along: f32,
    /// The product of its signs with the centroid.
    signed: f32,
}

impl Sums {
    /// Added up in so many columns, which do not wait for each other.
    const COLUMNS: usize = 16;

    fn of(vector: &[f32], centroid: &[f32]) -> Self {
        Arch::new().dispatch(AddUp { vector, centroid })
    }
}

struct AddUp<'a> {
    vector: &'a [f32],
    centroid: &'a [f32],
}

impl WithSimd for AddUp<'_> {
    type Output = Sums;

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the loop goes to the length of each array")]
    fn with_simd<S: Simd>(self, _simd: S) -> Sums {
        const COLUMNS: usize = Sums::COLUMNS;
        let (mut squares, mut absolutes) = ([0.0; COLUMNS], [0.0; COLUMNS]);
        let (mut along, mut signed) = ([0.0; COLUMNS], [0.0; COLUMNS]);
        let rows = self.vector.as_chunks::<COLUMNS>().0.iter();
        for (numbers, centres) in rows.zip(self.centroid.as_chunks::<COLUMNS>().0) {
            for column in 0..COLUMNS {
                let centre = centres[column];
                let difference = numbers[column] - centre;
                squares[column] += difference * difference;
                absolutes[column] += difference.abs();
                along[column] += difference * centre;
                signed[column] += if difference >= 0.0 { centre } else { -centre };
            }
        }
        Sums {
            squares: squares.iter().sum(),
            absolutes: absolutes.iter().sum(),
            along: along.iter().sum(),
            signed: signed.iter().sum(),
        }
    }
}

/// The upper half of a finite number's bits, rounded.
fn upper_half(number: f32) -> u16 {
    (number.to_bits().saturating_add(1 << 15) >> 16) as u16
}

/// The numbers whose upper halves these are.
#[inline(always)]
pub(super) fn from_upper_halves(bytes: &[u8; FACTOR_BYTES]) -> [f32; BLOCK] {
    let mut numbers = [0.0; BLOCK];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
        *number = f32::from_bits(u32::from(u16::from_le_bytes(*bytes)) << 16);
    }
    numbers
}

/// A query as sums of its numbers under each choice of four signs, in small whole numbers.
#[derive(Default)]
pub(super) struct Table {
    /// 16 entries for each group.
    pub(super) entries: Vec<u8>,
    /// What a sum of entries is worth: `sum · step + start` is the product with the signs.
    pub(super) step: f32,
    pub(super) start: f32,
}

impl Table {
    /// Makes the table of a (rotated) query.
    pub(super) fn prepare(&mut self, query: &[f32]) {
        Arch::new().dispatch(Prepare { table: self, query });
    }
}

struct Prepare<'a> {
    table: &'a mut Table,
    query: &'a [f32],
}

impl WithSimd for Prepare<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let groups = self.query.as_chunks::<GROUP>().0;
        let (mut widest, mut start) = (0.0_f32, 0.0);
        for group in groups {
            widest = widest.max(reach(group));
            start -= reach(group);
        }
        let step = if widest > 0.0 { 2.0 * widest / ENTRY_MAX } else { 1.0 };
        let entries = &mut self.table.entries;
        entries.resize(groups.len() * GROUP_BYTES, 0);
        for (group, entries) in groups.iter().zip(entries.as_chunks_mut::<GROUP_BYTES>().0) {
            let least = -reach(group);
            for (entry, sum) in entries.iter_mut().zip(sums(group)) {
                *entry = ((sum - least) / step + 0.5) as u8;
            }
        }
        self.table.step = step;
        self.table.start = start;
    }
}

#[inline(always)]
fn reach([a, b, c, d]: &[f32; GROUP]) -> f32 {
    a.abs() + b.abs() + c.abs() + d.abs()
}

/// The sums of four numbers under each choice of signs; bit i of the place says "plus number i".
#[inline(always)]
fn sums(numbers: &[f32; GROUP]) -> [f32; GROUP_BYTES] {
    let mut sums = [0.0; GROUP_BYTES];
    for (bit, number) in numbers.iter().enumerate() {
        for (place, sum) in sums.iter_mut().enumerate() {
            *sum += if place >> bit & 1 == 1 { *number } else { -number };
        }
    }
    sums
}
