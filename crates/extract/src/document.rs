//! What every reader gives back: text, and the blocks it consists of.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use agent::text::line_and_text;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ExtractError;
use crate::limits::{Limits, within};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Markdown,
    Text,
    Html,
    Pdf,
    Docx,
    Csv,
    Json,
    JsonLines,
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Markdown => "Markdown",
            Self::Text => "text",
            Self::Html => "HTML",
            Self::Pdf => "PDF",
            Self::Docx => "DOCX",
            Self::Csv => "CSV",
            Self::Json => "JSON",
            Self::JsonLines => "JSONL",
        })
    }
}

/// What is known of the bytes beside the bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hint<'a> {
    pub file_name: Option<&'a str>,
    /// As in a `Content-Type` header; its `charset` is used too.
    pub media_type: Option<&'a str>,
    pub mapping: Option<&'a Mapping>,
}

/// Which columns of a CSV or JSON source hold what. Names are compared without regard to case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mapping {
    pub question: Option<String>,
    pub answer: Option<String>,
    pub title: Option<String>,
    pub text: Option<String>,
}

/// A document as text, with the structure that splitting needs. It is read back by [`Self::from_bytes`] alone, so that nobody
/// takes all that was kept for JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Extracted {
    pub format: Format,
    pub title: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// In order and without overlap; everything of `text` that is not blank or front matter lies in one.
    pub blocks: Vec<Block>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub front_matter: BTreeMap<String, Value>,
    /// Where each page of a paged document begins in `text`; empty for the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub page_starts: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// [`Extracted`] as JSON: whole as it was once kept, or without its text.
#[derive(Deserialize)]
struct Json {
    format: Format,
    title: Option<String>,
    #[serde(default)]
    text: String,
    blocks: Vec<Block>,
    #[serde(default)]
    front_matter: BTreeMap<String, Value>,
    #[serde(default)]
    page_starts: Vec<usize>,
    #[serde(default)]
    warnings: Vec<String>,
}

impl From<Json> for Extracted {
    fn from(json: Json) -> Self {
        let Json { format, title, text, blocks, front_matter, page_starts, warnings } = json;
        Self { format, title, text, blocks, front_matter, page_starts, warnings }
    }
}

/// Stands before the form of [`Extracted::to_bytes`]: no JSON begins with it.
const PACKED: u8 = 1;

impl Extracted {
    /// For a pipe or a store: all but the text as a line of JSON, then the text as it is. Escaping it and reading it
    /// again would take a good part of a whole ingest.
    pub fn to_bytes(mut self) -> Result<Vec<u8>, serde_json::Error> {
        let text = std::mem::take(&mut self.text);
        let mut bytes = vec![PACKED];
        serde_json::to_writer(&mut bytes, &self)?;
        bytes.push(b'\n');
        bytes.extend(text.into_bytes());
        Ok(bytes)
    }

    /// What [`Self::to_bytes`] gave, or the JSON that was kept before there was that.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        use serde::de::Error as _;
        let [PACKED, packed @ ..] = bytes else {
            return serde_json::from_slice::<Json>(bytes).map(Self::from);
        };
        let (head, text) = line_and_text(packed).map_err(serde_json::Error::custom)?;
        Ok(Json { text: text.to_owned(), ..serde_json::from_slice(head)? }.into())
    }
}

/// A byte range of the text, and what stands there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub kind: BlockKind,
    pub start: usize,
    pub end: usize,
    /// What the source says about this block beside its text: a row's category, say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Value>,
}

impl Block {
    pub(crate) fn new(kind: BlockKind, range: Range<usize>) -> Self {
        Self { kind, start: range.start, end: range.end, fields: BTreeMap::new() }
    }
}

/// Offsets are into the whole text, not into the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    Heading {
        level: u8,
    },
    Paragraph,
    ListItem {
        ordered: bool,
        depth: u8,
    },
    Table {
        /// Where the rows that name the columns end and the others begin.
        header_end: usize,
    },
    Code,
    Quote,
    /// A question and, from `answer_start`, its answer.
    Pair {
        answer_start: usize,
    },
    Record,
}

/// The text between two byte offsets; nothing when they are not bounds of characters.
pub(crate) fn slice(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// `range` without the blanks at its two ends.
pub(crate) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inner = slice(text, range.clone());
    let start = range.start + (inner.len() - inner.trim_start().len());
    start..start + inner.trim().len()
}

