//! What the reader does, shown on small documents made here.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use crate::BlockKind;

const STYLES: &str = r#"<w:styles xmlns:w="w"><w:style w:styleId="a1"><w:name w:val="heading 1"/></w:style><w:style w:styleId="k2"><w:name w:val="제목 2"/></w:style><w:style w:styleId="own"><w:name w:val="Chapter"/><w:basedOn w:val="a1"/></w:style><w:style w:styleId="out"><w:name w:val="x"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style></w:styles>"#;
const NUMBERING: &str = r#"<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="7"><w:abstractNumId w:val="0"/></w:num></w:numbering>"#;

fn document(body: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="w"><w:body>{body}</w:body></w:document>"#
    )
}

fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in parts {
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(crate) fn sample(body: &str) -> Vec<u8> {
    let document = document(body);
    archive(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("word/document.xml", document.as_bytes()),
        ("word/styles.xml", STYLES.as_bytes()),
        ("word/numbering.xml", NUMBERING.as_bytes()),
    ])
}

fn text_of(body: &str) -> String {
    read(&sample(body), &Limits::default()).unwrap().text
}

fn paragraph(properties: &str, text: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}

#[test]
fn headings_are_known_by_style_name_base_and_outline_level() {
    let body = [
        paragraph(r#"<w:pStyle w:val="a1"/>"#, "One"),
        paragraph(r#"<w:pStyle w:val="k2"/>"#, "둘"),
        paragraph(r#"<w:pStyle w:val="own"/>"#, "Own"),
        paragraph(r#"<w:pStyle w:val="out"/>"#, "Out"),
        paragraph(r#"<w:pStyle w:val="Heading4"/>"#, "Four"),
        paragraph(r#"<w:outlineLvl w:val="1"/>"#, "Direct"),
        paragraph("", "plain &amp; simple &#8364;"),
    ];
    assert_eq!(
        text_of(&body.concat()),
        "# One\n\n## 둘\n\n# Own\n\n### Out\n\n#### Four\n\n## Direct\n\nplain & simple €"
    );
}

#[test]
fn lists_are_numbered_or_not_as_their_definition_says() {
    let item = |level: u8, text: &str| {
        paragraph(
            &format!(r#"<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="7"/></w:numPr>"#),
            text,
        )
    };
    let body = [item(0, "first"), item(1, "inner"), item(0, "second")].concat();
    let extracted = read(&sample(&body), &Limits::default()).unwrap();
    assert_eq!(extracted.text, "1. first\n  - inner\n2. second");
    assert_eq!(extracted.blocks[1].kind, BlockKind::ListItem { ordered: false, depth: 2 });
}

#[test]
fn tables_and_links_keep_their_text() {
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", paragraph("", text));
    let table = format!(
        "<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>",
        cell("이름"),
        cell("값 | 단위"),
        cell("a"),
        cell("1")
    );
    let link = "<w:p><w:r><w:t>see </w:t></w:r><w:hyperlink><w:r><w:t>the page</w:t></w:r></w:hyperlink></w:p>";
    assert_eq!(
        text_of(&format!("{table}{link}")),
        "| 이름 | 값 \\| 단위 |\n| --- | --- |\n| a | 1 |\n\nsee the page"
    );
}

#[test]
fn what_was_deleted_is_not_read() {
    let body = "<w:p><w:r><w:t>kept</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>";
    assert_eq!(text_of(body), "kept");
}

#[test]
fn a_bomb_is_refused_while_it_inflates() {
    let limits = Limits { inflated_bytes_max: 1 << 20, ..Limits::default() };
    let body = vec![b' '; 8 << 20];
    let bytes = archive(&[("word/document.xml", &body)]);
    assert!(bytes.len() < 64 << 10);
    let found = read(&bytes, &limits);
    assert_eq!(found, Err(ExtractError::TooLarge { what: "inflated bytes", limit: 1 << 20 }));
}

#[test]
fn a_header_that_lies_about_sizes_is_not_believed() {
    let limits = Limits { inflated_bytes_max: 1 << 20, ..Limits::default() };
    let body = vec![b' '; 8 << 20];
    let mut bytes = archive(&[("word/document.xml", &body)]);
    let size = u32::try_from(body.len()).unwrap().to_le_bytes();
    let mut lies = 0;
    for at in 0..bytes.len() - 4 {
        if bytes[at..at + 4] == size {
            bytes[at..at + 4].copy_from_slice(&10u32.to_le_bytes());
            lies += 1;
        }
    }
    assert!(lies > 0);
    assert!(read(&bytes, &limits).is_err());
}

#[test]
fn entities_of_the_document_are_not_expanded() {
    let document = r#"<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "AAAAAAAAAA"><!ENTITY b "&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]><w:document xmlns:w="w"><w:body><w:p><w:r><w:t>one &b; two &x; three</w:t></w:r></w:p></w:body></w:document>"#;
    let bytes = archive(&[("word/document.xml", document.as_bytes())]);
    let text = read(&bytes, &Limits::default()).unwrap().text;
    assert!(text.starts_with("one") && text.ends_with("three"));
    assert!(!text.contains("AAA") && !text.contains("root"));
}

#[test]
fn deep_nesting_is_refused() {
    let found = read(&sample(&"<w:sdt>".repeat(100_000)), &Limits::default());
    assert_eq!(found, Err(ExtractError::TooDeep { limit: crate::NESTING_MAX }));
}

#[test]
fn the_number_of_files_is_read_from_64_bit_archives_too() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().large_file(true);
    writer.start_file("word/document.xml", options).unwrap();
    writer.write_all(document(&paragraph("", "wide")).as_bytes()).unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    let end = bytes.len() - 22;
    assert!(bytes[end..].starts_with(b"PK\x05\x06"));
    let (list_bytes, list_start) =
        (bytes[end + 12..end + 16].to_vec(), bytes[end + 16..end + 20].to_vec());
    let wide = |count: u64| {
        let mut wide = bytes[..end].to_vec();
        wide.extend(b"PK\x06\x06");
        wide.extend(44u64.to_le_bytes());
        wide.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        wide.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
        wide.extend([list_bytes.as_slice(), &[0; 4], &list_start, &[0; 4]].concat());
        wide.extend(b"PK\x06\x07\0\0\0\0");
        wide.extend((end as u64).to_le_bytes());
        wide.extend([1, 0, 0, 0]);
        wide.extend(b"PK\x05\x06\0\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0");
        read(&wide, &Limits::default())
    };
    assert_eq!(wide(1).unwrap().text, "wide");
    let too_many = ExtractError::TooLarge { what: "files in the archive", limit: 10_000 };
    assert_eq!(wide(1 << 60), Err(too_many));
}

#[test]
fn an_archive_without_a_document_or_cut_short_is_damaged() {
    let bytes = archive(&[("other.xml", b"<x/>")]);
    assert!(matches!(read(&bytes, &Limits::default()), Err(ExtractError::Malformed { .. })));
    let whole = sample(&paragraph("", "text"));
    assert!(matches!(
        read(&whole[..whole.len() / 2], &Limits::default()),
        Err(ExtractError::Malformed { .. })
    ));
}
