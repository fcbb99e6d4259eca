//! What a report is made of when it is set on paper: blocks of pieces, the same for every paper form.

use super::{CitedSource, Claim, Report, one_line as line};

/// A paragraph of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    Title(String),
    Heading(String),
    Paragraph(Vec<Piece>),
    /// An item of a list without numbers.
    Item(String),
    /// A cited source; what is cited leads here.
    Source {
        number: usize,
        pieces: Vec<Piece>,
    },
    /// Words of the source before.
    Quote(String),
}

/// A part of a paragraph that looks and leads the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Plain(String),
    Strong(String),
    /// What warns the reader.
    Warning(String),
    /// The number of a source, leading to it.
    Cited(usize),
    /// An address of the web, leading to it.
    Address(String),
}

impl Piece {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Plain(text) | Self::Strong(text) | Self::Warning(text) | Self::Address(text) => {
                text.clone()
            }
            Self::Cited(number) => format!("[{number}]"),
        }
    }
}

pub(super) fn blocks(report: &Report) -> Vec<Block> {
    let words = report.words_of();
    let mut blocks = vec![Block::Title(line(&report.question))];
    for section in &report.sections {
        blocks.push(Block::Heading(line(&section.heading)));
        blocks.extend(section.claims.iter().map(|claim| claimed(report, claim)));
    }
    if report.claims().next().is_none() {
        blocks.push(Block::Paragraph(vec![Piece::Plain(words.nothing.to_owned())]));
    }
    list(&mut blocks, words.not_found, &report.not_found);
    if !report.sources.is_empty() {
        blocks.push(Block::Heading(words.sources.to_owned()));
    }
    for (number, source) in (1..).zip(&report.sources) {
        blocks.push(Block::Source { number, pieces: listed(report, source) });
        let quotes = report.quotes(source.id).into_iter();
        blocks.extend(quotes.map(|quote| Block::Quote(format!("“{}”", line(quote)))));
    }
    let ended = report.ended.told(report.language()).map(str::to_owned);
    let notes: Vec<String> = ended.into_iter().chain(report.notes.iter().cloned()).collect();
    list(&mut blocks, words.notes, &notes);
    blocks
}

fn list(blocks: &mut Vec<Block>, heading: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    blocks.push(Block::Heading(heading.to_owned()));
    blocks.extend(items.iter().map(|item| Block::Item(line(item))));
}

fn claimed(report: &Report, claim: &Claim) -> Block {
    let mut pieces = vec![Piece::Plain(line(&claim.text))];
    let numbers = report.numbers(claim);
    if !numbers.is_empty() {
        pieces.push(Piece::Plain(" ".to_owned()));
    }
    pieces.extend(numbers.into_iter().map(Piece::Cited));
    if !claim.is_supported {
        pieces.push(Piece::Warning(format!(" ({})", report.words_of().unsupported)));
    }
    Block::Paragraph(pieces)
}

fn listed(report: &Report, source: &CitedSource) -> Vec<Piece> {
    let words = report.words_of();
    let title = if source.title.trim().is_empty() { &source.place } else { &source.title };
    let place = match source.web_address() {
        Some(address) => Piece::Address(address.to_owned()),
        None => Piece::Plain(line(&source.place)),
    };
    let published = source.published.as_ref();
    let published =
        published.map(|day| format!(" · {} {}", words.published, line(day))).unwrap_or_default();
    let accessed =
        format!("{published} · {} {} ({})", words.accessed, source.accessed, source.provider);
    vec![Piece::Strong(line(title)), Piece::Plain(" · ".to_owned()), place, Piece::Plain(accessed)]
}
