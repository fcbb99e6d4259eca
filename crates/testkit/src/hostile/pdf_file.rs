//! Writes PDF files object by object, good ones and such as no program would write.

/// An object's number and what stands between `obj` and `endobj`.
pub(super) type Object = (u32, Vec<u8>);

/// What the pages of these files are written in.
pub(super) const FONT: &str =
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";

/// A file of one page that says this.
pub(super) fn plain_pdf(text: &str) -> Vec<u8> {
    file(&page(FONT, stream("", show(text).as_bytes())), "")
}

/// The program of a page that shows a text.
pub(super) fn show(text: &str) -> String {
    format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET")
}

/// The objects of a file with one page: 1 catalogue, 2 pages, 3 page, 4 font, 5 content.
pub(super) fn page(font: &str, content: Vec<u8>) -> Vec<Object> {
    let resources = "<< /Font << /F1 4 0 R >> /XObject << /X 6 0 R >> >>";
    vec![
        object(1, "<< /Type /Catalog /Pages 2 0 R >>"),
        object(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
        object(
            3,
            &format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources {resources} /Contents 5 0 R >>"
            ),
        ),
        object(4, font),
        (5, content),
    ]
}

pub(super) fn object(number: u32, text: &str) -> Object {
    (number, text.as_bytes().to_vec())
}

/// A stream with these entries in its dictionary beside its length.
pub(super) fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< {entries} /Length {} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// A file of these objects with a table of where they stand, and more entries for its trailer.
pub(super) fn file(objects: &[Object], trailer: &str) -> Vec<u8> {
    let mut bytes = b"%PDF-1.5\n".to_vec();
    let mut places = Vec::new();
    for (number, content) in objects {
        places.push((number, bytes.len()));
        bytes.extend(format!("{number} 0 obj\n").bytes());
        bytes.extend(content);
        bytes.extend(b"\nendobj\n");
    }
    let table = bytes.len();
    bytes.extend(b"xref\n0 1\n0000000000 65535 f \n");
    for (number, place) in &places {
        bytes.extend(format!("{number} 1\n{place:010} 00000 n \n").bytes());
    }
    // What the trailer says first holds.
    let end =
        format!("trailer\n<< {trailer} /Size 100 /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n");
    bytes.extend(end.bytes());
    bytes
}
