//! PDF files that loop, nest, overflow and inflate.

use super::deflate::zlib;
use super::pdf_file::{FONT, Object, file, object, page, show, stream};
use super::{Hostile, read, refused};

/// Brackets inside each other.
const DEPTH: usize = 10_000;

pub(super) fn all() -> Vec<Hostile> {
    [nested(), looping(), overflowing(), inflating(), pictures(), locked()].concat()
}

fn one_page(program: &str) -> Vec<Object> {
    page(FONT, stream("", program.as_bytes()))
}

fn with(mut objects: Vec<Object>, more: &[(u32, &str)]) -> Vec<Object> {
    for (number, text) in more {
        objects.retain(|(other, _)| other != number);
        objects.push(object(*number, text));
    }
    objects
}

fn nested() -> Vec<Hostile> {
    let arrays = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let dictionaries = format!("{}null{}", "<< /A ".repeat(DEPTH), " >>".repeat(DEPTH));
    let strings = format!("{}{}", "(".repeat(DEPTH), ")".repeat(DEPTH));
    let beside = |text: &str, word: &str| file(&with(one_page(&show(word)), &[(9, text)]), "");
    let program = format!("{} TJ {}", "[".repeat(DEPTH * 10), show("after"));
    let bare =
        format!("%PDF-1.4\n1 0 obj\n{}\nendobj\ntrailer << /Root 1 0 R >>", "[".repeat(DEPTH));
    vec![
        refused("deep-arrays.pdf", bare, "the PDF file is damaged"),
        read("deep-arrays-beside.pdf", beside(&arrays, "arraysbeside"), "arraysbeside"),
        read("deep-dictionaries.pdf", beside(&dictionaries, "dictsbeside"), "dictsbeside"),
        read("deep-strings.pdf", beside(&strings, "stringsbeside"), "stringsbeside"),
        refused("deep-program.pdf", file(&one_page(&program), ""), "no text layer"),
    ]
}

fn looping() -> Vec<Hostile> {
    let pages = "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 99 /Parent 2 0 R >>";
    let own_parent = "<< /Type /Pages /Kids [3 0 R] /Count 1 /Parent 2 0 R >>";
    let itself = stream(
        "/Type /XObject /Subtype /Form /Resources << /XObject << /X 6 0 R >> >>",
        b"/X Do /X Do",
    );
    let mut form = one_page(&format!("{} /X Do", show("selfdrawn")));
    form.push((6, itself));
    let mut length = one_page("");
    length.retain(|(number, _)| *number != 5);
    length.push((5, b"<< /Length 5 0 R >>\nstream\nBT (x) Tj ET\nendstream".to_vec()));
    let shown = |word: &str| one_page(&show(word));
    vec![
        refused("looping-pages.pdf", file(&with(shown("x"), &[(2, pages)]), ""), "it has no pages"),
        read(
            "own-parent.pdf",
            file(&with(shown("ownparent"), &[(2, own_parent)]), ""),
            "ownparent",
        ),
        read("looping-table.pdf", looping_table("loopedtable"), "loopedtable"),
        refused(
            "looping-reference.pdf",
            file(&with(shown("x"), &[(2, "2 0 R")]), ""),
            "it has no pages",
        ),
        read("looping-form.pdf", file(&form, ""), "selfdrawn"),
        refused("looping-length.pdf", file(&length, ""), "no text layer"),
    ]
}

/// A table of objects whose predecessor is itself.
fn looping_table(word: &str) -> Vec<u8> {
    let objects = one_page(&show(word));
    let digits = "0000000000";
    let mut bytes = file(&objects, &format!("/Prev {digits}"));
    let table = bytes.windows(5).position(|window| window == b"xref\n").unwrap();
    let at = bytes.windows(10).rposition(|window| window == digits.as_bytes()).unwrap();
    bytes[at..at + 10].copy_from_slice(format!("{table:010}").as_bytes());
    bytes
}

fn overflowing() -> Vec<Hostile> {
    let wide = |widths: &str| {
        format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /K /Encoding /UniKS-UCS2-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /DW 1000 /W {widths} >>] >>"
        )
    };
    let letters: String =
        "wide".chars().map(|letter| format!("{:04X}", u32::from(letter))).collect();
    let in_font = |widths: &str| {
        let program = format!("BT /F1 12 Tf 72 700 Td <{letters}> Tj ET");
        file(&page(&wide(widths), stream("", program.as_bytes())), "")
    };
    let far = with(one_page(&show("x")), &[(1, "<< /Type /Catalog /Pages 1000000000 0 R >>")]);
    let mut high = one_page(&show("highids"));
    high.push(object(4_000_000_000, "<< >>"));
    let simple = "<< /Type /Font /Subtype /Type1 /BaseFont /A /FirstChar -9223372036854775808 /LastChar 9223372036854775807 /Widths [999999999999999999999999999999999999999.0 -99999999999.5 9223372036854775807] >>";
    let simple = file(&page(simple, stream("", show("narrow").as_bytes())), "");
    vec![
        read("widths-to-the-end.pdf", in_font("[0 4294967295 500]"), "wide"),
        read("widths-at-the-end.pdf", in_font("[4294967295 [500 500 500]]"), "wide"),
        read("widths-backwards.pdf", in_font("[9 1 500 7 [99999999999999999999.0] -5 [1]]"), "wide"),
        read("widths-of-one-font.pdf", simple, "narrow"),
        refused("a-billion-ids.pdf", file(&far, "/Size 4000000000"), "it has no pages"),
        read("high-ids.pdf", file(&high, ""), "highids"),
        refused("table-of-a-billion.pdf", b"%PDF-1.4\nxref\n0 1000000000\ntrailer << /Size 1000000000 /Root 1 0 R >>\nstartxref\n9\n%%EOF".as_slice(), "the PDF file is damaged"),
        refused("table-widths.pdf", table_stream("/W [9223372036854775807 9223372036854775807 9223372036854775807]"), "the PDF file is damaged"),
        refused("table-index.pdf", table_stream("/W [1 2 1] /Index [0 2000000000 4000000000 1]"), "the PDF file is damaged"),
        refused("far-start.pdf", b"%PDF-1.7\nstartxref\n99999999999999999999\n%%EOF".as_slice(), "the PDF file is damaged"),
    ]
}

