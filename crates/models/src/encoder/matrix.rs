//! Products of matrices, in the widest arithmetic the processor has.
//!
//! Every number of a product is one chain of fused multiply-adds in the order of the inner
//! dimension, whatever the other rows are: a row's product is the same, bit for bit, alone or
//! among others.

use pulp::{Arch, Simd, WithSimd};

use super::asset::{DamagedAsset, Reader};
use super::prefix_code::Code;

/// Vectors side by side in a panel: two of them feed each broadcast number twice.
const PANEL_VECTORS: usize = 2;
/// Vector registers of a processor that takes many rows at a time.
const REGISTERS_WIDE: usize = 32;
/// Rows multiplied at a time there: 24 registers hold sums.
const ROWS_WIDE: usize = 12;
/// The same where there are 16 registers: 12 hold sums.
const ROWS_NARROW: usize = 6;
/// Rows multiplied at a time where a block has no more of them.
const FEW: usize = 4;
/// Panels that a row alone meets side by side: so many sums are under way that none waits for another.
const PANELS_ALONE: usize = 4;
/// Weights of each that are made at a time: those of all of them fit into the nearest cache.
const WEIGHTS_ALONE: usize = 1024;

/// Numbers as the original quantised them: a byte for each, row by row.
#[derive(Debug, Clone)]
pub(super) struct Levels {
    pub(super) lowest: f32,
    pub(super) step: f32,
    pub(super) levels: Vec<u8>,
}

/// A matrix on the right-hand side of products, cut into panels of a few columns.
#[derive(Debug)]
pub(super) struct Matrix {
    rows: usize,
    columns: usize,
    lowest: f32,
    step: f32,
    /// Panel after panel, each row by row.
    panels: Vec<u8>,
}

/// The left-hand side of products: rows in blocks, in which the numbers of a column stand side by
/// side; or a single row as it is.
#[derive(Debug)]
pub(super) struct Left {
    rows: usize,
    inner: usize,
    blocks: Vec<f32>,
}

impl Left {
    /// Arranges rows of `inner` numbers each.
    pub(super) fn new(arch: Arch, inner: usize, values: &[f32]) -> Self {
        let rows = values.len() / inner.max(1);
        if rows == 1 {
            return Self { rows, inner, blocks: values.to_vec() };
        }
        let block_rows = arch.dispatch(BlockRows);
        let mut blocks = vec![0.0; rows.next_multiple_of(block_rows) * inner];
        let by_block = blocks.chunks_exact_mut(block_rows * inner);
        for (block, rows) in by_block.zip(values.chunks(block_rows * inner)) {
            for (index, row) in rows.chunks_exact(inner).enumerate() {
                let places = block.iter_mut().skip(index).step_by(block_rows);
                places.zip(row).for_each(|(place, value)| *place = *value);
            }
        }
        Self { rows, inner, blocks }
    }
}

impl Matrix {
    /// Cuts a matrix for the processor at hand. Its columns must fill panels, which those of this
    /// network do on every processor.
    pub(super) fn new(arch: Arch, columns: usize, values: &Levels) -> Result<Self, DamagedAsset> {
        let Levels { lowest, step, levels } = values;
        let panel = arch.dispatch(PanelWidth);
        if columns == 0 || !columns.is_multiple_of(panel) || !levels.len().is_multiple_of(columns) {
            return Err(DamagedAsset("a matrix has the wrong shape"));
        }
        let mut panels = Vec::with_capacity(levels.len());
        for from in (0..columns).step_by(panel) {
            for row in levels.chunks_exact(columns) {
                panels.extend_from_slice(row.get(from..from + panel).unwrap_or_default());
            }
        }
        Ok(Self { rows: levels.len() / columns, columns, lowest: *lowest, step: *step, panels })
    }

