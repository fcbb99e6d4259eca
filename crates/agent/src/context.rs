//! Builds what a model gets to read, inside a budget of tokens, and says what went in and what did not.
//!
//! Every part has a budget, and what one leaves over goes to the next. In order: the instructions and the question,
//! which are always there; the memory; the facts, of which the oldest give way first; the last turns, the oldest first;
//! the passages, the lowest ranked first. Nothing is ever more than all budgets together.

mod research;
mod tasks;
#[cfg(test)]
mod tests;
mod tools;

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::knowledge::Passage;
use crate::language::Language;
use crate::memory::{Entities, SaidTurn};
use crate::model::{Message, Tokenizer};

pub use self::research::{
    Before, Research, research_assessment, research_choice, research_plan, research_repair,
    research_section,
};
pub use self::tasks::{Conversation, fold, judge};
pub use self::tools::{Given, ToolBudget, attachment, broken_call, tool_definitions, tool_result};

const ANSWER: &str = include_str!("../prompts/answer.md");
const PARTIAL: &str = include_str!("../prompts/answer_partial.md");
const TOOLS: &str = include_str!("../prompts/answer_tools.md");
const ATTACHED: &str = include_str!("../prompts/answer_attached.md");

/// What a message costs besides its text.
const MESSAGE_TOKENS: usize = 4;

/// The few words of ours between the parts.
const JOINTS_TOKENS: usize = 24;

/// A part of a text that would be shorter than this is left out whole.
const CLIPPED_TOKENS_MIN: usize = 24;

/// Tokens for each part; the defaults are the product's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub system: usize,
    pub memory: usize,
    pub entities: usize,
    pub short_term: usize,
    pub passages: usize,
    pub question: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            system: 1500,
            memory: 500,
            entities: 200,
            short_term: 1500,
            passages: 1500,
            question: 100,
        }
    }
}

impl Budget {
    #[must_use]
    pub fn total(&self) -> usize {
        self.system + self.memory + self.entities + self.short_term + self.passages + self.question
    }
}

/// What a part of the context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    System,
    Memory,
    Entities,
    Recalled,
    ShortTerm,
    Passage,
    Question,
    /// The definitions of tools.
    Tools,
    ToolResult,
    /// A resource or prompt of a server that the user has put beside the question.
    Attachment,
}

/// Whose words a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Ours: instructions.
    Ours,
    /// Said or made in the conversation.
    Conversation,
    /// From a document: data, whatever it says.
    Document,
    /// From a server of tools: data, whatever it says.
    Tool,
}

/// One part, as it went in or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub kind: PartKind,
    pub trust: Trust,
    /// Where it comes from: a turn, a document and its section.
    pub source: String,
    /// Tokens that it takes; 0 if it was left out.
    pub tokens: usize,
    /// Tokens that it would have taken.
    pub wanted: usize,
}

/// What a context is built from.
pub struct Material<'a> {
    pub question: &'a str,
    pub language: Language,
    pub memory: &'a str,
    pub entities: &'a Entities,
    /// Turns that no memory holds and the short-term does not show, or that the question brings back; oldest first.
    pub recalled: &'a [SaidTurn],
    /// Oldest first.
    pub short_term: &'a [SaidTurn],
    /// Best first; a model sees them as `[1]`, `[2]`.
    pub passages: &'a [Passage],
    /// The passages do not hold everything.
    pub is_partial: bool,
    /// The model may have tools called.
    pub has_tools: bool,
    /// Something stands before the passages that the user has put there.
    pub has_attachments: bool,
}

/// What a model gets to read.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    pub messages: Vec<Message>,
    pub parts: Vec<Part>,
    /// How many of the passages are in it: the model can cite `[1]` to this.
    pub passages: usize,
}

impl Context {
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.parts.iter().map(|part| part.tokens).sum()
    }
}

