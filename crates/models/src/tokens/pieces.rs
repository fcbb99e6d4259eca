//! Cuts a text into the pieces within which o200k joins bytes to tokens: words, numbers, signs, blanks.
//!
//! The original is a regular expression of seven alternatives, the first that matches wins. Here each function is one
//! or two of them, and gives the length of the piece in bytes:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! \p{N}{1,3}
//!  ?[^\s\p{L}\p{N}]+[\r\n/]*
//! \s*[\r\n]+
//! \s+(?!\S)
//! \s+
//! ```

use super::classes::{Class, Classes};

/// Digits that stand in one piece.
const NUMBERS_MAX: usize = 3;

/// The pieces of a text, in order; together they are the text.
pub(super) fn pieces<'text>(
    text: &'text str,
    classes: &Classes,
) -> impl Iterator<Item = &'text str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, others) = rest.split_at_checked(first_piece(rest, classes)?)?;
        rest = others;
        Some(piece)
    })
}

/// The length of a text's first piece; `None` if the text is empty.
fn first_piece(text: &str, classes: &Classes) -> Option<usize> {
    let first = text.chars().next()?;
    match classes.of(first) {
        Class::Number => Some(number(text, classes)),
        Class::Upper | Class::Lower | Class::Letter => word(text, 0, classes),
        // A mark is what stands before a word; where none follows, or one of capitals alone, it is a word of its own.
        Class::Mark => {
            let before = first.len_utf8();
            let (mixed, _) = letters(text.get(before..)?, classes);
            Some(with_word_end(text, before + mixed))
        }
        Class::Other if matches!(first, '\r' | '\n') => Some(blanks(text)),
        Class::Other => word(text, first.len_utf8(), classes)
            .or_else(|| signs(text, classes))
            .or_else(|| Some(blanks(text))),
    }
}

/// A word after so many bytes of what stands before it; `None` if there is no letter.
fn word(text: &str, before: usize, classes: &Classes) -> Option<usize> {
    match letters(text.get(before..)?, classes) {
        (0, 0) => None,
        (0, capitals) => Some(with_word_end(text, before + capitals)),
        (mixed, _) => Some(with_word_end(text, before + mixed)),
    }
}

/// Lengths of the two words that a text may begin with: one that ends in something else than a capital, which is
/// preferred, and one of capitals alone. Zero stands for neither.
///
/// A word is capitals and then small letters; letters without case and marks go as either.
fn letters(text: &str, classes: &Classes) -> (usize, usize) {
    let (mut mixed, mut capitals) = (0, 0);
    let mut has_small = false;
    for (place, character) in text.char_indices() {
        let end = place + character.len_utf8();
        match classes.of(character) {
            Class::Upper if has_small => break,
            Class::Upper => capitals = end,
            Class::Lower => (has_small, mixed) = (true, end),
            Class::Letter | Class::Mark => (mixed, capitals) = (end, end),
            Class::Number | Class::Other => break,
        }
    }
    (mixed, capitals)
}

/// The length of a piece with the `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` that may follow its first `length` bytes.
fn with_word_end(text: &str, length: usize) -> usize {
    let mut characters = text.get(length..).unwrap_or_default().chars();
    if characters.next() != Some('\'') {
        return length;
    }
    let [first, second] =
        [(); 2].map(|()| characters.next().map(|found| found.to_ascii_lowercase()));
    match (first, second) {
        (Some('s' | 't' | 'm' | 'd'), _) => length + 2,
        (Some('r' | 'v'), Some('e')) | (Some('l'), Some('l')) => length + 3,
        // The long s, which differs from S in case alone.
        (Some('ſ'), _) => length + 1 + 'ſ'.len_utf8(),
        _ => length,
    }
}

/// One to three digits, of whatever script.
fn number(text: &str, classes: &Classes) -> usize {
    let digits = text.chars().take_while(|character| classes.of(*character) == Class::Number);
    digits.take(NUMBERS_MAX).map(char::len_utf8).sum()
}

/// Signs with at most one space before them, and the ends of lines and slashes after them.
fn signs(text: &str, classes: &Classes) -> Option<usize> {
    let rest = text.strip_prefix(' ').unwrap_or(text);
    let is_sign = |character: char| match classes.of(character) {
        Class::Other => !character.is_whitespace(),
        Class::Mark => true,
        Class::Upper | Class::Lower | Class::Letter | Class::Number => false,
    };
    let after = rest.trim_start_matches(is_sign);
    let is_found = after.len() < rest.len();
    is_found.then(|| text.len() - after.trim_start_matches(['\r', '\n', '/']).len())
}

/// Blanks up to the last end of a line among them. Where there is none, all but the last, which goes with what follows.
fn blanks(text: &str) -> usize {
    let after = text.trim_start().len();
    let run = text.get(..text.len() - after).unwrap_or(text);
    if let Some(line_end) = run.rfind(['\r', '\n']) {
        return line_end + 1;
    }
    let last = run.chars().next_back().map_or(0, char::len_utf8);
    if after == 0 || run.len() == last { run.len() } else { run.len() - last }
}
