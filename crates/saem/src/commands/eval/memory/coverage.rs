//! How much of an answer stands in a text: word by word, in the manner of each set of questions.

use std::collections::BTreeSet;

/// How words are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// The published recipe for LoCoMo: English words without their endings.
    Stems,
    /// A word stands there, or it does with a Korean particle behind it.
    Words,
}

impl Measure {
    /// The share of the words of an answer that a text holds.
    pub(super) fn coverage(self, answer: &str, text: &str) -> f64 {
        match self {
            Self::Stems => {
                let known: BTreeSet<String> = stems(text).into_iter().collect();
                share(&stems(answer), |stem| known.contains(stem))
            }
            Self::Words => {
                let known = words(text);
                share(&words(answer), |word| known.iter().any(|known| is_form(known, word)))
            }
        }
    }
}

fn share(wanted: &[String], is_there: impl Fn(&String) -> bool) -> f64 {
    let found = wanted.iter().filter(|word| is_there(word)).count();
    found as f64 / wanted.len().max(1) as f64
}

/// Letters that are a token, about, in the recipe's own count.
const LETTERS_PER_TOKEN: f64 = 4.2;

/// The recipe's count of tokens, which needs no vocabulary.
pub(super) fn tokens_by_letters(text: &str) -> f64 {
    (text.chars().count() as f64 / LETTERS_PER_TOKEN).round_ties_even().max(1.0)
}

const STOP_WORDS: [&str; 38] = [
    "a", "an", "the", "and", "of", "to", "in", "on", "at", "for", "with", "from", "by", "is",
    "was", "were", "be", "been", "are", "it", "its", "her", "his", "their", "they", "she", "he",
    "i", "you", "my", "your", "as", "that", "this", "or", "but", "not", "no",
];

const ENDINGS: [&str; 7] = ["ingly", "edly", "ing", "ed", "es", "s", "ly"];

/// The recipe's words: lower case, no punctuation, no stop words, one ending off.
fn stems(text: &str) -> Vec<String> {
    let plain = text.to_lowercase().replace(|letter: char| letter.is_ascii_punctuation(), " ");
    let words = plain.split_whitespace().filter(|word| !STOP_WORDS.contains(word));
    words.map(|word| stem(word).to_owned()).collect()
}

fn stem(word: &str) -> &str {
    let cuts = ENDINGS.iter().filter_map(|ending| word.strip_suffix(ending));
    let mut long_enough = cuts.filter(|cut| cut.chars().count() >= 3);
    long_enough.next().unwrap_or(word)
}

/// Words as they are split at blanks, in lower case and without the punctuation around them.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Whether a word of a text is the wanted one, alone or with more behind it that is no part of it: `700만` of
/// `700만이에요`, `70` of `70%가` and `Lee` of `Lee's`, but not `1` of `1.5`.
fn is_form(known: &str, wanted: &str) -> bool {
    let Some(rest) = known.strip_prefix(wanted) else { return false };
    let mut rest = rest.chars();
    match rest.next() {
        None => true,
        Some(next) if next.is_alphanumeric() => ('가'..='힣').contains(&next),
        Some(_) => !rest.next().is_some_and(|after| after.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_those_of_the_recipe() {
        let text = "She's been painting at the lake; the kids loved it, his dogs too. Is 7 May's?";
        let expected = ["paint", "lake", "kid", "lov", "dog", "too", "7", "may"];
        let found = stems(text);
        assert_eq!(found, [&["s"][..], &expected, &["s"]].concat());
        assert_eq!(stems("exceedingly hurriedly families es"), ["exceed", "hurri", "famili", "es"]);
    }

    #[test]
    fn half_an_answer_is_half_covered() {
        assert_eq!(Measure::Stems.coverage("Painted lakes", "He paints."), 0.5);
        assert_eq!(Measure::Words.coverage("700만 원", "예산은 700만 달러예요."), 0.5);
        assert_eq!(Measure::Words.coverage("700만 원", "예산은 700만 원이에요."), 1.0);
        assert_eq!(Measure::Words.coverage("#cost-watch Team", "(cost-watch)로 teams"), 0.5);
        assert_eq!(Measure::Words.coverage("55%", "555에서 155%, 55.5"), 0.0);
        assert_eq!(Measure::Words.coverage("55% Lee", "'55%가' Lee's"), 1.0);
    }
}
