//! A report as a Word document: the few parts that every reader of the format wants, packed without compression.

mod archive;

use super::blocks::{Block, Piece, blocks};
use super::{Report, one_line};

/// What each part is.
const TYPES: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/><Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/><Override PartName="/word/numbering.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.numbering+xml"/><Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/></Types>"#;

/// Where the reader begins.
const ROOT: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" Target="docProps/core.xml"/></Relationships>"#;

/// How things look. Malgun Gothic is on every machine with Word; others take their own font for Hangul.
const STYLES: &str = r##"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri" w:eastAsia="Malgun Gothic" w:cs="Calibri"/><w:sz w:val="22"/></w:rPr></w:rPrDefault><w:pPrDefault><w:pPr><w:spacing w:after="140" w:line="276" w:lineRule="auto"/></w:pPr></w:pPrDefault></w:docDefaults><w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style><w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/><w:basedOn w:val="Normal"/><w:rPr><w:b/><w:sz w:val="40"/></w:rPr></w:style><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:basedOn w:val="Normal"/><w:next w:val="Normal"/><w:pPr><w:keepNext/><w:spacing w:before="280"/><w:outlineLvl w:val="0"/></w:pPr><w:rPr><w:b/><w:sz w:val="28"/></w:rPr></w:style><w:style w:type="paragraph" w:styleId="ListParagraph"><w:name w:val="List Paragraph"/><w:basedOn w:val="Normal"/></w:style><w:style w:type="paragraph" w:styleId="Quote"><w:name w:val="Quote"/><w:basedOn w:val="Normal"/><w:pPr><w:ind w:left="720"/></w:pPr><w:rPr><w:color w:val="555555"/></w:rPr></w:style><w:style w:type="character" w:styleId="Hyperlink"><w:name w:val="Hyperlink"/><w:rPr><w:color w:val="0B57D0"/><w:u w:val="single"/></w:rPr></w:style></w:styles>"##;

/// List 1 has dots, list 2 counts the sources.
const NUMBERING: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<w:numbering xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/><w:lvlJc w:val="left"/><w:pPr><w:ind w:left="720" w:hanging="360"/></w:pPr></w:lvl></w:abstractNum><w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/><w:lvlJc w:val="left"/><w:pPr><w:ind w:left="720" w:hanging="360"/></w:pPr></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>"#;

/// A4, with margins of an inch, in twentieths of a point.
const PAPER: &str = r#"<w:sectPr><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1440" w:right="1440" w:bottom="1440" w:left="1440" w:header="708" w:footer="708" w:gutter="0"/></w:sectPr>"#;

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";

pub(super) fn report(report: &Report) -> Vec<u8> {
    let mut text = Text::default();
    blocks(report).iter().for_each(|block| text.block(block));
    let document = format!(
        "{XML}<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" \
         xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\">\
         <w:body>{}{PAPER}</w:body></w:document>",
        text.body
    );
    let core = format!(
        "{XML}<cp:coreProperties xmlns:cp=\"http://schemas.openxmlformats.org/package/2006/metadata/core-properties\" \
         xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:dcterms=\"http://purl.org/dc/terms/\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><dc:title>{}</dc:title>\
         <dc:creator>Saem</dc:creator><dc:language>{}</dc:language>\
         <dcterms:created xsi:type=\"dcterms:W3CDTF\">{}</dcterms:created></cp:coreProperties>",
        escaped(&one_line(&report.question)),
        report.words_of().language,
        report.made_at
    );
    archive::packed(&[
        ("[Content_Types].xml", TYPES.to_owned()),
        ("_rels/.rels", ROOT.to_owned()),
        ("word/document.xml", document),
        ("word/_rels/document.xml.rels", text.relations()),
        ("word/styles.xml", STYLES.to_owned()),
        ("word/numbering.xml", NUMBERING.to_owned()),
        ("docProps/core.xml", core),
    ])
}

