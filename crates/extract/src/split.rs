//! Cuts a document into its heading tree and into chunks for searching.
//!
//! A chunk never crosses a section's bounds. Headings are not repeated in chunks: [`heading_path`] gives
//! them. A heading with nothing under it is a chunk itself, so that it can be found.

mod cut;
mod pack;
mod pieces;
mod units;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::{Block, BlockKind, slice};
use crate::tags::{ChunkTags, tags};
use crate::{Extracted, estimate_tokens, markdown};
use pack::Span;

/// Chunks are filled up to this many tokens: a few paragraphs, which a reader needs to understand one.
const TOKENS_TARGET: usize = 320;
/// A list, table or answer stays whole up to this many tokens.
const TOKENS_MAX: usize = 480;
/// A chunk smaller than this at the end of a section joins the one before.
const TOKENS_SMALL: usize = 40;
/// The least bound that can be kept: a single character may take four tokens.
const TOKENS_FLOOR: usize = 16;
/// Longest heading that a section carries; a longer one is text that was marked as a heading.
const HEADING_CHARACTERS_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SplitLimits {
    pub tokens_target: usize,
    pub tokens_max: usize,
    pub tokens_small: usize,
}

impl Default for SplitLimits {
    fn default() -> Self {
        Self { tokens_target: TOKENS_TARGET, tokens_max: TOKENS_MAX, tokens_small: TOKENS_SMALL }
    }
}

impl SplitLimits {
    /// The same with bounds that can be kept.
    fn kept(&self) -> Self {
        let tokens_max = self.tokens_max.max(TOKENS_FLOOR);
        Self {
            tokens_target: self.tokens_target.clamp(1, tokens_max),
            tokens_max,
            tokens_small: self.tokens_small.min(tokens_max),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// The first is the whole document; each other one stands after its parent.
    pub sections: Vec<Section>,
    /// In the order of the text.
    pub chunks: Vec<Chunk>,
}

/// A heading and all that stands under it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub parent: Option<usize>,
    /// 0 for the document itself.
    pub level: u8,
    pub heading: String,
    pub start: usize,
    pub end: usize,
}

/// A part of one section, small enough to be searched and read as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    pub section: usize,
    pub start: usize,
    pub end: usize,
    /// The text of the range, after the header or question that it needs to be understood.
    pub text: String,
    pub tags: ChunkTags,
    pub fields: BTreeMap<String, Value>,
    /// Where the question ends that the text begins with; 0 if it begins with none.
    question_end: usize,
}

impl Chunk {
    /// Short spans of the text, for the embedder; all that is not blank lies in one.
    #[must_use]
    pub fn pieces(&self) -> Vec<Range<usize>> {
        pieces::pieces(&self.text, self.question_end)
    }
}

/// Sections and chunks of a document; the same for the same document and limits.
pub fn split(extracted: &Extracted, limits: &SplitLimits) -> Split {
    let limits = limits.kept();
    let outline = Outline::of(extracted);
    let mut chunks = Vec::new();
    for body in &outline.bodies {
        let blocks = extracted.blocks.get(body.blocks.clone()).unwrap_or_default();
        let units = units::group(&extracted.text, blocks);
        let spans = pack::pack(&extracted.text, &units, &limits);
        let mut rest = blocks;
        for span in spans {
            rest = skip_before(rest, span.range.start);
            chunks.push(chunk(&extracted.text, body.section, &span, rest));
        }
    }
    Split { sections: outline.sections, chunks }
}

/// The headings above a section, from the document's title down to its own.
pub fn heading_path(sections: &[Section], section: usize) -> Vec<&str> {
    let mut path = Vec::new();
    let mut next = Some(section);
    while let Some(found) = next.and_then(|index| sections.get(index)) {
        // A document's title is often its first heading too.
        let heading = found.heading.as_str();
        if !heading.is_empty() && path.last() != Some(&heading) {
            path.push(heading);
        }
        // Parents stand before their children, so the walk ends.
        next = found.parent.filter(|parent| next.is_some_and(|index| *parent < index));
    }
    path.reverse();
    path
}

/// The heading tree, and the blocks that stand directly under each heading.
struct Outline {
    sections: Vec<Section>,
    bodies: Vec<Body>,
}

struct Body {
    section: usize,
    blocks: Range<usize>,
}

