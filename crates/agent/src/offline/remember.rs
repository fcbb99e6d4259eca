//! Rewrites a memory without a model: the newest questions and what was said with numbers and names, within bounds.

use super::facts::facts;
use crate::memory::{Draft, Fold, MemoryLimits};
use crate::model::Tokenizer;
use crate::sentences::sentences;
use crate::text::clip;

/// Longest sentence that is kept, in bytes.
const SENTENCE_BYTES_MAX: usize = 240;

/// What a fold makes of the memory: sentences that people said, the newest first, as many as fit.
///
/// What takes something back is kept as well as values are: a plan that was dropped must not come back.
#[must_use]
pub fn remember(fold: &Fold, limits: &MemoryLimits, tokenizer: &dyn Tokenizer) -> Draft {
    let mut draft = Draft { memory: String::new(), entities: Vec::new() };
    let mut kept: Vec<String> = Vec::new();
    for turn in fold.turns.iter().rev() {
        let mut said: Vec<String> = salient(&turn.question);
        said.extend(
            salient(&turn.answer).into_iter().filter(|sentence| has_value(sentence)).take(1),
        );
        kept.extend(said);
    }
    kept.extend(lines(&fold.memory.text));
    for turn in &fold.turns {
        for fact in facts(&turn.question) {
            draft.entities.retain(|known| known.key != fact.key);
            draft.entities.push(fact);
        }
    }
    draft.memory = fitting(&kept, limits, tokenizer);
    draft
}

/// The sentences that fit, in their order: where not all do, those that say least go first.
fn fitting(sentences: &[String], limits: &MemoryLimits, tokenizer: &dyn Tokenizer) -> String {
    let lines: Vec<String> = sentences.iter().map(|sentence| one_sentence(sentence)).collect();
    let mut places: Vec<usize> = (0..lines.len()).collect();
    // Of equals the newest: they stand first.
    places.sort_by_key(|place| lines.get(*place).map(|line| worth(line)));
    let mut taken: Vec<usize> = Vec::new();
    let mut tokens = 0;
    for place in places {
        let Some(line) = lines.get(place) else { continue };
        let more = tokenizer.count(line) + 1;
        let is_known = taken
            .iter()
            .filter_map(|known| lines.get(*known))
            .any(|known| known.contains(line.as_str()));
        if is_known || taken.len() == limits.sentences_max || tokens + more > limits.tokens_max {
            continue;
        }
        tokens += more;
        taken.push(place);
    }
    taken.sort_unstable();
    let taken: Vec<&str> =
        taken.iter().filter_map(|place| lines.get(*place)).map(String::as_str).collect();
    taken.join("\n")
}

/// What a sentence is worth where not all fit, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// It has a value or a name, or changes what was said before.
    Kept,
    Said,
    /// It asks for what it does not say.
    Asked,
}

fn worth(sentence: &str) -> Worth {
    if has_value(sentence) || has_name(sentence) || changes_something(sentence) {
        Worth::Kept
    } else if sentence.ends_with('?') {
        Worth::Asked
    } else {
        Worth::Said
    }
}

/// Signs that something said before is taken back or put right.
const CHANGES_KOREAN: &str =
    "취소 철회 정정 잊어 없던 없애 지워 지우 삭제 빼고 빼주 그만두 아니라 바꿔 바꾸 바뀌 대신";
const CHANGES_ENGLISH: &str = "cancel called-off call-off drop forget ignore withdraw remove delete \
     scrap no-longer any-more anymore instead actually correction changed";

fn changes_something(sentence: &str) -> bool {
    let joined = sentence.to_lowercase().replace(' ', "-");
    let mut signs = CHANGES_KOREAN.split(' ').chain(CHANGES_ENGLISH.split_whitespace());
    signs.any(|sign| joined.contains(sign))
}

/// Whether a word inside the sentence is written like a name, or stands in quotes.
fn has_name(sentence: &str) -> bool {
    let mut inside = sentence.split_whitespace().skip(1);
    let is_name = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase)
            && letters.next().is_some_and(char::is_alphanumeric)
    };
    inside.any(is_name) || !crate::retrieval::quotes(sentence).is_empty()
}

/// The sentences of a text that a later answer may need: all of a short one, those worth most of a long one.
fn salient(text: &str) -> Vec<String> {
    let all = lines(text);
    if all.len() <= 2 {
        all
    } else {
        all.into_iter().filter(|sentence| worth(sentence) == Worth::Kept).collect()
    }
}

fn lines(text: &str) -> Vec<String> {
    let sentences = sentences(text).filter_map(|range| text.get(range));
    let sentences = sentences.map(|sentence| sentence.trim().replace(['\n', '\r'], " "));
    sentences.filter(|sentence| sentence.chars().any(char::is_alphanumeric)).collect()
}

fn has_value(sentence: &str) -> bool {
    sentence.chars().any(|letter| letter.is_ascii_digit())
}

/// As one sentence however it was cut: counted as one again when it is read.
fn one_sentence(sentence: &str) -> String {
    clip(sentence, SENTENCE_BYTES_MAX).trim().to_owned()
}
