//! Whole vectors at 8 bits a number, and the cosine of a query with them.

use std::hint;

use pulp::{Arch, Simd, WithSimd};

use super::scan::Candidate;

/// Largest code: one row uses -127 to 127, so that turning a vector around turns its codes around.
const CODE_MAX: f32 = 127.0;

/// Length of a prepared query in units of its codes. Each fits 16 bits, and by Cauchy-Schwarz a
/// product with a row of up to 4096 codes stays below 2^15 · 127 · 64, far inside 32 bits.
const QUERY_LENGTH: f32 = 32_767.0;

/// Rows that are fetched from memory together: with more, the first are gone before they are used.
pub(super) const ROWS_FETCHED: usize = 16;

const CACHE_LINE: usize = 64;

/// Writes the 8-bit codes of a (rotated) vector: its numbers in steps of its own largest one.
/// The codes of a row's own numbers are the row again, so vectors may go in and out for ever.
pub(super) fn quantise(vector: &[f32], codes: &mut Vec<i8>) {
    let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    let steps = if largest > 0.0 { CODE_MAX / largest } else { 0.0 };
    codes.extend(vector.iter().map(|number| round(number * steps) as i8));
}

/// Writes the unit vector in the direction of `vector`, filled up with zeros to `width`. Says
/// whether that was possible; zeros stay zeros.
pub(super) fn unit(vector: &[f32], width: usize, unit: &mut Vec<f32>) -> bool {
    // In f64 no square of a finite number is lost or infinite.
    let squares: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    let scale = if squares > 0.0 { 1.0 / squares.sqrt() } else { 0.0 };
    unit.clear();
    unit.extend(vector.iter().map(|number| (f64::from(*number) * scale) as f32));
    unit.resize(width, 0.0);
    squares.is_finite()
}

/// To the nearest whole number, by truncation: `f32::round` is a call on old processors.
#[inline(always)]
fn round(number: f32) -> i32 {
    (number + 0.5_f32.copysign(number)) as i32
}

/// One over the length of a row, in units of its codes; 0 for a row of zeros.
pub(super) fn inverse_length(codes: &[i8]) -> f32 {
    let squares: i64 = codes.iter().map(|&code| i64::from(code) * i64::from(code)).sum();
    if squares == 0 { 0.0 } else { (1.0 / (squares as f64).sqrt()) as f32 }
}

/// Writes the vector that a row stands for; with the inverse length as scale, the unit vector.
pub(super) fn restore(codes: &[i8], scale: f32, vector: &mut [f32]) {
    Arch::new().dispatch(Restore { codes, scale, vector });
}

struct Restore<'a> {
    codes: &'a [i8],
    scale: f32,
    vector: &'a mut [f32],
}

impl WithSimd for Restore<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { codes, scale, vector } = self;
        for (number, &code) in vector.iter_mut().zip(codes) {
            *number = f32::from(code) * scale;
        }
    }
}

/// Writes a (rotated) unit query as whole numbers, and returns what one of them is worth.
pub(super) fn prepare_query(query: &[f32], codes: &mut Vec<i16>) -> f32 {
    codes.clear();
    codes.extend(query.iter().map(|number| round(number * QUERY_LENGTH) as i16));
    1.0 / QUERY_LENGTH
}

/// Sets each candidate's score to the product of the query with the candidate's row. `rows` are as
/// they lie in the file; a row that is not there scores 0.
pub(super) fn products(query: &[i16], rows: &[u8], candidates: &mut [Candidate]) {
    Arch::new().dispatch(Products { query, rows, candidates });
}

struct Products<'a> {
    query: &'a [i16],
    rows: &'a [u8],
    candidates: &'a mut [Candidate],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { query, rows, candidates } = self;
        for candidates in candidates.chunks_mut(ROWS_FETCHED) {
            // Memory sees by itself that rows follow each other.
            let follow = candidates.is_sorted_by(|one, next| one.slot.wrapping_add(1) == next.slot);
            if !follow {
                for candidate in candidates.iter() {
                    fetch(row(rows, query.len(), candidate.slot));
                }
            }
            for candidate in candidates {
                candidate.score = product(query, row(rows, query.len(), candidate.slot)) as f32;
            }
        }
    }
}

/// Sums that are kept apart until the end: so many that the compiler multiplies and adds in pairs, on every processor.
const COLUMNS: usize = 32;

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "the loop goes to the length of each array")]
fn product(query: &[i16], row: &[u8]) -> i32 {
    let mut sums = [0_i32; COLUMNS];
    // Rows have a multiple of 64 codes.
    let parts = query.as_chunks::<COLUMNS>().0.iter().zip(row.as_chunks::<COLUMNS>().0);
    for (numbers, codes) in parts {
        for column in 0..COLUMNS {
            let product = i32::from(numbers[column]) * i32::from(codes[column] as i8);
            sums[column] = sums[column].wrapping_add(product);
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

#[inline(always)]
fn row(rows: &[u8], width: usize, slot: u32) -> &[u8] {
    let start = slot as usize * width;
    rows.get(start..start + width).unwrap_or_default()
}

/// Reads a byte of each cache line, so that memory works on all of them at once; a product waits
/// for them one after the other.
#[inline(always)]
pub(super) fn fetch(row: &[u8]) {
    let lines = row.iter().step_by(CACHE_LINE);
    hint::black_box(lines.fold(0, |all, byte| all | byte));
}
