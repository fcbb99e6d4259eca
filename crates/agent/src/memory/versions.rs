//! What people do to a memory: they see what it was, correct it, and go back.

use serde::{Deserialize, Serialize};

use super::{Entities, Memory, MemoryLimits, NewEntity, Rewritten, SaidTurn, Session};
use crate::identity::Timestamp;
use crate::model::Tokenizer;

/// Who has written a memory that a person has written.
const PERSON: &str = "person";

/// A memory with its facts, as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub memory: Memory,
    pub entities: Entities,
}

/// What a person changes; what is none stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryEdit {
    pub text: Option<String>,
    /// All facts from now on.
    pub entities: Option<Vec<NewEntity>>,
}

/// Why a memory cannot be changed so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("the memory has {found} tokens and at most {most} are allowed: shorten it")]
    TooLong { found: usize, most: usize },
    #[error("{found} facts were given and at most {most} are allowed: leave some out")]
    TooMany { found: usize, most: usize },
    #[error("there is no version {version}; there are: {}", list(.known))]
    NoVersion { version: u64, known: Vec<u64> },
}

impl Session {
    /// Changes the memory as a person wants it.
    pub fn edit(
        &mut self,
        edit: MemoryEdit,
        at: Timestamp,
        limits: &MemoryLimits,
        tokenizer: &dyn Tokenizer,
    ) -> Result<(), EditError> {
        let text =
            edit.text.map_or_else(|| self.memory.text.clone(), |text| text.trim().to_owned());
        let found = tokenizer.count(&text);
        if found > limits.tokens_max {
            return Err(EditError::TooLong { found, most: limits.tokens_max });
        }
        let entities = match edit.entities {
            Some(new) => self.facts_of(&new, limits)?,
            None => self.entities.clone(),
        };
        let written_by = PERSON.to_owned();
        let rewritten = Rewritten { text, entities, written_by, written_at: at };
        self.replace(rewritten, self.memory.folded_to, limits);
        Ok(())
    }

    /// Brings an earlier version back as a new one. The turns that it has not seen are to be taken in again: `said`
    /// are the session's turns as far as they are kept, oldest first.
    pub fn roll_back(
        &mut self,
        version: u64,
        said: Vec<SaidTurn>,
        at: Timestamp,
        limits: &MemoryLimits,
    ) -> Result<(), EditError> {
        let earlier = self.earlier.iter().find(|earlier| earlier.memory.version == version);
        let Some(Version { memory, entities }) = earlier.cloned() else {
            let known = self.earlier.iter().map(|earlier| earlier.memory.version).collect();
            return Err(EditError::NoVersion { version, known });
        };
        let written_by = format!("{PERSON}, from version {version}");
        let folded_to = memory.folded_to;
        let rewritten = Rewritten { text: memory.text, entities, written_by, written_at: at };
        let first_known = self.turns.first().map_or(u64::MAX, |turn| turn.number);
        let unseen = |turn: &SaidTurn| turn.number > folded_to && turn.number < first_known;
        self.turns.splice(0..0, said.into_iter().filter(unseen));
        self.replace(rewritten, folded_to, limits);
        Ok(())
    }

    /// Puts a state in the place of the present one, which becomes an earlier version.
    pub(super) fn replace(&mut self, new: Rewritten, folded_to: u64, limits: &MemoryLimits) {
        let Rewritten { text, entities, written_by, written_at } = new;
        let version = self.memory.version + 1;
        let memory = Memory { version, text, folded_to, written_by, written_at, refused: None };
        let memory = std::mem::replace(&mut self.memory, memory);
        let entities = std::mem::replace(&mut self.entities, entities);
        self.earlier.push(Version { memory, entities });
        let surplus = (self.earlier.len() + 1).saturating_sub(limits.versions_max);
        self.earlier.drain(..surplus);
    }

    fn facts_of(&self, new: &[NewEntity], limits: &MemoryLimits) -> Result<Entities, EditError> {
        if new.len() > limits.entities_max {
            return Err(EditError::TooMany { found: new.len(), most: limits.entities_max });
        }
        let mut entities = Entities::default();
        for fact in new {
            let known = self.entities.get(&fact.key).filter(|known| known.value == fact.value);
            let turn = known.map_or(self.turns_said, |known| known.turn);
            entities.put(fact, turn, limits.entities_max);
        }
        Ok(entities)
    }
}

fn list(versions: &[u64]) -> String {
    let numbers: Vec<String> = versions.iter().map(u64::to_string).collect();
    if numbers.is_empty() { "none yet".to_owned() } else { numbers.join(", ") }
}
