//! What a session remembers: the last turns word for word, one rewritten state, and a few facts as they were said.
//!
//! A session is a value. It says what a model gets to see of it and when its memory is due to be rewritten; `engine`
//! has it rewritten, the gate judges the draft, and `store` keeps what it lets through.

mod entities;
mod gate;
mod recall;
#[cfg(test)]
mod tests;
mod versions;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::identity::Timestamp;
use crate::text::clip;

pub use self::entities::{Entities, Entity, NewEntity};
pub use self::gate::{Draft, Rejected, Rewritten, gate};
pub use self::recall::{RECALLED_FROM_MAX, recall};
pub use self::versions::{EditError, MemoryEdit, Version};

/// Longest name of a session, in bytes.
const SESSION_BYTES_MAX: usize = 128;

/// Longest reason for a refusal that is kept, in bytes.
const REFUSAL_BYTES_MAX: usize = 500;

/// Longest title of a session, in bytes: a line of a list.
const TITLE_BYTES_MAX: usize = 200;

/// Names a conversation within its tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// A name that no session can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a session cannot be called so: use 1 to 128 of A-Z, a-z, 0-9, and . _ @ - between them")]
pub struct SessionIdError;

impl SessionId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SessionId {
    type Err = SessionIdError;

    fn from_str(text: &str) -> Result<Self, SessionIdError> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._@-".contains(&byte);
        let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !starts_well || text.len() > SESSION_BYTES_MAX || !text.bytes().all(legal) {
            return Err(SessionIdError);
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for SessionId {
    type Error = SessionIdError;

    fn try_from(text: String) -> Result<Self, SessionIdError> {
        text.parse()
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

/// The numbers of remembering; the defaults are the product's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Turns that are shown word for word, and that are taken into the memory at a time.
    pub turns: usize,
    pub sentences_max: usize,
    pub tokens_max: usize,
    pub entities_max: usize,
    /// Most of the protected values that a rewrite may lose, in percent.
    pub lost_percent_max: usize,
    /// States of the memory that are kept, the present one included.
    pub versions_max: usize,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            turns: 5,
            sentences_max: 20,
            tokens_max: 500,
            entities_max: 25,
            lost_percent_max: 20,
            versions_max: 5,
        }
    }
}

/// One question with its answer, as they were said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaidTurn {
    /// From 1.
    pub number: u64,
    pub at: Timestamp,
    pub question: String,
    pub answer: String,
    /// The answer ended as it should; one that broke off is kept as far as it came.
    pub is_complete: bool,
}

/// The one state that stands for everything said up to a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Counts rewrites; 0 for a memory that nothing was taken into.
    pub version: u64,
    pub text: String,
    /// The last turn that is in it; 0 for none.
    pub folded_to: u64,
    /// Who wrote it: a model's name, `offline` or `person`.
    pub written_by: String,
    pub written_at: Timestamp,
    /// Why the last rewrite was refused, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A conversation as far as it is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    /// What it is called in a list: its first question, unless somebody gave it a name.
    pub title: String,
    pub created_at: Timestamp,
    pub used_at: Timestamp,
    /// How many turns were said in it.
    pub turns_said: u64,
    pub memory: Memory,
    pub entities: Entities,
    /// What the memory was before, oldest first; for going back.
    #[serde(default)]
    pub earlier: Vec<Version>,
    /// The last turns and all that are not in the memory yet, oldest first.
    pub turns: Vec<SaidTurn>,
}

/// Work on a memory that is due.
#[derive(Debug, Clone, PartialEq)]
pub struct Fold {
    pub session: SessionId,
    /// What is rewritten; the rewrite counts only if this is still the version then.
    pub memory: Memory,
    pub entities: Entities,
    pub turns: Vec<SaidTurn>,
}

