//! API keys over the wire.

use agent::identity::{ApiKey, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyBody {
    pub prefix: String,
    pub tenant: String,
    pub label: String,
    pub scopes: Vec<String>,
    pub created_at: u64,
    pub expires_at: Option<u64>,
    pub revoked_at: Option<u64>,
}

impl From<ApiKey> for KeyBody {
    fn from(key: ApiKey) -> Self {
        let millis = |at: Option<Timestamp>| at.map(|at| at.0);
        Self {
            prefix: key.prefix,
            tenant: key.tenant.into(),
            label: key.label,
            scopes: key.scopes.iter().map(ToString::to_string).collect(),
            created_at: key.created_at.0,
            expires_at: millis(key.expires_at),
            revoked_at: millis(key.revoked_at),
        }
    }
}

/// The tenant's keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeysBody {
    pub keys: Vec<KeyBody>,
}

/// A new key with its secret, which is shown this once.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct MintedBody {
    pub secret: String,
    pub key: KeyBody,
}

/// What a new key may do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKeyBody {
    #[serde(default)]
    pub label: String,
    /// Of `read`, `write` and `admin`.
    pub scopes: Vec<String>,
    /// Days until it expires; never, if left out.
    #[serde(default)]
    pub days: Option<u64>,
}

/// What a new key may do, and whose it is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantKeyBody {
    pub tenant: String,
    #[serde(default)]
    pub label: String,
    /// Of `read`, `write` and `admin`.
    pub scopes: Vec<String>,
    /// Days until it expires; never, if left out.
    #[serde(default)]
    pub days: Option<u64>,
}