/// Text in the making, for the readers that write their own: keeps the limits and the order of blocks.
pub(crate) struct Draft<'a> {
    pub(crate) text: String,
    pub(crate) blocks: Vec<Block>,
    pub(crate) limits: &'a Limits,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(limits: &'a Limits) -> Self {
        Self { text: String::new(), blocks: Vec::new(), limits }
    }

    /// Adds a block of `content` after a blank line, or right on the next line between items of a list.
    /// Blanks that indent it stand before the block.
    pub(crate) fn push(&mut self, kind: BlockKind, content: &str) -> Result<(), ExtractError> {
        let content = content.trim_end();
        let inner = content.trim_start();
        if inner.is_empty() {
            return Ok(());
        }
        self.open(kind);
        self.text.push_str(slice(content, 0..content.len() - inner.len()));
        let start = self.text.len();
        self.text.push_str(inner);
        self.close(kind, start)
    }

    /// Adds a question and its answer.
    pub(crate) fn push_pair(&mut self, question: &str, answer: &str) -> Result<(), ExtractError> {
        let start = self.open(BlockKind::Record);
        self.text.push_str(&one_line(question));
        self.text.push_str("\n\n");
        let answer_start = self.text.len();
        self.text.push_str(answer.trim());
        self.close(BlockKind::Pair { answer_start }, start)
    }

    fn open(&mut self, kind: BlockKind) -> usize {
        if let Some(last) = self.blocks.last() {
            let item = |kind: &BlockKind| matches!(kind, BlockKind::ListItem { .. });
            let same_list = item(&last.kind) && item(&kind);
            self.text.push_str(if same_list { "\n" } else { "\n\n" });
        }
        self.text.len()
    }

    fn close(&mut self, kind: BlockKind, start: usize) -> Result<(), ExtractError> {
        within("bytes of text", self.text.len(), self.limits.text_bytes_max)?;
        within("blocks", self.blocks.len() + 1, self.limits.blocks_max)?;
        self.blocks.push(Block::new(kind, start..self.text.len()));
        Ok(())
    }

    /// Adds a heading line, `#` for each level.
    pub(crate) fn push_heading(&mut self, level: u8, heading: &str) -> Result<(), ExtractError> {
        let heading = one_line(heading);
        if heading.is_empty() {
            return Ok(());
        }
        let marks = "#".repeat(usize::from(level.max(1)));
        self.push(BlockKind::Heading { level: level.max(1) }, &format!("{marks} {heading}"))
    }

    /// Adds a table; the first row names the columns.
    pub(crate) fn push_table(&mut self, rows: &[Vec<String>]) -> Result<(), ExtractError> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let Some((header, body)) = rows.split_first() else { return Ok(()) };
        if columns == 0 {
            return Ok(());
        }
        let start = self.open(BlockKind::Code);
        push_row(&mut self.text, header, columns);
        self.text.push('|');
        for _ in 0..columns {
            self.text.push_str(" --- |");
        }
        self.text.push('\n');
        let header_end = self.text.len();
        for row in body {
            push_row(&mut self.text, row, columns);
            within("bytes of text", self.text.len(), self.limits.text_bytes_max)?;
        }
        self.text.truncate(self.text.trim_end().len());
        let header_end = header_end.min(self.text.len());
        self.close(BlockKind::Table { header_end }, start)
    }

    pub(crate) fn finish(self, format: Format, title: Option<String>) -> Extracted {
        Extracted {
            format,
            title: title.map(|title| one_line(&title)).filter(|title| !title.is_empty()),
            text: self.text,
            blocks: self.blocks,
            front_matter: BTreeMap::new(),
            page_starts: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

fn push_row(text: &mut String, row: &[String], columns: usize) {
    text.push('|');
    for column in 0..columns {
        text.push(' ');
        if let Some(cell) = row.get(column) {
            text.push_str(&one_line(cell).replace('|', "\\|"));
        }
        text.push_str(" |");
    }
    text.push('\n');
}

/// All blanks, line breaks among them, as single spaces.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extracted(text: &str) -> Extracted {
        let front_matter = BTreeMap::from([("owner".to_owned(), Value::from("a\n\"b\""))]);
        Extracted {
            format: Format::Markdown,
            title: Some("A\ntitle".to_owned()),
            text: text.to_owned(),
            blocks: vec![Block::new(BlockKind::Paragraph, 0..text.len())],
            front_matter,
            page_starts: vec![0],
            warnings: vec!["one\ntwo".to_owned()],
        }
    }

    #[test]
    fn a_document_is_the_same_after_a_pipe_or_a_store() {
        for text in ["", "\n", "한 줄\n\"two\" \\ lines\u{1}\n", "{\"text\":1}\n"] {
            let document = extracted(text);
            let bytes = document.clone().to_bytes().unwrap();
            assert_eq!(Extracted::from_bytes(&bytes).unwrap(), document);
            // What was kept before.
            let json = serde_json::to_vec(&document).unwrap();
            assert_eq!(Extracted::from_bytes(&json).unwrap(), document);
        }
    }

    #[test]
    fn bytes_that_are_no_document_are_an_error() {
        let whole = extracted("text").to_bytes().unwrap();
        let line = whole.iter().position(|byte| *byte == b'\n').unwrap();
        for bytes in [&b""[..], &[PACKED], &whole[..line - 1], b"\x01{}\ntext", b"null"] {
            assert!(Extracted::from_bytes(bytes).is_err(), "{bytes:?}");
        }
        let mut broken = whole;
        broken.push(0xff);
        assert!(Extracted::from_bytes(&broken).is_err());
    }
}
