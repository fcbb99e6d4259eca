//! Turns vectors by a fixed random rotation, so that no direction is special to what is stored.

use pulp::{Arch, Simd, WithSimd};

/// Rounds of "flip signs at random, then mix": four leave nothing of the axes the model used.
const ROUNDS: usize = 4;

/// The rotation belongs to the file format: every segment of a dimension turns the same way,
/// so that stored codes can be copied from one segment to another.
const SEED: u64 = 0x5AE3_0512_2026_1115;

/// Fewer dimensions than this are not mixed: the transform begins with groups of four.
const SPAN_MIN: usize = 4;

/// A rotation of vectors with so many dimensions, made of sign flips and fast Hadamard transforms.
pub(super) struct Rotation {
    /// For each round, a factor of 1 or -1 for each number.
    signs: Vec<Vec<f32>>,
    /// The largest power of two that fits; the transform works on so many numbers.
    span: usize,
}

impl Rotation {
    pub(super) fn new(dimensions: usize) -> Self {
        let mut random = Random::new(SEED);
        let span = if dimensions < SPAN_MIN { 0 } else { 1 << dimensions.ilog2() };
        let flip = |_| if random.next() >> 63 == 0 { 1.0 } else { -1.0 };
        let mut flips = (0..ROUNDS * dimensions).map(flip);
        let signs = (0..ROUNDS).map(|_| flips.by_ref().take(dimensions).collect()).collect();
        Self { signs, span }
    }

    /// Turns `vector` in place. Numbers beyond the dimensions stay as they are.
    pub(super) fn turn(&self, vector: &mut [f32]) {
        Arch::new().dispatch(Turn { rotation: self, vector });
    }

    /// Undoes [`Self::turn`].
    pub(super) fn turn_back(&self, vector: &mut [f32]) {
        for (round, signs) in self.signs.iter().enumerate().rev() {
            self.mix(vector, round);
            flip(vector, signs);
        }
    }

    /// Mixes the first numbers in even rounds and the last ones in odd rounds: where the width is
    /// no power of two, both together reach every number.
    #[inline(always)]
    fn mix(&self, vector: &mut [f32], round: usize) {
        let dimensions = self.signs.first().map_or(0, Vec::len);
        let start = if round.is_multiple_of(2) { 0 } else { dimensions - self.span };
        if let Some(part) = vector.get_mut(start..start + self.span) {
            hadamard(part);
        }
    }
}

struct Turn<'a> {
    rotation: &'a Rotation,
    vector: &'a mut [f32],
}

impl WithSimd for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for (round, signs) in self.rotation.signs.iter().enumerate() {
            flip(self.vector, signs);
            self.rotation.mix(self.vector, round);
        }
    }
}

#[inline(always)]
fn flip(vector: &mut [f32], signs: &[f32]) {
    for (number, sign) in vector.iter_mut().zip(signs) {
        *number *= sign;
    }
}

/// The fast Hadamard transform, scaled to keep lengths; it is its own inverse.
#[inline(always)]
fn hadamard(part: &mut [f32]) {
    let (quads, _) = part.as_chunks_mut::<4>();
    for [a, b, c, d] in quads {
        let (sum, difference) = (*a + *b, *a - *b);
        let (other_sum, other_difference) = (*c + *d, *c - *d);
        *a = sum + other_sum;
        *b = difference + other_difference;
        *c = sum - other_sum;
        *d = difference - other_difference;
    }
    let mut half = 4;
    while half < part.len() {
        for pair in part.chunks_exact_mut(half * 2) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let scale = 1.0 / (part.len() as f32).sqrt();
    for number in part {
        *number *= scale;
    }
}

/// A small generator of reproducible random numbers (SplitMix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when there is none.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}
