//! Evens out how a character may be written: width, case, accents, decomposed Hangul.

/// One character after evening out, with the bytes of the original text that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) letter: char,
    /// Written as a capital: tells the words inside `GetCostAndUsage` apart.
    pub(crate) is_capital: bool,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The letters of `text`: full-width forms as ASCII, lower case, accents off, jamo composed.
pub(crate) fn letters(text: &str) -> Vec<Letter> {
    let mut letters: Vec<Letter> = Vec::with_capacity(text.len() / 2);
    for (from, original) in text.char_indices() {
        let to = from + original.len_utf8();
        if original.is_ascii() {
            let is_capital = original.is_ascii_uppercase();
            letters.push(Letter { letter: original.to_ascii_lowercase(), is_capital, from, to });
            continue;
        }
        if is_hangul(original) {
            letters.push(Letter { letter: original, is_capital: false, from, to });
            continue;
        }
        if let Some(last) = letters.last_mut()
            && last.to == from
            && let Some(composed) = composed(last.letter, original)
        {
            (last.letter, last.to) = (composed, to);
            continue;
        }
        if is_combining(original) {
            if let Some(last) = letters.last_mut() {
                last.to = to;
            }
            continue;
        }
        let narrow = narrow(original);
        let is_capital = narrow.is_uppercase();
        // The few capitals that become two letters (İ) keep the first: the rest is a mark.
        let lower = narrow.to_lowercase().next().unwrap_or(narrow);
        letters.push(Letter { letter: plain(lower), is_capital, from, to });
    }
    letters
}

/// Whether a syllable ends in a consonant, which decides the particle that may follow it.
pub(crate) fn ends_in_consonant(syllable: char) -> bool {
    is_hangul(syllable) && !(u32::from(syllable) - SYLLABLES_FROM).is_multiple_of(FINALS)
}

pub(crate) fn is_hangul(letter: char) -> bool {
    ('가'..='힣').contains(&letter)
}

/// Han characters and kana, which are written without spaces too.
pub(crate) fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

// The arithmetic of Unicode's chapter 3.12: syllable = (lead × 21 + vowel) × 28 + final.
const SYLLABLES_FROM: u32 = 0xac00;
const LEADS_FROM: u32 = 0x1100;
const VOWELS_FROM: u32 = 0x1161;
const FINALS_FROM: u32 = 0x11a7;
const LEADS: u32 = 19;
const VOWELS: u32 = 21;
const FINALS: u32 = 28;

/// Names of files from macOS and some PDFs hold Hangul as jamo.
fn composed(before: char, jamo: char) -> Option<char> {
    let (before, jamo) = (u32::from(before), u32::from(jamo));
    let lead = before.checked_sub(LEADS_FROM).filter(|lead| *lead < LEADS);
    let vowel = jamo.checked_sub(VOWELS_FROM).filter(|vowel| *vowel < VOWELS);
    if let (Some(lead), Some(vowel)) = (lead, vowel) {
        return char::from_u32(SYLLABLES_FROM + (lead * VOWELS + vowel) * FINALS);
    }
    let open = before
        .checked_sub(SYLLABLES_FROM)
        .filter(|index| *index < LEADS * VOWELS * FINALS && index.is_multiple_of(FINALS))?;
    let last = jamo.checked_sub(FINALS_FROM).filter(|last| (1..FINALS).contains(last))?;
    char::from_u32(SYLLABLES_FROM + open + last)
}

fn is_combining(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' | '\u{feff}' | '\u{ad}')
}

fn narrow(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(letter) - 0xff01 + 0x21).unwrap_or(letter)
        }
        '\u{3000}' | '\u{a0}' => ' ',
        '‘' | '’' | 'ʼ' | '′' => '\'',
        '‐' | '‑' | '‒' | '–' | '−' => '-',
        _ => letter,
    }
}

/// A lower-case letter without its accent, so that `café` is found as `cafe`.
fn plain(letter: char) -> char {
    match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'ď' | 'đ' | 'ð' => 'd',
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => 'e',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => 'g',
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' => 'i',
        'ł' | 'ĺ' | 'ļ' | 'ľ' => 'l',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ơ' => 'o',
        'ŕ' | 'ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => 's',
        'ţ' | 'ť' | 'ț' => 't',
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' | 'ư' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        _ => letter,
    }
}
