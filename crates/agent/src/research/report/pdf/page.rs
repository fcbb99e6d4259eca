//! Sets blocks on pages: lines as long as the paper allows, and where each thing came to stand.

use std::collections::BTreeMap;

use super::super::blocks::{Block, Piece};
use super::type_set::{Font, font, width, written};
use super::{PAGE_HEIGHT, PAGE_WIDTH};

/// Blank on every side, in points.
const MARGIN: f32 = 64.0;
/// From line to line, in parts of the size.
const LINE: f32 = 1.5;
/// How thick strong letters are drawn around, in parts of the size.
const STRONG: f32 = 0.03;
const PAGES_MAX: usize = 2_000;

/// A report on paper.
#[derive(Debug, Default)]
pub(super) struct Set {
    pub(super) pages: Vec<Page>,
    pub(super) headings: Vec<(String, Place)>,
    /// By number.
    pub(super) sources: BTreeMap<usize, Place>,
}

#[derive(Debug, Default)]
pub(super) struct Page {
    /// What is drawn.
    pub(super) content: String,
    pub(super) links: Vec<Link>,
}

/// An area that leads somewhere: left, bottom, right, top.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) area: [f32; 4],
    pub(super) leads: Leads,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Leads {
    Web(String),
    Source(usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) page: usize,
    /// From the bottom of the page.
    pub(super) top: f32,
}

/// How a block looks.
struct Look {
    size: f32,
    indent: f32,
    above: f32,
    ink: Ink,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ink {
    Plain,
    Strong,
    Quiet,
    Warning,
    Link,
}

/// A word, or a blank, with its look.
#[derive(Debug, Clone)]
struct Word {
    text: String,
    ink: Ink,
    leads: Option<Leads>,
}

pub(super) fn set(blocks: &[Block]) -> Set {
    let mut setter = Setter { set: Set::default(), down: PAGE_HEIGHT };
    setter.turn();
    blocks.iter().for_each(|block| setter.block(block));
    setter.set
}

struct Setter {
    set: Set,
    /// From the top of the page.
    down: f32,
}

impl Setter {
    fn block(&mut self, block: &Block) {
        let look = look(block);
        // A heading does not stand alone at the foot of a page: it takes two lines with it.
        let needed = match block {
            Block::Title(_) | Block::Heading(_) => look.size * LINE * 3.0,
            _ => look.size * LINE,
        };
        if self.down + look.above + needed > PAGE_HEIGHT - MARGIN {
            self.turn();
        } else {
            self.down += look.above;
        }
        let place = self.place();
        match block {
            Block::Title(text) | Block::Heading(text) => {
                self.set.headings.push((text.clone(), place));
                self.lines(&[Piece::Plain(text.clone())], &look);
            }
            Block::Paragraph(pieces) => self.lines(pieces, &look),
            Block::Item(text) => self.lines(&[Piece::Plain(format!("• {text}"))], &look),
            Block::Source { number, pieces } => {
                self.set.sources.insert(*number, place);
                let number = Piece::Plain(format!("{number}. "));
                let pieces: Vec<Piece> =
                    std::iter::once(number).chain(pieces.iter().cloned()).collect();
                self.lines(&pieces, &look);
            }
            Block::Quote(text) => self.lines(&[Piece::Plain(text.clone())], &look),
        }
    }

    fn place(&self) -> Place {
        Place { page: self.set.pages.len().saturating_sub(1), top: PAGE_HEIGHT - self.down }
    }

    fn turn(&mut self) {
        if self.set.pages.len() < PAGES_MAX {
            self.set.pages.push(Page::default());
        }
        self.down = MARGIN;
    }

    fn lines(&mut self, pieces: &[Piece], look: &Look) {
        let room = PAGE_WIDTH - 2.0 * MARGIN - look.indent;
        let words: Vec<Word> = pieces.iter().flat_map(|piece| words(piece, look.ink)).collect();
        for line in broken(&words, room / look.size) {
            if self.down + look.size * LINE > PAGE_HEIGHT - MARGIN {
                self.turn();
            }
            self.down += look.size * LINE;
            self.line(&line, look);
        }
    }

