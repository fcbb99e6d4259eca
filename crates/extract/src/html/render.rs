//! Writes HTML as text with Markdown's marks, block by block.
//!
//! It reads what an HTML parser has written out again, so tags are balanced and only five entities occur.

use std::collections::VecDeque;

use crate::ExtractError;
use crate::document::{BlockKind, Draft};
use crate::html::tags::{Tag, Token, Tokens, tokens};
use crate::limits::Limits;

/// Elements that have nothing for a reader.
const SKIPPED: [&str; 15] = [
    "script", "style", "noscript", "template", "svg", "nav", "footer", "aside", "iframe", "button",
    "select", "head", "object", "canvas", "dialog",
];
/// Columns that one cell may span: more is a layout trick.
const SPAN_MAX: usize = 50;
/// Deepest list that is still indented.
const LIST_DEPTH_MAX: usize = 8;
/// A paragraph of so many bytes that stands there again a few paragraphs later is the caption of a picture, made for
/// another width of the screen. Plans and forms repeat themselves too, further apart.
const ONCE_BYTES_MIN: usize = 80;
const ONCE_AMONG: usize = 12;

pub(super) fn render<'a>(html: &str, limits: &'a Limits) -> Result<Draft<'a>, ExtractError> {
    let mut writer = Writer::new(limits);
    let mut page = tokens(html);
    while let Some(token) = page.next() {
        match token {
            Token::Text(text) => writer.text(text),
            Token::Open(tag) => writer.open(&tag, &mut page)?,
            Token::Close(name) => writer.close(name)?,
        }
    }
    writer.flush()?;
    Ok(writer.draft)
}

/// Text without the entities that stand for its special characters.
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    push_unescaped(&mut plain, text);
    plain
}

fn push_unescaped(out: &mut String, text: &str) {
    const ENTITIES: [(&str, &str); 7] = [
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&nbsp;", " "),
        ("&#39;", "'"),
        ("&apos;", "'"),
    ];
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(before);
        let found = ENTITIES.iter().find(|(name, _)| after.starts_with(name));
        let (name, plain) = found.copied().unwrap_or(("&", "&"));
        out.push_str(plain);
        rest = after.strip_prefix(name).unwrap_or_default();
    }
    out.push_str(rest);
}

struct Writer<'a> {
    draft: Draft<'a>,
    /// Words since the last block ended.
    line: String,
    heading: Option<u8>,
    quotes: usize,
    /// The open lists: the number of the next item, for those with numbers.
    lists: Vec<Option<usize>>,
    /// The marker of an item that has no text yet.
    marker: Option<String>,
    /// The last paragraphs.
    said: VecDeque<String>,
}

impl<'a> Writer<'a> {
    fn new(limits: &'a Limits) -> Self {
        Self {
            draft: Draft::new(limits),
            line: String::new(),
            heading: None,
            quotes: 0,
            lists: Vec::new(),
            marker: None,
            said: VecDeque::with_capacity(ONCE_AMONG),
        }
    }

    /// Adds words with single blanks between them.
    fn text(&mut self, text: &str) {
        push_words(&mut self.line, text);
    }

