//! What a catalogue of agents decides: what it takes, what it keeps, what it shows to whom, and whom it drops.

pub mod ard;
pub mod changes;
pub mod crawl;
pub mod disclosure;
pub mod facets;
pub mod health;
pub mod query;
pub mod registration;
pub mod validation;

use serde::{Deserialize, Serialize};

use crate::model::AgentCard;
use crate::timestamp::Timestamp;
use changes::Change;
use disclosure::Disclosure;
use health::Health;

/// Versions of a card that are kept: the oldest go first.
pub const VERSIONS_MAX: usize = 50;

/// An agent in the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name in the catalogue: `urn:air:<domain>:<name>`.
    pub identifier: String,
    /// Who registered it; nobody else may change it.
    pub owner: String,
    pub standing: Standing,
    pub disclosure: Disclosure,
    /// The newest is the last. There is always one.
    pub versions: Vec<CardVersion>,
    pub registered_at: Timestamp,
    pub health: Health,
    /// Where its card was fetched; `None` if the card itself was handed in.
    #[serde(default)]
    pub source: Option<String>,
}

/// What the keepers of the catalogue say of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Its owner and the keepers see it.
    Pending,
    Approved,
    /// It is shown, with the advice not to use it.
    Deprecated,
}

/// A card as it was from some moment on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardVersion {
    /// 1, 2, 3 …
    pub number: u32,
    pub card: AgentCard,
    pub since: Timestamp,
    /// What is different from the version before.
    pub changes: Vec<Change>,
}

impl Entry {
    /// The card as it is now.
    #[must_use]
    pub fn card(&self) -> Option<&AgentCard> {
        self.versions.last().map(|version| &version.card)
    }

    /// When something about the card last changed.
    #[must_use]
    pub fn updated_at(&self) -> Timestamp {
        self.versions.last().map_or(self.registered_at, |version| version.since)
    }

    /// Keeps a card that was registered anew. Returns what changed; nothing is kept if nothing did.
    pub fn update(&mut self, card: AgentCard, now: Timestamp) -> Vec<Change> {
        let (number, changes) = match self.versions.last() {
            // A new signature of the same card is not a new version.
            Some(last) if unsigned(&last.card) == unsigned(&card) => {
                if let Some(last) = self.versions.last_mut() {
                    last.card = card;
                }
                return Vec::new();
            }
            Some(last) => (last.number.saturating_add(1), changes::between(&last.card, &card)),
            None => (1, Vec::new()),
        };
        self.versions.push(CardVersion { number, card, since: now, changes: changes.clone() });
        let excess = self.versions.len().saturating_sub(VERSIONS_MAX);
        self.versions.drain(..excess);
        changes
    }
}

fn unsigned(card: &AgentCard) -> AgentCard {
    AgentCard { signatures: Vec::new(), ..card.clone() }
}

#[cfg(test)]
mod tests;
