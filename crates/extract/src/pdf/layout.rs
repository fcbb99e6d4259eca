//! Makes paragraphs, headings and list items of the lines on pages.

use std::collections::BTreeMap;

use crate::ExtractError;
use crate::document::{BlockKind, Draft, one_line};
use crate::pdf::page::Line;

/// Lines this much larger than the body's are headings.
const HEADING_SIZE: f32 = 1.15;
const HEADING_CHARACTERS_MAX: usize = 120;
const HEADING_LEVELS_MAX: usize = 4;
/// A step down by more than this many times the usual one begins a paragraph.
const PARAGRAPH_GAP: f32 = 1.4;
/// A line that ends before this part of the column was ended on purpose.
const SHORT_LINE: f32 = 0.8;
/// A line at the edge of so many pages is a running header or footer.
const RUNNING_PAGES_MIN: usize = 3;
/// It keeps this many times the size of letters away from the text.
const RUNNING_GAP: f32 = 1.6;
const PAGE_NUMBER_BYTES_MAX: usize = 5;
/// Particles that belong to the word before them, wherever the line was wrapped.
const PARTICLES: [&str; 13] =
    ["은", "는", "을", "를", "의", "에", "와", "로", "으로", "에서", "에게", "까지", "부터"];

/// Writes the pages; gives where each begins in the text, and the first heading.
pub(super) fn write(
    pages: Vec<Vec<Line>>,
    draft: &mut Draft<'_>,
) -> Result<(Vec<usize>, Option<String>), ExtractError> {
    let pages = without_running_lines(pages);
    let look = Look::of(&pages);
    let mut page_starts = Vec::with_capacity(pages.len());
    let mut writer = Writer { draft, look, open: None, last: None, heading: None };
    for lines in &pages {
        let mut page_start = None;
        for line in lines {
            let at = writer.line(line)?;
            page_start.get_or_insert(at);
        }
        page_starts.push(page_start);
    }
    writer.flush()?;
    let end = writer.draft.text.len();
    // A page without text begins where the next one does.
    let mut next = end;
    let mut starts: Vec<usize> = page_starts
        .into_iter()
        .rev()
        .map(|start| {
            next = start.unwrap_or(next).min(next);
            next
        })
        .collect();
    starts.reverse();
    Ok((starts, writer.heading))
}

/// What is usual in the document.
struct Look {
    body_size: f32,
    /// Sizes of headings, the largest first.
    heading_sizes: Vec<f32>,
    line_step: f32,
    /// Whether lines keep the blank at which they were wrapped.
    keeps_blanks: bool,
}

impl Look {
    fn of(pages: &[Vec<Line>]) -> Self {
        let lines = || pages.iter().flatten();
        let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
        for line in lines() {
            *sizes.entry(tenths(line.size)).or_default() += line.text.len();
        }
        let body = sizes.iter().max_by_key(|(_, letters)| **letters).map_or(100, |(size, _)| *size);
        let body_size = body as f32 / 10.0;
        let is_heading = |size: &u32| *size as f32 / 10.0 >= body_size * HEADING_SIZE;
        let larger = sizes.keys().rev().copied().filter(is_heading).take(HEADING_LEVELS_MAX);
        let heading_sizes = larger.map(|size| size as f32 / 10.0).collect();
        let keeps_blanks = lines().any(|line| line.text.ends_with(' '));
        Self { body_size, heading_sizes, line_step: usual_step(pages, body_size), keeps_blanks }
    }

    fn heading_level(&self, line: &Line) -> Option<u8> {
        let characters = line.text.chars().count();
        if line.size < self.body_size * HEADING_SIZE || characters > HEADING_CHARACTERS_MAX {
            return None;
        }
        let larger = self.heading_sizes.iter().filter(|size| **size > line.size + 0.1).count();
        u8::try_from(larger + 1).ok()
    }
}

fn tenths(size: f32) -> u32 {
    // Sizes are small; what is not becomes the largest.
    (size.clamp(0.0, 1000.0) * 10.0).round() as u32
}

