//! Settings of research: where it may search outside.

use serde::Deserialize;

use super::Secret;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Research {
    pub(crate) providers: Vec<String>,
    pub(crate) keys: Vec<Secret>,
    /// Runs of a server that search and write at a time.
    pub(crate) runs_max: usize,
    /// Seconds after which a plan is followed that nobody has objected to.
    pub(crate) plan_seconds: u64,
    /// Seconds after which a silent process has lost its runs, where several share them.
    pub(crate) lease_seconds: u64,
}