/// Builds the context for an answer.
#[must_use]
pub fn answer(material: &Material<'_>, budget: &Budget, tokenizer: &dyn Tokenizer) -> Context {
    let mut room = Room { left: budget.total(), tokenizer, parts: Vec::new() };
    let system = room.system(material);
    let question = room.question(material.question, budget);
    // What instructions and question leave of their budgets goes to what follows.
    let spent = budget.total() - room.left;
    let spare = (budget.system + budget.question).saturating_sub(spent);
    let memory = room.memory(material.memory, budget.memory + spare);
    let entities = room.entities(material.entities, budget.entities);
    let kept_for_passages = budget.passages.min(room.left);
    // What comes back must not push out what was said last.
    let kept_for_last = kept_for_passages + budget.short_term.min(room.left);
    let recalled = room.turns(material.recalled, PartKind::Recalled, kept_for_last);
    let turns = room.turns(material.short_term, PartKind::ShortTerm, kept_for_passages);
    let passages = room.passages(material.passages);
    let shown = passages.len();
    let messages = messages(&system, &memory, &entities, &recalled, turns, &passages, &question);
    Context { messages, parts: room.parts, passages: shown }
}

/// What a turn takes of the context.
pub(crate) fn turn_tokens(turn: &SaidTurn, tokenizer: &dyn Tokenizer) -> usize {
    let count = |text: &str| tokenizer.count(text) + MESSAGE_TOKENS;
    count(&turn.question) + count(&turn.answer)
}

/// A passage as a model sees it.
struct Shown<'a> {
    number: usize,
    place: String,
    text: Cow<'a, str>,
}

/// Fences text of others: whatever it says, it stands between the marks.
fn fenced(passages: &[Shown<'_>]) -> String {
    let bytes = passages.iter().map(|shown| shown.place.len() + shown.text.len() + FENCE_BYTES);
    let mut fenced = String::with_capacity(bytes.sum());
    for Shown { number, place, text } in passages {
        // Writing to a String cannot fail.
        _ = writeln!(fenced, "<<<passage [{number}] {place}\n{text}\n>>>");
    }
    fenced
}

/// About what a fence takes.
const FENCE_BYTES: usize = 24;

/// Text that holds no mark of a fence. Before it is counted: its tokens are others.
fn unfenced(text: &str) -> Cow<'_, str> {
    if !text.contains("<<<") && !text.contains(">>>") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("<<<", "‹‹‹").replace(">>>", "›››"))
}

/// What is left of the tokens, and what went where.
struct Room<'a> {
    left: usize,
    tokenizer: &'a dyn Tokenizer,
    parts: Vec<Part>,
}

