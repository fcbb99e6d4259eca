//! Tokens of an issuer (JWT): which are accepted, and whom they name.

use agent::identity::{Principal, Scope, Timestamp};
use agent::names::TenantId;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::{Map, Value};
use std::sync::Arc;

use crate::identity::jwks::{Jwks, JwksSource, KeyFault};
use crate::identity::signatures::use_ring;
use crate::identity::{Ground, Identified};

/// Where a resource says whose tokens it takes (RFC 9728), before its own path.
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The part of us that is a resource of its own to clients: they insist on finding its exact address.
pub(crate) const MCP_PATH: &str = "/mcp";

/// Longest token, in bytes: groups of a large directory fit in, a flood does not.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Longest name of a key or a subject, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// How far two clocks may be apart, in seconds.
const SKEW_SECONDS: u64 = 60;

/// Which tokens are accepted.
#[derive(Debug, Clone)]
pub struct JwtSettings {
    /// The one issuer, exactly as its tokens say it.
    pub issuer: String,
    /// Us, as the issuer's tokens say it.
    pub audience: String,
    /// The claim that names the tenant.
    pub tenant_claim: String,
    /// The claim that holds the scopes: a text with blanks, or a list.
    pub scope_claim: String,
    /// Signatures that are accepted; only ones with a public key.
    pub algorithms: Vec<Algorithm>,
    /// The address of this server as callers know it, to point them to the issuer (RFC 9728).
    pub resource: Option<String>,
}

/// Settings under which any token could be forged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a signature with a public key: use RS256, ES256, EdDSA or the like")]
pub struct JwtSettingsError(Vec<Algorithm>);

/// Checks the tokens of one issuer.
pub struct Jwt {
    settings: JwtSettings,
    jwks: Jwks,
}

/// Why a token names nobody.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TokenFault {
    Refused {
        code: &'static str,
        detail: &'static str,
    },
    /// The issuer's keys are not there, so that nothing can be said of it.
    Unchecked,
}

impl JwtSettings {
    /// The usual claims and signatures for this issuer and audience.
    #[must_use]
    pub fn new(issuer: String, audience: String) -> Self {
        Self {
            issuer,
            audience,
            tenant_claim: "tenant".to_owned(),
            scope_claim: "scope".to_owned(),
            algorithms: vec![Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA],
            resource: None,
        }
    }
}

impl JwtSettings {
    /// Our address, without a slash at its end.
    pub(crate) fn resource(&self) -> Option<&str> {
        self.resource.as_deref().map(|resource| resource.trim_end_matches('/'))
    }
}

impl Jwt {
    pub fn new(
        settings: JwtSettings,
        source: Arc<dyn JwksSource>,
    ) -> Result<Self, JwtSettingsError> {
        use Algorithm::{HS256, HS384, HS512};
        use_ring();
        let shared = |algorithm: &Algorithm| matches!(algorithm, HS256 | HS384 | HS512);
        if settings.algorithms.is_empty() || settings.algorithms.iter().any(shared) {
            return Err(JwtSettingsError(settings.algorithms));
        }
        Ok(Self { settings, jwks: Jwks::new(source) })
    }

    pub(crate) fn settings(&self) -> &JwtSettings {
        &self.settings
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// Where it is said whose tokens a path takes.
    pub(crate) fn metadata_address(&self, path: &str) -> Option<String> {
        let resource = self.settings.resource()?;
        let path = if path == MCP_PATH { path } else { "" };
        Some(format!("{resource}{METADATA_PATH}{path}"))
    }

    pub(crate) async fn verify(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<Identified, TokenFault> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(refused("token_too_long", "The token is longer than 16 KiB."));
        }
        let header = decode_header(token)
            .map_err(|_| refused("token_malformed", "It is neither a key nor a readable token."))?;
        if header.crit.is_some() || !self.settings.algorithms.contains(&header.alg) {
            return Err(refused("token_signature_kind", "Its kind of signature is not accepted."));
        }
        let kid = header.kid.as_deref();
        if kid.is_some_and(|kid| kid.len() > NAME_BYTES_MAX) {
            return Err(refused("token_key_unknown", "The issuer has no such key."));
        }
        let key = self.jwks.key(kid, header.alg).await.map_err(|fault| match fault {
            KeyFault::Unknown => refused("token_key_unknown", "The issuer has no such key."),
            KeyFault::Unreachable => TokenFault::Unchecked,
        })?;
        let claims = decode::<Map<String, Value>>(token, &key, &self.validation(header.alg))
            .map_err(|error| claims_fault(&error))?
            .claims;
        let until = check_times(&claims, now)?;
        let principal = self.principal(&claims)?;
        Ok(Identified { principal, ground: Ground::Token { until }, visit: None })
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims(&["exp", "aud", "iss"]);
        // A token for our address, or for the part of it that a client was sent to, is meant for us too.
        let mut audiences = vec![self.settings.audience.clone()];
        if let Some(resource) = self.settings.resource() {
            audiences.extend([resource.to_owned(), format!("{resource}{MCP_PATH}")]);
        }
        validation.set_audience(&audiences);
        validation.set_issuer(&[&self.settings.issuer]);
        // The times are ours to check, against the clock that tests can set.
        validation.validate_exp = false;
        validation
    }

