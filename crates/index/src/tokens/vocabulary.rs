//! Gives each term a number: a list of terms takes four bytes for each, and is sorted without a look at their letters.

use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::slots::Slots;

/// The terms of one field that have come, in the order in which they came.
#[derive(Default)]
pub(crate) struct Vocabulary {
    numbers: Slots<u32>,
    texts: String,
    /// Where each term ends in the texts; the next one begins there.
    ends: Vec<u32>,
    hasher: RandomState,
}

impl Vocabulary {
    /// How many terms have come.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of a term: the one that it was given when it first came.
    pub(crate) fn number(&mut self, term: &str) -> u32 {
        let hash = self.hasher.hash_one(term);
        if let Some(number) = self.numbers.find(hash, |number| self.term(*number) == term) {
            return number;
        }
        let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.texts.push_str(term);
        self.ends.push(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.numbers.put(hash, number);
        number
    }

    /// The term with this number.
    fn term(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(number).copied().unwrap_or_default();
        self.texts.get(start.unwrap_or_default() as usize..end as usize).unwrap_or_default()
    }

    /// The terms with these numbers.
    #[cfg(test)]
    pub(super) fn written(&self, numbers: &[u32]) -> Vec<String> {
        numbers.iter().map(|number| self.term(*number).to_owned()).collect()
    }

    /// A copy of the terms with these numbers: whoever sorts and writes them does not keep others from this vocabulary.
    pub(crate) fn some(&self, numbers: impl Iterator<Item = u32>) -> Terms {
        let mut some = Terms::default();
        for number in numbers {
            let start = some.texts.len();
            some.texts.extend(self.term(number).as_bytes());
            some.terms.push(Numbered { number, range: start..some.texts.len() });
        }
        some
    }
}

/// Terms with their numbers.
#[derive(Default)]
pub(crate) struct Terms {
    texts: Vec<u8>,
    terms: Vec<Numbered>,
}

struct Numbered {
    number: u32,
    range: Range<usize>,
}

/// The first bytes of a term, in the order of terms: most are told apart by them.
fn beginning(term: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(term).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(bytes)
}

impl Terms {
    /// The terms in the order of their bytes.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let text = |term: &Numbered| self.texts.get(term.range.clone()).unwrap_or_default();
        let mut sorted: Vec<(u64, &[u8], u32)> = Vec::with_capacity(self.terms.len());
        sorted.extend(self.terms.iter().map(|term| {
            let text = text(term);
            (beginning(text), text, term.number)
        }));
        sorted.sort_unstable();
        sorted.into_iter().map(|(_, text, number)| (text, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_keeps_its_number_however_many_come() {
        let mut vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.number("샘물"), 0);
        assert_eq!(vocabulary.number(""), 1);
        for number in 0..5_000 {
            assert_eq!(vocabulary.number(&format!("term{number}")), number + 2);
        }
        for number in 0..5_000 {
            assert_eq!(vocabulary.number(&format!("term{number}")), number + 2);
        }
        assert_eq!((vocabulary.number("샘물"), vocabulary.number("")), (0, 1));
        assert_eq!(vocabulary.len(), 5_002);
    }

    #[test]
    fn terms_come_in_the_order_of_their_bytes() {
        let terms = ["b", "가", "a", "a\0", "aaaaaaaab", "", "aaaaaaaa", "가나", "aaaaaaaaa"];
        let mut vocabulary = Vocabulary::default();
        let numbers: Vec<u32> = terms.iter().map(|term| vocabulary.number(term)).collect();
        let some = vocabulary.some(numbers.into_iter());
        let sorted: Vec<&[u8]> = some.sorted().map(|(term, _)| term).collect();
        let mut expected = terms.map(str::as_bytes);
        expected.sort_unstable();
        assert_eq!(sorted, expected);
        assert!(some.sorted().all(|(term, number)| terms[number as usize].as_bytes() == term));
    }
}
