//! The names of places that can be searched.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::tools::naming::ToolName;

/// Longest name of a provider, in bytes: that of an agent with an identifier of 256, the longest domain in it.
const BYTES_MAX: usize = 262;

/// What names of tools and of agents begin with.
const TOOL: &str = "tool:";
const AGENT: &str = "agent:";

/// Names a provider: `local`, `arxiv`, `tool:github__search_code`, `agent:weather`. The list is open; `google` is
/// whatever searches the web here.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProviderId(String);

/// Why a text names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("names a source with letters, digits and -_.: in at most {BYTES_MAX} bytes")]
pub struct ProviderIdError;

impl ProviderId {
    /// Saem's own documents.
    #[must_use]
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    /// The alias of whatever searches the web.
    #[must_use]
    pub fn google() -> Self {
        Self("google".to_owned())
    }

    #[must_use]
    pub fn arxiv() -> Self {
        Self("arxiv".to_owned())
    }

    /// A tool of a server, by the name that it has in the registry.
    #[must_use]
    pub fn tool(name: &ToolName) -> Self {
        Self(format!("{TOOL}{name}"))
    }

    /// Another agent, by its id in the configuration or by its identifier in the catalogue.
    ///
    /// # Errors
    /// If the name has letters that no id has, or is too long.
    pub fn agent(name: &str) -> Result<Self, ProviderIdError> {
        format!("{AGENT}{name}").parse()
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Who is called when it is searched; none for a provider of searches.
    #[must_use]
    pub fn callee(&self) -> Option<Callee<'_>> {
        let tool = self.0.strip_prefix(TOOL).map(Callee::Tool);
        tool.or_else(|| self.0.strip_prefix(AGENT).map(Callee::Agent))
    }
}

/// Whom a search calls that goes to no provider of searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callee<'a> {
    /// `server__tool`.
    Tool(&'a str),
    /// A name or id of the configuration, or an identifier of the catalogue.
    Agent(&'a str),
}

impl<'a> Callee<'a> {
    #[must_use]
    pub fn name(self) -> &'a str {
        match self {
            Self::Tool(name) | Self::Agent(name) => name,
        }
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ProviderId {
    type Err = ProviderIdError;

    fn from_str(text: &str) -> Result<Self, ProviderIdError> {
        let is_good = (1..=BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
        is_good.then(|| Self(text.to_owned())).ok_or(ProviderIdError)
    }
}

impl TryFrom<String> for ProviderId {
    type Error = ProviderIdError;
    fn try_from(text: String) -> Result<Self, ProviderIdError> {
        text.parse()
    }
}

impl From<ProviderId> for String {
    fn from(id: ProviderId) -> Self {
        id.0
    }
}

impl JsonSchema for ProviderId {
    fn schema_name() -> Cow<'static, str> {
        "ProviderId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,262}$"})
    }
}
