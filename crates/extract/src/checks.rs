//! What holds for whatever is read and split; for tests and for the fuzzer, which share it.
//!
//! A function here panics when something does not hold, and returns when it does.
#![expect(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a check that meets something unexpected should end there"
)]

use crate::{
    BlockKind, Extracted, Format, Hint, Limits, Split, SplitLimits, estimate_tokens, extract,
    front_matter, markdown, split,
};

/// Longest text that the fuzzer's documents may become, so that the bound is met and not only there.
const TEXT_BYTES_MAX: usize = 1 << 16;
/// Most blocks of theirs.
const BLOCKS_MAX: usize = 1 << 10;

/// Reads and splits: the first byte chooses the format, the next two the size of chunks.
pub fn chunker(bytes: &[u8]) {
    let [kind, target, more, document @ ..] = bytes else { return };
    let file_name = ["x.md", "x.txt", "x.json", "x.csv"][usize::from(kind % 4)];
    let tokens_target = usize::from(*target) * 2 + 1;
    let tokens_max = (tokens_target + usize::from(*more)).max(16);
    let limits = SplitLimits { tokens_target, tokens_max, tokens_small: usize::from(kind / 4) };
    check(document, file_name, &small(), &limits);
}

/// Reads a web page and splits it.
pub fn html(bytes: &[u8]) {
    check(bytes, "x.html", &small(), &SplitLimits::default());
}

/// Everything that holds for a document of that name; one that cannot be read is as good as one that can.
pub fn check(bytes: &[u8], file_name: &str, limits: &Limits, split_limits: &SplitLimits) {
    let hint = Hint { file_name: Some(file_name), ..Hint::default() };
    let read = extract(bytes, &hint, limits);
    assert_eq!(read, extract(bytes, &hint, limits), "the same bytes give the same result");
    let extracted = match read {
        Ok(extracted) => extracted,
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains('\n'), "a reason is one line: {line:?}");
            return;
        }
    };
    assert!(extracted.text.len() <= limits.text_bytes_max);
    assert!(extracted.blocks.len() <= limits.blocks_max);
    check_blocks(&extracted);
    let parts = split(&extracted, split_limits);
    assert_eq!(parts, split(&extracted, split_limits), "splitting twice gives the same");
    check_chunks(&extracted, &parts, split_limits);
    check_nothing_lost(&extracted, &parts);
}

fn small() -> Limits {
    Limits { text_bytes_max: TEXT_BYTES_MAX, blocks_max: BLOCKS_MAX, ..Limits::default() }
}

/// Blocks are in order, inside the text, and all that is not blank or front matter lies in one.
fn check_blocks(extracted: &Extracted) {
    let text = &extracted.text;
    let is_markdown = extracted.format == Format::Markdown;
    let mut at = if is_markdown { front_matter::parse(text).body_start } else { 0 };
    for block in &extracted.blocks {
        assert!(block.start >= at && block.end > block.start, "{:?}", extracted.blocks);
        assert!(text[at..block.start].trim().is_empty(), "{:?}", &text[at..block.start]);
        assert!(!text[block.start..block.end].trim().is_empty(), "a block says something");
        at = block.end;
        match block.kind {
            BlockKind::Table { header_end: inner } | BlockKind::Pair { answer_start: inner } => {
                assert!(block.start < inner && inner <= block.end && text.is_char_boundary(inner));
            }
            BlockKind::Heading { .. }
            | BlockKind::Paragraph
            | BlockKind::ListItem { .. }
            | BlockKind::Code
            | BlockKind::Quote
            | BlockKind::Record => {}
        }
    }
    assert!(text[at..].trim().is_empty(), "{:?}", &text[at..]);
}

/// Chunks are in order, inside their section and within the bound, and their pieces are all of them.
fn check_chunks(extracted: &Extracted, parts: &Split, limits: &SplitLimits) {
    let text = &extracted.text;
    let mut last_end = 0;
    for chunk in &parts.chunks {
        assert!(chunk.start < chunk.end && chunk.start >= last_end);
        last_end = chunk.end;
        assert!(text.is_char_boundary(chunk.start) && text.is_char_boundary(chunk.end));
        assert!(chunk.text.ends_with(&text[chunk.start..chunk.end]));
        assert!(estimate_tokens(&chunk.text) <= limits.tokens_max, "{:?}", chunk.text);
        let section = &parts.sections[chunk.section];
        assert!(section.start <= chunk.start && chunk.end <= section.end);
        let pieces: String =
            chunk.pieces().iter().map(|piece| &chunk.text[piece.clone()]).collect();
        assert_eq!(letters(&pieces), letters(&chunk.text));
    }
    for (index, section) in parts.sections.iter().enumerate() {
        assert_eq!(section.parent.is_none(), index == 0);
        assert!(section.parent.is_none_or(|parent| parent < index));
        assert!(section.start <= section.end && section.end <= text.len());
    }
}

/// Every block is in the chunks, and every heading in a chunk or in the tree.
fn check_nothing_lost(extracted: &Extracted, parts: &Split) {
    let text = &extracted.text;
    let mut sections = parts.sections.iter().skip(1);
    let mut chunks = parts.chunks.as_slice();
    for block in &extracted.blocks {
        let source = &text[block.start..block.end];
        let passed = chunks.iter().take_while(|chunk| chunk.end <= block.start).count();
        chunks = &chunks[passed..];
        let mut covered = String::new();
        for chunk in chunks.iter().take_while(|chunk| chunk.start < block.end) {
            covered.push_str(&text[chunk.start.max(block.start)..chunk.end.min(block.end)]);
        }
        let is_covered = letters(&covered) == letters(source);
        if let BlockKind::Heading { .. } = block.kind {
            let section = sections.next().unwrap();
            assert_eq!(section.start, block.start);
            let heading = markdown::heading_text(source, extracted.format);
            assert!(is_covered || section.heading == heading, "{source:?}");
        } else {
            assert!(is_covered, "{source:?} of {covered:?}");
        }
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}
