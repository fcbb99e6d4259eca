//! What is known of agents before they are spoken to: plain values of the owner's configuration.

use std::collections::BTreeMap;
use std::fmt;

use agent::tools::naming::ServerId;
use reqwest::Url;
use serde_json::Value;

use super::outside::Reach;
use crate::tools::Waits;

/// One agent of the configuration.
#[derive(Clone, PartialEq)]
pub struct AgentSettings {
    pub id: ServerId,
    /// As it is called in the configuration.
    pub name: String,
    pub source: Source,
    /// What is shown to the agent, and to nobody else: credentials, mostly.
    pub headers: BTreeMap<String, String>,
    /// Further origins that are the agent's own, such as `https://api.example.com`.
    pub origins: Vec<String>,
    /// Keys that its card may be signed with, as a JWK set; none, and the card may say where they are on its own origin.
    pub keys: Option<Value>,
    /// A card without a signature that holds is refused.
    pub must_be_signed: bool,
    pub waits: Waits,
}

/// Where an agent's card is.
#[derive(Clone, PartialEq)]
pub enum Source {
    /// The agent's address, or that of its card.
    Address(String),
    /// The card itself.
    Card(Value),
    /// A card of our own catalogue: whoever registered it has written it, not the owner.
    Listed(Value),
    /// A catalogue's entry.
    Catalogue { registry: String, identifier: String },
}

/// Plain values of the configuration.
#[derive(Debug, Clone, Default)]
pub struct PeerRules {
    pub agents: Vec<AgentSettings>,
    /// Catalogues that are asked when an agent is looked for.
    pub registries: Vec<String>,
    /// For agents that are named by their address alone.
    pub waits: Waits,
    /// Agents that a message may come through.
    pub hops_max: u32,
}

impl AgentSettings {
    /// An agent of which nothing is known but where it is.
    #[must_use]
    pub fn at(address: &str, waits: Waits) -> Self {
        Self {
            id: ServerId::for_name(address),
            name: address.to_owned(),
            source: Source::Address(address.to_owned()),
            headers: BTreeMap::new(),
            origins: Vec::new(),
            keys: None,
            must_be_signed: false,
            waits,
        }
    }
}

impl AgentSettings {
    /// Whose word it is that the agent is at this address.
    pub(super) fn reach(&self, url: &Url) -> Reach {
        let is_same =
            |known: &str| known.parse().is_ok_and(|known: Url| known.origin() == url.origin());
        let is_written_down = match &self.source {
            Source::Address(address) => is_same(address),
            // Every word of it is the owner's.
            Source::Card(_) => true,
            Source::Listed(_) | Source::Catalogue { .. } => false,
        };
        if is_written_down || self.origins.iter().any(|origin| is_same(origin)) {
            Reach::WrittenDown
        } else {
            Reach::Stranger
        }
    }
}

/// Values of headers are keys more often than not, so they are not printed.
impl fmt::Debug for AgentSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSettings")
            .field("id", &self.id)
            .field("source", &self.source.shown())
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

impl Source {
    /// What people see of it in a list.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Address(url) => url.split('?').next().unwrap_or_default().to_owned(),
            Self::Card(card) | Self::Listed(card) => {
                let name = card.get("name").and_then(Value::as_str).unwrap_or_default();
                format!("the card of {}", super::error::shown(name))
            }
            Self::Catalogue { identifier, .. } => identifier.clone(),
        }
    }
}
