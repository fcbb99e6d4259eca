//! The network: from the pieces of texts to a vector for each text.

use pulp::Arch;

use super::asset::{DamagedAsset, Reader};
use super::bytes::Bytes;
use super::convolution::{Branch, FEATURES, Scratch, SumFeatures};
use super::matrix::{Left, Matrix, read_levels, read_vector};
use super::pieces::{BRANCHES, CHANNELS, Convolutions, PieceLayers, Products};
use super::rows::Rows;

/// Numbers in a text's vector.
pub const DIMENSIONS: usize = 512;
/// Numbers between the first and the second of the last layers.
const NARROW: usize = 320;
/// The least square of a vector's length it is divided by, as in the original.
const SQUARED_LENGTH_MIN: f32 = 1e-12;

/// All weights, and the cache of what single pieces come to.
#[derive(Debug)]
pub(super) struct Network {
    arch: Arch,
    pieces: PieceLayers,
    branches: Vec<Branch>,
    gain: Vec<f32>,
    shift: Vec<f32>,
    output: Matrix,
    output_bias: Vec<f32>,
    dense: DenseLayers,
}

/// Room to work in, kept from batch to batch.
#[derive(Debug, Default)]
pub(super) struct Room {
    products: Products,
    scratch: Scratch,
}

/// The last layers: two steps, each with a way around it.
#[derive(Debug)]
struct DenseLayers {
    first_in: Matrix,
    first_out: Matrix,
    first_around: Matrix,
    second_in: Matrix,
    second_out: Matrix,
    second_around: Matrix,
}

impl Network {
    /// Reads the embedding rows of `pieces` pieces and all weights.
    pub(super) fn read<'a>(
        reader: &mut Reader<'a>,
        arch: Arch,
        pieces: usize,
        keep: impl Fn(&'a [u8]) -> Bytes,
    ) -> Result<Self, DamagedAsset> {
        let rows = Rows::read(reader, pieces, keep)?;
        let mut first_weights = Vec::new();
        let mut branches = Vec::new();
        let mut first_place = 0;
        for (width, before) in BRANCHES {
            first_weights.push(read_levels(reader, width * CHANNELS, CHANNELS)?);
            let first_bias = read_vector(reader, CHANNELS)?;
            let second = read_levels(reader, width * CHANNELS, CHANNELS)?;
            let second_bias = read_vector(reader, CHANNELS)?;
            branches.push(Branch { width, before, first_place, first_bias, second_bias, second });
            first_place += width;
        }
        let weights = first_weights.iter().zip(&branches);
        let convolutions: Vec<_> =
            weights.map(|(first, branch)| Convolutions { first, second: &branch.second }).collect();
        Ok(Self {
            arch,
            pieces: PieceLayers::read(reader, arch, rows, pieces, &convolutions)?,
            branches,
            gain: read_vector(reader, FEATURES)?,
            shift: read_vector(reader, FEATURES)?,
            output: read_matrix(reader, arch, FEATURES, DIMENSIONS)?,
            output_bias: read_vector(reader, DIMENSIONS)?,
            dense: DenseLayers::read(reader, arch)?,
        })
    }

    /// The sum of the features of each text, one after the other; a text is its pieces.
    pub(super) fn sum_features(&self, texts: &[Vec<u32>], room: &mut Room) -> Vec<f32> {
        let pieces = self.pieces.look_up(&texts.concat(), &mut room.products);
        let mut rest = pieces.as_slice();
        let mut sums = vec![0.0; texts.len() * FEATURES];
        for (text, total) in texts.iter().zip(sums.chunks_exact_mut(FEATURES)) {
            let (own, others) = rest.split_at_checked(text.len()).unwrap_or((rest, &[]));
            rest = others;
            self.arch.dispatch(SumFeatures {
                branches: &self.branches,
                pieces: own,
                scratch: &mut room.scratch,
                total,
            });
            let count = text.len() as f32;
            for ((total, gain), shift) in total.iter_mut().zip(&self.gain).zip(&self.shift) {
                *total = *total * gain + count * shift;
            }
        }
        sums
    }

    /// The vectors of texts, from the sums of their features and the numbers of their pieces.
    pub(super) fn vectors(&self, sums: &[f32], lengths: &[usize]) -> Vec<Vec<f32>> {
        let sums = Left::new(self.arch, FEATURES, sums);
        let mut averages = self.output.multiply(self.arch, &sums);
        for (average, length) in averages.chunks_exact_mut(DIMENSIONS).zip(lengths) {
            let length = *length as f32;
            // Not divided by the length but by its root: the original was taught so.
            let factor = 1.0 / length.sqrt();
            for (value, bias) in average.iter_mut().zip(&self.output_bias) {
                *value = (*value + length * bias) * factor;
            }
        }
        let vectors = self.dense.apply(self.arch, &averages);
        vectors.chunks_exact(DIMENSIONS).map(unit_length).collect()
    }
}

impl DenseLayers {
    fn read(reader: &mut Reader<'_>, arch: Arch) -> Result<Self, DamagedAsset> {
        Ok(Self {
            first_in: read_matrix(reader, arch, DIMENSIONS, NARROW)?,
            first_out: read_matrix(reader, arch, NARROW, NARROW)?,
            first_around: read_matrix(reader, arch, DIMENSIONS, NARROW)?,
            second_in: read_matrix(reader, arch, NARROW, DIMENSIONS)?,
            second_out: read_matrix(reader, arch, DIMENSIONS, DIMENSIONS)?,
            second_around: read_matrix(reader, arch, NARROW, DIMENSIONS)?,
        })
    }

    fn apply(&self, arch: Arch, averages: &[f32]) -> Vec<f32> {
        let averages = Left::new(arch, DIMENSIONS, averages);
        let inner = cut_at_zero(self.first_in.multiply(arch, &averages));
        let inner = self.first_out.multiply(arch, &Left::new(arch, NARROW, &inner));
        let middle = cut_at_zero(add(self.first_around.multiply(arch, &averages), &inner));
        let middle = Left::new(arch, NARROW, &middle);
        let inner = cut_at_zero(self.second_in.multiply(arch, &middle));
        let inner = self.second_out.multiply(arch, &Left::new(arch, DIMENSIONS, &inner));
        add(self.second_around.multiply(arch, &middle), &inner)
    }
}

fn read_matrix(
    reader: &mut Reader<'_>,
    arch: Arch,
    rows: usize,
    columns: usize,
) -> Result<Matrix, DamagedAsset> {
    Matrix::new(arch, columns, &read_levels(reader, rows, columns)?)
}

fn cut_at_zero(mut values: Vec<f32>) -> Vec<f32> {
    for value in &mut values {
        *value = value.max(0.0);
    }
    values
}

fn add(mut values: Vec<f32>, others: &[f32]) -> Vec<f32> {
    for (value, other) in values.iter_mut().zip(others) {
        *value += other;
    }
    values
}

fn unit_length(values: &[f32]) -> Vec<f32> {
    let mut vector: Vec<f32> = values.iter().map(|value| value.tanh()).collect();
    let square: f32 = vector.iter().map(|value| value * value).sum();
    let factor = 1.0 / square.max(SQUARED_LENGTH_MIN).sqrt();
    for value in &mut vector {
        *value *= factor;
    }
    vector
}
