//! A quick guess at how many tokens a text costs, on the safe side.
//!
//! It follows the way the o200k tokenizer cuts text into words before it looks them up, and charges each
//! kind of word its average price. Two texts together never cost more than they do apart, so sums of
//! estimates are bounds.

/// Prices are in hundredths of a token, fitted on Korean and English prose, Markdown, tables and code.
const TOKEN: u64 = 100;
/// What a token of the estimate has to cover: less than its price, which keeps most guesses on the safe side.
const TOKEN_WITH_MARGIN: u64 = 96;
const HANGUL_FIRST: u64 = TOKEN + 2;
/// Every Hangul syllable of a word after the first.
const HANGUL_NEXT: u64 = 74;
const HAN: u64 = 115;
const KANA: u64 = 90;
/// An accented Latin letter: it breaks the word it stands in.
const LATIN_ACCENTED: u64 = 90;
/// A letter of another script that takes two bytes: Cyrillic, Greek, Hebrew, Arabic.
const TWO_BYTE_LETTER: u64 = 60;
const THREE_BYTE_LETTER: u64 = 95;
const SYMBOL: u64 = 115;
/// Emoji and rare ideographs fall apart into single bytes.
const FOUR_BYTE: u64 = 290;
/// A punctuation mark glued to the word after it, and every mark of a run after the third.
const MARK_GLUED: u64 = 35;
/// Capitals after the first of a word: abbreviations are rarely one token.
const CAPITAL_NEXT: u64 = 20;
/// A capital at the beginning: names are rarer than other words.
const CAPITAL_FIRST: u64 = 7;
const DIGITS_PER_TOKEN: usize = 3;

/// About how many tokens a modern tokenizer makes of `text`; rarely too few.
pub fn estimate_tokens(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut cost, mut before) = (0, 0, Before::Start);
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let (length, price, after) = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => word(rest, before),
            b'0'..=b'9' => digits(rest),
            b' ' | b'\t' => blanks(rest),
            b'\n' | b'\r' => newlines(rest, before),
            0..=0x7F => marks(rest, before),
            0xEA..=0xED if is_hangul(rest) => hangul(rest, before),
            _ => foreign(rest),
        };
        at += length;
        cost += price;
        before = after;
    }
    usize::try_from(cost.div_ceil(TOKEN_WITH_MARGIN)).unwrap_or(usize::MAX)
}

/// What stands before the place we look at: it decides what merges with what.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Start,
    Blank,
    Mark,
    Hangul,
    Other,
}

/// A run's length in bytes, its price, and what it leaves for the run after it.
type Run = (usize, u64, Before);

/// Letters up to the next capital that follows a small one.
fn word(rest: &[u8], before: Before) -> Run {
    let (mut length, mut capitals, mut small_seen) = (0usize, 0u64, false);
    for &byte in rest {
        match byte {
            b'a'..=b'z' => small_seen = true,
            b'A'..=b'Z' if !small_seen => capitals += 1,
            _ => break,
        }
        length += 1;
    }
    let past = |count: usize| length.saturating_sub(count) as u64;
    let per_letter = if before == Before::Blank { 4 } else { 9 };
    let capital_price = match capitals {
        0 => 0,
        count => CAPITAL_FIRST + CAPITAL_NEXT * (count - 1),
    };
    let price = TOKEN + per_letter * past(3) + 8 * past(10) + capital_price;
    (length, price, Before::Other)
}

fn digits(rest: &[u8]) -> Run {
    let length = run_length(rest, |byte| byte.is_ascii_digit());
    (length, TOKEN * length.div_ceil(DIGITS_PER_TOKEN) as u64, Before::Other)
}

/// One blank belongs to the word after it; more are a token of their own.
fn blanks(rest: &[u8]) -> Run {
    let length = run_length(rest, |byte| matches!(byte, b' ' | b'\t'));
    let price = match rest.get(length) {
        Some(b'\n' | b'\r') => 0,
        None | Some(b'0'..=b'9') => TOKEN,
        Some(_) if length == 1 => 0,
        Some(_) => TOKEN,
    };
    (length, price, Before::Blank)
}

