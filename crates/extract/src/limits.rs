//! How much of everything one document may have, and why that much.

use crate::ExtractError;

/// Longest source, in bytes: larger than any manual written by people, small enough to hold a few at once.
pub const SOURCE_BYTES_MAX: usize = 64 << 20;
/// Longest text that comes out, in bytes: some twenty thousand pages.
pub const TEXT_BYTES_MAX: usize = 32 << 20;
/// Most bytes that compressed parts may inflate to: the same as an uncompressed source.
pub const INFLATED_BYTES_MAX: usize = 64 << 20;
/// Most blocks of a document: a row or paragraph each, so that an index entry per block stays affordable.
pub const BLOCKS_MAX: usize = 200_000;
/// Deepest nesting of elements or values: real pages stay under 100, and a walk that deep fits a small stack.
pub const NESTING_MAX: usize = 512;
/// Deepest nesting of a JSON value: what `serde_json` itself reads.
pub const JSON_NESTING_MAX: usize = 128;
/// Most columns of a CSV row: beyond that it is a matrix, not a table for reading.
pub const COLUMNS_MAX: usize = 1_000;
/// Most rows or records of one document.
pub const ROWS_MAX: usize = 200_000;
/// Most pages of a PDF: the largest manuals have some 3,000.
pub const PAGES_MAX: usize = 5_000;
/// Most attributes of one HTML element: duplicates are found by comparing each with all before it.
pub const ATTRIBUTES_MAX: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    pub source_bytes_max: usize,
    pub text_bytes_max: usize,
    pub inflated_bytes_max: usize,
    pub blocks_max: usize,
    pub nesting_max: usize,
    pub json_nesting_max: usize,
    pub columns_max: usize,
    pub rows_max: usize,
    pub pages_max: usize,
    pub attributes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes_max: SOURCE_BYTES_MAX,
            text_bytes_max: TEXT_BYTES_MAX,
            inflated_bytes_max: INFLATED_BYTES_MAX,
            blocks_max: BLOCKS_MAX,
            nesting_max: NESTING_MAX,
            json_nesting_max: JSON_NESTING_MAX,
            columns_max: COLUMNS_MAX,
            rows_max: ROWS_MAX,
            pages_max: PAGES_MAX,
            attributes_max: ATTRIBUTES_MAX,
        }
    }
}

/// An error when there is more of `what` than the limit.
pub(crate) fn within(what: &'static str, count: usize, limit: usize) -> Result<(), ExtractError> {
    if count > limit { Err(ExtractError::TooLarge { what, limit }) } else { Ok(()) }
}
