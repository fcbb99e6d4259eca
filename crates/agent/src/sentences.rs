//! Cuts text into sentences, Korean and English, without taking every full stop for an end.

use std::ops::Range;

/// A line shorter than this, in bytes, was ended on purpose and not wrapped.
const WRAPPED_LINE_BYTES_MIN: usize = 60;

/// Words whose full stop does not end a sentence.
const ABBREVIATIONS: [&str; 30] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "etc", "e.g", "i.e", "cf", "al", "no",
    "fig", "eq", "sec", "vol", "pp", "inc", "ltd", "co", "corp", "approx", "dept", "est", "min",
    "max", "ver",
];

/// The sentences of a text, each with the blanks after it: together they are the whole text.
pub struct Sentences<'a> {
    text: &'a str,
    at: usize,
}

#[must_use]
pub fn sentences(text: &str) -> Sentences<'_> {
    Sentences { text, at: 0 }
}

impl Iterator for Sentences<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.at >= self.text.len() {
            return None;
        }
        let start = self.at;
        self.at = next_end(self.text.as_bytes(), start);
        Some(start..self.at)
    }
}

fn next_end(bytes: &[u8], start: usize) -> usize {
    let mut line_start = start;
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        if !may_end(byte) {
            let rest = bytes.get(at..).unwrap_or_default();
            at += rest.iter().position(|byte| may_end(*byte)).unwrap_or(rest.len());
            continue;
        }
        let end = match byte {
            b'.' | b'!' | b'?' => stop_end(bytes, start, at),
            0xE3 | 0xEF => wide_stop_end(bytes, at),
            b'\n' => {
                let end = ends_with_line(bytes, line_start, at).then_some(at + 1);
                line_start = at + 1;
                end
            }
            _ => None,
        };
        if let Some(end) = end {
            return after_blanks(bytes, end);
        }
        at += 1;
    }
    bytes.len()
}

fn may_end(byte: u8) -> bool {
    matches!(byte, b'.' | b'!' | b'?' | b'\n' | 0xE3 | 0xEF)
}

fn after_blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The end of a sentence at an ASCII stop, if it is one.
fn stop_end(bytes: &[u8], start: usize, at: usize) -> Option<usize> {
    let rest = bytes.get(at..).unwrap_or_default();
    let marks = rest.iter().take_while(|byte| matches!(byte, b'.' | b'!' | b'?')).count();
    let closing = closing_length(rest.get(marks..).unwrap_or_default());
    let end = at + marks + closing;
    let followed = match bytes.get(end) {
        None => return Some(end),
        Some(next) => next.is_ascii_whitespace(),
    };
    let is_stop = marks == 1 && rest.first() == Some(&b'.');
    if !followed {
        // Korean is often typed without a blank after the stop: "했다.그리고".
        let glued =
            is_stop && closing == 0 && ends_korean_clause(bytes, at) && is_hangul(bytes.get(end..));
        return glued.then_some(end);
    }
    if is_stop && !ends_sentence(bytes, start, at, end) {
        return None;
    }
    Some(end)
}

/// Whether a single full stop, followed by a blank, ends more than an abbreviation.
fn ends_sentence(bytes: &[u8], start: usize, at: usize, end: usize) -> bool {
    let next = bytes.get(after_blanks(bytes, end)).copied();
    if next.is_some_and(|byte| byte.is_ascii_lowercase()) {
        return false;
    }
    let before = bytes.get(start..at).unwrap_or_default();
    let blanks = before.iter().rev().position(u8::is_ascii_whitespace);
    let word_start = blanks.map_or(0, |distance| before.len() - distance);
    let word = before.get(word_start..).unwrap_or_default();
    let word =
        word.get(word.iter().take_while(|byte| matches!(byte, b'(' | b'"' | b'[')).count()..);
    let word = word.unwrap_or_default();
    let is_initial = word.len() == 1 && word.first().is_some_and(u8::is_ascii_uppercase);
    // "1." at the beginning of a line is the number of an item.
    let line_is_number = word.iter().all(u8::is_ascii_digit)
        && (word_start == 0 || before.get(word_start - 1) == Some(&b'\n'));
    let is_abbreviation = word.len() <= 6
        && ABBREVIATIONS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word));
    !(is_initial || line_is_number || is_abbreviation)
}

