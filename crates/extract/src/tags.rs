//! What can be said of a chunk at a glance: steps, tables, code, conditions, and its language.

use agent::text::count_bytes;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    Ko,
    En,
    /// Korean and Latin letters, neither in the great majority.
    Mixed,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkTags {
    pub has_steps: bool,
    pub has_table: bool,
    pub has_code: bool,
    pub has_conditions: bool,
    pub language: Language,
}

/// What the words of a text alone say about it; tables are known by their blocks.
pub(crate) fn tags(text: &str) -> ChunkTags {
    ChunkTags {
        has_steps: has_steps(text),
        has_table: false,
        has_code: text.starts_with("```") || text.contains("\n```"),
        has_conditions: has_conditions(text),
        language: language(text),
    }
}

/// Words that make a statement depend on something, by their first letter: looking for each of them at every word
/// is slow.
const fn english_conditions(first: u8) -> &'static [&'static str] {
    match first.to_ascii_lowercase() {
        b'a' => &["as long as", "at least"],
        b'd' => &["depends on"],
        b'e' => &["except"],
        b'i' => &["if", "in case"],
        b'm' => &["must be", "must have"],
        b'o' => &["only", "on condition"],
        b'p' => &["prerequisite", "provided that"],
        b'r' => &["required", "requirement", "requires"],
        b'u' => &["unless"],
        _ => &[],
    }
}

/// The same in Korean, by their first syllable.
fn korean_conditions(first: char) -> &'static [&'static str] {
    match first {
        '경' => &["경우"],
        '조' => &["조건"],
        '때' => &["때만", "때에만"],
        '하' => &["하려면"],
        '려' => &["려면"],
        '으' => &["으려면"],
        '필' => &["필요합니다", "필요하", "필요해"],
        '해' => &["해야"],
        '전' => &["전제"],
        '한' => &["한하여", "한해"],
        '이' => &["이상일", "이하일", "이라면"],
        '제' => &["제외"],
        '불' => &["불가"],
        '없' => &["없으면"],
        '있' => &["있어야"],
        _ => &[],
    }
}

const STEPS: [&str; 4] = ["첫째", "둘째", "셋째", "①"];
const STEP_NUMBERED_KOREAN: &str = "단계";
const STEPS_NUMBERED_ENGLISH: [&str; 3] = ["step ", "Step ", "STEP "];
/// So many numbered lines are steps; a single one may be a date or a version.
const NUMBERED_LINES_MIN: usize = 2;
/// Five Latin letters say as much as two Hangul syllables.
const LATIN_PER_HANGUL: (usize, usize) = (5, 2);
/// The first byte of kana, and the first two of East Asian punctuation marks.
const KANA_FIRST: u8 = 0xE3;
const MARKS_FIRST: [u8; 2] = [KANA_FIRST, 0x80];

/// The language by the share of scripts. Passes over bytes are many times faster than one over characters.
fn language(text: &str) -> Language {
    if text.is_ascii() {
        let has_letters = text.bytes().any(|byte| byte.is_ascii_alphabetic());
        return if has_letters { Language::En } else { Language::Other };
    }
    let bytes = text.as_bytes();
    let hangul = count_bytes(bytes, |byte| matches!(byte, 0xEA..=0xED));
    let plain = count_bytes(bytes, |byte| byte.is_ascii_alphabetic());
    let accented = count_bytes(bytes, |byte| matches!(byte, 0xC3..=0xC8));
    let kana = count_kana(bytes);
    let others = count_bytes(bytes, |byte| matches!(byte, 0xC9..=0xDF | 0xE0 | 0xE1 | 0xE4..=0xE9));
    let other = others + kana;
    let korean = hangul * LATIN_PER_HANGUL.0 / LATIN_PER_HANGUL.1;
    let latin = plain + accented;
    let all = korean + latin + other * 2;
    match () {
        () if all == 0 || other * 4 > all => Language::Other,
        () if korean * 10 >= all * 6 => Language::Ko,
        () if korean * 20 > all * 3 => Language::Mixed,
        // English hardly has accents; the other languages in Latin letters live on them.
        () if accented * 50 > latin => Language::Other,
        () => Language::En,
    }
}

/// Kana shares its first byte, which most texts do not have, with the East Asian punctuation marks.
fn count_kana(bytes: &[u8]) -> usize {
    match count_bytes(bytes, |byte| byte == KANA_FIRST) {
        0 => 0,
        all => all - bytes.windows(MARKS_FIRST.len()).filter(|two| *two == MARKS_FIRST).count(),
    }
}

