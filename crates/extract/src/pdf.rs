//! Reads the text layer of a PDF, page by page, and joins its lines to paragraphs again.

mod cmap;
mod fonts;
mod layout;
mod page;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lopdf::{DecompressError, Document, Error, LoadOptions, Object, decode_text_string};

use crate::document::Draft;
use crate::limits::{Limits, within};
use crate::{ExtractError, Extracted, Format};

/// Most bytes that one stream may inflate to while the file is opened: tables of objects are far smaller.
const STREAM_BYTES_MAX: usize = 16 << 20;
/// Endings of names that programs put where the title belongs.
const FILE_ENDINGS: [&str; 6] = [".doc", ".docx", ".hwp", ".pdf", ".ppt", ".indd"];

pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Extracted, ExtractError> {
    // The parser has been seen to panic on files made to break it; such a file is damaged, no more.
    catch_unwind(AssertUnwindSafe(|| read_document(bytes, limits)))
        .unwrap_or_else(|_| Err(ExtractError::malformed(Format::Pdf, "its structure is broken")))
}

fn read_document(bytes: &[u8], limits: &Limits) -> Result<Extracted, ExtractError> {
    let options = LoadOptions {
        max_decompressed_size: Some(STREAM_BYTES_MAX.min(limits.inflated_bytes_max)),
        ..LoadOptions::default()
    };
    let document = Document::load_mem_with_options(bytes, options)
        .map_err(|error| explained(&error, limits))?;
    if document.is_encrypted() {
        return Err(ExtractError::Encrypted);
    }
    let mut reader = page::Reader::new(&document, limits);
    let mut pages = Vec::new();
    for id in document.page_iter() {
        within("pages", pages.len() + 1, limits.pages_max)?;
        pages.push(reader.lines(id)?);
    }
    if pages.is_empty() {
        return Err(ExtractError::malformed(Format::Pdf, "it has no pages"));
    }
    let mut draft = Draft::new(limits);
    let (page_starts, heading) = layout::write(pages, &mut draft)?;
    if !draft.text.chars().any(char::is_alphanumeric) {
        return Err(ExtractError::NoText);
    }
    let mut extracted = draft.finish(Format::Pdf, title(&document).or(heading));
    extracted.page_starts = page_starts;
    if reader.unreadable > 0 {
        let count = reader.unreadable;
        extracted
            .warnings
            .push(format!("{count} characters have no known letter and were left out"));
    }
    Ok(extracted)
}

pub(super) fn explained(error: &Error, limits: &Limits) -> ExtractError {
    match error {
        Error::InvalidPassword | Error::Decryption(_) | Error::UnsupportedSecurityHandler(_) => {
            ExtractError::Encrypted
        }
        Error::Decompress(DecompressError::MemoryLimitExceeded { .. }) => {
            ExtractError::TooLarge { what: "inflated bytes", limit: limits.inflated_bytes_max }
        }
        error => ExtractError::malformed(Format::Pdf, error.to_string()),
    }
}

/// The title in the file's properties, unless it is the name of a file.
fn title(document: &Document) -> Option<String> {
    let info = document.trailer.get_deref(b"Info", document).and_then(Object::as_dict).ok()?;
    let title = decode_text_string(info.get_deref(b"Title", document).ok()?).ok()?;
    let lower = title.trim().to_lowercase();
    let is_file_name = FILE_ENDINGS.iter().any(|ending| lower.ends_with(ending));
    let is_title = !lower.is_empty() && lower != "untitled" && !is_file_name;
    is_title.then(|| title.trim().to_owned())
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may panic")]
mod tests;
#[cfg(test)]
pub(crate) use tests::sample;