/// The distance between two lines of a paragraph that occurs most often.
fn usual_step(pages: &[Vec<Line>], body_size: f32) -> f32 {
    let mut steps: BTreeMap<u32, usize> = BTreeMap::new();
    for lines in pages {
        for (above, below) in lines.iter().zip(lines.iter().skip(1)) {
            let step = above.y - below.y;
            if step > body_size * 0.8 && step < body_size * 3.0 {
                *steps.entry(tenths(step)).or_default() += 1;
            }
        }
    }
    let most = steps.iter().max_by_key(|(_, count)| **count);
    most.map_or(body_size * 1.3, |(step, _)| *step as f32 / 10.0)
}

/// Leaves out page numbers, and what stands at the same place at the edge of most pages.
fn without_running_lines(mut pages: Vec<Vec<Line>>) -> Vec<Vec<Line>> {
    let mut seen: BTreeMap<(String, u32), usize> = BTreeMap::new();
    for lines in &pages {
        let edges = [lines.first(), lines.last().filter(|_| lines.len() > 1)];
        for line in edges.into_iter().flatten() {
            *seen.entry(place(line)).or_default() += 1;
        }
    }
    let enough = RUNNING_PAGES_MIN.max(pages.len() / 2);
    let is_running = |line: &Line| {
        is_page_number(&line.text) || seen.get(&place(line)).is_some_and(|count| *count >= enough)
    };
    for lines in &mut pages {
        if stands_apart(lines.iter().rev()) && lines.last().is_some_and(is_running) {
            lines.pop();
        }
        if stands_apart(lines.iter()) && lines.first().is_some_and(is_running) {
            lines.remove(0);
        }
    }
    pages
}

/// What a line says but for numbers, and how high it stands.
fn place(line: &Line) -> (String, u32) {
    let words = line.text.chars().filter(|c| !c.is_ascii_digit() && !c.is_whitespace()).collect();
    (words, tenths(line.y) / 20)
}

fn is_page_number(text: &str) -> bool {
    let number =
        text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '–' | '[' | ']'));
    let is_roman = number.chars().all(|c| matches!(c, 'i' | 'v' | 'x' | 'l'));
    let is_decimal = number.chars().all(|c| c.is_ascii_digit());
    !number.is_empty() && number.len() <= PAGE_NUMBER_BYTES_MAX && (is_roman || is_decimal)
}

/// Whether the first line keeps more distance from the second than lines of a paragraph do.
fn stands_apart<'a>(mut lines: impl Iterator<Item = &'a Line>) -> bool {
    match (lines.next(), lines.next()) {
        (Some(first), Some(second)) => (first.y - second.y).abs() > second.size * RUNNING_GAP,
        _ => true,
    }
}

struct Writer<'a, 'd> {
    draft: &'a mut Draft<'d>,
    look: Look,
    open: Option<Open>,
    last: Option<Line>,
    heading: Option<String>,
}

/// The block that lines are being added to.
struct Open {
    kind: BlockKind,
    text: String,
    /// The right edge of its widest line.
    right: f32,
    left: f32,
}

impl Writer<'_, '_> {
    /// Adds a line; gives where it will stand in the text.
    fn line(&mut self, line: &Line) -> Result<usize, ExtractError> {
        let kind = match self.look.heading_level(line) {
            Some(level) => BlockKind::Heading { level },
            None => item_kind(&line.text).unwrap_or(BlockKind::Paragraph),
        };
        if !self.continues(line, kind) {
            self.flush()?;
        }
        let gap = if self.draft.blocks.is_empty() { 0 } else { 2 };
        let open = self.open.get_or_insert_with(|| Open {
            kind,
            text: String::new(),
            right: line.right,
            left: line.x,
        });
        join(&mut open.text, &line.text, self.look.keeps_blanks);
        open.right = open.right.max(line.right);
        let within = open.text.len().saturating_sub(line.text.trim().len());
        let at = self.draft.text.len() + gap + within;
        self.last = Some(line.clone());
        Ok(at)
    }

