//! Archives that inflate without end, overlap or lie, most of them in the shape of a Word document.

use super::deflate::repeated;
use super::words::{document, paragraph};
use super::zip_file::{Entry, Width, archive, archive_claiming};
use super::{Hostile, read, refused};

/// Bytes of text that are compressed once and then repeated.
const UNIT_BYTES: usize = 1 << 20;
/// The part that holds a Word document's text.
const DOCUMENT: &str = "word/document.xml";

pub(super) fn all() -> Vec<Hostile> {
    let too_much = "too many inflated bytes";
    vec![
        refused("bomb-in-the-styles.docx", bomb_in_the_styles(), too_much),
        refused("four-hundred-megabytes.docx", bomb(DOCUMENT, 400), too_much),
        refused("overlapping.docx", overlapping(), too_much),
        refused("nested.zip", nested(4), "unknown file type"),
        refused("nested-as-the-text.docx", nested_as_the_text(), "the DOCX file is damaged"),
        read("nested-beside-the-text.docx", nested_beside_the_text(), "quietnest"),
        refused("claims-too-little.docx", lying(10), "the DOCX file is damaged"),
        read("claims-too-much.docx", claims_too_much(), "boastful"),
        read("sixty-four-bits.docx", sixty_four_bits(), "sixtyfour"),
        refused("a-quintillion-files.docx", countless(), "too many files in the archive"),
        refused("twenty-thousand-files.docx", crowded(), "too many files in the archive"),
        read("climbing-names.docx", climbing(), "climbers"),
        refused("locked.docx", locked(), "the document is encrypted"),
        refused("not-an-archive.docx", *b"PK\x03\x04 not a zip", "the DOCX file is damaged"),
        refused("cut-short.docx", cut_short(), "the DOCX file is damaged"),
        refused("a-spreadsheet.docx", spreadsheet(), "unknown file type"),
        refused("no-word-file.zip", *b"PK\x03\x04 not a zip", "unknown file type"),
    ]
}

/// A Word document with this text in its one paragraph.
fn plain(text: &str) -> Entry {
    Entry::packed(DOCUMENT, document(&paragraph(text)).as_bytes())
}

/// An archive whose file of that name has so many mebibytes.
fn bomb(name: &str, mebibytes: usize) -> Vec<u8> {
    archive(&[bomb_entry(name, mebibytes)], Width::Bits32)
}

fn bomb_entry(name: &str, mebibytes: usize) -> Entry {
    let one = paragraph("harmless ");
    let unit = one.repeat(UNIT_BYTES.div_ceil(one.len()));
    let (head, tail) = (b"<w:document xmlns:w=\"w\"><w:body>", b"</w:body></w:document>");
    Entry::deflated(name, repeated(head, unit.as_bytes(), mebibytes, tail))
}

fn bomb_in_the_styles() -> Vec<u8> {
    archive(&[plain("small"), bomb_entry("word/styles.xml", 100)], Width::Bits32)
}

/// Four parts, each within the limit, that are the same bytes of the file.
fn overlapping() -> Vec<u8> {
    let first = bomb_entry(DOCUMENT, 30);
    let names = ["word/styles.xml", "word/numbering.xml", "docProps/core.xml"];
    let others = names.map(|name| Entry::overlapping(name, &first, 0));
    archive(&[vec![first], others.to_vec()].concat(), Width::Bits32)
}

/// An archive of ten archives, each of them likewise, with a bomb at the bottom.
fn nested(levels: usize) -> Vec<u8> {
    let mut inner = bomb("bomb.xml", 10);
    for _ in 0..levels {
        let entries: Vec<Entry> =
            (0..10).map(|number| Entry::packed(&format!("{number}.zip"), &inner)).collect();
        inner = archive(&entries, Width::Bits32);
    }
    inner
}

fn nested_as_the_text() -> Vec<u8> {
    archive(&[Entry::packed(DOCUMENT, &nested(2))], Width::Bits32)
}

fn nested_beside_the_text() -> Vec<u8> {
    let embedded = Entry::packed("word/embeddings/a.zip", &nested(2));
    archive(&[plain("a quietnest beside a bomb"), embedded], Width::Bits32)
}

fn lying(size: u64) -> Vec<u8> {
    archive(&[bomb_entry(DOCUMENT, 100).claiming(size)], Width::Bits32)
}

fn claims_too_much() -> Vec<u8> {
    archive(&[plain("a boastful header").claiming(u64::from(u32::MAX) - 1)], Width::Bits32)
}

fn sixty_four_bits() -> Vec<u8> {
    archive(&[plain("legal and sixtyfour bits wide")], Width::Bits64)
}

fn countless() -> Vec<u8> {
    archive_claiming(&[plain("countless").claiming(1 << 62)], Width::Bits64, 1 << 60)
}

fn crowded() -> Vec<u8> {
    let mut entries = vec![plain("crowded")];
    entries.extend((1..20_000).map(|number| Entry::stored(&format!("{number}"), b"")));
    archive(&entries, Width::Bits32)
}

fn climbing() -> Vec<u8> {
    let up = Entry::stored("../../../../../../tmp/saem-climbed", b"out of the archive");
    archive(&[up, plain("climbers stay inside")], Width::Bits32)
}

fn locked() -> Vec<u8> {
    archive(&[plain("locked").locked()], Width::Bits32)
}

fn cut_short() -> Vec<u8> {
    let mut whole = archive(&[plain(&"cut short ".repeat(100))], Width::Bits32);
    whole.truncate(whole.len() / 2);
    whole
}

fn spreadsheet() -> Vec<u8> {
    archive(&[Entry::packed("xl/workbook.xml", b"<workbook/>")], Width::Bits32)
}
