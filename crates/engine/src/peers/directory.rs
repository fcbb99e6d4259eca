//! All agents that are known: by the name that the owner gave them, by an address, or by a catalogue's identifier.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent::ports::{Clock, Entropy};
use agent::tools::naming::ServerId;
use serde_json::Value;

use super::cards::Cards;
use super::error::{PeerError, shown};
use super::outside::Outside;
use super::peer::Agent;
use super::settings::{AgentSettings, PeerRules, Source};
use crate::tasks::Tasks;

/// What identifiers of catalogues begin with.
const IDENTIFIER: &str = "urn:air:";

/// What a client of agents is made of.
#[derive(Clone)]
pub struct PeerParts {
    pub outside: Arc<dyn Outside>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub tasks: Tasks,
}

/// How an agent was when it was last asked for its card.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Condition {
    /// Nobody has asked yet.
    #[default]
    Idle,
    /// With the version and binding that it is spoken to in.
    Up {
        version: String,
    },
    Down {
        why: String,
    },
}

/// The A2A client. Cheap to clone.
#[derive(Clone)]
pub struct Peers {
    pub(super) parts: PeerParts,
    pub(super) rules: Arc<PeerRules>,
    pub(super) cards: Arc<Cards>,
    conditions: Arc<Mutex<BTreeMap<ServerId, Condition>>>,
}

impl Peers {
    #[must_use]
    pub fn new(parts: PeerParts, rules: PeerRules) -> Self {
        let (cards, conditions) = (Arc::default(), Arc::default());
        Self { parts, rules: Arc::new(rules), cards, conditions }
    }

    /// The agents of the configuration.
    #[must_use]
    pub fn configured(&self) -> &[AgentSettings] {
        &self.rules.agents
    }

    /// An agent, its card read and a way of speaking to it chosen. `named` is its name in the configuration, its address,
    /// or an identifier that a catalogue knows.
    pub async fn agent(&self, named: &str) -> Result<Agent, PeerError> {
        let settings = self.settings(named)?;
        self.known(&settings).await
    }

    /// An agent of the configuration, by the name that it has there.
    pub async fn configured_agent(&self, named: &str) -> Result<Agent, PeerError> {
        let is_it = |agent: &&AgentSettings| agent.name == named || agent.id.as_str() == named;
        match self.rules.agents.iter().find(is_it) {
            Some(agent) => self.known(agent).await,
            None => Err(PeerError::Absent("there is no such agent".to_owned())),
        }
    }

    /// An agent of our own catalogue, by its card: a stranger, wherever it is, who gets no credentials.
    pub async fn listed_agent(&self, identifier: &str, card: Value) -> Result<Agent, PeerError> {
        let mut settings = AgentSettings::at(identifier, self.rules.waits);
        settings.source = Source::Listed(card);
        self.known(&settings).await
    }

    /// An agent whose settings are known.
    pub(super) async fn known(&self, settings: &AgentSettings) -> Result<Agent, PeerError> {
        let reached = match self.card(settings).await {
            Ok(card) => Agent::new(self.clone(), settings.clone(), card),
            Err(error) => Err(error),
        };
        let condition = match &reached {
            Ok(agent) => Condition::Up { version: agent.spoken() },
            Err(error) => Condition::Down { why: error.to_string() },
        };
        if self.rules.agents.iter().any(|known| known.id == settings.id) {
            let mut conditions = self.conditions.lock().unwrap_or_else(PoisonError::into_inner);
            conditions.insert(settings.id.clone(), condition);
        }
        reached
    }

    /// How a configured agent was when it was last asked.
    #[must_use]
    pub fn condition(&self, id: &ServerId) -> Condition {
        let conditions = self.conditions.lock().unwrap_or_else(PoisonError::into_inner);
        conditions.get(id).cloned().unwrap_or_default()
    }

    pub(super) fn configured_as(&self, id: &ServerId) -> Option<&AgentSettings> {
        self.rules.agents.iter().find(|agent| agent.id == *id)
    }

    fn settings(&self, named: &str) -> Result<AgentSettings, PeerError> {
        let is_it = |agent: &&AgentSettings| agent.name == named || agent.id.as_str() == named;
        if let Some(agent) = self.rules.agents.iter().find(is_it) {
            return Ok(agent.clone());
        }
        let mut settings = AgentSettings::at(named, self.rules.waits);
        if named.starts_with("http://") || named.starts_with("https://") {
            return Ok(settings);
        }
        match self.rules.registries.first() {
            Some(registry) if named.starts_with(IDENTIFIER) => {
                let (registry, identifier) = (registry.clone(), named.to_owned());
                settings.source = Source::Catalogue { registry, identifier };
                Ok(settings)
            }
            Some(_) | None => Err(PeerError::Absent(format!(
                "there is no agent {:?}: name one of the configuration ([agents.NAME]), or give its address",
                shown(named)
            ))),
        }
    }

    /// Something that nobody can guess, to call a message or a task by.
    pub(super) fn fresh(&self) -> Result<String, PeerError> {
        let mut bytes = [0_u8; 16];
        let filled = self.parts.entropy.fill(&mut bytes);
        filled.map_err(|error| PeerError::Broken(error.to_string()))?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}
