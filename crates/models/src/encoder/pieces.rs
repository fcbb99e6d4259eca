//! What the network makes of a single piece, computed once and then kept.
//!
//! The first layers look at one piece at a time, and a convolution is a sum with one term for each
//! piece in its window. So all that a piece will ever add to a text depends on the piece alone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pulp::{Arch, Simd, WithSimd};

use super::asset::{DamagedAsset, Reader};
use super::cache::{Cache, Load};
use super::matrix::{Left, Levels, Matrix, read_levels, read_vector};
use super::rows::{EMBEDDING, Row, Rows};

/// Numbers a branch works with.
pub(super) const CHANNELS: usize = 256;
/// The branches: how many pieces a window has, and how many of these stand before its own.
pub(super) const BRANCHES: [(usize, usize); 3] = [(2, 0), (3, 1), (5, 2)];
/// Places in all windows together.
pub(super) const WINDOW_PLACES: usize = 10;
/// The least variance a normalization divides by, as in the original.
const VARIANCE_MIN: f32 = 1e-12;

/// Vectors summed side by side, so that one addition need not wait for the one before.
const SUM_CHAINS: usize = 4;
/// Numbers whose largest are found side by side.
const LARGEST_LANES: usize = 16;

/// A number so large that adding it rounds off to whole ones: three times 2 to the 22nd.
const ROUNDS_OFF: f32 = 12_582_912.0;
/// So many pieces at most are a question; documents come in batches.
const QUESTION_PIECES_MAX: usize = 128;
/// Pieces computed together: enough to share the weights, few enough to bound the room they take.
const COMPUTED_AT_ONCE: usize = 240;

/// What a piece adds to a text, in small integers with a step for each part.
#[derive(Debug)]
pub(super) struct Piece {
    /// The embedding, as the asset has it.
    pub(super) row: Row,
    /// The input of each branch.
    pub(super) inputs: [Quantized; BRANCHES.len()],
    /// By place in a window, branch after branch: what the first convolution adds there.
    pub(super) first: [Quantized; WINDOW_PLACES],
    /// The same of the second convolution, as far as it depends on the branch's input.
    pub(super) second: [Quantized; WINDOW_PLACES],
}

impl Piece {
    /// A piece that adds nothing.
    const EMPTY: Self = Self {
        row: Row::EMPTY,
        inputs: [Quantized::EMPTY; BRANCHES.len()],
        first: [Quantized::EMPTY; WINDOW_PLACES],
        second: [Quantized::EMPTY; WINDOW_PLACES],
    };
}

impl Quantized {
    const EMPTY: Self = Self { levels: [0; CHANNELS], step: 0.0 };
}

/// Numbers as integers times a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantized {
    pub(super) levels: [i8; CHANNELS],
    pub(super) step: f32,
}

/// The layers that see one piece at a time.
#[derive(Debug)]
pub(super) struct PieceLayers {
    arch: Arch,
    rows: Rows,
    branches: Vec<BranchLayers>,
    cache: Mutex<Cache<Piece>>,
}

/// Room for what is computed by branch, kept from time to time.
#[derive(Debug, Default)]
pub(super) struct Products {
    inputs: [Vec<f32>; BRANCHES.len()],
    first: [Vec<f32>; BRANCHES.len()],
    second: [Vec<f32>; BRANCHES.len()],
}

#[derive(Debug)]
struct BranchLayers {
    projection: Matrix,
    bias: Vec<f32>,
    gain: Vec<f32>,
    shift: Vec<f32>,
    /// Each convolution's squares side by side, one for each place in the window.
    first: Matrix,
    second: Matrix,
}

/// The weights of the convolutions, row by row: for each place in a window, a square matrix.
pub(super) struct Convolutions<'a> {
    pub(super) first: &'a Levels,
    pub(super) second: &'a Levels,
}

impl PieceLayers {
    /// Reads the projections of all branches, and takes the weights of their convolutions.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        arch: Arch,
        rows: Rows,
        pieces: usize,
        convolutions: &[Convolutions<'_>],
    ) -> Result<Self, DamagedAsset> {
        let branches = convolutions
            .iter()
            .map(|convolutions| BranchLayers::read(reader, arch, convolutions))
            .collect::<Result<_, _>>()?;
        Ok(Self { arch, rows, branches, cache: Mutex::new(Cache::new(pieces)) })
    }