/// The body as it grows, and the addresses that it leads to.
#[derive(Default)]
struct Text {
    body: String,
    addresses: Vec<String>,
}

impl Text {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Title(text) => self.paragraph(&style("Title"), &run(text, "")),
            Block::Heading(text) => self.paragraph(&style("Heading1"), &run(text, "")),
            Block::Paragraph(pieces) => {
                let runs = self.runs(pieces);
                self.paragraph("", &runs);
            }
            Block::Item(text) => self.paragraph(&listed(1), &run(text, "")),
            Block::Source { number, pieces } => {
                let runs = self.runs(pieces);
                let marked = format!(
                    "<w:bookmarkStart w:id=\"{number}\" w:name=\"source_{number}\"/>{runs}\
                     <w:bookmarkEnd w:id=\"{number}\"/>"
                );
                self.paragraph(&listed(2), &marked);
            }
            Block::Quote(text) => self.paragraph(&style("Quote"), &run(text, "")),
        }
    }

    fn paragraph(&mut self, properties: &str, runs: &str) {
        self.body.push_str(&format!("<w:p>{properties}{runs}</w:p>"));
    }

    fn runs(&mut self, pieces: &[Piece]) -> String {
        pieces.iter().map(|piece| self.run(piece)).collect()
    }

    fn run(&mut self, piece: &Piece) -> String {
        let link = "<w:rStyle w:val=\"Hyperlink\"/>";
        match piece {
            Piece::Plain(text) => run(text, ""),
            Piece::Strong(text) => run(text, "<w:b/>"),
            Piece::Warning(text) => run(text, "<w:i/><w:color w:val=\"AA3333\"/>"),
            Piece::Cited(number) => format!(
                "<w:hyperlink w:anchor=\"source_{number}\" w:history=\"1\">{}</w:hyperlink>",
                run(&piece.text(), link)
            ),
            Piece::Address(address) => {
                self.addresses.push(address.clone());
                let id = FIRST_ADDRESS + self.addresses.len();
                format!(
                    "<w:hyperlink r:id=\"rId{id}\" w:history=\"1\">{}</w:hyperlink>",
                    run(address, link)
                )
            }
        }
    }

    fn relations(&self) -> String {
        let base = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
        let link = |(id, address): (usize, &String)| {
            format!(
                "<Relationship Id=\"rId{id}\" Type=\"{base}/hyperlink\" Target=\"{}\" TargetMode=\"External\"/>",
                escaped(address)
            )
        };
        let links: String = (FIRST_ADDRESS + 1..).zip(&self.addresses).map(link).collect();
        format!(
            "{XML}<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\
             <Relationship Id=\"rId1\" Type=\"{base}/styles\" Target=\"styles.xml\"/>\
             <Relationship Id=\"rId2\" Type=\"{base}/numbering\" Target=\"numbering.xml\"/>{links}</Relationships>"
        )
    }
}

/// Relations before the first address: styles and lists.
const FIRST_ADDRESS: usize = 2;

fn style(name: &str) -> String {
    format!("<w:pPr><w:pStyle w:val=\"{name}\"/></w:pPr>")
}

fn listed(list: u8) -> String {
    format!(
        "<w:pPr><w:pStyle w:val=\"ListParagraph\"/><w:numPr><w:ilvl w:val=\"0\"/><w:numId w:val=\"{list}\"/></w:numPr></w:pPr>"
    )
}

fn run(text: &str, properties: &str) -> String {
    format!(
        "<w:r><w:rPr>{properties}</w:rPr><w:t xml:space=\"preserve\">{}</w:t></w:r>",
        escaped(text)
    )
}

/// Text as XML holds it; what XML cannot hold is left out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' => safe.push(' '),
            letter if letter.is_control() || matches!(letter, '\u{FFFE}' | '\u{FFFF}') => {}
            letter => safe.push(letter),
        }
    }
    safe
}
