//! Answers what was asked about the conversation itself, with the words that were said.

use super::words::Asked;
use crate::context::Conversation;
use crate::sentences::sentences;

/// Signs that a question is about what the speakers said or have.
const SIGNS: &[&str] = &[
    "아까",
    "방금",
    "앞에서",
    "앞서",
    "내가",
    "제가",
    "우리",
    "저희",
    "내 ",
    "제 ",
    "말했",
    "말한",
    "얘기",
    "기억",
    "뭐라고",
    "였지",
    "했지",
    "더라",
    "i said",
    "i say",
    "i told",
    "i tell",
    "i mention",
    "did i",
    "my ",
    "our ",
    "remember",
    "earlier",
    "again",
    "we said",
    "we talk",
    "we discuss",
    "you said",
    "you say",
    "am i",
    "are we",
    "was i",
    "were we",
];

/// How much of the question a sentence of the conversation must say.
const COVERAGE_MIN: f32 = 0.6;

/// Something that was said, and how much of the question it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Recollection {
    pub text: String,
    pub coverage: f32,
}

/// What of the conversation answers a question about it; the latest of equals.
#[must_use]
pub fn recollect(question: &str, conversation: &Conversation<'_>) -> Option<Recollection> {
    let lower = format!(" {} ", question.to_lowercase());
    if !SIGNS.iter().any(|sign| lower.contains(sign)) {
        return None;
    }
    // The signs themselves were hardly said.
    let rest = SIGNS.iter().fold(lower, |text, sign| text.replace(sign, " "));
    let asked = Asked::new(&rest);
    let mut best: Option<Recollection> = None;
    for said in statements(conversation) {
        let coverage = asked.coverage(&said);
        let is_better = best.as_ref().is_none_or(|best| coverage >= best.coverage);
        if coverage >= COVERAGE_MIN && is_better {
            best = Some(Recollection { text: said, coverage });
        }
    }
    best
}

/// What was said, oldest first: the memory and the facts, which are of turns before the last ones, and those.
fn statements(conversation: &Conversation<'_>) -> Vec<String> {
    let mut statements = stated(conversation.memory);
    let facts = conversation.entities.as_slice().iter();
    statements.extend(facts.map(|fact| format!("{}: {}", fact.key, fact.value)));
    for turn in conversation.short_term {
        statements.extend(stated(&turn.answer));
        statements.extend(stated(&turn.question));
    }
    statements
}

/// The sentences that state something: a question is no answer to another.
fn stated(text: &str) -> Vec<String> {
    let all = sentences(text).filter_map(|range| text.get(range)).map(str::trim);
    let states = |sentence: &&str| !sentence.is_empty() && !sentence.ends_with(['?', '？']);
    all.filter(states).map(str::to_owned).collect()
}
