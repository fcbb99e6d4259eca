//! Bytes in, text and structure out: readers for every document format, sections and chunks.
//!
//! [`extract()`] turns the bytes of a document into text and blocks, [`split()`] turns these into sections and
//! chunks. Both are pure and bounded: the same bytes give the same result, and whatever a stranger sends
//! ends in a result or in an [`ExtractError`] that says what to do about it.

mod charset;
#[cfg(any(test, fuzzing))]
pub mod checks;
mod detect;
mod document;
mod docx;
mod error;
mod front_matter;
mod html;
mod limits;
mod markdown;
mod pdf;
mod records;
#[cfg(test)]
mod reports;
mod split;
mod tags;
mod tokens;

pub use detect::detect;
pub use document::{Block, BlockKind, Extracted, Format, Hint, Mapping};
pub use error::ExtractError;
pub use limits::{
    ATTRIBUTES_MAX, BLOCKS_MAX, COLUMNS_MAX, INFLATED_BYTES_MAX, JSON_NESTING_MAX, Limits,
    NESTING_MAX, PAGES_MAX, ROWS_MAX, SOURCE_BYTES_MAX, TEXT_BYTES_MAX,
};
pub use split::{Chunk, Section, Split, SplitLimits, heading_path, split};
pub use tags::{ChunkTags, Language};
pub use tokens::estimate_tokens;

/// Reads a document of any known format.
pub fn extract(bytes: &[u8], hint: &Hint<'_>, limits: &Limits) -> Result<Extracted, ExtractError> {
    limits::within("bytes", bytes.len(), limits.source_bytes_max)?;
    let extracted = match detect(bytes, hint)? {
        Format::Docx => docx::read(bytes, limits)?,
        Format::Pdf => pdf::read(bytes, limits)?,
        format @ (Format::Markdown
        | Format::Text
        | Format::Html
        | Format::Csv
        | Format::Json
        | Format::JsonLines) => extract_text(bytes, format, hint, limits)?,
    };
    if extracted.blocks.is_empty() && extracted.warnings.is_empty() {
        return Err(ExtractError::Empty);
    }
    Ok(extracted)
}

fn extract_text(
    bytes: &[u8],
    format: Format,
    hint: &Hint<'_>,
    limits: &Limits,
) -> Result<Extracted, ExtractError> {
    let decoded = charset::decode(bytes, format, hint)?;
    if decoded.text.trim_start().is_empty() {
        return Err(ExtractError::Empty);
    }
    let no_mapping = Mapping::default();
    let mapping = hint.mapping.unwrap_or(&no_mapping);
    let mut extracted = match format {
        Format::Markdown => markdown::read(decoded.text, limits)?,
        Format::Html => html::read(&decoded.text, limits)?,
        Format::Csv => records::read_csv(&decoded.text, mapping, limits)?,
        Format::Json => records::read_json(&decoded.text, mapping, limits)?,
        Format::JsonLines => records::read_json_lines(&decoded.text, mapping, limits)?,
        Format::Text | Format::Pdf | Format::Docx => markdown::read_plain(decoded.text, limits)?,
    };
    extracted.warnings.extend(decoded.warnings);
    Ok(extracted)
}

#[cfg(test)]
mod tests;