impl Session {
    /// A conversation in which nothing was said.
    #[must_use]
    pub fn new(id: SessionId, at: Timestamp) -> Self {
        Self {
            id,
            title: String::new(),
            created_at: at,
            used_at: at,
            turns_said: 0,
            memory: Memory::default(),
            entities: Entities::default(),
            earlier: Vec::new(),
            turns: Vec::new(),
        }
    }

    /// The number of the next turn.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.turns_said + 1
    }

    /// The last turns, word for word.
    #[must_use]
    pub fn short_term(&self, limits: &MemoryLimits) -> &[SaidTurn] {
        self.turns.get(self.turns.len().saturating_sub(limits.turns)..).unwrap_or_default()
    }

    /// Turns that are neither in the memory nor shown word for word: a rewrite is late, or was refused.
    #[must_use]
    pub fn left_over(&self, limits: &MemoryLimits) -> &[SaidTurn] {
        let shown = self.short_term(limits).first().map_or(u64::MAX, |first| first.number);
        let unfolded = self.unfolded();
        let end = unfolded.iter().take_while(|turn| turn.number < shown).count();
        unfolded.get(..end).unwrap_or_default()
    }

    /// Turns that are not in the memory.
    #[must_use]
    pub fn unfolded(&self) -> &[SaidTurn] {
        let folded =
            self.turns.iter().take_while(|turn| turn.number <= self.memory.folded_to).count();
        self.turns.get(folded..).unwrap_or_default()
    }

    /// Whether the memory is to be rewritten: there is one turn more than fits the short-term.
    #[must_use]
    pub fn is_due(&self, limits: &MemoryLimits) -> bool {
        self.unfolded().len() > limits.turns
    }

    /// The rewrite that is due: the oldest turns that are not in the memory are taken in.
    #[must_use]
    pub fn fold(&self, limits: &MemoryLimits) -> Option<Fold> {
        if !self.is_due(limits) {
            return None;
        }
        let unfolded = self.unfolded();
        Some(Fold {
            session: self.id.clone(),
            memory: self.memory.clone(),
            entities: self.entities.clone(),
            turns: unfolded.get(..limits.turns).unwrap_or_default().to_vec(),
        })
    }

    /// Adds a turn, which gets the next number, and lets go of those that are remembered otherwise.
    pub fn add(&mut self, mut turn: SaidTurn, limits: &MemoryLimits) {
        turn.number = self.next_number();
        self.turns_said = turn.number;
        self.used_at = self.used_at.max(turn.at);
        if self.title.is_empty() {
            self.rename(&turn.question);
        }
        self.turns.push(turn);
        self.let_go(limits);
    }

    /// Takes a rewrite in. False if the memory has changed since: the rewrite is of another one.
    pub fn remember(&mut self, fold: &Fold, rewritten: Rewritten, limits: &MemoryLimits) -> bool {
        if fold.memory.version != self.memory.version {
            return false;
        }
        let folded_to = fold.turns.last().map_or(self.memory.folded_to, |last| last.number);
        self.replace(rewritten, folded_to, limits);
        self.let_go(limits);
        true
    }

    /// Notes why a rewrite was refused. False if the memory has changed since.
    pub fn refuse(&mut self, fold: &Fold, why: &str) -> bool {
        let is_same = fold.memory.version == self.memory.version;
        if is_same {
            self.memory.refused = Some(clip(why, REFUSAL_BYTES_MAX).to_owned());
        }
        is_same
    }

    /// Gives the session another name; nothing but blanks leaves it as it is.
    pub fn rename(&mut self, title: &str) {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        if !title.is_empty() {
            title_of(&title).clone_into(&mut self.title);
        }
    }

    fn let_go(&mut self, limits: &MemoryLimits) {
        let shown_from = self.turns.len().saturating_sub(limits.turns);
        let folded_to = self.memory.folded_to;
        let mut place = 0;
        self.turns.retain(|turn| {
            place += 1;
            place > shown_from || turn.number > folded_to
        });
    }
}

fn title_of(text: &str) -> &str {
    clip(text, TITLE_BYTES_MAX).trim_end()
}