    fn principal(&self, claims: &Map<String, Value>) -> Result<Principal, TokenFault> {
        // An issuer is one text; the library would also take a list that has it.
        if claims.get("iss").and_then(Value::as_str) != Some(self.settings.issuer.as_str()) {
            return Err(refused("token_issuer", "It is not from the issuer that is trusted here."));
        }
        let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
        let plain = !subject.is_empty() && !subject.contains(char::is_control);
        if !plain || subject.len() > NAME_BYTES_MAX {
            return Err(refused("token_subject", "Its subject is missing or not a plain name."));
        }
        let tenant = claims.get(&self.settings.tenant_claim).and_then(Value::as_str);
        let tenant = tenant.and_then(|name| name.parse::<TenantId>().ok());
        let tenant = tenant.ok_or(refused(
            "token_tenant",
            "The claim that names the tenant is missing or not a legal name.",
        ))?;
        let scopes = scopes(claims.get(&self.settings.scope_claim));
        Ok(Principal { tenant, name: format!("jwt:{subject}"), scopes })
    }
}

/// Checks the claims of time; gives the end, skew included.
fn check_times(claims: &Map<String, Value>, now: Timestamp) -> Result<Timestamp, TokenFault> {
    let now_seconds = now.0 / 1000;
    let exp = claims.get("exp").and_then(seconds);
    let exp = exp.ok_or(refused("token_times", "Its time of expiry is missing or no number."))?;
    let end = exp.saturating_add(SKEW_SECONDS);
    if now_seconds >= end {
        return Err(refused("token_expired", "The token has expired."));
    }
    if let Some(nbf) = claims.get("nbf") {
        let nbf = seconds(nbf).ok_or(refused("token_times", "Its first time is no number."))?;
        if nbf > now_seconds.saturating_add(SKEW_SECONDS) {
            return Err(refused("token_not_yet", "The token is not valid yet."));
        }
    }
    Ok(Timestamp(end.saturating_mul(1000)))
}

/// A moment in seconds since 1970; a fraction is cut off.
fn seconds(value: &Value) -> Option<u64> {
    let fraction = || {
        let number = value.as_f64().filter(|number| (0.0..1e15).contains(number))?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked one line above"
        )]
        Some(number as u64)
    };
    value.as_u64().or_else(fraction)
}

fn scopes(claim: Option<&Value>) -> Vec<Scope> {
    let words: Vec<&str> = match claim {
        Some(Value::String(text)) => text.split_ascii_whitespace().collect(),
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    // Scopes for others stand beside ours in many tokens.
    let ours = words.iter().map(|word| word.strip_prefix("saem:").unwrap_or(word));
    let mut scopes: Vec<Scope> = ours.filter_map(|word| word.parse().ok()).collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}

fn claims_fault(error: &jsonwebtoken::errors::Error) -> TokenFault {
    use jsonwebtoken::errors::ErrorKind;
    match error.kind() {
        ErrorKind::InvalidAudience => refused("token_audience", "It is not meant for this server."),
        ErrorKind::InvalidIssuer => {
            refused("token_issuer", "It is not from the issuer that is trusted here.")
        }
        ErrorKind::MissingRequiredClaim(_) => {
            refused("token_claims", "Its exp, aud or iss is missing or of the wrong type.")
        }
        _ => refused("token_signature", "Its signature does not fit."),
    }
}

fn refused(code: &'static str, detail: &'static str) -> TokenFault {
    TokenFault::Refused { code, detail }
}
