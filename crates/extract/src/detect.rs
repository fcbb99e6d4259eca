//! Tells what format a document is in, from its bytes first and its name second.

use serde::de::IgnoredAny;

use crate::{ExtractError, Format, Hint, charset};

const PDF_MAGIC: &[u8] = b"%PDF-";
const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
const DOCX_PART: &[u8] = b"word/document.xml";
/// Parts by which an archive is known to be something else, whatever it is called.
const OTHER_PARTS: [&[u8]; 2] = [b"xl/workbook.xml", b"ppt/presentation.xml"];
/// The container of old Office files, and of new ones with a password.
const OLE_MAGIC: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
const OLE_ENCRYPTED_PART: &[u8] = b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0";
/// Readers accept a PDF whose header stands this far into the file.
const PDF_MAGIC_OFFSET_MAX: usize = 1024;

/// The format of the bytes: a known binary signature wins over the name, the name over the look of the text.
pub fn detect(bytes: &[u8], hint: &Hint<'_>) -> Result<Format, ExtractError> {
    if bytes.is_empty() {
        return Err(ExtractError::Empty);
    }
    let named = by_file_name(hint).or_else(|| by_media_type(hint));
    if let Some(format) = by_signature(bytes, named)? {
        return Ok(format);
    }
    if charset::is_binary(bytes) {
        return Err(ExtractError::UnknownType);
    }
    match named {
        Some(
            format @ (Format::Markdown
            | Format::Text
            | Format::Html
            | Format::Csv
            | Format::Json
            | Format::JsonLines),
        ) => Ok(format),
        Some(Format::Pdf | Format::Docx) | None => Ok(by_look(&charset::peek(bytes), bytes)),
    }
}

fn by_signature(bytes: &[u8], named: Option<Format>) -> Result<Option<Format>, ExtractError> {
    let head = bytes.get(..PDF_MAGIC_OFFSET_MAX).unwrap_or(bytes);
    let is_pdf = head.trim_ascii_start().starts_with(PDF_MAGIC)
        || (named == Some(Format::Pdf) && contains(head, PDF_MAGIC));
    if is_pdf {
        return Ok(Some(Format::Pdf));
    }
    if bytes.starts_with(ZIP_MAGIC) {
        // One that only its name calls a Word document is a damaged one, and its reader says how.
        let is_docx = contains(bytes, DOCX_PART)
            || (named == Some(Format::Docx)
                && !OTHER_PARTS.iter().any(|part| contains(bytes, part)));
        return if is_docx { Ok(Some(Format::Docx)) } else { Err(ExtractError::UnknownType) };
    }
    if bytes.starts_with(OLE_MAGIC) {
        let is_encrypted = contains(bytes, OLE_ENCRYPTED_PART);
        return Err(if is_encrypted { ExtractError::Encrypted } else { ExtractError::UnknownType });
    }
    Ok(None)
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

fn by_file_name(hint: &Hint<'_>) -> Option<Format> {
    let (_, extension) = hint.file_name?.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "md" | "markdown" | "mdx" | "mkd" => Some(Format::Markdown),
        "txt" | "text" | "log" => Some(Format::Text),
        "html" | "htm" | "xhtml" => Some(Format::Html),
        "pdf" => Some(Format::Pdf),
        "docx" => Some(Format::Docx),
        "csv" | "tsv" => Some(Format::Csv),
        "json" => Some(Format::Json),
        "jsonl" | "ndjson" => Some(Format::JsonLines),
        _ => None,
    }
}

fn by_media_type(hint: &Hint<'_>) -> Option<Format> {
    let essence = hint.media_type?.split(';').next()?.trim().to_ascii_lowercase();
    match essence.as_str() {
        "text/markdown" | "text/x-markdown" => Some(Format::Markdown),
        "text/html" | "application/xhtml+xml" => Some(Format::Html),
        "application/pdf" => Some(Format::Pdf),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => {
            Some(Format::Docx)
        }
        "text/csv" | "text/tab-separated-values" => Some(Format::Csv),
        "application/json" => Some(Format::Json),
        "application/x-ndjson"
        | "application/jsonl"
        | "application/jsonlines"
        | "application/x-jsonlines" => Some(Format::JsonLines),
        // Servers call everything text/plain: the text itself knows better.
        _ => None,
    }
}

