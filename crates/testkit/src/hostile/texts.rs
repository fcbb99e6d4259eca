//! Tables, JSON and plain text: too wide, too deep, in strange charsets, under wrong names.

use super::pdf_file::plain_pdf;
use super::zip_file::{Entry, Width, archive};
use super::{Hostile, read, refused};

/// As large as a document may nearly be: what a server keeps of it shows.
const LARGE_BYTES: usize = 60 << 20;

const KOREAN: &str = "예산 알림은 설정 메뉴에서 켭니다.\n";

pub(super) fn all() -> Vec<Hostile> {
    [tables(), charsets(), names_that_lie(), polyglots(), marks()].concat()
}

fn tables() -> Vec<Hostile> {
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    vec![
        refused("columns.csv", ",".repeat(1_000_000), "too many columns"),
        refused(
            "columns-later.csv",
            format!("a,b\n{}\n", ",".repeat(1_000_000)),
            "too many columns",
        ),
        read("one-quote.csv", format!("a,b\nonequote,\"{}", "x,\n".repeat(2_000)), "onequote"),
        refused("rows.csv", format!("a\n{}", "1\n".repeat(200_001)), "too many rows"),
        refused("deep.json", deep("[", "]"), "nested deeper than"),
        refused("deep-objects.json", deep("{\"a\":", "}"), "nested deeper than"),
        refused("deep.jsonl", format!("{}\n", deep("[", "]")), "nested deeper than"),
        refused("values.json", format!("[{}1]", "1,".repeat(5_000_000)), "too many values"),
        refused("cut-short.json", "{\"a\": [1, 2", "the JSON file is damaged"),
        refused("no-numbers.json", "[1e999999, -]", "the JSON file is damaged"),
        read("same-ids.json", same_ids(), "twinsecond"),
    ]
}

fn charsets() -> Vec<Hostile> {
    let utf_16 = |order: fn(u16) -> [u8; 2], text: &str| -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    };
    let little = utf_16(u16::to_le_bytes, &format!("\u{FEFF}{KOREAN}littleendian"));
    let big = utf_16(u16::to_be_bytes, &format!("\u{FEFF}{KOREAN}bigendian"));
    let flawed = [KOREAN.repeat(10).as_bytes(), b"\xEA\xB0 flawedtext \xC0\xAF"].concat();
    let noise: Vec<u8> =
        (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    vec![
        read(
            "utf-7.html",
            "<html><body><p>utfseven +ADw-script+AD4-alert(1)+ADw-/script+AD4-</p>",
            "utfseven",
        ),
        read("utf-7.txt", "utfsevenplain +AGE- +ADw-b+AD4-", "utfsevenplain"),
        read("utf-16-little.txt", little, "littleendian"),
        read("utf-16-big.txt", big, "bigendian"),
        read("flawed-utf-8.txt", flawed, "flawedtext"),
        refused(
            "half-a-pair.txt",
            b"\xFF\xFE\x00\xD8\x00\xD8\x00\xD8\x00\xD8".as_slice(),
            "not readable text",
        ),
        refused("noise.txt", noise.as_slice(), "not readable text"),
        refused("zeros.txt", vec![0; LARGE_BYTES], "unknown file type"),
        refused("large-noise.md", noise.repeat(LARGE_BYTES / noise.len()), "not readable text"),
        refused("nothing.md", "", "empty"),
        refused("blanks.md", " \n\t\r\n".repeat(1000), "empty"),
    ]
}

fn names_that_lie() -> Vec<Hostile> {
    let picture = b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0".as_slice();
    vec![
        refused("picture.md", picture, "unknown file type"),
        refused("program.txt", *b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xFF\xFF\0\0", "unknown file type"),
        refused(
            "old-office.docx",
            [b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".as_slice(), &[0; 512]].concat(),
            "unknown file type",
        ),
        read(
            "page.pdf",
            "<!doctype html><html><body><p>pagenotpdf</p></body></html>",
            "pagenotpdf",
        ),
        read("paper.txt", plain_pdf("papernottext"), "papernottext"),
        read("words.docx", "# Plain\n\nwordsnotword in Markdown", "wordsnotword"),
    ]
}

/// Files that are two things at once: they are read as one of them, never as both.
fn polyglots() -> Vec<Hostile> {
    let page = b"<!doctype html><html><body><p>polypage</p></body></html>";
    let zip = archive(&[Entry::packed("word/document.xml", b"<w:t>polyzip</w:t>")], Width::Bits32);
    let paper = plain_pdf("polypaper");
    let page_around = [b"<!--".as_slice(), &plain_pdf("hidden"), b"-->", page].concat();
    vec![
        read("paper-then-page.html", [paper.as_slice(), page].concat(), "polypaper"),
        read("paper-then-zip.docx", [paper.as_slice(), &zip].concat(), "polypaper"),
        read("page-around-paper.html", page_around, "polypage"),
        refused(
            "zip-then-paper.zip",
            [b"PK\x03\x04".as_slice(), &paper].concat(),
            "unknown file type",
        ),
    ]
}

/// Marks without end: each is a known way to make a Markdown parser slow.
fn marks() -> Vec<Hostile> {
    let endless = |mark: &str, word: &str| format!("{word}\n\n{}", mark.repeat(5_000));
    vec![
        read("brackets.md", endless("[", "bracketfield"), "bracketfield"),
        read("emphasis.md", endless("*a_ ", "emphasisfield"), "emphasisfield"),
        read("backticks.md", endless("`a``", "backtickfield"), "backtickfield"),
        read("quotes.md", endless("> ", "quotefield"), "quotefield"),
        read("links.md", endless("[a](<b", "linkfield"), "linkfield"),
        refused("lists.md", "1. ".repeat(50_000), "nested deeper than"),
    ]
}

/// Rows that claim the same id, and a key that is there twice.
fn same_ids() -> &'static str {
    r#"[{"id": 1, "question": "twinfirst?", "answer": "one"}, {"id": 1, "id": 1, "question": "twinsecond?", "answer": "two"}]"#
}
