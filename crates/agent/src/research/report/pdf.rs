//! A report as a PDF. No font is packed into it: letters of Western Europe are set in Helvetica, which every reader has,
//! and all others in the Korean font that the reader keeps for `HYGoThic-Medium`.

mod page;
mod type_set;

use super::blocks::blocks;
use super::{Report, one_line};
use page::{Leads, Page};
use type_set::{FIRST_CODE, WIDTHS};

/// A4, in points.
pub(super) const PAGE_WIDTH: f32 = 595.0;
pub(super) const PAGE_HEIGHT: f32 = 842.0;

/// Objects that every report has, before those of its pages.
const CATALOG: usize = 1;
const PAGES: usize = 2;
const INFO: usize = 3;
const LATIN: usize = 4;
const WIDE: usize = 5;
const WIDE_GLYPHS: usize = 6;
const WIDE_ABOUT: usize = 7;
const WIDE_LETTERS: usize = 8;
const OUTLINE: usize = 9;
const FIRST_FREE: usize = 10;

pub(super) fn report(report: &Report) -> Vec<u8> {
    let set = page::set(&blocks(report));
    let mut file = File::default();
    // A page and what stands on it, two objects each; then the headings, then what leads somewhere.
    let page_id = |page: usize| FIRST_FREE + 2 * page;
    let first_heading = page_id(set.pages.len());
    let first_link = first_heading + set.headings.len();
    file.catalog(report, set.pages.len(), page_id);
    file.fonts();
    let entries = first_heading + set.headings.len();
    file.put(
        OUTLINE,
        &match set.headings.len() {
            0 => "<< /Type /Outlines /Count 0 >>".to_owned(),
            count => format!(
                "<< /Type /Outlines /First {first_heading} 0 R /Last {} 0 R /Count {count} >>",
                entries - 1
            ),
        },
    );
    let mut next_link = first_link;
    for (number, page) in set.pages.iter().enumerate() {
        let links: Vec<usize> = (next_link..next_link + page.links.len()).collect();
        next_link += page.links.len();
        file.page(page_id(number), page, &links);
    }
    for (number, (title, place)) in set.headings.iter().enumerate() {
        let id = first_heading + number;
        let before = if number > 0 { format!(" /Prev {} 0 R", id - 1) } else { String::new() };
        let after = if id + 1 < entries { format!(" /Next {} 0 R", id + 1) } else { String::new() };
        file.put(
            id,
            &format!(
                "<< /Title {} /Parent {OUTLINE} 0 R{before}{after} /Dest [{} 0 R /XYZ 0 {:.1} null] >>",
                utf_16(title),
                page_id(place.page),
                place.top
            ),
        );
    }
    let links = set.pages.iter().flat_map(|page| &page.links);
    for (id, link) in (first_link..).zip(links) {
        let action = match &link.leads {
            Leads::Web(address) => {
                format!("/A << /S /URI /URI ({}) >>", escaped(&ascii(address)))
            }
            Leads::Source(number) => match set.sources.get(number) {
                Some(place) => {
                    format!("/Dest [{} 0 R /XYZ 0 {:.1} null]", page_id(place.page), place.top)
                }
                None => String::new(),
            },
        };
        let [left, bottom, right, top] = link.area;
        file.put(
            id,
            &format!(
                "<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [{left:.1} {bottom:.1} {right:.1} {top:.1}] {action} >>"
            ),
        );
    }
    file.end()
}

/// A file as it grows, and where its objects begin.
struct File {
    bytes: Vec<u8>,
    /// From object 1 on.
    starts: Vec<usize>,
}

impl Default for File {
    fn default() -> Self {
        // The second line says to those who carry it that it is not text.
        Self { bytes: b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n".to_vec(), starts: Vec::new() }
    }
}

impl File {
    /// Objects are put in any order, each once.
    fn put(&mut self, id: usize, content: &str) {
        if self.starts.len() < id {
            self.starts.resize(id, 0);
        }
        if let Some(start) = self.starts.get_mut(id - 1) {
            *start = self.bytes.len();
        }
        self.bytes.extend(format!("{id} 0 obj\n{content}\nendobj\n").as_bytes());
    }

    fn put_stream(&mut self, id: usize, content: &str) {
        let length = content.len();
        self.put(id, &format!("<< /Length {length} >>\nstream\n{content}\nendstream"));
    }

