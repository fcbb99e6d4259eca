//! Settings of MCP.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mcp {
    pub(crate) prompts: String,
    pub(crate) sse: bool,
}
