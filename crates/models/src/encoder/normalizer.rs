//! Brings text into the form the pieces were learnt from: compatibility forms folded, spaces marked.

use super::asset::{DamagedAsset, Keys, Reader};
use super::trie::Trie;

/// What a space becomes, so that a piece can say that a word begins with it.
pub(super) const WORD_START: char = '\u{2581}';

/// The table of what is written how: a form of Unicode's NFKC with control characters removed.
#[derive(Debug)]
pub(super) struct Normalizer {
    forms: Trie,
    replacements: Vec<String>,
    /// By ASCII character: before another one, it stands for itself.
    plain: Vec<bool>,
}

impl Normalizer {
    /// Reads the table from the asset.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DamagedAsset> {
        let count = reader.count()?;
        let mut keys = Keys::default();
        let mut replacements = Vec::with_capacity(count);
        for _ in 0..count {
            reader.next_key(&mut keys)?;
            replacements.push(reader.short_text()?);
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
        Ok(Self { forms, replacements, plain })
    }

    /// The text with forms folded, runs of spaces made one [`WORD_START`], and one in front.
    /// Empty if nothing but space was there.
    pub(super) fn normalize(&self, text: &str) -> String {
        let mut normalized = String::with_capacity(text.len() + text.len() / 2 + 3);
        normalized.push(WORD_START);
        let mut after_space = true;
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
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
            Some((self.replacements.get(position as usize)?.as_str(), text.get(length..)?))
        });
        replaced.unwrap_or_else(itself)
    }
}