/// A file whose table of objects is a stream.
fn table_stream(entries: &str) -> Vec<u8> {
    let head = "%PDF-1.5\n";
    let entries = format!("/Type /XRef /Size 2000000000 /Root 1 0 R {entries}");
    let table = stream(&entries, &[1; 64]);
    let end = format!("\nendobj\nstartxref\n{}\n%%EOF", head.len());
    [head.as_bytes(), b"1 0 obj\n", &table, end.as_bytes()].concat()
}

fn inflating() -> Vec<Hostile> {
    let too_much = "too many inflated bytes";
    let flate = "/Filter /FlateDecode";
    let unit = b"0 0 m 1 1 l S\n".repeat(1 << 16);
    let bomb = zlib(&unit, 200);
    let twice = zlib(&zlib(&vec![b' '; 1 << 20], 100), 20);
    let objects = stream(&format!("/Type /ObjStm /N 1000000000 /First 4 {flate}"), &bomb);
    let mut in_objects = one_page(&show("objectbomb"));
    in_objects.push((7, objects));
    let filters = format!("/Filter [{}]", "/FlateDecode ".repeat(1000));
    // Each form draws the next ten times: a hundred million drawings from a kilobyte.
    let mut forms = one_page("/X Do");
    for number in 6..14 {
        let entries = format!(
            "/Type /XObject /Subtype /Form /Resources << /XObject << /X {} 0 R >> >>",
            number + 1
        );
        forms.push((number, stream(&entries, "/X Do ".repeat(10).as_bytes())));
    }
    vec![
        refused("flate-bomb.pdf", file(&page(FONT, stream(flate, &bomb)), ""), too_much),
        refused(
            "flate-twice.pdf",
            file(&page(FONT, stream("/Filter [/FlateDecode /FlateDecode]", &twice)), ""),
            too_much,
        ),
        read("object-stream-bomb.pdf", file(&in_objects, ""), "objectbomb"),
        refused(
            "a-thousand-filters.pdf",
            file(&page(FONT, stream(&filters, &zlib(b"x", 1))), ""),
            "no text layer",
        ),
        refused("drawn-without-end.pdf", file(&forms, ""), "too many drawn forms"),
    ]
}

/// Pictures of text, which only a reader with eyes could read.
fn pictures() -> Vec<Hostile> {
    let scan = |filter: &str| {
        let mut objects = one_page("q 612 0 0 792 0 0 cm /X Do Q");
        let entries = format!(
            "/Type /XObject /Subtype /Image /Width 65535 /Height 65535 /BitsPerComponent 8 /ColorSpace /DeviceGray /Filter {filter}"
        );
        objects.push((6, stream(&entries, b"\x97JB2\r\n\x1A\n\x01\0\0\0\xFF\xFF\xFF\xFF")));
        file(&objects, "")
    };
    let as_program = |filter: &str| {
        let program = stream(&format!("/Filter {filter}"), show("x").as_bytes());
        file(&page(FONT, program), "")
    };
    vec![
        refused("scan-jbig2.pdf", scan("/JBIG2Decode"), "no text layer"),
        refused("scan-jpx.pdf", scan("/JPXDecode"), "no text layer"),
        refused("program-jbig2.pdf", as_program("/JBIG2Decode"), "no text layer"),
        refused("program-jpx.pdf", as_program("[/ASCIIHexDecode /JPXDecode]"), "no text layer"),
        refused("program-of-unknown-make.pdf", as_program("/Nonsense"), "no text layer"),
    ]
}

fn locked() -> Vec<Hostile> {
    let (owner, user) = ("11".repeat(32), "22".repeat(32));
    let lock =
        |rest: &str| format!("<< /Filter /Standard {rest} /P -4 /O <{owner}> /U <{user}> >>");
    let id = "<00112233445566778899AABBCCDDEEFF>";
    let encrypted = |rest: &str| {
        let objects = with(one_page(&show("x")), &[(8, lock(rest).as_str())]);
        file(&objects, &format!("/Encrypt 8 0 R /ID [{id} {id}]"))
    };
    vec![
        refused("locked.pdf", encrypted("/V 2 /R 3 /Length 128"), "the document is encrypted"),
        refused(
            "locked-strangely.pdf",
            encrypted("/V 99 /R 99 /Length -1"),
            "the document is encrypted",
        ),
    ]
}