fn has_steps(text: &str) -> bool {
    let numbered = text.lines().filter(|line| is_numbered(line)).take(NUMBERED_LINES_MIN);
    numbered.count() == NUMBERED_LINES_MIN
        || STEPS.iter().any(|word| text.contains(word))
        || has_near_digit(text, STEP_NUMBERED_KOREAN, Side::Before)
        || STEPS_NUMBERED_ENGLISH.iter().any(|word| has_near_digit(text, word, Side::After))
}

/// `1. ` or `2) ` at the beginning of a line.
fn is_numbered(line: &str) -> bool {
    let line = line.trim_start().as_bytes();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && matches!(line.get(digits..), Some([b'.' | b')', b' ', ..]))
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

/// Whether the word occurs with a digit right beside it.
fn has_near_digit(text: &str, word: &str, side: Side) -> bool {
    // Most texts do not have it, and a plain search is many times faster than one for all places.
    text.contains(word)
        && text.match_indices(word).any(|(at, _)| {
            let beside = match side {
                Side::Before => at.checked_sub(1),
                Side::After => at.checked_add(word.len()),
            };
            let beside = beside.and_then(|at| text.as_bytes().get(at));
            beside.is_some_and(u8::is_ascii_digit)
        })
}

fn has_conditions(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut before = b' ';
    for (at, &byte) in bytes.iter().enumerate() {
        let may_begin = CONDITION_STARTS.get(usize::from(byte)).is_some_and(|starts| *starts);
        let begins_word = !before.is_ascii_alphanumeric() || !byte.is_ascii();
        before = byte;
        if !(may_begin & begins_word) {
            continue;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let found = if byte.is_ascii() { begins_english(rest) } else { begins_korean(rest) };
        if found {
            return true;
        }
    }
    false
}

/// By byte, whether a word of a condition may begin with it: most letters are passed over at a glance.
#[expect(clippy::indexing_slicing, reason = "this runs at compile time, where the compiler looks")]
const CONDITION_STARTS: [bool; 256] = {
    let mut starts = [false; 256];
    let mut byte = 0;
    while byte < starts.len() {
        let is_korean = matches!(byte, 0xEA..=0xED);
        starts[byte] = is_korean || !english_conditions(byte as u8).is_empty();
        byte += 1;
    }
    starts
};

fn begins_english(rest: &[u8]) -> bool {
    let begins = |words: &&str| {
        let start = rest.get(..words.len());
        let after = rest.get(words.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(words.as_bytes()))
            && !after.is_some_and(u8::is_ascii_alphanumeric)
    };
    rest.first().is_some_and(|first| english_conditions(*first).iter().any(begins))
}

fn begins_korean(rest: &[u8]) -> bool {
    let [first, second, third, ..] = *rest else { return false };
    let code =
        u32::from(first & 0xF) << 12 | u32::from(second & 0x3F) << 6 | u32::from(third & 0x3F);
    let words = char::from_u32(code).map_or(&[][..], korean_conditions);
    words.iter().any(|word| rest.starts_with(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_found_by_numbers_and_by_words() {
        for text in ["1. 연다\n2. 닫는다", "1단계: 연다", "Step 2: close", "① 연다", "첫째, 연다"]
        {
            assert!(has_steps(text), "{text}");
        }
        for text in ["Version 1. Released.", "step by step", "3.5 단위", "2026. 5. 1 기준"] {
            assert!(!has_steps(text), "{text}");
        }
    }

    #[test]
    fn conditions_are_found_in_both_languages() {
        for text in [
            "관리자인 경우 가능합니다",
            "설정하려면 권한이 필요합니다",
            "Available only if paid.",
            "Unless you opt out",
        ] {
            assert!(has_conditions(text), "{text}");
        }
        for text in ["메뉴를 누릅니다", "The onlyfile is here. Click save.", "gif"] {
            assert!(!has_conditions(text), "{text}");
        }
    }

    #[test]
    fn every_condition_stands_under_the_way_it_begins() {
        for first in b'a'..=b'z' {
            for words in english_conditions(first) {
                assert!(words.as_bytes().starts_with(&[first]) && has_conditions(words), "{words}");
            }
        }
        for first in '가'..='힣' {
            for word in korean_conditions(first) {
                assert!(word.starts_with(first) && has_conditions(word), "{word}");
            }
        }
    }

    #[test]
    fn the_language_follows_the_letters() {
        assert_eq!(language("Cost Explorer and Budgets 메뉴에서 확인합니다"), Language::Mixed);
        assert_eq!(language("비용 분석 메뉴에서 EC2 예산을 확인합니다"), Language::Ko);
        assert_eq!(language("Check the budget in the cost menu."), Language::En);
        assert_eq!(language("費用を確認します"), Language::Other);
        assert_eq!(language("Проверьте бюджет"), Language::Other);
        assert_eq!(language("Vérifiez le budget dans le menu des coûts"), Language::Other);
        assert_eq!(language("123 | 456"), Language::Other);
    }
}
