//! What a tool's words hide or imitate, and the words without it.

use serde::{Deserialize, Serialize};

use super::DESCRIPTION_BYTES_MAX;
use crate::text::clip;

/// Something about a tool that an honest one does not need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Finding {
    /// Letters that nobody sees but a model reads.
    Invisible { place: String, count: usize },
    /// Marks that turn the direction of the text, so that it reads otherwise than it is.
    Bidirectional { place: String },
    /// Control characters: they steer terminals.
    Control { place: String },
    /// More words than a description needs.
    TooLong { bytes: usize },
    /// Speaks of a tool that is not its server's.
    SpeaksOf { tool: String },
    /// Its name looks like that of another tool, letter for letter.
    LooksLike { tool: String },
}

impl Finding {
    /// Whether the tool is left out altogether: there is no honest reason for it.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::LooksLike { .. } => true,
            Self::Invisible { .. }
            | Self::Bidirectional { .. }
            | Self::Control { .. }
            | Self::TooLong { .. }
            | Self::SpeaksOf { .. } => false,
        }
    }

    /// One line for the person who is asked.
    #[must_use]
    pub fn says(&self) -> String {
        match self {
            Self::Invisible { place, count } => {
                format!("its {place} holds {count} characters that cannot be seen")
            }
            Self::Bidirectional { place } => {
                format!("its {place} turns the direction of reading")
            }
            Self::Control { place } => format!("its {place} holds control characters"),
            Self::TooLong { bytes } => {
                format!(
                    "its description has {bytes} bytes; models see the first {DESCRIPTION_BYTES_MAX}"
                )
            }
            Self::SpeaksOf { tool } => format!("its description speaks of another tool, {tool}"),
            Self::LooksLike { tool } => format!("its name imitates that of {tool}"),
        }
    }
}

/// What is found in a text of a tool.
#[must_use]
pub fn findings(place: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let place = place.to_owned();
    let kinds = kinds(text);
    let count = kinds.iter().filter(|kind| **kind == Kind::Invisible).count();
    if count > 0 {
        found.push(Finding::Invisible { place: place.clone(), count });
    }
    if kinds.contains(&Kind::Bidirectional) {
        found.push(Finding::Bidirectional { place: place.clone() });
    }
    if kinds.contains(&Kind::Control) {
        found.push(Finding::Control { place });
    }
    found
}

/// The text as it may be shown to people and models: only what can be seen.
#[must_use]
pub fn clean(text: &str) -> String {
    let kept = text.chars().zip(kinds(text)).filter(|(_, kind)| *kind == Kind::Plain);
    kept.map(|(letter, _)| letter).collect()
}

/// A description, cleaned and cut.
#[must_use]
pub fn clean_description(text: &str) -> String {
    clip(&clean(text), DESCRIPTION_BYTES_MAX).to_owned()
}

/// A name as the eye sees it: two names of one shape can be taken for each other.
#[must_use]
pub fn shape(name: &str) -> String {
    clean(name).chars().map(look).flat_map(char::to_lowercase).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Invisible,
    Bidirectional,
    Control,
}

fn kinds(text: &str) -> Vec<Kind> {
    let mut before = ' ';
    let mut kinds = Vec::with_capacity(text.len());
    for letter in text.chars() {
        kinds.push(kind(letter, before));
        before = letter;
    }
    kinds
}

fn kind(letter: char, before: char) -> Kind {
    match letter {
        '\n' | '\t' | '\r' => Kind::Plain,
        // A joiner or the selector of a coloured sign is honest behind a picture.
        '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' if is_picture(before) => Kind::Plain,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            Kind::Bidirectional
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180e}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2028}'..='\u{2029}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => Kind::Invisible,
        letter if letter.is_control() => Kind::Control,
        _ => Kind::Plain,
    }
}

fn is_picture(letter: char) -> bool {
    matches!(letter,
        '\u{a9}' | '\u{ae}' | '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{1f000}'..='\u{1faff}'
        | '\u{fe0f}' | '#' | '*' | '0'..='9')
}

/// The Latin letter or digit that a letter of another script is drawn like.
fn look(letter: char) -> char {
    match letter {
        // Full-width forms stand in the order of ASCII.
        '\u{ff01}'..='\u{ff5e}' => {
            let ascii = u32::from(letter) - 0xff01 + 0x21;
            char::from_u32(ascii).map_or(letter, look)
        }
        'а' | 'А' | 'α' | 'Α' | 'ɑ' => 'a',
        'Ь' | 'В' | 'β' | 'Β' => 'b',
        'с' | 'С' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'ё' | 'Ё' | 'ε' | 'Ε' => 'e',
        'ɡ' => 'g',
        'һ' | 'Н' | 'н' | 'Η' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' | 'l' | 'I' | '1' | '|' | 'ӏ' | 'Ӏ' => 'i',
        'ј' | 'Ј' => 'j',
        'к' | 'К' | 'κ' | 'Κ' => 'k',
        'м' | 'М' | 'Μ' => 'm',
        'Ν' | 'ո' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' | '0' | 'σ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' | 'Ѕ' => 's',
        'т' | 'Т' | 'τ' | 'Τ' => 't',
        'υ' | 'ս' => 'u',
        'ѵ' | 'ν' => 'v',
        'ѡ' | 'ԝ' | 'ω' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'Υ' | 'γ' => 'y',
        'Ζ' | 'ᴢ' => 'z',
        '‐' | '‑' | '‒' | '–' | '—' | '-' => '_',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[Finding], cleaned: &str) {
        assert_eq!(findings("description", text), expected, "{text:?}");
        assert_eq!(clean(text), cleaned);
    }

    fn invisible(count: usize) -> Finding {
        Finding::Invisible { place: "description".to_owned(), count }
    }

    #[test]
    fn honest_words_stay_as_they_are() {
        for text in ["Reads a file.", "파일을 읽는다.\n- 하나\tb", "👨‍👩‍👧 family ❤️ 1️⃣", "naïve café"]
        {
            check(text, &[], text);
        }
    }

    #[test]
    fn what_cannot_be_seen_is_found_and_taken_out() {
        check("a\u{200b}b\u{2060}", &[invisible(2)], "ab");
        // Letters of the plane of tags spell ASCII that only a model reads.
        check("x\u{e0068}\u{e0069}", &[invisible(2)], "x");
        check("가\u{3164}나\u{fe00}", &[invisible(2)], "가나");
        check("a\u{200d}b", &[invisible(1)], "ab");
    }

    #[test]
    fn what_turns_or_steers_is_found_and_taken_out() {
        let place = || "description".to_owned();
        check("a\u{202e}b", &[Finding::Bidirectional { place: place() }], "ab");
        check("\u{1b}[2Ja\u{7}", &[Finding::Control { place: place() }], "[2Ja");
    }

    #[test]
    fn letters_that_look_alike_have_one_shape() {
        for twin in ["sеarch", "ｓearch", "SEARCH", "se\u{200b}arch", "ѕеагсһ"] {
            assert_eq!(shape(twin), shape("search"), "{twin}");
        }
        assert_eq!(shape("read-file"), shape("read_file"));
        assert_ne!(shape("research"), shape("search"));
        assert_eq!(shape("검색"), "검색");
    }

    #[test]
    fn a_long_description_is_cut_at_a_character() {
        let long = "샘".repeat(DESCRIPTION_BYTES_MAX);
        let cut = clean_description(&long);
        assert!(cut.len() <= DESCRIPTION_BYTES_MAX && cut.chars().all(|letter| letter == '샘'));
    }
}
