//! The agent's card: what it says, in which form each path and version gets it, and how long it may be kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::a2a::card::{Algorithm, SigningHeader, at_old_path, at_path, etag_input, sign};
use ::a2a::error::Error;
use ::a2a::model::{
    AgentCard, ApiKeyLocation, Capabilities, Interface, Provider, SecurityRequirement,
    SecurityScheme, SecuritySchemeKind, Skill,
};
use ::a2a::version::VERSION_HEADER;
use ::a2a::wire::write_card;
use agent::names::TenantId;
use axum::response::{IntoResponse, Response};
use engine::agents::serving::{ASK, RESEARCH, SEARCH};
use http::StatusCode;
use http::header::{CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use http::request::Parts;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Agent, Asked, CardAccess, Encryption, PATH, json, text};
use crate::guard::Caller;
use crate::problem::Problem;

const JSON: &str = "application/json";

/// Names of the schemes in the card.
const BEARER: &str = "bearer";
const API_KEY: &str = "apiKey";
const OPENID: &str = "openIdConnect";
const MUTUAL_TLS: &str = "mutualTls";

/// Collections that the extended card names: more would be a catalogue.
const COLLECTIONS_MAX: usize = 50;

/// What the agent can do beyond answering.
pub(super) fn capabilities() -> Capabilities {
    Capabilities {
        streaming: Some(true),
        push_notifications: Some(true),
        extended_card: Some(true),
        state_transition_history: Some(false),
        extensions: Vec::new(),
    }
}

impl Agent {
    /// The card since 0.3.
    pub(super) async fn card(&self, parts: Parts) -> Result<Response, Problem> {
        let card = self.described(&parts).await?;
        let version = text(&parts.headers, VERSION_HEADER);
        match at_path(&card, version.as_deref(), self.settings.bare_card) {
            Ok(served) => Ok(self.cached(&parts, &served)),
            Err(error) => {
                let version = ::a2a::version::Version::V1_0;
                Ok(json(error.kind.http(version), JSON, &error.to_http(version)))
            }
        }
    }

    /// The card before 0.3.
    pub(super) async fn old_card(&self, parts: Parts) -> Result<Response, Problem> {
        let card = self.described(&parts).await?;
        Ok(self.cached(&parts, &at_old_path(&card)))
    }

    /// The extended card of 0.2, which has no method for it.
    pub(super) async fn old_extended_card(&self, parts: Parts) -> Result<Response, Problem> {
        let card = self.described(&parts).await?;
        let caller = parts.extensions.get::<Caller>().cloned().ok_or_else(Problem::no_route)?;
        let card = self.extended(card, &caller.tenant).await;
        Ok(json(200, JSON, &write_card(::a2a::version::Version::V0_3, &card)))
    }

    /// The card for a caller that the server knows.
    pub(super) async fn extended_card(&self, asked: &Asked) -> Result<AgentCard, Error> {
        let failed = || Error::of(::a2a::error::ErrorKind::Internal);
        let server = asked.server.as_ref().ok_or_else(failed)?;
        let schemes = schemes(server).await.map_err(|_| failed())?;
        let card = self.own_card(&asked.base, schemes);
        let card = self.extended(card, &asked.principal.tenant).await;
        Ok(self.signed(card, &asked.base))
    }

    async fn described(&self, parts: &Parts) -> Result<AgentCard, Problem> {
        let server = parts.extensions.get::<Arc<crate::Shared>>().cloned();
        let server = server.ok_or_else(Problem::no_route)?;
        let base = self.base(parts);
        let card = self.own_card(&base, schemes(&server).await?);
        Ok(self.signed(card, &base))
    }

    /// The card with what a caller of this tenant may ask about.
    async fn extended(&self, mut card: AgentCard, tenant: &TenantId) -> AgentCard {
        let collections = match self.knowledge.collections(tenant).await {
            Ok(collections) => collections,
            Err(error) => {
                tracing::warn!(%error, "the extended card does not name the collections");
                Vec::new()
            }
        };
        let names: Vec<String> = collections
            .iter()
            .take(COLLECTIONS_MAX)
            .map(|collection| collection.name.to_string())
            .collect();
        if names.is_empty() {
            return card;
        }
        for skill in &mut card.skills {
            skill.description.push_str(&format!(" Collections: {}.", names.join(", ")));
            skill.tags.extend(names.iter().cloned());
        }
        card
    }

    fn own_card(
        &self,
        base: &str,
        mut security_schemes: BTreeMap<String, SecurityScheme>,
    ) -> AgentCard {
        let settings = &self.settings;
        let provider = Provider {
            organization: settings.organization.clone(),
            url: settings.organization_url.clone(),
        };
        let named = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        // Meeting one of them is enough; a certificate is needed besides.
        let mut security: Vec<SecurityRequirement> = security_schemes
            .keys()
            .map(|name| SecurityRequirement::from([(name.clone(), Vec::new())]))
            .collect();
        if settings.encryption == Encryption::Mutual {
            let description = Some("A certificate that this server's operator trusts".to_owned());
            let scheme = SecurityScheme { description, kind: SecuritySchemeKind::MutualTls };
            security_schemes.insert(MUTUAL_TLS.to_owned(), scheme);
            if security.is_empty() {
                security.push(SecurityRequirement::new());
            }
            for requirement in &mut security {
                requirement.insert(MUTUAL_TLS.to_owned(), Vec::new());
            }
        }
        AgentCard {
            name: settings.name.clone(),
            description: settings.description.clone(),
            version: settings.version.clone(),
            interfaces: interfaces(base),
            provider: Some(provider).filter(|provider| !provider.organization.is_empty()),
            documentation_url: named(&settings.documentation_url),
            icon_url: None,
            capabilities: self.capabilities.clone(),
            security_schemes,
            security,
            default_input_modes: vec!["text/plain".to_owned(), JSON.to_owned()],
            default_output_modes: vec!["text/plain".to_owned(), JSON.to_owned()],
            skills: skills(),
            signatures: Vec::new(),
            legacy_authentication: None,
        }
    }