/// Line breaks right after a punctuation mark belong to it.
fn newlines(rest: &[u8], before: Before) -> Run {
    let length = run_length(rest, |byte| matches!(byte, b'\n' | b'\r'));
    (length, if before == Before::Mark { 0 } else { TOKEN }, Before::Other)
}

fn marks(rest: &[u8], before: Before) -> Run {
    let length = run_length(rest, |byte| {
        byte.is_ascii()
            && !byte.is_ascii_alphanumeric()
            && !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
    });
    // At the start nothing is known of what comes before, so it costs as if it were a blank.
    let glued = length == 1
        && !matches!(before, Before::Start | Before::Blank)
        && rest.get(1).is_some_and(|next| next.is_ascii_alphabetic() || *next >= 0xEA);
    let price = match length {
        1 if glued => MARK_GLUED,
        1 => TOKEN,
        2 => TOKEN + 10,
        _ => TOKEN + 40 + MARK_GLUED * (length as u64 - 3),
    };
    (length, price, Before::Mark)
}

/// Syllables up to the end of a word.
fn hangul(rest: &[u8], before: Before) -> Run {
    let syllables = rest.chunks_exact(3).take_while(|bytes| is_hangul(bytes)).count();
    let first = if before == Before::Hangul { HANGUL_NEXT } else { HANGUL_FIRST };
    (syllables * 3, first + HANGUL_NEXT * (syllables as u64).saturating_sub(1), Before::Hangul)
}

/// Whether the bytes begin with a syllable, U+AC00 to U+D7A3.
fn is_hangul(bytes: &[u8]) -> bool {
    match bytes {
        [0xEA, second, ..] => *second >= 0xB0,
        [0xEB | 0xEC, ..] => true,
        [0xED, second, third, ..] => *second < 0x9E || (*second == 0x9E && *third <= 0xA3),
        _ => false,
    }
}

/// One other character outside ASCII.
fn foreign(rest: &[u8]) -> Run {
    let tail = |at: usize| u32::from(rest.get(at).copied().unwrap_or_default()) & 0x3F;
    let lead = u32::from(rest.first().copied().unwrap_or_default());
    let code = match lead {
        0xE0..=0xEF => (lead & 0xF) << 12 | tail(1) << 6 | tail(2),
        _ => (lead & 0x1F) << 6 | tail(1),
    };
    match lead {
        0..=0xDF => match code {
            0..=0xBF => (2, TOKEN, Before::Mark),
            0xC0..=0x24F => (2, LATIN_ACCENTED, Before::Other),
            _ => (2, TWO_BYTE_LETTER, Before::Other),
        },
        0xE0..=0xEF => match code {
            0x3400..=0x9FFF => (3, HAN, Before::Other),
            0x3040..=0x30FF => (3, KANA, Before::Other),
            0x2000..=0x206F | 0x3000..=0x303F => (3, TOKEN, Before::Mark),
            0x2070..=0x2BFF | 0xFB00..=0xFFFF => (3, SYMBOL, Before::Mark),
            _ => (3, THREE_BYTE_LETTER, Before::Other),
        },
        _ => (4, FOUR_BYTE, Before::Other),
    }
}

fn run_length(rest: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    rest.iter().position(|&byte| !belongs(byte)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_words_cost_about_a_token_each() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("the cat sat on the mat"), 7);
        assert_eq!(estimate_tokens("2024"), 3);
    }

    #[test]
    fn a_korean_sentence_is_not_underestimated() {
        // o200k makes 11 of it.
        let tokens = estimate_tokens("비용 분석 메뉴에서 예산을 설정합니다.");
        assert!((11..=17).contains(&tokens), "{tokens}");
    }

    proptest! {
        #[test]
        fn two_texts_together_never_cost_more_than_apart(a in "[ a-zA-Z0-9.,(|\n가-힣é漢]{0,40}", b in "[ a-zA-Z0-9.,(|\n가-힣é漢]{0,40}") {
            let together = estimate_tokens(&format!("{a}{b}"));
            prop_assert!(together <= estimate_tokens(&a) + estimate_tokens(&b));
        }

        #[test]
        fn any_two_texts_together_never_cost_more_than_apart(a in "\\PC{0,30}", b in "\\PC{0,30}") {
            let together = estimate_tokens(&format!("{a}{b}"));
            prop_assert!(together <= estimate_tokens(&a) + estimate_tokens(&b));
        }
    }
}
