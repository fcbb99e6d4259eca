//! Cuts a chunk's text into short spans for the embedder: it knows sentences better than pages.

use std::ops::Range;

use agent::sentences::sentences;

use crate::document::{slice, trimmed};

/// A piece shorter than this takes the next sentence in, in bytes: about 25 tokens of Korean or English.
const PIECE_BYTES_MIN: usize = 100;
/// A piece is not filled beyond this: about 60 tokens.
const PIECE_BYTES_MAX: usize = 220;

/// Ranges of the text, in order; a question of `question_end` bytes at the beginning is one of its own.
pub(super) fn pieces(text: &str, question_end: usize) -> Vec<Range<usize>> {
    let mut found = Vec::with_capacity(text.len() / PIECE_BYTES_MIN + 1);
    // A chunk that was cut before its question ended has no question to set apart.
    let question_end = if question_end < text.len() { question_end } else { 0 };
    push_pieces(text, 0..question_end, &mut found);
    push_pieces(text, question_end..text.len(), &mut found);
    found
}

fn push_pieces(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let mut open = range.start..range.start;
    for sentence in sentences(slice(text, range.clone())) {
        let sentence = range.start + sentence.start..range.start + sentence.end;
        let fits = sentence.end - open.start <= PIECE_BYTES_MAX;
        if open.len() >= PIECE_BYTES_MIN || !fits {
            push_within_bound(text, open, found);
            open = sentence;
        } else {
            open.end = sentence.end;
        }
    }
    push_within_bound(text, open, found);
}

/// Pushes a range, cut at words when a single sentence is longer than a piece may be.
fn push_within_bound(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let mut rest = trimmed(text, range);
    while rest.len() > PIECE_BYTES_MAX {
        let end = cut_before(text, &rest);
        found.push(trimmed(text, rest.start..end));
        rest = trimmed(text, end..rest.end);
    }
    if !rest.is_empty() {
        found.push(rest);
    }
}

/// The last blank within the bound, else the last bound between characters.
fn cut_before(text: &str, range: &Range<usize>) -> usize {
    let bound = text.floor_char_boundary(range.start + PIECE_BYTES_MAX);
    let head = slice(text, range.start..bound);
    let blank = head.rfind(char::is_whitespace).filter(|at| *at >= PIECE_BYTES_MIN);
    range.start + blank.unwrap_or(head.len())
}
