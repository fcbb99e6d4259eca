//! Tells the language of a text by its letters.

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
        let (mut hangul, mut latin) = (0_usize, 0_usize);
        for letter in text.chars() {
            latin += usize::from(letter.is_ascii_alphabetic());
            hangul += usize::from(is_hangul(letter));
        }
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
    fn only_korean_and_english_share_no_words() {
        assert!(!Korean.shares_words_with(English) && !English.shares_words_with(Korean));
        assert!(Korean.shares_words_with(Mixed) && Other.shares_words_with(English));
        for language in [Korean, English, Mixed, Other] {
            assert_eq!(Language::from_number(language.number()), language);
        }
    }
}