    /// What each of these pieces adds, from the cache or computed now.
    pub(super) fn look_up(&self, pieces: &[u32], products: &mut Products) -> Vec<Arc<Piece>> {
        let mut found = self.cache().find(pieces);
        let mut missing = Vec::new();
        for (piece, known) in pieces.iter().zip(&found) {
            if known.is_none() {
                missing.push(*piece);
            }
        }
        if missing.is_empty() {
            return found.into_iter().flatten().collect();
        }
        missing.sort_unstable();
        missing.dedup();
        let groups = missing.chunks(COMPUTED_AT_ONCE);
        let computed: Vec<_> = groups.flat_map(|group| self.compute(group, products)).collect();
        let is_little = pieces.len() <= QUESTION_PIECES_MAX;
        let load = if is_little { Load::Question } else { Load::Documents };
        self.cache().keep(&missing, &computed, load);
        for (piece, known) in pieces.iter().zip(&mut found) {
            if known.is_none()
                && let Ok(at) = missing.binary_search(piece)
            {
                *known = computed.get(at).cloned();
            }
        }
        found.into_iter().flatten().collect()
    }

    fn cache(&self) -> MutexGuard<'_, Cache<Piece>> {
        // Nothing is left half-done in the cache: whoever panicked held it between two changes.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compute(&self, pieces: &[u32], products: &mut Products) -> Vec<Arc<Piece>> {
        let Products { inputs, first, second } = products;
        let rows: Vec<Row> = pieces.iter().map(|piece| self.rows.row(*piece)).collect();
        let mut embeddings = Vec::with_capacity(rows.len() * EMBEDDING);
        for Row { levels, lowest, step } in &rows {
            embeddings.extend(levels.iter().map(|level| f32::from(*level) * step + lowest));
        }
        let embeddings = Left::new(self.arch, EMBEDDING, &embeddings);
        for (branch, input) in self.branches.iter().zip(inputs.iter_mut()) {
            branch.projection.multiply_into(self.arch, &embeddings, input);
        }
        self.arch.dispatch(Normalize { branches: &self.branches, inputs });
        let results = inputs.iter().zip(first.iter_mut()).zip(second.iter_mut());
        for (branch, ((input, first), second)) in self.branches.iter().zip(results) {
            let input = Left::new(self.arch, CHANNELS, input);
            branch.first.multiply_into(self.arch, &input, first);
            branch.second.multiply_into(self.arch, &input, second);
        }
        self.arch.dispatch(Quantize { rows: &rows, inputs, first, second })
    }
}

impl BranchLayers {
    fn read(
        reader: &mut Reader<'_>,
        arch: Arch,
        convolutions: &Convolutions<'_>,
    ) -> Result<Self, DamagedAsset> {
        let projection = read_levels(reader, EMBEDDING, CHANNELS)?;
        Ok(Self {
            projection: Matrix::new(arch, CHANNELS, &projection)?,
            bias: read_vector(reader, CHANNELS)?,
            gain: read_vector(reader, CHANNELS)?,
            shift: read_vector(reader, CHANNELS)?,
            first: side_by_side(arch, convolutions.first)?,
            second: side_by_side(arch, convolutions.second)?,
        })
    }
}

/// Puts square matrices that stand below each other side by side: the product of a piece's input
/// with all of them is then one product.
fn side_by_side(arch: Arch, below: &Levels) -> Result<Matrix, DamagedAsset> {
    let squares: Vec<_> = below.levels.chunks_exact(CHANNELS * CHANNELS).collect();
    let mut levels = Vec::with_capacity(below.levels.len());
    for row in (0..CHANNELS * CHANNELS).step_by(CHANNELS) {
        for square in &squares {
            levels.extend_from_slice(square.get(row..row + CHANNELS).unwrap_or_default());
        }
    }
    Matrix::new(arch, squares.len() * CHANNELS, &Levels { levels, ..*below })
}

/// The sum of values and that of their squares; they must fill [`SUM_CHAINS`] vectors evenly.
#[inline(always)]
pub(super) fn sums<S: Simd>(simd: S, values: &[f32]) -> (f32, f32) {
    let mut sums = [simd.splat_f32s(0.0); SUM_CHAINS];
    let mut squares = sums;
    for chunk in S::as_simd_f32s(values).0.as_chunks::<SUM_CHAINS>().0 {
        for ((sum, square), value) in sums.iter_mut().zip(&mut squares).zip(chunk) {
            *sum = simd.add_f32s(*sum, *value);
            *square = simd.mul_add_e_f32s(*value, *value, *square);
        }
    }
    let total = |chains: [S::f32s; SUM_CHAINS]| {
        let together = chains.into_iter().reduce(|left, right| simd.add_f32s(left, right));
        together.map_or(0.0, |together| simd.reduce_sum_f32s(together))
    };
    (total(sums), total(squares))
}

