//! Whether the parts of the process work, and why not.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// A part that readiness depends on, such as the store's writer.
pub trait ReadyCheck: Send + Sync {
    fn name(&self) -> &str;
    /// Why it does not work, in words for the operator. It looks at a flag: it must not wait.
    fn check(&self) -> Result<(), String>;
}

/// The state of the whole and of each part.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Health {
    pub(crate) ready: bool,
    pub(crate) parts: BTreeMap<String, PartState>,
}

/// The state of one part.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PartState {
    pub(crate) ready: bool,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

impl Health {
    pub(crate) fn of(parts: BTreeMap<String, PartState>) -> Self {
        Self { ready: parts.values().all(|part| part.ready), parts }
    }
}

impl From<Result<(), String>> for PartState {
    fn from(checked: Result<(), String>) -> Self {
        Self { ready: checked.is_ok(), reason: checked.err() }
    }
}
