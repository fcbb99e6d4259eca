//! Finds the blocks of Markdown and of plain text; the text itself stays as it is.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::document::{Block, BlockKind, slice, trimmed};
use crate::limits::{Limits, within};
use crate::{ExtractError, Extracted, Format, front_matter};

/// Reads Markdown with tables and front matter.
pub(crate) fn read(text: String, limits: &Limits) -> Result<Extracted, ExtractError> {
    within("bytes of text", text.len(), limits.text_bytes_max)?;
    let front = front_matter::parse(&text);
    let mut blocks = Vec::new();
    Walk::new(&text, front.body_start, limits, &mut blocks).run()?;
    let blocks = with_gaps_filled(&text, front.body_start, blocks);
    within("blocks", blocks.len(), limits.blocks_max)?;
    let title = match front.values.get("title") {
        Some(Value::String(title)) if !title.trim().is_empty() => Some(title.trim().to_owned()),
        _ => title(&text, &blocks),
    };
    Ok(Extracted {
        format: Format::Markdown,
        title,
        text,
        blocks,
        front_matter: front.values,
        page_starts: Vec::new(),
        warnings: Vec::new(),
    })
}

/// Reads text that has no marks: paragraphs stand between blank lines.
pub(crate) fn read_plain(text: String, limits: &Limits) -> Result<Extracted, ExtractError> {
    within("bytes of text", text.len(), limits.text_bytes_max)?;
    let mut blocks = Vec::new();
    push_paragraphs(&text, 0..text.len(), &mut blocks);
    within("blocks", blocks.len(), limits.blocks_max)?;
    Ok(Extracted {
        format: Format::Text,
        title: None,
        text,
        blocks,
        front_matter: Default::default(),
        page_starts: Vec::new(),
        warnings: Vec::new(),
    })
}

/// The words of a heading without its marks.
pub(crate) fn heading_text(source: &str, format: Format) -> String {
    if format != Format::Markdown {
        return source.trim_start_matches('#').trim().to_owned();
    }
    let mut heading = String::new();
    for event in Parser::new_ext(source, options()) {
        match event {
            Event::Text(part) | Event::Code(part) => heading.push_str(&part),
            Event::SoftBreak | Event::HardBreak => heading.push(' '),
            Event::End(TagEnd::Heading(_)) => break,
            _ => {}
        }
    }
    heading.trim().to_owned()
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_TASKLISTS
}

fn title(text: &str, blocks: &[Block]) -> Option<String> {
    let first = blocks.iter().find(|block| block.kind == BlockKind::Heading { level: 1 })?;
    Some(heading_text(slice(text, first.start..first.end), Format::Markdown))
        .filter(|title| !title.is_empty())
}

/// One walk over the events of the parser, which nests blocks; ours stand in a row.
struct Walk<'a> {
    text: &'a str,
    body_start: usize,
    limits: &'a Limits,
    blocks: &'a mut Vec<Block>,
    /// Whether each open list is numbered.
    lists: Vec<bool>,
    /// The open item whose own text is not finished: its place in `blocks`, and where the item ends.
    item: Option<(usize, usize)>,
    /// The end of an element that is one block whatever it holds: what begins before it is skipped.
    whole_until: usize,
    table: Option<usize>,
}

impl<'a> Walk<'a> {
    fn new(
        text: &'a str,
        body_start: usize,
        limits: &'a Limits,
        blocks: &'a mut Vec<Block>,
    ) -> Self {
        Self {
            text,
            body_start,
            limits,
            blocks,
            lists: Vec::new(),
            item: None,
            whole_until: 0,
            table: None,
        }
    }