    fn line(&mut self, line: &[Word], look: &Look) {
        let base = PAGE_HEIGHT - self.down + look.size * (LINE - 1.0) / 2.0;
        let mut left = MARGIN + look.indent;
        let Some(page) = self.set.pages.last_mut() else { return };
        for word in line {
            let right = left + word.width() * look.size;
            if let Some(leads) = &word.leads {
                let area = [left, base - look.size * 0.2, right, base + look.size * 0.9];
                page.links.push(Link { area, leads: leads.clone() });
            }
            page.content.push_str(&drawn(word, look.size, left, base));
            left = right;
        }
    }
}

fn look(block: &Block) -> Look {
    let (size, indent, above, ink) = match block {
        Block::Title(_) => (20.0, 0.0, 0.0, Ink::Strong),
        Block::Heading(_) => (14.0, 0.0, 14.0, Ink::Strong),
        Block::Paragraph(_) => (11.0, 0.0, 7.0, Ink::Plain),
        Block::Item(_) | Block::Source { .. } => (11.0, 12.0, 5.0, Ink::Plain),
        Block::Quote(_) => (10.0, 28.0, 3.0, Ink::Quiet),
    };
    Look { size, indent, above, ink }
}

/// The words of a piece and the blanks between them.
fn words(piece: &Piece, ink: Ink) -> Vec<Word> {
    let text = piece.text();
    let (ink, leads) = match piece {
        Piece::Plain(_) => (ink, None),
        Piece::Strong(_) => (Ink::Strong, None),
        Piece::Warning(_) => (Ink::Warning, None),
        Piece::Cited(number) => (Ink::Link, Some(Leads::Source(*number))),
        Piece::Address(address) => (Ink::Link, Some(Leads::Web(address.clone()))),
    };
    let word = |text: &str| Word { text: text.to_owned(), ink, leads: leads.clone() };
    text.split_inclusive(' ')
        .flat_map(|part| match part.strip_suffix(' ') {
            Some(part) => vec![word(part), word(" ")],
            None => vec![word(part)],
        })
        .filter(|word| !word.text.is_empty())
        .collect()
}

/// Lines no wider than there is room for, in parts of the size. What is wider by itself is broken where it must be.
fn broken(words: &[Word], room: f32) -> Vec<Vec<Word>> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (Vec::new(), 0.0);
    for word in words.iter().flat_map(|word| word.within(room)) {
        let width = word.width();
        if used + width > room && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
            used = 0.0;
        }
        if line.is_empty() && word.text == " " {
            continue;
        }
        used += width;
        line.push(word);
    }
    lines.push(line);
    lines
}

impl Word {
    fn width(&self) -> f32 {
        self.text.chars().map(width).sum()
    }

    /// Itself, or parts that each have room.
    fn within(&self, room: f32) -> Vec<Self> {
        let mut parts = vec![Self { text: String::new(), ..self.clone() }];
        let mut used = 0.0;
        for letter in self.text.chars() {
            if used + width(letter) > room {
                parts.push(Self { text: String::new(), ..self.clone() });
                used = 0.0;
            }
            used += width(letter);
            if let Some(part) = parts.last_mut() {
                part.text.push(letter);
            }
        }
        parts
    }
}

fn drawn(word: &Word, size: f32, left: f32, base: f32) -> String {
    let color = match word.ink {
        Ink::Plain | Ink::Strong => "0.11 g 0.11 G",
        Ink::Quiet => "0.33 g",
        Ink::Warning => "0.67 0.2 0.2 rg",
        Ink::Link => "0.04 0.34 0.82 rg",
    };
    let mode = match word.ink {
        Ink::Strong => format!("2 Tr {:.2} w", size * STRONG),
        Ink::Plain | Ink::Quiet | Ink::Warning | Ink::Link => "0 Tr".to_owned(),
    };
    let mut content = format!("BT {color} {mode} 1 0 0 1 {left:.2} {base:.2} Tm");
    for (font, run) in runs(&word.text) {
        let name = match font {
            Font::Latin => "L",
            Font::Wide => "W",
        };
        content.push_str(&format!(" /{name} {size} Tf {} Tj", written(&run, font)));
    }
    content.push_str(" ET\n");
    content
}

/// Letters that stand in the same font, one after the other.
fn runs(text: &str) -> Vec<(Font, String)> {
    let mut runs: Vec<(Font, String)> = Vec::new();
    for letter in text.chars() {
        let font = font(letter);
        match runs.last_mut() {
            Some((last, run)) if *last == font => run.push(letter),
            _ => runs.push((font, letter.to_string())),
        }
    }
    runs
}
