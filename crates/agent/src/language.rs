//! Tells the language of a text by its letters.

use crate::text::count_bytes;

/// The languages that Saem tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    Korean,
    English,
    /// Both in about equal parts.
    Mixed,
    Other,
}

/// Letters of one script make a language when they outnumber the other's by this much.
///
/// A Hangul syllable carries as much as two or three Latin letters, and Korean text on technical
/// matters is full of English names.
const LATIN_PER_HANGUL: usize = 4;

impl Language {
    /// The language of a text; `Other` when it has no letters of either script.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let latin = count_bytes(text.as_bytes(), |byte| byte.is_ascii_alphabetic());
        let hangul = if text.is_ascii() { 0 } else { count_hangul(text) };
        match (hangul, latin) {
            (0, 0) => Self::Other,
            (0, _) => Self::English,
            _ if hangul * LATIN_PER_HANGUL >= latin => Self::Korean,
            _ if hangul * LATIN_PER_HANGUL * 4 >= latin => Self::Mixed,
            _ => Self::English,
        }
    }

    /// Whether words of one can be expected to stand in a text of the other.
    #[must_use]
    pub fn shares_words_with(self, other: Self) -> bool {
        !matches!((self, other), (Self::Korean, Self::English) | (Self::English, Self::Korean))
    }

    /// For places that keep numbers only.
    #[must_use]
    pub fn number(self) -> u64 {
        match self {
            Self::Other => 0,
            Self::Korean => 1,
            Self::English => 2,
            Self::Mixed => 3,
        }
    }

    /// What [`Self::number`] gave.
    #[must_use]
    pub fn from_number(number: u64) -> Self {
        match number {
            1 => Self::Korean,
            2 => Self::English,
            3 => Self::Mixed,
            _ => Self::Other,
        }
    }
}

/// A syllable or a single letter of it.
pub(crate) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}' | '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}')
}

/// How many characters [`is_hangul`]. A pass over bytes, without a branch, is many times faster than one over characters:
/// every character of it has three bytes, of which the first two tell most.
fn count_hangul(text: &str) -> usize {
    let few = |skipped: usize| {
        let rest = text.as_bytes().get(skipped..).unwrap_or_default();
        rest.chunks(usize::from(u8::MAX))
    };
    let count = |((first, second), third): ((&[u8], &[u8]), &[u8])| {
        let starts = first.iter().zip(second).zip(third);
        let begins = starts.map(|((a, b), c)| u8::from(begins_hangul(*a, *b, *c)));
        usize::from(begins.sum::<u8>())
    };
    few(0).zip(few(1)).zip(few(2)).map(count).sum()
}

/// Whether these are the bytes of a character that [`is_hangul`].
fn begins_hangul(first: u8, second: u8, third: u8) -> bool {
    // Bytes after the first of a character are below all that are looked for as a first one.
    let syllable = (first == 0xEA) & (second >= 0xB0)
        | (first == 0xEB)
        | (first == 0xEC)
        | (first == 0xED) & ((second < 0x9E) | (second == 0x9E) & (third <= 0xA3));
    let letter = (first == 0xE1) & (0x84..=0x87).contains(&second);
    let old_letter =
        (second == 0x84) & (third >= 0xB0) | (second == 0x85) | (second == 0x86) & (third <= 0x8F);
    syllable | letter | (first == 0xE3) & old_letter
}

#[cfg(test)]
mod tests {
    use super::Language::{self, English, Korean, Mixed, Other};

    #[test]
    fn korean_with_english_names_is_korean() {
        for (text, expected) in [
            ("EC2 비용을 줄이는 방법", Korean),
            ("How do I cut EC2 cost?", English),
            ("AWS Cost Explorer에서 보기", Korean),
            ("Cost Explorer dashboard 보기", Mixed),
            ("The word 샘 means spring in the language of Korea, as everybody knows", English),
            ("123 %", Other),
            ("", Other),
        ] {
            assert_eq!(Language::of(text), expected, "{text}");
        }
    }

    #[test]
    fn hangul_is_counted_by_its_bytes_as_by_its_characters() {
        let all: String = ('\0'..=char::MAX).collect();
        let expected = all.chars().filter(|letter| super::is_hangul(*letter)).count();
        assert_eq!(super::count_hangul(&all), expected);
        for letter in ('\0'..=char::MAX).filter(|letter| letter.len_utf8() == 3) {
            let mut bytes = [0; 4];
            letter.encode_utf8(&mut bytes);
            let [first, second, third, _] = bytes;
            let found = super::begins_hangul(first, second, third);
            assert_eq!(found, super::is_hangul(letter), "{letter:?}");
        }
    }

    #[test]
    fn only_korean_and_english_share_no_words() {
        assert!(!Korean.shares_words_with(English) && !English.shares_words_with(Korean));
        assert!(Korean.shares_words_with(Mixed) && Other.shares_words_with(English));
        for language in [Korean, English, Mixed, Other] {
            assert_eq!(Language::from_number(language.number()), language);
        }
    }
}