/// The full-width stops of East Asian text end a sentence wherever they stand.
fn wide_stop_end(bytes: &[u8], at: usize) -> Option<usize> {
    let stop = bytes.get(at..at + 3)?;
    // 。 ！ ？
    let is_stop = matches!(stop, b"\xE3\x80\x82" | b"\xEF\xBC\x81" | b"\xEF\xBC\x9F");
    is_stop.then(|| at + 3 + closing_length(bytes.get(at + 3..).unwrap_or_default()))
}

/// Quotes and brackets that close right after a stop belong to its sentence.
fn closing_length(rest: &[u8]) -> usize {
    let mut length = 0;
    while let Some(after) = rest.get(length..) {
        length += match after {
            [b')' | b']' | b'"' | b'\'', ..] => 1,
            // ” ’ 」 』 ）
            [0xE2, 0x80, 0x9D | 0x99, ..]
            | [0xE3, 0x80, 0x8D | 0x8F, ..]
            | [0xEF, 0xBC, 0x89, ..] => 3,
            _ => return length,
        };
    }
    length
}

/// Whether a Korean verb ending stands before `at`: 다, 요, 까, 죠, 음, 함, 됨, 임.
fn ends_korean_clause(bytes: &[u8], at: usize) -> bool {
    let ending = at.checked_sub(3).and_then(|start| bytes.get(start..at));
    let ending = ending.and_then(|syllable| std::str::from_utf8(syllable).ok());
    ending.is_some_and(|syllable| {
        ["다", "요", "까", "죠", "음", "함", "됨", "임"].contains(&syllable)
    })
}

fn is_hangul(rest: Option<&[u8]>) -> bool {
    rest.is_some_and(|rest| matches!(rest.first(), Some(0xEA..=0xED)))
}

/// Whether the line break at `at` ends a sentence: a blank line, a new item or row, or a short line.
fn ends_with_line(bytes: &[u8], line_start: usize, at: usize) -> bool {
    if at - line_start < WRAPPED_LINE_BYTES_MIN {
        return true;
    }
    let next = bytes.get(at + 1..).unwrap_or_default();
    let next = next.get(next.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()..);
    match next.unwrap_or_default() {
        []
        | [b'\n' | b'|' | b'#' | b'>', ..]
        | [b'-' | b'*' | b'+', b' ', ..]
        | [b'`', b'`', b'`', ..] => true,
        [b'0'..=b'9', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            matches!(rest.get(digits), Some(b'.' | b')'))
        }
        _ => false,
    }
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may panic")]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = sentences(text).map(|range| text[range].trim()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn english_sentences_end_at_stops_but_not_at_abbreviations() {
        check(
            "Dr. Kim left. He (i.e. Kim) was late! \"Why?\" she asked.",
            &["Dr. Kim left.", "He (i.e. Kim) was late!", "\"Why?\"", "she asked."],
        );
        check(
            "See e.g. Figure 3.5 of J. Park. Done.",
            &["See e.g. Figure 3.5 of J. Park.", "Done."],
        );
    }

    #[test]
    fn korean_sentences_end_with_or_without_a_blank() {
        check(
            "예산을 설정합니다. 알림이 옵니다.그리고 끝납니다.",
            &["예산을 설정합니다.", "알림이 옵니다.", "그리고 끝납니다."],
        );
        check("환불되나요? 네! 됩니다。다음", &["환불되나요?", "네!", "됩니다。", "다음"]);
    }

    #[test]
    fn list_items_and_short_lines_are_sentences() {
        check("1. Open it\n2. Close it\n", &["1. Open it", "2. Close it"]);
    }

    #[test]
    fn a_wrapped_line_goes_on() {
        let text =
            "This line is longer than what a person would end on purpose and so\nit goes on here.";
        assert_eq!(sentences(text).count(), 1);
    }
}
