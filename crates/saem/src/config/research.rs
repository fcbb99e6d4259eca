//! Settings of research: where it may search outside.

use serde::Deserialize;

use super::Secret;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Research {
    pub(crate) providers: Vec<String>,
    pub(crate) keys: Vec<Secret>,
}