    /// The product with this matrix on the right, row by row.
    pub(super) fn multiply(&self, arch: Arch, left: &Left) -> Vec<f32> {
        let mut product = Vec::new();
        self.multiply_into(arch, left, &mut product);
        product
    }

    /// The same, in the room of another product.
    pub(super) fn multiply_into(&self, arch: Arch, left: &Left, product: &mut Vec<f32>) {
        product.resize(left.rows * self.columns, 0.0);
        if left.inner == self.rows {
            arch.dispatch(Multiply { left, right: self, product });
        }
    }
}

/// Reads a matrix of a known shape.
pub(super) fn read_levels(
    reader: &mut Reader<'_>,
    rows: usize,
    columns: usize,
) -> Result<Levels, DamagedAsset> {
    let shape = (reader.number()? as usize, reader.number()? as usize);
    if shape != (rows, columns) {
        return Err(DamagedAsset("a matrix has the wrong shape"));
    }
    let (lowest, step) = (reader.float()?, reader.float()?);
    let code = Code::read(reader)?;
    let length = reader.count()?;
    let mut levels = vec![0; rows * columns];
    code.decode(reader.bytes(length)?, &mut levels);
    Ok(Levels { lowest, step, levels })
}

/// Reads a vector of a known length.
pub(super) fn read_vector(
    reader: &mut Reader<'_>,
    length: usize,
) -> Result<Vec<f32>, DamagedAsset> {
    if reader.count()? != length {
        return Err(DamagedAsset("a vector has the wrong length"));
    }
    reader.floats(length)
}

struct PanelWidth;

impl WithSimd for PanelWidth {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        PANEL_VECTORS * S::F32_LANES
    }
}

struct BlockRows;

impl WithSimd for BlockRows {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        if S::REGISTER_COUNT >= REGISTERS_WIDE { ROWS_WIDE } else { ROWS_NARROW }
    }
}

struct Multiply<'a> {
    left: &'a Left,
    right: &'a Matrix,
    product: &'a mut [f32],
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // A question comes alone.
        if self.left.rows == 1 {
            multiply_row::<S>(simd, &mut self);
        } else if S::REGISTER_COUNT >= REGISTERS_WIDE {
            multiply_panels::<S, ROWS_WIDE>(simd, &mut self);
        } else {
            multiply_panels::<S, ROWS_NARROW>(simd, &mut self);
        }
    }
}

/// Takes panel after panel, so that each stays in the nearest cache while all rows meet it.
#[inline(always)]
fn multiply_panels<S: Simd, const ROWS: usize>(simd: S, job: &mut Multiply<'_>) {
    let Matrix { rows: inner, columns, lowest, step, panels } = job.right;
    let panel_width = PANEL_VECTORS * S::F32_LANES;
    let left = job.left.blocks.as_chunks::<ROWS>().0;
    let mut panel = vec![0.0; inner * panel_width];
    let all = panels.chunks_exact(inner * panel_width);
    for (levels, from) in all.zip((0..).step_by(panel_width)) {
        for (value, level) in panel.iter_mut().zip(levels) {
            *value = f32::from(*level) * step + lowest;
        }
        let vectors = S::as_simd_f32s(&panel).0.as_chunks().0;
        let at = Place { columns: *columns, from, width: panel_width };
        let blocks = left.chunks_exact(*inner).zip(job.product.chunks_mut(ROWS * columns));
        for (block, product) in blocks {
            match product.len() / columns {
                ..=FEW => put::<S, FEW>(multiply_block(simd, block, vectors), product, at),
                _ => put::<S, ROWS>(multiply_block(simd, block, vectors), product, at),
            }
        }
    }
}

/// Weights where vectors begin: a vector that lies across two lines of the cache takes twice as long.
#[repr(align(64))]
struct Weights([f32; WEIGHTS_ALONE]);