fn by_look(head: &str, bytes: &[u8]) -> Format {
    let start = head.trim_start_matches('\u{FEFF}').trim_start();
    match start.bytes().next() {
        Some(b'<') if looks_like_html(start) => Format::Html,
        Some(b'{' | b'[') => look_of_json(bytes).unwrap_or(Format::Text),
        _ if looks_like_markdown(start) => Format::Markdown,
        _ => Format::Text,
    }
}

fn looks_like_html(start: &str) -> bool {
    const BEGINNINGS: [&str; 8] =
        ["<!doctype html", "<html", "<head", "<body", "<title", "<meta", "<div", "<article"];
    let head = start.get(..start.floor_char_boundary(16)).unwrap_or(start).to_ascii_lowercase();
    // Comments may stand before the first element.
    BEGINNINGS.iter().any(|beginning| head.starts_with(beginning))
        || (head.starts_with("<!--") && start.to_ascii_lowercase().contains("<html"))
        || (head.starts_with("<?xml") && start.to_ascii_lowercase().contains("<html"))
}

fn look_of_json(bytes: &[u8]) -> Option<Format> {
    let is_json = |part: &[u8]| serde_json::from_slice::<IgnoredAny>(part).is_ok();
    if is_json(bytes) {
        return Some(Format::Json);
    }
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let first_two = lines.next().is_some_and(is_json) && lines.next().is_some_and(is_json);
    first_two.then_some(Format::JsonLines)
}

fn looks_like_markdown(start: &str) -> bool {
    start.starts_with("---\n")
        || start.lines().any(|line| {
            let marks = line.bytes().take_while(|byte| *byte == b'#').count();
            let is_heading = (1..=6).contains(&marks) && line.as_bytes().get(marks) == Some(&b' ');
            is_heading
                || line.starts_with("```")
                || line.starts_with("|--")
                || line.starts_with("| --")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(bytes: &[u8], file_name: &str) -> Result<Format, ExtractError> {
        detect(bytes, &Hint { file_name: Some(file_name), ..Hint::default() })
    }

    #[test]
    fn a_binary_signature_wins_over_a_lying_name() {
        assert_eq!(detected(b"%PDF-1.7 ...", "notes.md"), Ok(Format::Pdf));
        assert_eq!(detected(b"PK\x03\x04 word/document.xml", "page.html"), Ok(Format::Docx));
        assert_eq!(detected(b"<!doctype html><p>x", "report.pdf"), Ok(Format::Html));
    }

    #[test]
    fn the_name_decides_between_kinds_of_text() {
        assert_eq!(detected(b"a,b\n1,2\n", "x.csv"), Ok(Format::Csv));
        assert_eq!(detected(b"# not a heading", "x.TXT"), Ok(Format::Text));
    }

    #[test]
    fn text_without_a_name_is_judged_by_its_look() {
        let look = |bytes: &[u8]| detect(bytes, &Hint::default());
        assert_eq!(look(b"<html><body>x"), Ok(Format::Html));
        assert_eq!(look(b"{\"a\": 1}"), Ok(Format::Json));
        assert_eq!(look(b"{\"a\": 1}\n{\"a\": 2}\n"), Ok(Format::JsonLines));
        assert_eq!(look("안내\n\n# 시작\n".as_bytes()), Ok(Format::Markdown));
        assert_eq!(look(b"just words"), Ok(Format::Text));
        assert_eq!(look(b"\xFF\xFE<\0h\0t\0m\0l\0>\0"), Ok(Format::Html));
    }

    #[test]
    fn an_archive_that_is_called_a_word_document_is_left_to_its_reader() {
        assert_eq!(detected(b"PK\x03\x04 not a zip", "x.docx"), Ok(Format::Docx));
        assert_eq!(detected(b"PK\x03\x04 not a zip", "x.zip"), Err(ExtractError::UnknownType));
    }

    #[test]
    fn unknown_binaries_and_locked_office_files_get_a_clear_error() {
        assert_eq!(
            detected(b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x01\0\0", "x.md"),
            Err(ExtractError::UnknownType)
        );
        assert_eq!(
            detected(b"PK\x03\x04 xl/workbook.xml", "x.docx"),
            Err(ExtractError::UnknownType)
        );
        assert_eq!(detected(b"PK\x03\x04 hwpx", "x.hwpx"), Err(ExtractError::UnknownType));
        let locked = [OLE_MAGIC, &[0; 64], OLE_ENCRYPTED_PART].concat();
        assert_eq!(detected(&locked, "x.docx"), Err(ExtractError::Encrypted));
        assert_eq!(detected(b"", "x.md"), Err(ExtractError::Empty));
    }
}