impl Room<'_> {
    fn note(&mut self, kind: PartKind, trust: Trust, source: String, tokens: usize, wanted: usize) {
        self.left = self.left.saturating_sub(tokens);
        self.parts.push(Part { kind, trust, source, tokens, wanted });
    }

    fn system(&mut self, material: &Material<'_>) -> String {
        let partial = if material.is_partial { PARTIAL.trim_end() } else { "" };
        let text = ANSWER.replace("{{language}}", language_name(material.language));
        let mut text = text.replace("{{partial}}", partial).trim_end().to_owned();
        if material.has_tools {
            text.push('\n');
            text.push_str(TOOLS.trim_end());
        }
        if material.has_attachments {
            text.push('\n');
            text.push_str(ATTACHED.trim_end());
        }
        let wanted = self.tokenizer.count(&text) + MESSAGE_TOKENS + JOINTS_TOKENS;
        let tokens = wanted.min(self.left);
        self.note(PartKind::System, Trust::Ours, "instructions".to_owned(), tokens, wanted);
        text
    }

    /// The question is cut only where it would leave no room for anything else.
    fn question(&mut self, question: &str, budget: &Budget) -> String {
        let wanted = self.tokenizer.count(question) + MESSAGE_TOKENS;
        let most = (budget.total() / 4).max(budget.question).min(self.left);
        let text = if wanted > most {
            self.tokenizer.clip(question, most.saturating_sub(MESSAGE_TOKENS)).to_owned()
        } else {
            question.to_owned()
        };
        let tokens = wanted.min(most);
        self.note(PartKind::Question, Trust::Conversation, "question".to_owned(), tokens, wanted);
        text
    }

    fn memory(&mut self, memory: &str, most: usize) -> String {
        if memory.is_empty() {
            return String::new();
        }
        let wanted = self.tokenizer.count(memory);
        let most = most.min(self.left);
        let text = if wanted > most { self.tokenizer.clip(memory, most) } else { memory };
        let tokens = wanted.min(most);
        self.note(PartKind::Memory, Trust::Conversation, "memory".to_owned(), tokens, wanted);
        text.to_owned()
    }

    /// The newest facts that fit, in their order.
    fn entities(&mut self, entities: &Entities, most: usize) -> String {
        let lines: Vec<String> = entities
            .as_slice()
            .iter()
            .map(|fact| format!("{}: {}\n", fact.key, fact.value))
            .collect();
        let counts: Vec<usize> = lines.iter().map(|line| self.tokenizer.count(line)).collect();
        let wanted: usize = counts.iter().sum();
        if wanted == 0 {
            return String::new();
        }
        let most = most.min(self.left);
        let (mut first, mut tokens) = (lines.len(), 0);
        while let Some(count) = first.checked_sub(1).and_then(|place| counts.get(place)) {
            if tokens + count > most {
                break;
            }
            tokens += count;
            first -= 1;
        }
        self.note(PartKind::Entities, Trust::Conversation, "facts".to_owned(), tokens, wanted);
        lines.get(first..).unwrap_or_default().concat()
    }

    /// The newest turns that fit beside `kept` tokens for others, oldest first.
    fn turns(&mut self, turns: &[SaidTurn], kind: PartKind, kept: usize) -> Vec<SaidTurn> {
        let mut fitting = Vec::new();
        let mut is_full = false;
        for turn in turns.iter().rev() {
            let wanted = turn_tokens(turn, self.tokenizer);
            is_full = is_full || wanted > self.left.saturating_sub(kept);
            let tokens = if is_full { 0 } else { wanted };
            self.note(kind, Trust::Conversation, format!("turn {}", turn.number), tokens, wanted);
            if !is_full {
                fitting.push(turn.clone());
            }
        }
        fitting.reverse();
        fitting
    }

    /// The best passages that fit; the first that does not is cut if that leaves something to read.
    fn passages<'p>(&mut self, passages: &'p [Passage]) -> Vec<Shown<'p>> {
        let mut shown = Vec::new();
        let mut is_full = false;
        for (number, passage) in (1..).zip(passages) {
            let place = unfenced(&place(passage)).into_owned();
            let whole = unfenced(&passage.text);
            let empty = Shown { number, place: place.clone(), text: Cow::Borrowed("") };
            let frame = self.tokenizer.count(&fenced(&[empty]));
            let body = self.tokenizer.count(&whole);
            let room = self.left.saturating_sub(frame);
            let (text, tokens) = if is_full || room < CLIPPED_TOKENS_MIN.min(body) {
                (None, 0)
            } else if body <= room {
                (Some(whole), frame + body)
            } else {
                // One for the dots.
                let clipped = self.tokenizer.clip(&whole, room - 1);
                (Some(Cow::Owned(format!("{clipped}…"))), frame + room)
            };
            is_full = is_full || body > room;
            self.note(PartKind::Passage, Trust::Document, place.clone(), tokens, frame + body);
            shown.extend(text.map(|text| Shown { number, place, text }));
        }
        shown
    }
}

/// Title and headings of a passage on one line.
fn place(passage: &Passage) -> String {
    let mut names = vec![passage.title.as_str()];
    let headings = passage.heading_path.iter().map(String::as_str);
    names.extend(headings.filter(|heading| *heading != passage.title));
    names.join(" > ").replace(['\n', '\r'], " ")
}

fn language_name(language: Language) -> &'static str {
    match language {
        Language::Korean => "Korean",
        Language::English => "English",
        Language::Mixed | Language::Other => "the language of the question",
    }
}

fn messages(
    system: &str,
    memory: &str,
    entities: &str,
    recalled: &[SaidTurn],
    turns: Vec<SaidTurn>,
    passages: &[Shown<'_>],
    question: &str,
) -> Vec<Message> {
    // What changes least stands first: servers keep what they have read of an unchanged beginning.
    let mut first = system.to_owned();
    if !memory.is_empty() {
        first.push_str(&format!("\n\nWhat you remember of this conversation:\n{memory}"));
    }
    if !entities.is_empty() {
        first.push_str(&format!("\n\nFacts from it:\n{entities}"));
    }
    for turn in recalled {
        first
            .push_str(&format!("\n\nSaid earlier:\nuser: {}\nyou: {}", turn.question, turn.answer));
    }
    let mut messages = vec![Message::system(first)];
    for turn in turns {
        messages.push(Message::user(turn.question));
        messages.push(Message::assistant(turn.answer));
    }
    let passages = fenced(passages);
    let last = if passages.is_empty() {
        question.to_owned()
    } else {
        format!("{passages}\nQuestion: {question}")
    };
    messages.push(Message::user(last));
    messages
}
