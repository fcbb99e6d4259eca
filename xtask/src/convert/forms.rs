//! Thins out the normalizer's table: what the encoder does by a rule need not be listed.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

/// The table: what is found in text, and how it is written instead.
pub(crate) type Forms = BTreeMap<String, String>;

/// Letters of a syllable of Hangul: those that begin it, its vowels, and what may end it, with the
/// first that means nothing does.
const LEADS: std::ops::Range<u32> = 0x1100..0x1113;
const VOWELS: std::ops::Range<u32> = 0x1161..0x1176;
const TAILS: std::ops::Range<u32> = 0x11A7..0x11C3;
const SYLLABLES: u32 = 0xAC00;

/// Leaves out syllables written letter by letter, and forms of several characters the first of
/// which has a form of its own: those are accents on letters in circles, in mathematics, and so on.
/// Says so if the table is not what the rule for syllables makes.
pub(crate) fn thin_out(forms: &Forms) -> Result<Forms, Box<dyn Error>> {
    let syllables = spelt_syllables(forms);
    for (spelt, syllable) in &syllables {
        if forms.get(spelt) != Some(syllable) {
            return Err(format!("{spelt:?} is not written {syllable}").into());
        }
    }
    let has_own_form = |form: &str| {
        let mut characters = form.chars();
        let first = characters.next().map(String::from).unwrap_or_default();
        characters.next().is_some() && forms.contains_key(&first)
    };
    let kept = forms
        .iter()
        .filter(|(form, _)| !syllables.contains_key(*form) && !has_own_form(form))
        .map(|(form, replacement)| (form.clone(), replacement.clone()));
    Ok(kept.collect())
}

/// All ways to spell syllables, by the rule.
fn spelt_syllables(forms: &Forms) -> Forms {
    let among = |letters: &std::ops::Range<u32>| -> BTreeSet<(char, u32)> {
        let own = letters.clone().filter_map(char::from_u32).map(|letter| (letter, letter));
        let others = forms.iter().filter_map(|(form, letter)| {
            Some((single(form).filter(|character| is_letter(*character))?, single(letter)?))
        });
        own.chain(others)
            .filter(|(_, letter)| letters.contains(&u32::from(*letter)))
            .map(|(written, letter)| (written, u32::from(letter) - letters.start))
            .collect()
    };
    let (leads, vowels, tails) = (among(&LEADS), among(&VOWELS), among(&TAILS));
    let mut spelt = Forms::new();
    for (lead, lead_number) in &leads {
        for (vowel, vowel_number) in &vowels {
            let open = SYLLABLES + (lead_number * 21 + vowel_number) * 28;
            let syllable = |tail| char::from_u32(open + tail).map(String::from).unwrap_or_default();
            spelt.insert(format!("{lead}{vowel}"), syllable(0));
            for (tail, number) in tails.iter().filter(|(_, number)| *number > 0) {
                spelt.insert(format!("{lead}{vowel}{tail}"), syllable(*number));
            }
        }
    }
    spelt
}

fn single(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// Whether it may be a letter of Hangul: as part of a syllable, alone, in a circle, or narrow.
fn is_letter(character: char) -> bool {
    matches!(
        character,
        '\u{1100}'..='\u{11FF}' | '\u{3131}'..='\u{318E}' | '\u{3260}'..='\u{327E}'
            | '\u{FFA0}'..='\u{FFDC}'
    )
}