impl Outline {
    fn of(extracted: &Extracted) -> Self {
        let text = &extracted.text;
        let root = Section {
            parent: None,
            level: 0,
            heading: extracted.title.clone().unwrap_or_default(),
            start: 0,
            end: text.len(),
        };
        let mut outline =
            Self { sections: vec![root], bodies: vec![Body { section: 0, blocks: 0..0 }] };
        let mut open = vec![0];
        for (index, block) in extracted.blocks.iter().enumerate() {
            if let BlockKind::Heading { level } = block.kind {
                let source = slice(text, block.start..block.end);
                let heading = markdown::heading_text(source, extracted.format);
                outline.end_body(index, extracted);
                outline.open_section(&mut open, level.max(1), block, &heading);
                let is_clipped = heading.chars().count() > HEADING_CHARACTERS_MAX;
                let section = outline.sections.len() - 1;
                let body_start = if is_clipped { index } else { index + 1 };
                outline.bodies.push(Body { section, blocks: body_start..body_start });
            }
            for section in open.iter().skip(1) {
                if let Some(section) = outline.sections.get_mut(*section) {
                    section.end = block.end;
                }
            }
        }
        outline.end_body(extracted.blocks.len(), extracted);
        outline
    }

    fn open_section(&mut self, open: &mut Vec<usize>, level: u8, block: &Block, heading: &str) {
        let is_inner =
            |section: &usize| self.sections.get(*section).is_some_and(|s| s.level >= level);
        while open.last().is_some_and(is_inner) {
            open.pop();
        }
        let parent = open.last().copied();
        open.push(self.sections.len());
        self.sections.push(Section {
            parent,
            level,
            heading: heading.chars().take(HEADING_CHARACTERS_MAX).collect(),
            start: block.start,
            end: block.end,
        });
    }

    /// Closes the last body before the heading at `next`, or at the end of the document.
    fn end_body(&mut self, next: usize, extracted: &Extracted) {
        let Some(body) = self.bodies.last_mut() else { return };
        body.blocks.end = next.max(body.blocks.start);
        let level = self.sections.get(body.section).map_or(0, |section| section.level);
        let is_empty = body.blocks.is_empty() && body.section > 0;
        let next_level = match extracted.blocks.get(next).map(|block| block.kind) {
            Some(BlockKind::Heading { level }) => level.max(1),
            _ => 0,
        };
        if is_empty && next_level <= level {
            body.blocks.start = body.blocks.start.saturating_sub(1);
        }
    }
}

fn skip_before(blocks: &[Block], start: usize) -> &[Block] {
    let passed = blocks.iter().take_while(|block| block.end <= start).count();
    blocks.get(passed..).unwrap_or_default()
}

/// Makes a chunk of a span; `blocks` begin with the first that reaches into it.
fn chunk(text: &str, section: usize, span: &Span, blocks: &[Block]) -> Chunk {
    let body = slice(text, span.range.clone());
    let prefix = span.prefix.as_ref().map_or("", |prefix| slice(text, prefix.range.clone()));
    let join = span.prefix.as_ref().map_or("", |prefix| prefix.join);
    let chunk_text = [prefix, join, body].concat();
    let mut tags = tags(&chunk_text);
    let mut fields = BTreeMap::new();
    let mut question_end = 0;
    for block in blocks.iter().take_while(|block| block.start < span.range.end) {
        match block.kind {
            BlockKind::Table { .. } => tags.has_table = true,
            BlockKind::Code => tags.has_code = true,
            BlockKind::ListItem { ordered, .. } => tags.has_steps |= ordered,
            BlockKind::Pair { answer_start } => {
                let question = slice(text, block.start..answer_start).trim_end();
                // A part of a pair whose question was too long to repeat has none.
                question_end = if chunk_text.starts_with(question) { question.len() } else { 0 };
            }
            BlockKind::Heading { .. }
            | BlockKind::Paragraph
            | BlockKind::Quote
            | BlockKind::Record => {}
        }
        fields.extend(block.fields.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    Chunk {
        section,
        start: span.range.start,
        end: span.range.end,
        text: chunk_text,
        tags,
        question_end,
        fields,
    }
}

/// The estimate for a range of the text.
fn tokens(text: &str, range: Range<usize>) -> usize {
    estimate_tokens(slice(text, range))
}

#[cfg(test)]
mod properties;
#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may panic")]
mod tests;
