//! Rewrites a memory without a model: the newest questions and what was said with numbers and names, within bounds.

use super::facts::facts;
use crate::memory::{Draft, Fold, MemoryLimits};
use crate::model::Tokenizer;
use crate::sentences::sentences;
use crate::text::clip;

/// Longest sentence that is kept, in bytes.
const SENTENCE_BYTES_MAX: usize = 240;

/// What a fold makes of the memory: sentences that people said, the newest first, as many as fit.
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
    let mut tokens = 0;
    let mut count = 0;
    for sentence in kept {
        let line = format!("{}\n", one_sentence(&sentence));
        let more = tokenizer.count(&line);
        let is_known = draft.memory.contains(line.trim_end());
        if is_known || count == limits.sentences_max || tokens + more > limits.tokens_max {
            continue;
        }
        tokens += more;
        count += 1;
        draft.memory.push_str(&line);
    }
    draft.memory.truncate(draft.memory.trim_end().len());
    draft
}

/// The sentences of a text that a later answer may need: all of a short one, those with values of a long one.
fn salient(text: &str) -> Vec<String> {
    let all = lines(text);
    if all.len() <= 2 {
        all
    } else {
        all.into_iter().filter(|sentence| has_value(sentence)).collect()
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
