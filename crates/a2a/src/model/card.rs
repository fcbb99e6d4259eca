//! How an agent describes itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Object;

/// The description of an agent, in the meaning of 1.0, with what older versions had besides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AgentCard {
    pub name: String,
    pub description: String,
    /// The version of the agent, not of the protocol.
    pub version: String,
    /// The first is preferred.
    pub interfaces: Vec<Interface>,
    pub provider: Option<Provider>,
    pub documentation_url: Option<String>,
    pub icon_url: Option<String>,
    pub capabilities: Capabilities,
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// Meeting one of them is enough.
    pub security: Vec<SecurityRequirement>,
    pub default_input_modes: Vec<String>,
    pub default_output_modes: Vec<String>,
    pub skills: Vec<Skill>,
    pub signatures: Vec<CardSignature>,
    /// How a card of 0.1 says who may call.
    pub legacy_authentication: Option<LegacyAuthentication>,
}

/// A place where the agent is reached, and how it wants to be spoken to there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    pub url: String,
    /// `JSONRPC`, `GRPC`, `HTTP+JSON`, or a URI.
    pub binding: String,
    /// As the card has it, `1.0` or `0.3.0`; `None` if an older card does not say.
    pub version: Option<String>,
    pub tenant: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    pub organization: String,
    pub url: String,
}

/// What the agent can do beyond answering; `None` is not said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Capabilities {
    pub streaming: Option<bool>,
    pub push_notifications: Option<bool>,
    pub extended_card: Option<bool>,
    /// Up to 0.3.
    pub state_transition_history: Option<bool>,
    pub extensions: Vec<Extension>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extension {
    pub uri: String,
    pub description: Option<String>,
    pub required: Option<bool>,
    pub params: Option<Object>,
}

/// Something the agent is good at.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Skill {
    pub id: String,
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    pub examples: Vec<String>,
    /// Empty: the card's.
    pub input_modes: Vec<String>,
    pub output_modes: Vec<String>,
    pub security: Vec<SecurityRequirement>,
}

/// Schemes that are all to be met, each with its scopes.
pub type SecurityRequirement = BTreeMap<String, Vec<String>>;

/// A way of proving who calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SecurityScheme {
    pub description: Option<String>,
    pub kind: SecuritySchemeKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecuritySchemeKind {
    ApiKey { location: ApiKeyLocation, name: String },
    Http { scheme: String, bearer_format: Option<String> },
    OAuth2 { flows: Vec<OAuthFlow>, metadata_url: Option<String> },
    OpenIdConnect { url: String },
    MutualTls,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApiKeyLocation {
    Query,
    Header,
    Cookie,
}

/// A flow of OAuth 2. 1.0 allows one in a scheme, older versions one of each kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OAuthFlow {
    pub kind: OAuthFlowKind,
    pub authorization_url: Option<String>,
    pub device_authorization_url: Option<String>,
    pub token_url: Option<String>,
    pub refresh_url: Option<String>,
    pub scopes: BTreeMap<String, String>,
    pub pkce_required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OAuthFlowKind {
    AuthorizationCode,
    ClientCredentials,
    DeviceCode,
    Implicit,
    Password,
}

/// A JWS over the card without its signatures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardSignature {
    /// Base64url of the protected header.
    pub protected: String,
    /// Base64url of the signature.
    pub signature: String,
    pub header: Option<Object>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegacyAuthentication {
    pub schemes: Vec<String>,
    /// What a client should use; never a secret of ours.
    pub credentials: Option<String>,
}
