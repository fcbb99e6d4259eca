//! Checks what a report cites: whether the words stand in the source, and whether they carry the claim.
//!
//! A quote is looked for as it is but for blanks, letter case and typographic signs; then for nearly the same words.
//! Numbers and negations may never differ: `10 %` is not nearly `90 %`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use super::message::CheckVerdict;
use crate::language::Language;
use crate::offline::Asked;

/// Shortest quote that shows anything, in characters without blanks.
const QUOTE_CHARS_MIN: usize = 6;

/// Words of a quote that are looked at: what is longer is a copy and no quote.
const QUOTE_WORDS_MAX: usize = 300;

/// How alike the words of a quote and of its source must be, their order included.
const ALIKE_MIN: f64 = 0.92;

/// Nearly the same words, to be looked for at all: fewer are all the same or not a quote.
const ALIKE_WORDS_MIN: usize = 6;

/// How much of a claim its quotes must say, where both are of one language.
const SAID_MIN: f32 = 0.3;

/// Words that turn a sentence round, as they stand in English and, in parts of words, in Korean.
const NEGATIONS: [&str; 9] =
    ["not", "no", "never", "none", "cannot", "without", "neither", "nor", "n't"];
const NEGATIONS_IN_KOREAN: [&str; 6] = ["않", "아니", "없", "못", "안 ", "불가"];

/// Where a quote stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// In bytes of the source's text.
    pub range: Range<usize>,
    pub verdict: CheckVerdict,
}

/// Looks for a quote in a text; none if it does not stand there, nor nearly.
#[must_use]
pub fn locate(quote: &str, text: &str) -> Option<Located> {
    let (quoted, plain) = (Plain::of(quote), Plain::of(text));
    if quoted.letters.chars().filter(|letter| *letter != ' ').count() < QUOTE_CHARS_MIN {
        return None;
    }
    if let Some(found) = plain.find(quoted.letters.trim()) {
        return Some(Located { range: found, verdict: CheckVerdict::Verified });
    }
    let range = alike(&quoted, &plain)?;
    Some(Located { range, verdict: CheckVerdict::Similar })
}

/// Whether these quotes, which stand in their sources, carry the claim: they say its numbers and enough of its words.
#[must_use]
pub fn supports(claim: &str, quotes: &[&str]) -> bool {
    if quotes.is_empty() {
        return false;
    }
    let said = quotes.join("\n");
    if locate(claim, &said).is_some() {
        return true;
    }
    let said_numbers = numbers(&Plain::of(&said).letters);
    let has_numbers =
        numbers(&Plain::of(claim).letters).keys().all(|number| said_numbers.contains_key(number));
    // A Korean claim from an English source shares few words with it.
    let is_across = !Language::of(claim).shares_words_with(Language::of(&said));
    has_numbers && (is_across || Asked::new(claim).coverage(&said) >= SAID_MIN)
}

/// A text as quotes are compared: small letters, single blanks, plain signs; and where each byte of it was.
struct Plain {
    letters: String,
    /// For each byte of `letters`, the range of the letter that it came from.
    from: Vec<(usize, usize)>,
}

impl Plain {
    fn of(text: &str) -> Self {
        let mut plain = Self { letters: String::with_capacity(text.len()), from: Vec::new() };
        for (place, letter) in text.char_indices() {
            let from = (place, place + letter.len_utf8());
            match letter {
                // Marks of emphasis and code are no words.
                '*' | '_' | '`' | '\u{200b}' | '\u{feff}' | '\u{ad}' => {}
                '“' | '”' | '„' | '«' | '»' => plain.push('"', from),
                '‘' | '’' | '‚' => plain.push('\'', from),
                '–' | '—' | '−' | '‐' | '‑' => plain.push('-', from),
                '…' => (0..3).for_each(|_| plain.push('.', from)),
                letter if letter.is_whitespace() => plain.blank(from),
                letter => letter.to_lowercase().for_each(|small| plain.push(small, from)),
            }
        }
        plain
    }

    fn push(&mut self, letter: char, from: (usize, usize)) {
        self.letters.push(letter);
        self.from.extend((0..letter.len_utf8()).map(|_| from));
    }

    fn blank(&mut self, from: (usize, usize)) {
        if !self.letters.is_empty() && !self.letters.ends_with(' ') {
            self.push(' ', from);
        }
    }

