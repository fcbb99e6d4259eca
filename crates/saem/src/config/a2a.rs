//! Settings of A2A: how Saem shows itself to other agents.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct A2a {
    pub(crate) enabled: bool,
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) organization: String,
    pub(crate) organization_url: String,
    pub(crate) documentation_url: String,
    pub(crate) card: CardKind,
    pub(crate) bare_card: BareCardKind,
    pub(crate) bare_calls: bool,
    pub(crate) card_seconds_max: u64,
    pub(crate) store: TaskStore,
    pub(crate) tasks_kept_days: u64,
    pub(crate) webhook_failures_max: u32,
    pub(crate) signing_key: String,
}

/// Where tasks are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TaskStore {
    /// Where conversations are.
    Same,
    Memory,
}

/// Who may read the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CardKind {
    Public,
    Authenticated,
}

/// What a client finds that names no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BareCardKind {
    Merged,
    Strict,
}
