//! Brings text into the form the pieces were learnt from: other forms folded, spaces marked.

use super::asset::{DamagedAsset, Keys, Reader};
use super::trie::Trie;

/// What a space becomes, so that a piece can say that a word begins with it.
pub(super) const WORD_START: char = '\u{2581}';

/// First of the letters that begin a syllable of Hangul, and how many there are.
const LEADS: (u32, u32) = (0x1100, 19);
/// The same of its vowels.
const VOWELS: (u32, u32) = (0x1161, 21);
/// The same of what may end it; the first of these means that nothing does.
const TAILS: (u32, u32) = (0x11A7, 28);
/// The first syllable; the others follow by letters.
const SYLLABLES: u32 = 0xAC00;

/// The table of what is written how: a form of Unicode's NFKC with control characters removed.
/// Syllables written letter by letter are not in it, as they follow a rule, nor are accents on
/// letters that are themselves another form of a letter.
#[derive(Debug)]
pub(super) struct Normalizer {
    forms: Trie,
    /// All replacements, one after the other, and by form where its own ends.
    replacements: String,
    replacement_ends: Vec<usize>,
    /// By ASCII character: before another one, it stands for itself.
    plain: Vec<bool>,
}

impl Normalizer {
    /// Reads the table from the asset.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DamagedAsset> {
        let count = reader.count()?;
        let mut keys = Keys::default();
        let mut replacements = String::new();
        let mut replacement_ends = Vec::with_capacity(count);
        for _ in 0..count {
            reader.next_key(&mut keys)?;
            replacements.push_str(reader.short_text()?);
            replacement_ends.push(replacements.len());
        }
        let keys = keys.slices();
        let forms = Trie::new(&keys).ok_or(DamagedAsset("the written forms are out of order"))?;
        let mut plain = vec![true; 128];
        for key in keys.iter().filter(|key| key.get(1).is_none_or(u8::is_ascii)) {
            let first = key.first().and_then(|first| plain.get_mut(usize::from(*first)));
            if let Some(first) = first {
                *first = false;
            }
        }
        Ok(Self { forms, replacements, replacement_ends, plain })
    }

    /// The text with forms folded, runs of spaces made one [`WORD_START`], and one in front.
    /// Empty if nothing but space was there.
    pub(super) fn normalize(&self, text: &str) -> String {
        let mut normalized = String::with_capacity(text.len() + text.len() / 2 + 3);
        normalized.push(WORD_START);
        let mut after_space = true;
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some((syllable, left)) = self.next_syllable(first, rest) {
                normalized.push(syllable);
                after_space = false;
                rest = left;
                continue;
            }
            let (form, left) = self.next_form(first, rest);
            rest = left;
            for character in form.chars() {
                if character != ' ' {
                    normalized.push(character);
                    after_space = false;
                } else if !after_space {
                    normalized.push(WORD_START);
                    after_space = true;
                }
            }
        }
        normalized.truncate(normalized.trim_end_matches(WORD_START).len());
        normalized
    }

    /// How the text's beginning is written, and the rest: the longest form in the table, or else
    /// the first character as it is.
    #[inline]
    fn next_form<'a>(&'a self, first: char, text: &'a str) -> (&'a str, &'a str) {
        let itself = || text.split_at_checked(first.len_utf8()).unwrap_or((text, ""));
        let plain = first.is_ascii()
            && self.plain.get(first as usize).copied().unwrap_or(false)
            && text.as_bytes().get(1).is_none_or(u8::is_ascii);
        if plain {
            return itself();
        }
        let longest = self.forms.prefixes(text.as_bytes()).last();
        let replaced = longest.and_then(|(length, position)| {
            Some((self.replacement(position as usize)?, text.get(length..)?))
        });
        replaced.unwrap_or_else(itself)
    }

    /// The syllable that the text spells letter by letter at its beginning, and the rest.
    #[inline]
    fn next_syllable<'a>(&self, first: char, text: &'a str) -> Option<(char, &'a str)> {
        if !is_letter(first) {
            return None;
        }
        let mut rest = text.chars();
        let mut next_letter = |among| {
            let letter = rest.clone().next().filter(|character| is_letter(*character))?;
            let number = number_among(among, self.letter(letter)?)?;
            rest.next();
            Some(number)
        };
        let lead = next_letter(LEADS)?;
        let vowel = next_letter(VOWELS)?;
        let tail = next_letter(TAILS).unwrap_or(0);
        let syllable = SYLLABLES + (lead * VOWELS.1 + vowel) * TAILS.1 + tail;
        Some((char::from_u32(syllable)?, rest.as_str()))
    }

    /// The letter of a syllable that a letter in any form stands for.
    fn letter(&self, character: char) -> Option<char> {
        let mut buffer = [0; 4];
        let bytes = character.encode_utf8(&mut buffer).as_bytes();
        let Some((length, position)) = self.forms.prefixes(bytes).last() else {
            return Some(character);
        };
        let mut form = self.replacement(position as usize)?.chars();
        let letter = form.next().filter(|_| length == bytes.len())?;
        form.next().is_none().then_some(letter)
    }

    fn replacement(&self, position: usize) -> Option<&str> {
        let before = position.checked_sub(1).and_then(|before| self.replacement_ends.get(before));
        self.replacements.get(before.copied().unwrap_or(0)..*self.replacement_ends.get(position)?)
    }
}

/// Whether it may be a letter of Hangul: as part of a syllable, alone, in a circle, or narrow.
fn is_letter(character: char) -> bool {
    matches!(
        character,
        '\u{1100}'..='\u{11FF}' | '\u{3131}'..='\u{318E}' | '\u{3260}'..='\u{327E}'
            | '\u{FFA0}'..='\u{FFDC}'
    )
}

fn number_among((first, count): (u32, u32), letter: char) -> Option<u32> {
    u32::from(letter).checked_sub(first).filter(|number| *number < count)
}
