//! Decides whether a rewritten memory may take the place of the one before: models forget, echo and ramble.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Entities, Fold, MemoryLimits, NewEntity};
use crate::identity::Timestamp;
use crate::model::Tokenizer;
use crate::sentences::sentences;
use crate::values;

/// What a model makes of a memory and the turns that it has not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "memory_update")]
pub struct Draft {
    /// The whole memory, rewritten: at most 20 sentences, the most recent matters first.
    pub memory: String,
    /// Facts that the new turns say or change.
    #[schemars(length(max = 25))]
    pub entities: Vec<NewEntity>,
}

/// A draft that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    pub text: String,
    pub entities: Entities,
    pub written_by: String,
    pub written_at: Timestamp,
}

/// Why a draft did not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    #[error("the memory is empty")]
    Empty,
    #[error("the memory has {found} sentences and at most {most} are allowed: shorten it")]
    TooManySentences { found: usize, most: usize },
    #[error("the memory has {found} tokens and at most {most} are allowed: shorten it")]
    TooLong { found: usize, most: usize },
    #[error("the memory repeats the instructions instead of following them")]
    Echo,
    #[error("the memory has lost what must be kept word for word: {}", .0.join(", "))]
    LostValues(Vec<String>),
}

/// Words that stand in the instructions and in no memory.
const ECHOES: [&str; 4] = ["previous memory", "updated memory", "new turns:", "이전 메모리"];

/// Values that one memory is held to: more would make every rewrite a copy.
const PROTECTED_MAX: usize = 60;

/// Judges a draft, and gives the memory and the facts that follow from it.
pub fn gate(
    fold: &Fold,
    draft: &Draft,
    limits: &MemoryLimits,
    tokenizer: &dyn Tokenizer,
) -> Result<(String, Entities), Rejected> {
    let text = draft.memory.trim();
    check_form(text, limits, tokenizer)?;
    let turn = fold.turns.last().map_or(0, |last| last.number);
    let mut entities = fold.entities.clone();
    for new in &draft.entities {
        entities.put(new, turn_of(fold, &new.value).unwrap_or(turn), limits.entities_max);
    }
    let protected = protected_values(fold, draft);
    let is_kept = |value: &String| {
        text.contains(value.as_str())
            || entities.as_slice().iter().any(|entity| entity.value.contains(value.as_str()))
    };
    let lost: Vec<String> = protected.iter().filter(|value| !is_kept(value)).cloned().collect();
    if lost.len() * 100 > protected.len() * limits.lost_percent_max {
        return Err(Rejected::LostValues(lost));
    }
    Ok((text.to_owned(), entities))
}

fn check_form(
    text: &str,
    limits: &MemoryLimits,
    tokenizer: &dyn Tokenizer,
) -> Result<(), Rejected> {
    let says_something = text.lines().any(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && !line.ends_with(':')
    });
    if !says_something {
        return Err(Rejected::Empty);
    }
    let lower = text.to_lowercase();
    if ECHOES.iter().any(|echo| lower.contains(echo)) {
        return Err(Rejected::Echo);
    }
    let ranges = sentences(text).filter_map(|range| text.get(range));
    let found = ranges.filter(|sentence| !sentence.trim().is_empty()).count();
    if found > limits.sentences_max {
        return Err(Rejected::TooManySentences { found, most: limits.sentences_max });
    }
    let found = tokenizer.count(text);
    if found > limits.tokens_max {
        return Err(Rejected::TooLong { found, most: limits.tokens_max });
    }
    Ok(())
}

/// The new turn in which a value was said.
fn turn_of(fold: &Fold, value: &str) -> Option<u64> {
    let says = |text: &str| text.contains(value.trim());
    let said = fold.turns.iter().rev().find(|turn| says(&turn.question) || says(&turn.answer));
    said.map(|turn| turn.number)
}

/// What a rewrite has to carry over word for word: the values of the memory before, but for those whose fact the
/// new turns replace.
fn protected_values(fold: &Fold, draft: &Draft) -> Vec<String> {
    let replaced = |value: &str| {
        fold.entities.as_slice().iter().any(|entity| {
            entity.value.contains(value)
                && draft.entities.iter().any(|new| new.key.trim().to_lowercase() == entity.key)
        })
    };
    let mut values: Vec<String> = Vec::new();
    for value in values_in(&fold.memory.text) {
        if !values.contains(&value) && !replaced(&value) && values.len() < PROTECTED_MAX {
            values.push(value);
        }
    }
    values
}

/// Numbers with their signs and units, codes, and what stands in quotes.
fn values_in(text: &str) -> Vec<String> {
    let quoted = crate::retrieval::quotes(text).into_iter().filter_map(|range| text.get(range));
    let has_digit = |word: &&str| word.contains(|letter: char| letter.is_ascii_digit());
    let numbers = text.split_whitespace().filter(has_digit).map(values::bare);
    quoted.chain(numbers).filter(|value| !value.is_empty()).map(str::to_owned).collect()
}
