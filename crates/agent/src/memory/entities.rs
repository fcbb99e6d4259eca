//! The facts of a conversation that a summary would lose: amounts, names, dates, each under a key.

use serde::{Deserialize, Serialize};

use crate::text::clip;

/// Longest key and value, in bytes: a fact is a word or a line.
const KEY_BYTES_MAX: usize = 96;
const VALUE_BYTES_MAX: usize = 240;

/// A fact as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    pub key: String,
    pub value: String,
    /// The turn that said so.
    pub turn: u64,
}

/// A fact as a model or a person gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NewEntity {
    /// A short name such as `budget`, the same for the same thing.
    pub key: String,
    /// As it was said, word for word: `$10,000`, not "an amount".
    pub value: String,
}

/// Facts in the order in which they were last said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Entities(Vec<Entity>);

impl Entities {
    #[must_use]
    pub fn as_slice(&self) -> &[Entity] {
        &self.0
    }

    /// Puts a fact at the end: what stood under its key goes, and beyond `most` the oldest.
    pub fn put(&mut self, new: &NewEntity, turn: u64, most: usize) {
        let key = clip(new.key.trim(), KEY_BYTES_MAX).to_lowercase();
        let value = clip(new.value.trim(), VALUE_BYTES_MAX);
        if key.is_empty() || value.is_empty() {
            return;
        }
        self.0.retain(|entity| entity.key != key);
        self.0.push(Entity { key, value: value.to_owned(), turn });
        let surplus = self.0.len().saturating_sub(most);
        self.0.drain(..surplus);
    }

    /// Takes a fact away; false if there is none of this key.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|entity| entity.key != key);
        self.0.len() < before
    }

    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Entity> {
        self.0.iter().find(|entity| entity.key == key)
    }
}