    fn run(mut self) -> Result<(), ExtractError> {
        let body = slice(self.text, self.body_start..self.text.len());
        for (event, range) in Parser::new_ext(body, options()).into_offset_iter() {
            let range = range.start + self.body_start..range.end + self.body_start;
            match event {
                Event::Start(tag) => self.start(&tag, range)?,
                Event::End(tag) => self.end(tag),
                Event::Rule if range.start >= self.whole_until => self.rule(range),
                _ => {}
            }
        }
        Ok(())
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) -> Result<(), ExtractError> {
        if let Tag::TableRow = tag {
            self.first_row(range.start);
        }
        if range.start < self.whole_until {
            return Ok(());
        }
        match tag {
            Tag::Heading { level, .. } => {
                self.push(BlockKind::Heading { level: level_of(*level) }, range)
            }
            Tag::Paragraph => self.paragraph(range),
            Tag::BlockQuote(_) => self.push_whole(BlockKind::Quote, range),
            Tag::CodeBlock(_) => self.push_whole(BlockKind::Code, range),
            Tag::HtmlBlock | Tag::FootnoteDefinition(_) => {
                self.push_whole(BlockKind::Paragraph, range)
            }
            Tag::Table(_) => {
                self.table = Some(self.blocks.len());
                self.push_whole(BlockKind::Table { header_end: range.end }, range);
            }
            Tag::List(first) => {
                self.cut_item(range.start);
                self.lists.push(first.is_some());
                if self.lists.len() > self.limits.nesting_max {
                    return Err(ExtractError::TooDeep { limit: self.limits.nesting_max });
                }
            }
            Tag::Item => self.open_item(range),
            _ => {}
        }
        within("blocks", self.blocks.len(), self.limits.blocks_max)
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => self.item = None,
            TagEnd::Table => self.table = None,
            _ => {}
        }
    }

    fn push(&mut self, kind: BlockKind, range: Range<usize>) {
        self.cut_item(range.start);
        let range = trimmed(self.text, range);
        if !range.is_empty() {
            self.blocks.push(Block::new(kind, range));
        }
    }

    fn push_whole(&mut self, kind: BlockKind, range: Range<usize>) {
        self.whole_until = range.end;
        self.push(kind, range);
    }

    fn open_item(&mut self, range: Range<usize>) {
        let ordered = self.lists.last().copied().unwrap_or_default();
        let depth = u8::try_from(self.lists.len()).unwrap_or(u8::MAX);
        let end = range.end;
        self.push(BlockKind::ListItem { ordered, depth }, range);
        self.item = self.blocks.len().checked_sub(1).map(|at| (at, end));
    }

    /// Paragraphs at the beginning of an item are the item's own text.
    fn paragraph(&mut self, range: Range<usize>) {
        let in_open_item = self.item.is_some_and(|(_, end)| range.start < end);
        if !in_open_item {
            self.push(BlockKind::Paragraph, range);
        }
    }

    /// Ends the open item's own text where another block begins inside it.
    fn cut_item(&mut self, at: usize) {
        let Some((index, end)) = self.item.take() else { return };
        if at >= end {
            return;
        }
        if let Some(block) = self.blocks.get_mut(index) {
            block.end = trimmed(self.text, block.start..at.max(block.start)).end;
        }
    }

    fn first_row(&mut self, start: usize) {
        let table = self.table.take().and_then(|index| self.blocks.get_mut(index));
        if let Some(Block { kind: BlockKind::Table { header_end }, .. }) = table {
            *header_end = start;
        }
    }

    /// A rule has nothing to say of its own: after a heading it belongs to the heading.
    fn rule(&mut self, range: Range<usize>) {
        match self.blocks.last_mut() {
            Some(Block { kind: BlockKind::Heading { .. }, end, .. }) => {
                *end = trimmed(self.text, range).end;
            }
            _ => self.push(BlockKind::Paragraph, range),
        }
    }
}

fn level_of(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// What the parser is silent about (link definitions, say) becomes paragraphs.
fn with_gaps_filled(text: &str, body_start: usize, blocks: Vec<Block>) -> Vec<Block> {
    let mut filled = Vec::with_capacity(blocks.len());
    let mut at = body_start;
    for mut block in blocks {
        // An item without words of its own may have been cut back to nothing.
        block.start = block.start.max(at);
        if block.end <= block.start {
            continue;
        }
        if let BlockKind::Table { header_end } = &mut block.kind {
            *header_end = (*header_end).min(block.end);
        }
        push_paragraphs(text, at..block.start, &mut filled);
        at = block.end;
        filled.push(block);
    }
    push_paragraphs(text, at..text.len(), &mut filled);
    filled
}

fn push_paragraphs(text: &str, range: Range<usize>, blocks: &mut Vec<Block>) {
    if slice(text, range.clone()).trim_start().is_empty() {
        return;
    }
    let (mut paragraph, mut at) = (None::<Range<usize>>, range.start);
    for line in slice(text, range).split_inclusive('\n') {
        let line_end = at + line.len();
        if line.trim().is_empty() {
            blocks.extend(
                paragraph
                    .take()
                    .map(|found| Block::new(BlockKind::Paragraph, trimmed(text, found))),
            );
        } else {
            paragraph = Some(paragraph.map_or(at, |open| open.start)..line_end);
        }
        at = line_end;
    }
    blocks.extend(paragraph.map(|found| Block::new(BlockKind::Paragraph, trimmed(text, found))));
}