    /// The card with signatures, if the agent has a key.
    fn signed(&self, mut card: AgentCard, base: &str) -> AgentCard {
        if let Some(key) = &self.key {
            let header = SigningHeader {
                algorithm: Algorithm::Es256,
                key_id: key.key_id().to_owned(),
                jku: Some(format!("{base}/.well-known/jwks.json")),
            };
            match sign(&card, &header, |input| key.sign(input)) {
                Ok(signatures) => card.signatures = signatures,
                Err(error) => tracing::error!(%error, "the card could not be signed"),
            }
        }
        card
    }

    /// A card that its reader may keep for a while, and ask later whether it still holds.
    fn cached(&self, parts: &Parts, served: &Value) -> Response {
        let hash = Sha256::digest(etag_input(served).unwrap_or_default());
        let hash: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let tag = format!("W/\"{hash}\"");
        let known = text(&parts.headers, IF_NONE_MATCH.as_str()).unwrap_or_default();
        let is_known = known.split(',').any(|one| {
            let one = one.trim();
            one == "*" || one.trim_start_matches("W/") == tag.trim_start_matches("W/")
        });
        let mut response = match is_known {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => json(200, JSON, served),
        };
        let shared = match self.settings.card_access {
            CardAccess::Public => "public",
            CardAccess::Authenticated => "private",
        };
        let kept = format!("{shared}, max-age={}", self.settings.card_seconds_max);
        let headers = response.headers_mut();
        for (name, value) in [(ETAG, tag), (CACHE_CONTROL, kept)] {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        headers.insert(VARY, HeaderValue::from_static("A2A-Version, Authorization"));
        response
    }
}

/// How callers prove who they are; none while nobody is asked.
async fn schemes(server: &crate::Shared) -> Result<BTreeMap<String, SecurityScheme>, Problem> {
    let mut schemes = BTreeMap::new();
    if server.identity.asks_nobody().await? {
        return Ok(schemes);
    }
    let mut add = |name: &str, description: &str, kind| {
        let description = Some(description.to_owned());
        schemes.insert(name.to_owned(), SecurityScheme { description, kind });
    };
    let bearer = SecuritySchemeKind::Http { scheme: "Bearer".to_owned(), bearer_format: None };
    add(BEARER, "A key of this server", bearer);
    let key = SecuritySchemeKind::ApiKey {
        location: ApiKeyLocation::Header,
        name: "x-api-key".to_owned(),
    };
    add(API_KEY, "A key of this server", key);
    if let Some(jwt) = server.identity.jwt() {
        let url =
            format!("{}/.well-known/openid-configuration", jwt.issuer().trim_end_matches('/'));
        add(OPENID, "A token of the issuer", SecuritySchemeKind::OpenIdConnect { url });
    }
    Ok(schemes)
}

fn interfaces(base: &str) -> Vec<Interface> {
    let url = format!("{base}{PATH}");
    let interface = |binding: &str, version: &str| Interface {
        url: url.clone(),
        binding: binding.to_owned(),
        version: Some(version.to_owned()),
        tenant: None,
    };
    let grpc = |version: &str| Interface { url: authority(base), ..interface("GRPC", version) };
    vec![
        interface("JSONRPC", "1.0"),
        interface("HTTP+JSON", "1.0"),
        grpc("1.0"),
        interface("JSONRPC", "0.3"),
        interface("HTTP+JSON", "0.3"),
        grpc("0.3"),
    ]
}

/// The host and port of an address: what clients of gRPC want.
fn authority(base: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("http", base));
    let host = rest.split('/').next().unwrap_or_default();
    let port = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    match (port, scheme) {
        (Some(_), _) => host.to_owned(),
        (None, "https") => format!("{host}:443"),
        (None, _) => format!("{host}:80"),
    }
}

fn skills() -> Vec<Skill> {
    let skill = |id: &str, name: &str, description: &str, tags: &[&str], examples: &[&str]| Skill {
        id: id.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        examples: examples.iter().map(|example| (*example).to_owned()).collect(),
        ..Skill::default()
    };
    vec![
        skill(
            ASK,
            "Ask",
            "Answers a question from the team's documents, with citations, and remembers the conversation of its \
             context. Korean and English. Text files of the message are read along.",
            &["question-answering", "rag", "documents", "korean", "english"],
            &["When is a budget alert sent?", "남은 예산을 다음 달로 이월할 수 있나요?"],
        ),
        skill(
            SEARCH,
            "Search",
            "Finds passages of the team's documents: name this skill in the message's metadata, as \
             {\"skill\": \"search\"}.",
            &["search", "retrieval", "documents", "korean", "english"],
            &["webhook signature", "유휴 비용 배분"],
        ),
        skill(
            RESEARCH,
            "Research",
            "Researches a question in rounds of searches and gives a report with checked citations, as \
             {\"skill\": \"research\"} in the message's metadata. The plan is asked about (input-required) unless the \
             metadata says {\"approval\": \"given\"}; what is said meanwhile is an instruction to the run.",
            &["research", "report", "citations", "korean", "english"],
            &["How do budget alerts work and what do they cost?", "유휴 비용은 어떻게 배분되나요?"],
        ),
    ]
}
