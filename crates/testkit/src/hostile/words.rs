//! Word documents whose XML is the trouble.

use super::zip_file::{Entry, Width, archive};
use super::{Hostile, read, refused};

/// Elements inside each other: far more than any stack holds.
const DEPTH: usize = 100_000;
/// Cells that each say they span a thousand columns: together more than a reader's memory.
const WIDE_CELLS: usize = 40_000;

pub(super) fn all() -> Vec<Hostile> {
    vec![
        read("entities.docx", word(&entities()), "billionlaughs"),
        refused("deep.docx", word(&document(&"<w:sdt>".repeat(DEPTH))), "nested deeper than"),
        refused("deep-tables.docx", word(&document(&deep_tables())), "nested deeper than"),
        refused("wide-cells.docx", word(&document(&cells())), "took too much memory"),
        refused("unclosed.docx", word("<w:document><w:body><w:p"), "the DOCX file is damaged"),
        refused("no-text.docx", word("\u{0}\u{1}\u{2}"), "empty"),
        refused("not-utf-8.docx", parts(b"<w:document>\xFF\xFE\xFD"), "the DOCX file is damaged"),
    ]
}

/// The XML of a document with this body.
pub(super) fn document(body: &str) -> String {
    format!(r#"<w:document xmlns:w="w"><w:body>{body}</w:body></w:document>"#)
}

pub(super) fn paragraph(text: &str) -> String {
    format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
}

fn word(xml: &str) -> Vec<u8> {
    parts(xml.as_bytes())
}

fn parts(xml: &[u8]) -> Vec<u8> {
    archive(&[Entry::packed("word/document.xml", xml)], Width::Bits32)
}

/// Entities that double ten times a thousandfold, and one that is a file of the machine.
fn entities() -> String {
    let body = paragraph("billionlaughs &l9; and &secret; end");
    format!("<?xml version=\"1.0\"?>{}{}", super::pages::doctype("w:document"), document(&body))
}

fn deep_tables() -> String {
    "<w:tbl><w:tr><w:tc>".repeat(DEPTH)
}

fn cells() -> String {
    let cell = r#"<w:tc><w:tcPr><w:gridSpan w:val="1000"/></w:tcPr></w:tc>"#;
    format!("<w:tbl><w:tr>{}</w:tr></w:tbl>", cell.repeat(WIDE_CELLS))
}
