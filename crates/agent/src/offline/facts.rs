//! Finds facts in what a person says: amounts, dates, shares, and what they are said of.

use crate::memory::NewEntity;
use crate::values::{UNITS, bare};

/// Facts taken from one text.
const FACTS_MAX: usize = 8;

/// Words between a thing and its value.
const DISTANCE_MAX: usize = 3;

/// The amounts, dates and shares of a text, each under the name of what it is said of.
#[must_use]
pub fn facts(text: &str) -> Vec<NewEntity> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut facts: Vec<NewEntity> = Vec::new();
    let mut place = 0;
    while let Some(rest) = words.get(place..).filter(|rest| !rest.is_empty()) {
        let taken = value_length(rest);
        if taken == 0 {
            place += 1;
            continue;
        }
        let value = words.get(place..place + taken).unwrap_or_default().join(" ");
        let value = bare(&value).to_owned();
        let name = name_before(&words, place).or_else(|| name_after(&words, place + taken));
        if let Some(key) = name.filter(|_| facts.len() < FACTS_MAX) {
            facts.retain(|fact| fact.key != key);
            facts.push(NewEntity { key, value });
        }
        place += taken;
    }
    facts
}

/// How many words a value at the start takes: `$10,000`, `700만 원`, `12월 3일`, `41%`; 0 if there is none.
fn value_length(words: &[&str]) -> usize {
    let Some(first) = words.first().filter(|word| is_number(word)) else { return 0 };
    let is_bare =
        bare(first).chars().all(|letter| letter.is_ascii_digit() || letter == ',' || letter == '.');
    let second = words.get(1).map(|word| bare(word)).unwrap_or_default();
    let mut units = UNITS.iter().chain(&ENGLISH_UNITS);
    let second_is_unit = units.any(|unit| second.starts_with(unit));
    let goes_on =
        first.ends_with('만') || first.ends_with('억') || first.ends_with('월') || is_bare;
    let second_is_value = second_is_unit || (first.ends_with('월') && is_number(second));
    if goes_on && second_is_value { 2 } else { usize::from(!is_bare || first.len() > 2) }
}

/// The units of English, which stand apart from their number.
const ENGLISH_UNITS: [&str; 8] =
    ["dollars", "euros", "percent", "people", "days", "hours", "gb", "tb"];

fn is_number(word: &str) -> bool {
    let word = word.trim_start_matches(['$', '₩', '€', '(', '"', '\'', '~', '약']);
    word.starts_with(|letter: char| letter.is_ascii_digit())
}

/// The noun before a value: `예산은 700만 원`, `the budget is $10,000`.
fn name_before(words: &[&str], place: usize) -> Option<String> {
    let from = place.saturating_sub(DISTANCE_MAX);
    let before = words.get(from..place)?.iter().rev();
    // A sentence that ended is about something else.
    let mut open = before.take_while(|word| !word.ends_with(['.', '!', '?', ',']));
    open.find_map(|word| name(word))
}

fn name_after(words: &[&str], place: usize) -> Option<String> {
    words.get(place).and_then(|word| name(word))
}

/// Words that stand before values and name nothing.
const NO_NAMES: [&str; 24] = [
    "now", "only", "about", "take", "takes", "cost", "costs", "spend", "spends", "pay", "pays",
    "uses", "use", "around", "at least", "지금", "이번", "다음", "지난", "총", "모두", "거의",
    "현재", "약",
];

/// A word as a key: a noun without its particle; none for words that name nothing.
fn name(word: &str) -> Option<String> {
    let asked = super::words::Asked::new(word);
    let stem = asked.words().first()?;
    let names_something = stem.chars().count() >= 2
        && !stem.starts_with(|letter: char| letter.is_ascii_digit())
        && !NO_NAMES.contains(&stem.as_str());
    names_something.then(|| stem.clone())
}