/// The mean of so many values, and what to multiply the differences from it with, so that they
/// vary by one.
#[inline(always)]
pub(super) fn mean_and_factor((sum, squares): (f32, f32), count: f32) -> (f32, f32) {
    let mean = sum / count;
    let variance = (squares / count - mean * mean).max(0.0);
    (mean, 1.0 / (variance + VARIANCE_MIN).sqrt())
}

/// Adds the bias to the branches' inputs and normalizes them, all branches of a piece as one.
struct Normalize<'a> {
    branches: &'a [BranchLayers],
    inputs: &'a mut [Vec<f32>],
}

impl WithSimd for Normalize<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let count = (self.branches.len() * CHANNELS) as f32;
        let mut pieces: Vec<_> =
            self.inputs.iter_mut().map(|input| input.chunks_exact_mut(CHANNELS)).collect();
        loop {
            let mut parts: Vec<_> = pieces.iter_mut().filter_map(Iterator::next).collect();
            if parts.is_empty() {
                break;
            }
            for (part, branch) in parts.iter_mut().zip(self.branches) {
                for (value, bias) in part.iter_mut().zip(&branch.bias) {
                    *value += bias;
                }
            }
            let total = parts
                .iter()
                .map(|part| sums(simd, part))
                .fold((0.0, 0.0), |total, own| (total.0 + own.0, total.1 + own.1));
            let (mean, factor) = mean_and_factor(total, count);
            for (part, branch) in parts.iter_mut().zip(self.branches) {
                let weights = branch.gain.iter().zip(&branch.shift);
                for (value, (gain, shift)) in part.iter_mut().zip(weights) {
                    *value = (*value - mean) * factor * gain + shift;
                }
            }
        }
    }
}

/// Puts the results of all layers together by piece.
struct Quantize<'a> {
    rows: &'a [Row],
    inputs: &'a [Vec<f32>],
    first: &'a [Vec<f32>],
    second: &'a [Vec<f32>],
}

impl WithSimd for Quantize<'_> {
    type Output = Vec<Arc<Piece>>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Vec<Arc<Piece>> {
        let widths = BRANCHES.map(|(width, _)| width);
        let mut pieces = Vec::with_capacity(self.rows.len());
        for (index, row) in self.rows.iter().enumerate() {
            let mut piece = Piece { row: *row, ..Piece::EMPTY };
            quantize_parts(self.inputs, index, &[1; BRANCHES.len()], &mut piece.inputs);
            quantize_parts(self.first, index, &widths, &mut piece.first);
            quantize_parts(self.second, index, &widths, &mut piece.second);
            pieces.push(Arc::new(piece));
        }
        pieces
    }
}

/// Fills in the parts of a piece's results, branch after branch, each of which has so many.
#[inline(always)]
fn quantize_parts(results: &[Vec<f32>], index: usize, counts: &[usize], parts: &mut [Quantized]) {
    let mut parts = parts.iter_mut();
    for (results, count) in results.iter().zip(counts) {
        let own = results.as_chunks().0.iter().skip(index * count).take(*count);
        for (values, part) in own.zip(&mut parts) {
            quantize(values, part);
        }
    }
}

#[inline(always)]
fn quantize(values: &[f32; CHANNELS], part: &mut Quantized) {
    let mut largest = [0.0_f32; LARGEST_LANES];
    for chunk in values.as_chunks::<LARGEST_LANES>().0 {
        for (largest, value) in largest.iter_mut().zip(chunk) {
            *largest = if value.abs() > *largest { value.abs() } else { *largest };
        }
    }
    let largest = largest.into_iter().fold(0.0, f32::max);
    part.step = largest / f32::from(i8::MAX);
    let factor = if largest > 0.0 { f32::from(i8::MAX) / largest } else { 0.0 };
    for (level, value) in part.levels.iter_mut().zip(values) {
        // So large a number has no room for a fraction, and its lowest byte is the level.
        *level = ((value * factor + ROUNDS_OFF).to_bits() & 0xFF) as u8 as i8;
    }
}
