//! What the reader does, shown on small documents made here.

use super::*;
use crate::BlockKind;

/// A PDF with one page per program, in Helvetica.
pub(crate) fn sample_pages(programs: &[&str]) -> Vec<u8> {
    let fonts = "<< /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> /F2 5 0 R >>";
    let cmap = "begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfrange <0001> <0010> <AC00> endbfrange 3 beginbfchar <0020> <0020> <0021> <D658> <0022> <B97C> endbfchar endcmap";
    let kids: Vec<String> = (0..programs.len()).map(|n| format!("{} 0 R", 10 + n * 2)).collect();
    let mut objects = vec![
        (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
        (2, format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), programs.len())),
        (5, "<< /Type /Font /Subtype /Type0 /BaseFont /K /Encoding /Identity-H /ToUnicode 6 0 R /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /DW 1000 >>] >>".to_owned()),
        (6, format!("<< /Length {} >>\nstream\n{cmap}\nendstream", cmap.len())),
    ];
    for (n, program) in programs.iter().enumerate() {
        let page = 10 + n * 2;
        objects.push((page, format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font {fonts} >> /Contents {} 0 R >>", page + 1)));
        objects.push((
            page + 1,
            format!("<< /Length {} >>\nstream\n{program}\nendstream", program.len()),
        ));
    }
    file(&objects, "")
}

fn file(objects: &[(usize, String)], trailer: &str) -> Vec<u8> {
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (id, object) in objects {
        offsets.push((*id, bytes.len()));
        bytes.extend(format!("{id} 0 obj\n{object}\nendobj\n").bytes());
    }
    let start = bytes.len();
    bytes.extend(b"xref\n0 1\n0000000000 65535 f \n");
    for (id, offset) in &offsets {
        bytes.extend(format!("{id} 1\n{offset:010} 00000 n \n").bytes());
    }
    let size = offsets.iter().map(|(id, _)| id + 1).max().unwrap_or(1);
    bytes.extend(
        format!("trailer << /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n")
            .bytes(),
    );
    bytes
}

pub(crate) fn sample(program: &str) -> Vec<u8> {
    sample_pages(&[program])
}

fn text_of(programs: &[&str]) -> String {
    read(&sample_pages(programs), &Limits::default()).unwrap().text
}

#[test]
fn wrapped_and_hyphenated_lines_become_a_paragraph_again() {
    let text = text_of(&[
        "BT /F1 12 Tf 14 TL 72 700 Td (The quick brown fox jumps over the la-) Tj T* (zy dog and goes on to the next line) Tj T* (until it ends.) Tj ET",
    ]);
    assert_eq!(
        text,
        "The quick brown fox jumps over the lazy dog and goes on to the next line until it ends."
    );
}

#[test]
fn a_gap_between_lines_begins_a_paragraph() {
    let text = text_of(&[
        "BT /F1 12 Tf 72 700 Td (First one here.) Tj 0 -14 Td (Still the first one, going on.) Tj 0 -14 Td (And on it goes some more.) Tj 0 -40 Td (Second one.) Tj ET",
    ]);
    assert_eq!(
        text,
        "First one here. Still the first one, going on. And on it goes some more.\n\nSecond one."
    );
}

#[test]
fn larger_lines_are_headings_and_bullets_are_items() {
    let extracted = read(&sample("BT /F1 20 Tf 72 700 Td (Guide) Tj /F1 10 Tf 0 -30 Td (Body text that is long enough to be the body.) Tj 0 -12 Td (- one) Tj 0 -12 Td (- two) Tj ET"), &Limits::default()).unwrap();
    let kinds: Vec<BlockKind> = extracted.blocks.iter().map(|block| block.kind).collect();
    let item = BlockKind::ListItem { ordered: false, depth: 1 };
    assert_eq!(kinds, [BlockKind::Heading { level: 1 }, BlockKind::Paragraph, item, item]);
    assert_eq!(extracted.title.as_deref(), Some("Guide"));
}

#[test]
fn spacing_between_pieces_of_a_line_becomes_a_blank() {
    assert_eq!(text_of(&["BT /F1 10 Tf 72 700 Td [(Wo) -20 (rd) -400 (next)] TJ ET"]), "Word next");
}

#[test]
fn korean_is_read_through_the_fonts_own_table() {
    assert_eq!(text_of(&["BT /F2 10 Tf 72 700 Td <0021000100200002> Tj ET"]), "환가 각");
}

#[test]
fn a_particle_that_was_wrapped_joins_its_word() {
    assert_eq!(
        text_of(&["BT /F2 10 Tf 12 TL 72 700 Td <00210001> Tj T* <00220020002100010021> Tj ET"]),
        "환가를 환가환"
    );
}

#[test]
fn pages_begin_where_they_say_and_running_lines_are_left_out() {
    let pages: Vec<String> = (1..=4)
        .map(|n| format!("BT /F1 10 Tf 72 750 Td (Manual {n}) Tj 0 -50 Td (Text of page number {n}.) Tj 0 -600 Td (- {n} -) Tj ET"))
        .collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let extracted = read(&sample_pages(&pages), &Limits::default()).unwrap();
    assert!(!extracted.text.contains("Manual"));
    let found: Vec<&str> =
        extracted.page_starts.iter().map(|start| &extracted.text[*start..start + 21]).collect();
    assert_eq!(
        found,
        [
            "Text of page number 1",
            "Text of page number 2",
            "Text of page number 3",
            "Text of page number 4"
        ]
    );
}

#[test]
fn a_page_without_text_has_no_text_layer() {
    let found = read(&sample("0 0 100 100 re f"), &Limits::default());
    assert_eq!(found, Err(ExtractError::NoText));
}

#[test]
fn an_encrypted_file_says_so() {
    let objects = [
        (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
        (2, "<< /Type /Pages /Kids [] /Count 0 >>".to_owned()),
        (
            3,
            format!(
                "<< /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <{}> /U <{}> >>",
                "11".repeat(32),
                "22".repeat(32)
            ),
        ),
    ];
    let bytes = file(
        &objects,
        "/Encrypt 3 0 R /ID [<00112233445566778899AABBCCDDEEFF> <00112233445566778899AABBCCDDEEFF>]",
    );
    assert_eq!(read(&bytes, &Limits::default()), Err(ExtractError::Encrypted));
}

#[test]
fn too_many_pages_are_refused() {
    let limits = Limits { pages_max: 2, ..Limits::default() };
    let page = "BT /F1 10 Tf (x) Tj ET";
    let found = read(&sample_pages(&[page, page, page]), &limits);
    assert_eq!(found, Err(ExtractError::TooLarge { what: "pages", limit: 2 }));
}

#[test]
fn hostile_structures_end_in_an_error() {
    let deep =
        format!("%PDF-1.4\n1 0 obj\n{}\nendobj\ntrailer << /Root 1 0 R >>", "[".repeat(10_000));
    let looped = file(
        &[
            (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
            (2, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 99 /Parent 2 0 R >>".to_owned()),
        ],
        "/Prev 9",
    );
    let huge =
        file(&[(1, "<< /Type /Catalog /Pages 1000000000 0 R >>".to_owned())], "/Size 4000000000");
    for bytes in [
        deep.into_bytes(),
        looped,
        huge,
        b"%PDF-".to_vec(),
        b"%PDF-1.7\nstartxref\n99999999999\n%%EOF".to_vec(),
    ] {
        assert!(read(&bytes, &Limits::default()).is_err());
    }
}

#[test]
fn a_file_without_pages_is_damaged_and_not_a_scan() {
    let objects = [
        (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
        (2, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 99 >>".to_owned()),
    ];
    let found = read(&file(&objects, ""), &Limits::default());
    assert_eq!(found, Err(ExtractError::malformed(Format::Pdf, "it has no pages")));
}

/// A page with a font of this dictionary that shows `ab` in UTF-16, under pages with more entries.
fn with_font(font: &str, pages: &str) -> Vec<u8> {
    let program = "BT /F1 10 Tf 72 700 Td <00610062> Tj ET";
    let objects = [
        (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
        (2, format!("<< /Type /Pages /Kids [3 0 R] /Count 1 {pages} >>")),
        (3, "<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 4 0 R >> >> /Contents 5 0 R >>".to_owned()),
        (4, font.to_owned()),
        (5, format!("<< /Length {} >>\nstream\n{program}\nendstream", program.len())),
        (6, "<< /Length 70 >>\nstream\n1 beginbfrange <FFFFFFFF> <FFFFFFFF> [<0041> <0042>] endbfrange     \nendstream".to_owned()),
    ];
    file(&objects, "")
}

fn wide_font(more: &str) -> String {
    format!(
        "<< /Type /Font /Subtype /Type0 /Encoding /UniKS-UCS2-H {more} /DescendantFonts [<< /W [4294967295 [1 2 3] 0 4294967295 500] >>] >>"
    )
}

#[test]
fn widths_and_tables_of_the_highest_codes_do_not_overflow() {
    for more in ["", "/ToUnicode 6 0 R"] {
        let bytes = with_font(&wide_font(more), "");
        assert_eq!(read(&bytes, &Limits::default()).unwrap().text, "ab", "{more}");
    }
}

#[test]
fn a_page_under_nodes_that_loop_keeps_its_own_fonts() {
    let bytes = with_font(&wide_font(""), "/Parent 2 0 R");
    assert_eq!(read(&bytes, &Limits::default()).unwrap().text, "ab");
}

#[test]
fn forms_that_draw_forms_without_end_are_refused() {
    let form = |next: usize| {
        let program = "/X Do ".repeat(10);
        format!(
            "<< /Type /XObject /Subtype /Form /Resources << /XObject << /X {next} 0 R >> >> /Length {} >>\nstream\n{program}\nendstream",
            program.len()
        )
    };
    let mut objects = vec![
        (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
        (2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned()),
        (3, "<< /Type /Page /Parent 2 0 R /Resources << /XObject << /X 4 0 R >> >> /Contents 4 0 R >>".to_owned()),
    ];
    objects.extend((4..12).map(|number| (number, form(number + 1))));
    let found = read(&file(&objects, ""), &Limits::default());
    assert!(matches!(found, Err(ExtractError::TooLarge { what: "drawn forms", .. })), "{found:?}");
}

#[test]
fn a_form_that_draws_itself_ends() {
    let program = "/X Do";
    let objects = [
        (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
        (2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned()),
        (3, "<< /Type /Page /Parent 2 0 R /Resources << /XObject << /X 4 0 R >> >> /Contents 4 0 R >>".to_owned()),
        (4, format!("<< /Type /XObject /Subtype /Form /Length {} >>\nstream\n{program}\nendstream", program.len())),
    ];
    assert_eq!(read(&file(&objects, ""), &Limits::default()), Err(ExtractError::NoText));
}