    fn find(&self, quote: &str) -> Option<Range<usize>> {
        if quote.is_empty() {
            return None;
        }
        let place = self.letters.find(quote)?;
        self.origin(place..place + quote.len())
    }

    /// Where a part of it was in the text.
    fn origin(&self, part: Range<usize>) -> Option<Range<usize>> {
        let first = self.from.get(part.start)?;
        let last = self.from.get(part.end.checked_sub(1)?)?;
        Some(first.0..last.1)
    }

    /// The words, each with its place in `letters`.
    fn words(&self) -> Vec<(&str, Range<usize>)> {
        let base = self.letters.as_ptr() as usize;
        self.letters
            .split(' ')
            .filter_map(|word| {
                let start = word.as_ptr() as usize - base;
                let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
                (!bare.is_empty()).then_some((bare, start..start + word.len()))
            })
            .collect()
    }
}

/// The part of the text whose words are most like the quote's, if they are alike enough.
fn alike(quote: &Plain, text: &Plain) -> Option<Range<usize>> {
    let wanted: Vec<&str> = quote.words().into_iter().map(|(word, _)| word).collect();
    let given = text.words();
    let length = wanted.len();
    if !(ALIKE_WORDS_MIN..=QUOTE_WORDS_MAX).contains(&length) || given.len() < length {
        return None;
    }
    // How many more of each word the quote has than the window; what is below zero is the window's own.
    let mut missing: BTreeMap<&str, i64> = BTreeMap::new();
    for word in &wanted {
        *missing.entry(word).or_default() += 1;
    }
    let mut shared = 0usize;
    let mut best: Option<(f64, Range<usize>)> = None;
    let least = (ALIKE_MIN * length as f64).ceil() as usize;
    for end in 0..given.len() {
        let entering = given.get(end).map(|(word, _)| missing.entry(word).or_default());
        if let Some(count) = entering {
            shared += usize::from(*count > 0);
            *count -= 1;
        }
        if let Some((leaving, _)) = end.checked_sub(length).and_then(|place| given.get(place)) {
            let count = missing.entry(leaving).or_default();
            *count += 1;
            shared -= usize::from(*count > 0);
        }
        let Some(start) = (end + 1).checked_sub(length).filter(|_| shared >= least) else {
            continue;
        };
        let window = given.get(start..=end).unwrap_or_default();
        let share = in_order(&wanted, window) as f64 / length as f64;
        if share >= ALIKE_MIN && best.as_ref().is_none_or(|(most, _)| share > *most) {
            let first = window.first().map_or(0, |(_, range)| range.start);
            let last = window.last().map_or(0, |(_, range)| range.end);
            best = Some((share, first..last));
        }
    }
    let (_, part) = best?;
    let found = text.letters.get(part.clone())?;
    let is_same =
        numbers(&quote.letters) == numbers(found) && negations(&quote.letters) == negations(found);
    is_same.then(|| text.origin(part)).flatten()
}

/// The length of the longest run of words that both have in the same order, others between them.
fn in_order(wanted: &[&str], window: &[(&str, Range<usize>)]) -> usize {
    let mut row = vec![0usize; window.len() + 1];
    for word in wanted {
        let mut diagonal = 0;
        let mut left = 0;
        for ((other, _), cell) in window.iter().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            *cell = if word == other { diagonal + 1 } else { above.max(left) };
            (diagonal, left) = (above, *cell);
        }
    }
    row.last().copied().unwrap_or(0)
}

/// The numbers of a text, and how often each stands there; `1,000` is `1000`.
fn numbers(text: &str) -> BTreeMap<String, usize> {
    let mut numbers = BTreeMap::new();
    let text = text.replace(',', "");
    let parts = text.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    for part in parts {
        let number = part.trim_matches('.');
        if !number.is_empty() {
            *numbers.entry(number.to_owned()).or_default() += 1;
        }
    }
    numbers
}

fn negations(text: &str) -> usize {
    let english = text
        .split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .filter(|word| NEGATIONS.contains(word) || word.ends_with("n't"))
        .count();
    english + NEGATIONS_IN_KOREAN.iter().map(|word| text.matches(word).count()).sum::<usize>()
}