    fn open(&mut self, tag: &Tag<'_>, page: &mut Tokens<'_>) -> Result<(), ExtractError> {
        match tag.name {
            name if SKIPPED.contains(&name) => page.skip_past_balanced(name),
            "br" => {
                let end = self.line.trim_end().len();
                self.line.truncate(end);
                self.line.push('\n');
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.flush()?;
                self.heading = tag.name.bytes().last().map(|digit| digit - b'0');
            }
            "ul" | "menu" => {
                self.flush()?;
                self.lists.push(None);
            }
            "ol" => {
                self.flush()?;
                let first = tag.attribute("start").and_then(|start| start.parse().ok());
                self.lists.push(Some(first.unwrap_or(1)));
            }
            "li" => {
                self.flush()?;
                self.marker = Some(self.next_marker());
            }
            "blockquote" => {
                self.flush()?;
                self.quotes += 1;
            }
            "pre" => {
                self.flush()?;
                self.code(page)?;
            }
            "table" if is_data_table(page.rest()) => {
                self.flush()?;
                self.table(page)?;
            }
            name if is_block(name) => self.flush()?,
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.flush()?;
                self.heading = None;
            }
            "ul" | "ol" | "menu" => {
                self.flush()?;
                self.lists.pop();
                self.marker = None;
            }
            "li" => {
                self.flush()?;
                self.marker = None;
            }
            "blockquote" => {
                self.flush()?;
                self.quotes = self.quotes.saturating_sub(1);
            }
            name if is_block(name) => self.flush()?,
            _ => {}
        }
        Ok(())
    }

    fn next_marker(&mut self) -> String {
        let depth = self.lists.len().min(LIST_DEPTH_MAX);
        let indent = "  ".repeat(depth.saturating_sub(1));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{indent}{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            Some(None) | None => format!("{indent}- "),
        }
    }

    /// Ends the block that is being written.
    fn flush(&mut self) -> Result<(), ExtractError> {
        let line = std::mem::take(&mut self.line);
        let content = line.trim();
        if content.is_empty() || (self.heading.is_none() && self.is_said(content)) {
            return Ok(());
        }
        let depth = u8::try_from(self.lists.len()).unwrap_or(u8::MAX);
        match (self.heading, self.marker.take()) {
            (Some(level), _) => self.draft.push_heading(level, content),
            (None, Some(marker)) => {
                let ordered = self.lists.last().is_some_and(Option::is_some);
                let kind = BlockKind::ListItem { ordered, depth: depth.max(1) };
                self.draft.push(kind, &format!("{marker}{content}"))
            }
            (None, None) if depth > 0 => {
                self.draft.push(BlockKind::Paragraph, &format!("  {content}"))
            }
            (None, None) if self.quotes > 0 => {
                self.draft.push(BlockKind::Quote, &format!("> {}", content.replace('\n', "\n> ")))
            }
            (None, None) => self.draft.push(BlockKind::Paragraph, content),
        }
    }

    /// Whether these words are a long paragraph that has just been there; from now on they have.
    fn is_said(&mut self, content: &str) -> bool {
        let is_said = content.len() >= ONCE_BYTES_MIN && self.said.iter().any(|it| it == content);
        if self.said.len() == ONCE_AMONG {
            self.said.pop_front();
        }
        self.said.push_back(content.to_owned());
        is_said
    }

    /// Takes the page's tokens up to the end of a preformatted part.
    fn code(&mut self, page: &mut Tokens<'_>) -> Result<(), ExtractError> {
        let mut code = String::new();
        for token in page.by_ref() {
            match token {
                Token::Text(text) => push_unescaped(&mut code, text),
                Token::Open(tag) if tag.name == "br" => code.push('\n'),
                Token::Close("pre") => break,
                Token::Open(_) | Token::Close(_) => {}
            }
        }
        let code = code.trim_matches('\n').trim_end();
        if code.trim().is_empty() {
            return Ok(());
        }
        self.draft.push(BlockKind::Code, &format!("```\n{code}\n```"))
    }

    /// Takes the page's tokens up to the end of a table.
    fn table(&mut self, page: &mut Tokens<'_>) -> Result<(), ExtractError> {
        let mut table = Table::default();
        while let Some(token) = page.next() {
            match token {
                Token::Open(tag) if SKIPPED.contains(&tag.name) => {
                    page.skip_past_balanced(tag.name)
                }
                Token::Open(tag) => table.open(&tag),
                Token::Text(text) => push_words(table.target(), text),
                Token::Close("caption") => table.in_caption = false,
                Token::Close("table") => break,
                Token::Close(name) if is_block(name) => table.target().push(' '),
                Token::Close(_) => {}
            }
        }
        table.rows.retain(|row| row.iter().any(|cell| !cell.trim().is_empty()));
        self.draft.push(BlockKind::Paragraph, table.caption.trim())?;
        self.draft.push_table(&table.rows)
    }
}

#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
    caption: String,
    in_caption: bool,
    /// Columns after the last cell that it spans too.
    spanned: usize,
    /// Words that stand in no cell.
    stray: String,
}

impl Table {
    fn open(&mut self, tag: &Tag<'_>) {
        match tag.name {
            "tr" => {
                self.rows.push(Vec::new());
                self.spanned = 0;
            }
            "td" | "th" => {
                let spanned = std::mem::take(&mut self.spanned);
                if let Some(row) = self.rows.last_mut() {
                    row.extend(std::iter::repeat_n(String::new(), spanned + 1));
                }
                let span = tag.attribute("colspan").and_then(|span| span.parse().ok());
                self.spanned = span.unwrap_or(1usize).clamp(1, SPAN_MAX) - 1;
            }
            "caption" => self.in_caption = true,
            name if name == "br" || is_block(name) => self.target().push(' '),
            _ => {}
        }
    }

    /// Where words go now.
    fn target(&mut self) -> &mut String {
        if self.in_caption {
            return &mut self.caption;
        }
        self.rows.last_mut().and_then(|row| row.last_mut()).unwrap_or(&mut self.stray)
    }
}

/// Whether the table that begins here has rows and columns of values, not the layout of a page.
fn is_data_table(rest: &str) -> bool {
    // A table around another one is a layout; to look past that one's tag would be to look at all that follows,
    // and for each of them again.
    let mut until_tables = rest.match_indices("table").filter_map(|(at, _)| rest.get(..at));
    let next = until_tables.find(|before| before.ends_with('<') || before.ends_with("</"));
    let Some(inner) = next.and_then(|before| before.strip_suffix("</")) else { return false };
    let rows = inner.matches("<tr").count();
    let cells = inner.matches("<td").count()
        + inner.matches("<th>").count()
        + inner.matches("<th ").count();
    let holds_layout = ["<h1", "<h2", "<h3"].iter().any(|tag| inner.contains(tag));
    rows >= 2 && cells > rows && !holds_layout
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "form"
            | "header"
            | "hr"
            | "main"
            | "p"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "tfoot"
            | "th"
            | "thead"
            | "title"
            | "tr"
    )
}

/// Adds words with single blanks between them.
fn push_words(line: &mut String, text: &str) {
    let plain;
    let text = if text.contains('&') {
        plain = unescaped(text);
        plain.as_str()
    } else {
        text
    };
    let mut needs_blank = text.starts_with(char::is_whitespace);
    for word in text.split_whitespace() {
        if needs_blank && !line.is_empty() && !line.ends_with([' ', '\n']) {
            line.push(' ');
        }
        line.push_str(word);
        needs_blank = true;
    }
    let ends_blank = text.ends_with(char::is_whitespace);
    if ends_blank && !line.is_empty() && !line.ends_with([' ', '\n']) {
        line.push(' ');
    }
}