    /// Whether a line goes on with the open block.
    fn continues(&self, line: &Line, kind: BlockKind) -> bool {
        let (Some(open), Some(last)) = (&self.open, &self.last) else { return false };
        if matches!(kind, BlockKind::ListItem { .. }) {
            return false;
        }
        let is_heading = matches!(kind, BlockKind::Heading { .. });
        if is_heading || matches!(open.kind, BlockKind::Heading { .. }) {
            let follows = last.y - line.y > 0.0 && last.y - line.y < line.size * 1.8;
            return kind == open.kind && follows;
        }
        let ended = ends_sentence(&last.text);
        let step = last.y - line.y;
        if step <= 0.0 || step > self.look.line_step * 6.0 {
            // Another column or page: only an unfinished sentence goes on there.
            return !ended;
        }
        let width = (open.right - open.left).max(1.0);
        let is_short = last.right - open.left < width * SHORT_LINE;
        let is_indented = line.x > open.left + line.size * 0.8 && open.kind == BlockKind::Paragraph;
        let is_apart = step > self.look.line_step * PARAGRAPH_GAP;
        !(is_apart || (ended && (is_short || is_indented)))
    }

    fn flush(&mut self) -> Result<(), ExtractError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        match open.kind {
            BlockKind::Heading { level } => {
                self.heading.get_or_insert_with(|| one_line(&open.text));
                self.draft.push_heading(level, &open.text)
            }
            kind => self.draft.push(kind, &open.text),
        }
    }
}

/// Adds a line to a paragraph: wrapped words are joined again, and so are hyphenated ones.
fn join(text: &mut String, line: &str, keeps_blanks: bool) {
    let wrapped_at_blank = text.ends_with(' ');
    text.truncate(text.trim_end().len());
    let next = line.trim_start();
    if text.is_empty() {
        text.push_str(next);
        return;
    }
    let first = next.chars().next().unwrap_or(' ');
    let mut before = text.chars().rev();
    let last = before.next().unwrap_or(' ');
    let is_hyphenated = matches!(last, '-' | '\u{AD}' | '‐')
        && before.next().is_some_and(|c| c.is_alphabetic() && c.is_ascii())
        && first.is_lowercase();
    if is_hyphenated || last == '\u{AD}' {
        text.pop();
    } else {
        // Korean is wrapped between any two syllables: only a blank that was kept tells words apart.
        let is_particle =
            next.split_whitespace().next().is_some_and(|word| PARTICLES.contains(&word));
        let inside_word = is_syllable(last)
            && is_syllable(first)
            && !wrapped_at_blank
            && (keeps_blanks || is_particle);
        if !(inside_word || is_ideograph(last) && is_ideograph(first)) {
            text.push(' ');
        }
    }
    text.push_str(next);
}

fn is_syllable(character: char) -> bool {
    matches!(character, '가'..='힣')
}

fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

fn ends_sentence(text: &str) -> bool {
    let text = text.trim_end().trim_end_matches(['"', '\'', ')', ']', '”', '’']);
    text.ends_with(['.', '!', '?', ':', '。', '！', '？', '：', ';'])
}

/// Whether a line begins with a bullet or a number.
fn item_kind(text: &str) -> Option<BlockKind> {
    let text = text.trim_start();
    let item = |ordered| Some(BlockKind::ListItem { ordered, depth: 1 });
    let mut characters = text.chars();
    match characters.next()? {
        '•' | '●' | '○' | '◦' | '▪' | '■' | '□' | '‣' | '∙' | '·' | '▶' | '※' => {
            item(false)
        }
        '-' | '–' | '*' if characters.next() == Some(' ') => item(false),
        '①'..='⑳' => item(true),
        first if first.is_ascii_digit() => {
            let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
            let digits = text.len() - rest.len();
            (digits <= 2 && rest.starts_with([')', '.']) && rest.chars().nth(1) == Some(' '))
                .then_some(())?;
            item(true)
        }
        _ => None,
    }
}
