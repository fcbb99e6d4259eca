//! The names of places that can be searched.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Longest name of a provider, in bytes.
const BYTES_MAX: usize = 64;

/// Names a provider: `local`, `arxiv`, `mcp:github`. The list is open; `google` is whatever searches the web here.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProviderId(String);

/// Why a text names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("names a source with small letters, digits and -_.: in at most {BYTES_MAX} bytes")]
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

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
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
            && text.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.:".contains(&byte)
            });
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
        json_schema!({"type": "string", "pattern": "^[a-z0-9_.:-]{1,64}$"})
    }
}
