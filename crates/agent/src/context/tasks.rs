//! What a judge and a keeper of memory get to read.

use std::borrow::Cow;

use super::{Shown, fenced, place, unfenced};
use crate::knowledge::Passage;
use crate::memory::{Entities, Fold, MemoryLimits, SaidTurn};
use crate::model::{Message, Tokenizer};

const JUDGE: &str = include_str!("../../prompts/judge.md");
const FOLD: &str = include_str!("../../prompts/fold.md");

/// Tokens for all passages that are judged at a time, and for one of them at most: the beginning tells what it is
/// about.
const JUDGED_TOKENS_MAX: usize = 3_000;
const PASSAGE_TOKENS_MAX: usize = 400;

/// Tokens of a turn's question and of its answer that a judge sees: enough to know what "it" is.
const JUDGED_TURN_TOKENS_MAX: usize = 120;

/// Tokens of a turn's question and of its answer that go into a memory: five long turns fit a small model.
const FOLDED_TURN_TOKENS_MAX: usize = 400;

/// Turns that a judge sees of the conversation.
const JUDGED_TURNS: usize = 2;

/// What is known of the conversation.
#[derive(Debug, Clone, Copy)]
pub struct Conversation<'a> {
    pub memory: &'a str,
    pub entities: &'a Entities,
    /// Oldest first.
    pub short_term: &'a [SaidTurn],
}

impl Conversation<'_> {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.entities.as_slice().is_empty() && self.short_term.is_empty()
    }
}

/// The messages for a verdict on passages. `question` is as it was asked, `query` as it was searched for.
#[must_use]
pub fn judge(
    question: &str,
    query: &str,
    conversation: &Conversation<'_>,
    passages: &[Passage],
    tokenizer: &dyn Tokenizer,
) -> Vec<Message> {
    let each = (JUDGED_TOKENS_MAX / passages.len().max(1)).min(PASSAGE_TOKENS_MAX);
    let shown: Vec<Shown<'_>> = (1..)
        .zip(passages)
        .map(|(number, passage)| {
            let text = match unfenced(&passage.text) {
                Cow::Borrowed(text) => Cow::Borrowed(tokenizer.clip(text, each)),
                Cow::Owned(text) => Cow::Owned(tokenizer.clip(&text, each).to_owned()),
            };
            Shown { number, place: unfenced(&place(passage)).into_owned(), text }
        })
        .collect();
    let mut text = said(conversation, tokenizer);
    text.push_str(&fenced(&shown));
    if query != question {
        text.push_str(&format!("\nSearched for: {query}"));
    }
    text.push_str(&format!("\nQuestion: {}", tokenizer.clip(question, PASSAGE_TOKENS_MAX)));
    vec![Message::system(JUDGE.trim_end()), Message::user(text)]
}

/// The messages for a rewritten memory.
#[must_use]
pub fn fold(fold: &Fold, limits: &MemoryLimits, tokenizer: &dyn Tokenizer) -> Vec<Message> {
    let system = FOLD.trim_end().replace("{{sentences}}", &limits.sentences_max.to_string());
    let memory = if fold.memory.text.is_empty() { "(empty)" } else { &fold.memory.text };
    let facts = facts(&fold.entities);
    let facts = if facts.is_empty() { "(none)\n" } else { &facts };
    let turns = turns(&fold.turns, FOLDED_TURN_TOKENS_MAX, tokenizer);
    let text = format!("Previous memory:\n{memory}\n\nKnown facts:\n{facts}\nNew turns:\n{turns}");
    vec![Message::system(system), Message::user(text)]
}

fn said(conversation: &Conversation<'_>, tokenizer: &dyn Tokenizer) -> String {
    if conversation.is_empty() {
        return String::new();
    }
    let all = conversation.short_term;
    let last = all.get(all.len().saturating_sub(JUDGED_TURNS)..).unwrap_or_default();
    format!(
        "The conversation so far:\n{}\n{}{}\n",
        conversation.memory,
        facts(conversation.entities),
        turns(last, JUDGED_TURN_TOKENS_MAX, tokenizer)
    )
}

fn facts(entities: &Entities) -> String {
    let line = |fact: &crate::memory::Entity| format!("{}: {}\n", fact.key, fact.value);
    entities.as_slice().iter().map(line).collect()
}

fn turns(turns: &[SaidTurn], tokens_max: usize, tokenizer: &dyn Tokenizer) -> String {
    let clip = |text: &str| tokenizer.clip(text, tokens_max).to_owned();
    let line = |turn: &SaidTurn| {
        format!("user: {}\nassistant: {}\n", clip(&turn.question), clip(&turn.answer))
    };
    turns.iter().map(line).collect()
}
