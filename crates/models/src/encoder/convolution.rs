//! Reads a text piece by piece through windows of two, three and five, and sums up what it sees.
//!
//! Each branch convolves twice. Almost all outputs of the first convolution are cut off at zero,
//! so the second takes the few that are not one by one, and the rest from what is known of the
//! pieces.

use std::sync::Arc;

use pulp::{Simd, WithSimd};

use super::matrix::Levels;
use super::pieces::{BRANCHES, CHANNELS, Piece, Quantized, mean_and_factor, sums};
use super::rows::EMBEDDING;

/// Numbers that describe a piece in its text: its embedding and what each branch found.
pub(super) const FEATURES: usize = EMBEDDING + BRANCHES.len() * CHANNELS;

/// Sums held in registers while the active rows are added.
const SUMS_HELD: usize = 128;
/// Outputs looked at together for one that is not zero.
const OUTPUTS_AT_ONCE: usize = 16;

/// A branch's own weights; those of its products with a piece are in [`Piece`].
#[derive(Debug)]
pub(super) struct Branch {
    /// Pieces in a window, and how many of them stand before the window's own.
    pub(super) width: usize,
    pub(super) before: usize,
    /// Where its places begin among those of all windows.
    pub(super) first_place: usize,
    pub(super) first_bias: Vec<f32>,
    pub(super) second_bias: Vec<f32>,
    /// For each place in the window and each channel there, what it adds to each output.
    pub(super) second: Levels,
}

/// Adds up the normalized features of all pieces of a text.
pub(super) struct SumFeatures<'a> {
    pub(super) branches: &'a [Branch],
    pub(super) pieces: &'a [Arc<Piece>],
    pub(super) scratch: &'a mut Scratch,
    pub(super) total: &'a mut [f32],
}

/// Room to work in, kept from text to text.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    features: Vec<[f32; FEATURES]>,
    hidden: Vec<[f32; CHANNELS]>,
    active: Vec<Active>,
    /// By piece, where its active outputs end.
    active_ends: Vec<usize>,
    window: Vec<Active>,
}

/// An output of the first convolution that is not zero.
#[derive(Debug, Clone, Copy)]
struct Active {
    row: usize,
    value: f32,
}

impl WithSimd for SumFeatures<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { branches, pieces, scratch, total } = self;
        scratch.features.resize(pieces.len(), [0.0; FEATURES]);
        for (features, piece) in scratch.features.iter_mut().zip(pieces) {
            for (feature, level) in features.iter_mut().zip(&piece.row.levels) {
                *feature = f32::from(*level) * piece.row.step + piece.row.lowest;
            }
        }
        for (index, branch) in branches.iter().enumerate() {
            convolve_first::<S>(branch, index, pieces, scratch);
            convolve_second::<S>(branch, index, pieces, scratch);
        }
        for features in &scratch.features {
            let (mean, factor) = mean_and_factor(sums(simd, features), FEATURES as f32);
            for (total, value) in total.iter_mut().zip(features) {
                *total += (value - mean) * factor;
            }
        }
    }
}

/// The first convolution: fills in what each piece is to its branch, and which outputs are active.
#[inline(always)]
fn convolve_first<S: Simd>(
    branch: &Branch,
    index: usize,
    pieces: &[Arc<Piece>],
    scratch: &mut Scratch,
) {
    scratch.hidden.resize(pieces.len(), [0.0; CHANNELS]);
    scratch.active.clear();
    scratch.active_ends.clear();
    for (at, (piece, hidden)) in pieces.iter().zip(&mut scratch.hidden).enumerate() {
        let mut sums = [0.0; CHANNELS];
        sums.copy_from_slice(branch.first_bias.as_slice());
        for (place, position) in window(branch, at) {
            if let Some(neighbour) = pieces.get(position)
                && let Some(part) = neighbour.first.get(branch.first_place + place)
            {
                add::<S>(&mut sums, part);
            }
        }
        list_active(&sums, &mut scratch.active);
        scratch.active_ends.push(scratch.active.len());
        if let Some(input) = piece.inputs.get(index) {
            for ((hidden, sum), level) in hidden.iter_mut().zip(&sums).zip(&input.levels) {
                *hidden = sum.max(0.0) + f32::from(*level) * input.step;
            }
        }
    }
}