    fn catalog(&mut self, report: &Report, pages: usize, page_id: impl Fn(usize) -> usize) {
        let kids: Vec<String> = (0..pages).map(|page| format!("{} 0 R", page_id(page))).collect();
        let language = report.words_of().language;
        self.put(
            CATALOG,
            &format!(
                "<< /Type /Catalog /Pages {PAGES} 0 R /Lang ({language}) /Outlines {OUTLINE} 0 R \
                 /ViewerPreferences << /DisplayDocTitle true >> >>"
            ),
        );
        self.put(PAGES, &format!("<< /Type /Pages /Count {pages} /Kids [{}] >>", kids.join(" ")));
        // D:20251115101000Z, of 2025-11-15T10:10:00Z.
        let made: String =
            report.made_at.to_string().chars().filter(char::is_ascii_digit).take(14).collect();
        self.put(
            INFO,
            &format!(
                "<< /Title {} /Producer (Saem) /CreationDate (D:{made}Z) >>",
                utf_16(&one_line(&report.question))
            ),
        );
    }

    fn fonts(&mut self) {
        let widths: Vec<String> = WIDTHS.iter().map(u16::to_string).collect();
        let last = FIRST_CODE + WIDTHS.len() - 1;
        self.put(
            LATIN,
            &format!(
                "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding \
                 /FirstChar {FIRST_CODE} /LastChar {last} /Widths [{}] >>",
                widths.join(" ")
            ),
        );
        self.put(
            WIDE,
            &format!(
                "<< /Type /Font /Subtype /Type0 /BaseFont /HYGoThic-Medium-UniKS-UTF16-H \
                 /Encoding /UniKS-UTF16-H /DescendantFonts [{WIDE_GLYPHS} 0 R] /ToUnicode {WIDE_LETTERS} 0 R >>"
            ),
        );
        self.put(
            WIDE_GLYPHS,
            &format!(
                "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HYGoThic-Medium /DW 1000 \
                 /CIDSystemInfo << /Registry (Adobe) /Ordering (Korea1) /Supplement 2 >> \
                 /FontDescriptor {WIDE_ABOUT} 0 R >>"
            ),
        );
        self.put(
            WIDE_ABOUT,
            "<< /Type /FontDescriptor /FontName /HYGoThic-Medium /Flags 4 /FontBBox [-6 -145 1003 880] \
             /ItalicAngle 0 /Ascent 880 /Descent -120 /CapHeight 880 /StemV 93 >>",
        );
        self.put_stream(WIDE_LETTERS, &letters());
    }

    fn page(&mut self, id: usize, page: &Page, links: &[usize]) {
        let links: Vec<String> = links.iter().map(|id| format!("{id} 0 R")).collect();
        self.put(
            id,
            &format!(
                "<< /Type /Page /Parent {PAGES} 0 R /MediaBox [0 0 {PAGE_WIDTH} {PAGE_HEIGHT}] \
                 /Resources << /Font << /L {LATIN} 0 R /W {WIDE} 0 R >> >> /Contents {} 0 R /Annots [{}] >>",
                id + 1,
                links.join(" ")
            ),
        );
        self.put_stream(id + 1, &page.content);
    }

    fn end(mut self) -> Vec<u8> {
        let (at, count) = (self.bytes.len(), self.starts.len() + 1);
        let mut table = format!("xref\n0 {count}\n0000000000 65535 f \n");
        for start in &self.starts {
            table.push_str(&format!("{start:010} 00000 n \n"));
        }
        table.push_str(&format!(
            "trailer\n<< /Size {count} /Root {CATALOG} 0 R /Info {INFO} 0 R >>\nstartxref\n{at}\n%%EOF\n"
        ));
        self.bytes.extend(table.as_bytes());
        self.bytes
    }
}

/// Says which letters the codes of the Korean font are: themselves. For those who copy text, or search in it.
fn letters() -> String {
    /// Most ranges of one list in such a table.
    const RANGES_MAX: usize = 100;
    // The surrogates are no letters by themselves.
    let rows: Vec<u8> = (0..=u8::MAX).filter(|row| !(0xD8..=0xDF).contains(row)).collect();
    let mut table = "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n\
        /CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n\
        /CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n\
        1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"
        .to_owned();
    for rows in rows.chunks(RANGES_MAX) {
        table.push_str(&format!("{} beginbfrange\n", rows.len()));
        for row in rows {
            table.push_str(&format!("<{row:02X}00> <{row:02X}FF> <{row:02X}00>\n"));
        }
        table.push_str("endbfrange\n");
    }
    table.push_str("endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n");
    table
}

/// A text outside of the pages.
fn utf_16(text: &str) -> String {
    let units: String = text.encode_utf16().map(|unit| format!("{unit:04X}")).collect();
    format!("<FEFF{units}>")
}

/// An address in the letters that one may have.
fn ascii(address: &str) -> String {
    let mut plain = String::new();
    for byte in address.bytes() {
        match byte.is_ascii_graphic() {
            true => plain.push(char::from(byte)),
            false => plain.push_str(&format!("%{byte:02X}")),
        }
    }
    plain
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)")
}
