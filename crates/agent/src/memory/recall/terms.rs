//! What a question is looked for by in a turn, in either language, whatever a sentence made of the words.

use std::collections::HashMap;

use crate::offline::words::{is_korean, korean_stem, split, telling_words};

/// The terms of a question, each with its place.
pub(super) struct Terms {
    places: HashMap<String, usize>,
}

/// How often each term of a question stands in a turn, and how long the turn is.
pub(super) struct Counted {
    times: Vec<u32>,
    /// In terms of any kind.
    pub(super) length: usize,
}

impl Counted {
    pub(super) fn times(&self, term: usize) -> u32 {
        self.times.get(term).copied().unwrap_or(0)
    }
}

impl Terms {
    pub(super) fn of(question: &str) -> Self {
        let mut places = HashMap::new();
        for word in telling_words(&question.to_lowercase()) {
            each_term(word, |term| {
                let next = places.len();
                places.entry(term.to_owned()).or_insert(next);
            });
        }
        Self { places }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn count(&self, text: &str) -> Counted {
        let mut counted = Counted { times: vec![0; self.len()], length: 0 };
        for word in split(&text.to_lowercase()) {
            each_term(word, |term| {
                counted.length += 1;
                let place = self.places.get(term);
                if let Some(times) = place.and_then(|place| counted.times.get_mut(*place)) {
                    *times += 1;
                }
            });
        }
        counted
    }
}

/// The terms of one word: an English one's stem; a Korean one's stem and, as nouns are joined and verbs bent, each pair
/// of its syllables.
fn each_term(word: &str, mut take: impl FnMut(&str)) {
    if !is_korean(word) {
        return take(english_stem(word));
    }
    let stem = korean_stem(word);
    let is_number = stem.starts_with(|letter: char| letter.is_ascii_digit());
    let ends: Vec<usize> = stem.char_indices().map(|(at, letter)| at + letter.len_utf8()).collect();
    // A stem of two syllables is its own pair.
    if is_number || ends.len() != 2 {
        take(stem);
    }
    if is_number {
        return;
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let pairs = starts.zip(ends.iter().skip(1));
    pairs.filter_map(|(start, end)| stem.get(start..*end)).for_each(take);
}

/// What the forms of a word have in common: `hik` of `hike`, `hikes`, `hiked` and `hiking`.
///
/// Only endings go, so it is a part of the word; that it is no word does not matter, as both sides are cut alike.
fn english_stem(word: &str) -> &str {
    let mut stem = word;
    // `class`, `status` and `analysis` are one of a thing.
    let single = long_enough(stem.strip_suffix('s')).filter(|cut| !cut.ends_with(['s', 'u', 'i']));
    stem = single.unwrap_or(stem);
    let endings = ["ied", "ing", "ed", "ie"];
    let bent = endings.iter().find_map(|ending| long_enough(stem.strip_suffix(ending)));
    stem = bent.unwrap_or(stem);
    stem = long_enough(stem.strip_suffix(['e', 'y'])).unwrap_or(stem);
    let mut last = stem.chars().rev();
    match (last.next(), last.next()) {
        // `stopped` and `stop`.
        (Some(one), Some(other)) if one == other && one.is_ascii_alphabetic() => {
            long_enough(stem.strip_suffix(one)).unwrap_or(stem)
        }
        _ => stem,
    }
}

/// Nothing is left of a word that loses too much: `sing` is no form of `s`.
fn long_enough(stem: Option<&str>) -> Option<&str> {
    stem.filter(|stem| stem.len() >= 3 && stem.contains(['a', 'e', 'i', 'o', 'u', 'y']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(word: &str) -> Vec<String> {
        let mut terms = Vec::new();
        each_term(word, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn the_forms_of_an_english_word_share_their_stem() {
        for (forms, stem) in [
            ("hike hikes hiked hiking", "hik"),
            ("stop stops stopped stopping", "stop"),
            ("family families", "famil"),
            ("study studies studied studying", "stud"),
            ("box boxes", "box"),
            ("class classes", "clas"),
            ("call calls called calling", "cal"),
            ("status", "status"),
            ("sing", "sing"),
            ("string strings", "string"),
            ("q3", "q3"),
            ("öberg", "öberg"),
        ] {
            for form in forms.split(' ') {
                assert_eq!(terms(form), [stem], "{form}");
            }
        }
    }

    #[test]
    fn a_korean_word_is_its_stem_and_its_pairs() {
        assert_eq!(terms("예산은"), ["예산"]);
        assert_eq!(terms("하루픽에"), ["하루픽", "하루", "루픽"]);
        assert_eq!(terms("11월에는"), ["11월에"]);
        assert_eq!(terms("11월은"), ["11월"]);
        assert_eq!(terms("집"), ["집"]);
    }
}