/// The second convolution: fills in the branch's part of the features.
#[inline(always)]
fn convolve_second<S: Simd>(
    branch: &Branch,
    index: usize,
    pieces: &[Arc<Piece>],
    scratch: &mut Scratch,
) {
    let Scratch { features, hidden, active, active_ends, window: listed } = scratch;
    for (at, (features, hidden)) in features.iter_mut().zip(hidden).enumerate() {
        let mut sums = [0.0; CHANNELS];
        sums.copy_from_slice(branch.second_bias.as_slice());
        listed.clear();
        for (place, position) in window(branch, at) {
            if let Some(neighbour) = pieces.get(position)
                && let Some(part) = neighbour.second.get(branch.first_place + place)
            {
                add::<S>(&mut sums, part);
                let from = position.checked_sub(1).and_then(|before| active_ends.get(before));
                let until = active_ends.get(position).copied().unwrap_or_default();
                let actives = active.get(from.copied().unwrap_or_default()..until);
                listed.extend(actives.unwrap_or_default().iter().map(|Active { row, value }| {
                    Active { row: place * CHANNELS + row, value: *value }
                }));
            }
        }
        add_active::<S>(&mut sums, &branch.second, listed);
        let own = features.iter_mut().skip(EMBEDDING + index * CHANNELS);
        for ((feature, sum), hidden) in own.zip(&sums).zip(hidden) {
            *feature = sum.max(0.0) + *hidden;
        }
    }
}

/// The places in the window around a piece and where these are in the text, as far as the text
/// goes to the left; to the right, positions may lie behind its end.
#[inline(always)]
fn window(branch: &Branch, at: usize) -> impl Iterator<Item = (usize, usize)> {
    let before = branch.before;
    (0..branch.width).filter_map(move |place| Some((place, (at + place).checked_sub(before)?)))
}

#[inline(always)]
fn add<S: Simd>(sums: &mut [f32; CHANNELS], part: &Quantized) {
    for (sum, level) in sums.iter_mut().zip(&part.levels) {
        *sum = multiply_add::<S>(f32::from(*level), part.step, *sum);
    }
}

/// Lists the outputs above zero. Few are, so most chunks are passed over at a glance: as integers,
/// the bits of numbers above zero are above zero too.
#[inline(always)]
fn list_active(outputs: &[f32; CHANNELS], active: &mut Vec<Active>) {
    let chunks = outputs.as_chunks::<OUTPUTS_AT_ONCE>().0.iter();
    for (chunk, from) in chunks.zip((0..).step_by(OUTPUTS_AT_ONCE)) {
        let above =
            chunk.iter().fold(0, |above, value| above | value.to_bits().cast_signed().max(0));
        if above != 0 {
            let positive = chunk.iter().zip(from..).filter(|(value, _)| **value > 0.0);
            active.extend(positive.map(|(value, row)| Active { row, value: *value }));
        }
    }
}

/// Adds to the sums, for each active output, its row of weights times its value. The lowest weight
/// is common to all, so that it is added once; the steps above it are whole numbers.
#[inline(always)]
fn add_active<S: Simd>(sums: &mut [f32; CHANNELS], weights: &Levels, active: &[Active]) {
    let lowest = weights.lowest * active.iter().map(|active| active.value).sum::<f32>();
    let (blocks, _) = sums.as_chunks_mut::<SUMS_HELD>();
    for (block, from) in blocks.iter_mut().zip((0..).step_by(SUMS_HELD)) {
        let mut held = [0.0; SUMS_HELD];
        for Active { row, value } in active {
            let start = row * CHANNELS + from;
            let levels = weights.levels.get(start..).and_then(|rest| rest.first_chunk());
            let levels: &[u8; SUMS_HELD] = levels.unwrap_or(&[0; SUMS_HELD]);
            for (sum, level) in held.iter_mut().zip(levels) {
                *sum = multiply_add::<S>(f32::from(*level), *value, *sum);
            }
        }
        for (sum, held) in block.iter_mut().zip(&held) {
            *sum += held * weights.step + lowest;
        }
    }
}

/// Multiplies and adds, with one rounding where the processor can: without help, it is slow.
#[inline(always)]
fn multiply_add<S: Simd>(left: f32, right: f32, sum: f32) -> f32 {
    if S::IS_SCALAR { left * right + sum } else { left.mul_add(right, sum) }
}
