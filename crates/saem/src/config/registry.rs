//! Settings of the catalogue of agents.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Registry {
    pub(crate) address: String,
    pub(crate) keepers: Vec<String>,
    pub(crate) approval: bool,
    pub(crate) check_minutes: u64,
    pub(crate) failures_until_down: u32,
    pub(crate) evict_days: u64,
    pub(crate) upstreams: Vec<String>,
}
