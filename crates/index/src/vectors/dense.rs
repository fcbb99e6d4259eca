//! Finds the nearest centroids of many vectors, in plain f32.

use std::mem;

use pulp::{Arch, Simd, WithSimd};

/// Rows compared at a time: four rows by two centroids keep eight sums in registers.
const ROWS: usize = 4;

/// Centroids compared with all rows before the next are fetched: they stay in the nearest cache.
const NEAR_CENTROIDS: usize = 8;

/// Rows compared with all centroids before the next are fetched: they stay in the second cache.
const NEAR_ROWS: usize = 128;

/// A centroid, and how near it is to a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// The product less half of the centroid's squared length: of two centroids, even if they were
    /// looked up apart, the one with more is nearer.
    pub(super) score: f32,
    pub(super) centroid: u32,
}

impl Near {
    /// Less near than anything.
    pub(super) const NONE: Self = Self { score: f32::NEG_INFINITY, centroid: 0 };
}

/// For each row finds the `FEW` centroids with the least distance, nearest first; where there are
/// not so many, [`Near::NONE`] fills up. `half_squares` holds half of each centroid's squared
/// length.
pub(super) fn nearest<const FEW: usize>(
    rows: &[f32],
    width: usize,
    centroids: &[f32],
    half_squares: &[f32],
    nearest: &mut Vec<[Near; FEW]>,
) {
    let width = width.max(1);
    nearest.clear();
    nearest.resize(rows.len() / width, [Near::NONE; FEW]);
    for (rows, best) in rows.chunks(width * NEAR_ROWS).zip(nearest.chunks_mut(NEAR_ROWS)) {
        Arch::new().dispatch(Nearest { rows, width, centroids, half_squares, best });
    }
}

struct Nearest<'a, const FEW: usize> {
    rows: &'a [f32],
    width: usize,
    centroids: &'a [f32],
    half_squares: &'a [f32],
    best: &'a mut [[Near; FEW]],
}

impl<const FEW: usize> WithSimd for Nearest<'_, FEW> {
    type Output = ();

    // Plain loops: what a closure does inside an iterator is compiled without the processor's
    // special instructions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows, width, centroids, half_squares, best } = self;
        let nearby = centroids.chunks(width * NEAR_CENTROIDS);
        let mut first = 0;
        for (centroids, halves) in nearby.zip(half_squares.chunks(NEAR_CENTROIDS)) {
            for (rows, best) in rows.chunks(width * ROWS).zip(best.chunks_mut(ROWS)) {
                // A last, shorter group leaves some of the tile to its first row.
                let mut tile = [S::as_simd_f32s(rows).0; ROWS];
                for (row, numbers) in tile.iter_mut().zip(rows.chunks_exact(width)) {
                    *row = S::as_simd_f32s(numbers).0;
                }
                let mut number = first;
                for (pair, halves) in centroids.chunks(width * 2).zip(halves.chunks(2)) {
                    let (one, two) = pair.split_at(width.min(pair.len()));
                    let two = if two.is_empty() { one } else { two };
                    let products = tile_products(simd, tile, [one, two]);
                    for (half, products) in halves.iter().zip(products) {
                        for (best, product) in best.iter_mut().zip(products) {
                            keep(best, Near { score: product - half, centroid: number });
                        }
                        number += 1;
                    }
                }
            }
            first += NEAR_CENTROIDS as u32;
        }
    }
}

/// Puts `near` in its place among the best, if it has one; of equals the first stays ahead.
#[inline(always)]
fn keep<const FEW: usize>(best: &mut [Near; FEW], mut near: Near) {
    if best.last().is_none_or(|last| near.score <= last.score) {
        return;
    }
    for kept in best {
        if near.score > kept.score {
            mem::swap(kept, &mut near);
        }
    }
}

#[inline(always)]
fn tile_products<S: Simd>(
    simd: S,
    [r0, r1, r2, r3]: [&[S::f32s]; ROWS],
    [first, second]: [&[f32]; 2],
) -> [[f32; ROWS]; 2] {
    let zero = simd.splat_f32s(0.0);
    let mut sums = [[zero; ROWS]; 2];
    let (first, _) = S::as_simd_f32s(first);
    let (second, _) = S::as_simd_f32s(second);
    let rows = r0.iter().zip(r1).zip(r2).zip(r3);
    for (((((&a, &b), &c), &d), &one), &two) in rows.zip(first).zip(second) {
        let [ones, twos] = &mut sums;
        for ((one_sum, two_sum), row) in ones.iter_mut().zip(twos).zip([a, b, c, d]) {
            *one_sum = simd.mul_add_e_f32s(row, one, *one_sum);
            *two_sum = simd.mul_add_e_f32s(row, two, *two_sum);
        }
    }
    let mut products = [[0.0; ROWS]; 2];
    for (products, sums) in products.iter_mut().zip(sums) {
        for (product, sum) in products.iter_mut().zip(sums) {
            *product = simd.reduce_sum_f32s(sum);
        }
    }
    products
}