/// Multiplies a single row. Each weight is needed once, so it need not go further than the nearest cache.
#[inline(always)]
fn multiply_row<S: Simd>(simd: S, job: &mut Multiply<'_>) {
    let Matrix { rows: inner, lowest, step, panels, .. } = job.right;
    let width = PANEL_VECTORS * S::F32_LANES;
    let mut weights = [const { Weights([0.0; WEIGHTS_ALONE]) }; PANELS_ALONE];
    let groups = panels.chunks(inner * width * PANELS_ALONE);
    for (group, product) in groups.zip(job.product.chunks_mut(width * PANELS_ALONE)) {
        let mut sums = [[simd.splat_f32s(0.0); PANEL_VECTORS]; PANELS_ALONE];
        for (part, values) in job.left.blocks.chunks(WEIGHTS_ALONE / width).enumerate() {
            let panels = group.chunks_exact(inner * width);
            for (weights, levels) in weights.iter_mut().zip(panels) {
                let levels = levels.get(part * WEIGHTS_ALONE..).unwrap_or_default();
                for (weight, level) in weights.0.iter_mut().zip(levels) {
                    *weight = f32::from(*level) * step + lowest;
                }
            }
            let vectors =
                weights.each_ref().map(|weights| S::as_simd_f32s(&weights.0).0.as_chunks().0);
            add_rows::<S>(simd, values, vectors, &mut sums);
        }
        let products = S::as_mut_simd_f32s(product).0;
        for (place, sum) in products.iter_mut().zip(sums.as_flattened()) {
            *place = *sum;
        }
    }
}

/// Adds to the sums of some panels what a part of a row makes with theirs.
#[inline(always)]
fn add_rows<S: Simd>(
    simd: S,
    values: &[f32],
    panels: [&[[S::f32s; PANEL_VECTORS]]; PANELS_ALONE],
    sums: &mut [[S::f32s; PANEL_VECTORS]; PANELS_ALONE],
) {
    let [first, second, third, fourth] = panels;
    let mut held = *sums;
    let rows = first.iter().zip(second).zip(third).zip(fourth);
    for (value, (((first, second), third), fourth)) in values.iter().zip(rows) {
        let value = simd.splat_f32s(*value);
        for (sums, vectors) in held.iter_mut().zip([first, second, third, fourth]) {
            for (sum, vector) in sums.iter_mut().zip(vectors) {
                *sum = simd.mul_add_e_f32s(value, *vector, *sum);
            }
        }
    }
    *sums = held;
}

/// Where the columns of a panel are in the rows of a product.
#[derive(Clone, Copy)]
struct Place {
    columns: usize,
    from: usize,
    width: usize,
}

/// Writes sums into as many rows of the product as there are.
#[inline(always)]
fn put<S: Simd, const USED: usize>(
    sums: [[S::f32s; PANEL_VECTORS]; USED],
    product: &mut [f32],
    at: Place,
) {
    for (sums, row) in sums.iter().zip(product.chunks_exact_mut(at.columns)) {
        let target = row.get_mut(at.from..at.from + at.width).unwrap_or_default();
        for (target, sum) in S::as_mut_simd_f32s(target).0.iter_mut().zip(sums) {
            *target = *sum;
        }
    }
}

/// The products of the first `USED` rows of a block.
#[inline(always)]
fn multiply_block<S: Simd, const ROWS: usize, const USED: usize>(
    simd: S,
    block: &[[f32; ROWS]],
    panel: &[[S::f32s; PANEL_VECTORS]],
) -> [[S::f32s; PANEL_VECTORS]; USED] {
    let mut sums = [[simd.splat_f32s(0.0); PANEL_VECTORS]; USED];
    for (column, vectors) in block.iter().zip(panel) {
        for (sums, value) in sums.iter_mut().zip(column) {
            let value = simd.splat_f32s(*value);
            for (sum, vector) in sums.iter_mut().zip(vectors) {
                *sum = simd.mul_add_e_f32s(value, *vector, *sum);
            }
        }
    }
    sums
}
