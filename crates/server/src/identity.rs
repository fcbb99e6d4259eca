//! Who is calling: finds the one credential of a request and asks who it belongs to. Nobody is somebody by default.

use std::net::IpAddr;
use std::sync::Arc;

use agent::identity::{Principal, Scope, Timestamp};
use agent::ports::{Clock, Entropy, Keys};
use agent::visits::VisitDigest;
use engine::keys::{self, Secret};
use http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, StatusCode, Uri};

use crate::guard::scope_name;
use crate::identity::jwt::Jwt;
use crate::identity::owner::Owner;
use crate::identity::visits::{VisitBook, VisitCookie};
use crate::problem::Problem;

pub mod jwks;
pub mod jwt;
pub mod owner;
pub mod signatures;
pub(crate) mod visits;

/// Codes of problems that a client is told how to overcome.
pub(crate) const NO_CREDENTIALS: &str = "no_credentials";
const INSUFFICIENT_SCOPE: &str = "insufficient_scope";

/// Names under which credentials are put into addresses, where logs and histories keep them.
const QUERY_CREDENTIALS: [&str; 3] = ["access_token", "api_key", "key"];

/// What a proxy adds. Behind one, everybody seems to come from loopback.
const PROXY_HEADERS: [&str; 4] = ["forwarded", "via", "x-forwarded-for", "x-real-ip"];

/// Whether callers must say who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// For a listener on loopback: as long as there are no keys, whoever calls from this machine is the owner.
    LocalOwner,
    Required,
}

/// Knows callers by their credentials.
pub struct Identity {
    mode: Mode,
    keys: Arc<dyn Keys>,
    clock: Arc<dyn Clock>,
    jwt: Option<Jwt>,
    owner: Option<Owner>,
    visits: Option<VisitBook>,
}

/// A caller, and how to see later whether it still is one.
#[derive(Debug, Clone)]
pub(crate) struct Identified {
    pub(crate) principal: Principal,
    pub(crate) ground: Ground,
    /// The visit of a browser that it came by, if it did.
    pub(crate) visit: Option<VisitDigest>,
}

/// What a caller's identity rests on.
#[derive(Debug, Clone)]
pub(crate) enum Ground {
    /// The owner's token.
    Owner,
    Loopback,
    Key {
        prefix: String,
    },
    Token {
        until: Timestamp,
    },
}

impl Identity {
    #[must_use]
    pub fn new(mode: Mode, keys: Arc<dyn Keys>, clock: Arc<dyn Clock>) -> Self {
        Self { mode, keys, clock, jwt: None, owner: None, visits: None }
    }

    /// Accepts tokens of an issuer too.
    #[must_use]
    pub fn with_jwt(mut self, jwt: Jwt) -> Self {
        self.jwt = Some(jwt);
        self
    }

    /// Accepts the owner's token too, from this machine.
    #[must_use]
    pub fn with_owner(mut self, token: &Secret) -> Self {
        self.owner = Some(Owner::of(token));
        self
    }

    /// Lets browsers sign in, and go on with a cookie.
    #[must_use]
    pub fn with_visits(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.visits = Some(VisitBook::new(entropy));
        self
    }

    pub(crate) fn jwt(&self) -> Option<&Jwt> {
        self.jwt.as_ref()
    }

    pub(crate) async fn identify(
        &self,
        parts: &Parts,
        peer: IpAddr,
    ) -> Result<Identified, Problem> {
        refuse_query_credentials(&parts.uri)?;
        let credential = credential(&parts.headers)?;
        let is_local = is_local(&parts.headers, peer);
        if credential.is_none()
            && let Some(visitor) = self.by_visit(parts).await?
        {
            return Ok(visitor);
        }
        match credential {
            Some(secret) if owner::looks_like_one(secret.expose()) => {
                self.by_owner(&secret, is_local)
            }
            Some(secret) if keys::looks_like_one(secret.expose()) => self.by_key(&secret).await,
            // Programs that cannot do without a key send just any to a local server.
            _ if is_local && self.asks_nobody().await? => {
                let principal = Principal::local_owner();
                Ok(Identified { principal, ground: Ground::Loopback, visit: None })
            }
            Some(secret) => self.by_token(&secret).await,
            None => Err(self.unauthorized(
                NO_CREDENTIALS,
                "This route needs to know who is calling.",
                "Send a key as Authorization: Bearer saem_…; `saem key create` makes one.",
            )),
        }
    }

    /// Whether local callers need no credentials. Asked each time: the first key may be made at any moment.
    pub(crate) async fn asks_nobody(&self) -> Result<bool, Problem> {
        match self.mode {
            Mode::LocalOwner => Ok(!self.keys.has_keys().await?),
            Mode::Required => Ok(false),
        }
    }

    fn by_owner(&self, secret: &Secret, is_local: bool) -> Result<Identified, Problem> {
        match &self.owner {
            Some(owner) if owner.is(secret) && is_local => {
                let principal = Principal::local_owner();
                Ok(Identified { principal, ground: Ground::Owner, visit: None })
            }
            Some(_) | None => Err(self.unknown_key()),
        }
    }

    /// Opens a visit for whoever has this key or token.
    pub(crate) async fn sign_in(
        &self,
        secret: &Secret,
    ) -> Result<(Identified, VisitCookie), Problem> {
        let Some(visits) = &self.visits else { return Err(Problem::no_route()) };
        let found = if keys::looks_like_one(secret.expose()) {
            self.by_key(secret).await?
        } else {
            self.by_token(secret).await?
        };
        let cookie = visits.open(found.clone(), self.clock.now())?;
        Ok((found, cookie))
    }

    /// Ends the visit that a request belongs to.
    pub(crate) fn sign_out(&self, headers: &HeaderMap) {
        if let (Some(visits), Some(cookie)) = (&self.visits, VisitCookie::read(headers)) {
            visits.close(&cookie.digest());
        }
    }

    /// Whether this is the cookie of an open visit.
    pub(crate) fn knows(&self, cookie: &VisitCookie) -> bool {
        let visits = self.visits.as_ref();
        visits.is_some_and(|visits| visits.find(&cookie.digest(), self.clock.now()).is_some())
    }

    /// The visitor behind a cookie; nobody if the visit is over, or what it rested on.
    async fn by_visit(&self, parts: &Parts) -> Result<Option<Identified>, Problem> {
        let (Some(visits), Some(cookie)) = (&self.visits, VisitCookie::read(&parts.headers)) else {
            return Ok(None);
        };
        let digest = cookie.digest();
        let Some(found) = visits.find(&digest, self.clock.now()) else { return Ok(None) };
        if self.still_stands(&found.ground, None).await.is_err() {
            visits.close(&digest);
            return Ok(None);
        }
        cookie.check(&parts.method, &parts.headers)?;
        Ok(Some(Identified { visit: Some(digest), ..found }))
    }

    /// Whether a caller of before is still one: keys are revoked, visits end and tokens run out while streams are open.
    pub(crate) async fn still_stands(
        &self,
        ground: &Ground,
        visit: Option<&VisitDigest>,
    ) -> Result<(), Problem> {
        if let (Some(visits), Some(digest)) = (&self.visits, visit)
            && visits.find(digest, self.clock.now()).is_none()
        {
            return Err(self.unauthorized(
                "signed_out",
                "The visit is over.",
                "Sign in on the page again.",
            ));
        }
        match ground {
            Ground::Owner | Ground::Loopback => Ok(()),
            Ground::Key { prefix } => {
                let key = self.keys.find_key(prefix).await?;
                let live = key.is_some_and(|key| key.is_live(self.clock.now()));
                live.then_some(()).ok_or_else(|| self.unknown_key())
            }
            Ground::Token { until } if self.clock.now() < *until => Ok(()),
            Ground::Token { .. } => Err(self.unauthorized(
                "token_expired",
                "The token has expired.",
                "Get a new token from your issuer.",
            )),
        }
    }

    /// The caller is known, and that is not enough.
    pub(crate) fn lacks(&self, scope: Scope) -> Problem {
        Problem::new(
            StatusCode::FORBIDDEN,
            INSUFFICIENT_SCOPE,
            "the credentials do not allow this",
            format!("This needs the scope {scope}."),
            "Use a key or token that has it.",
        )
    }

    /// The problem with what a client needs to get better credentials: where they come from, and for which scopes.
    pub(crate) fn challenged(&self, problem: Problem, scopes: &[Scope], path: &str) -> Problem {
        let error = match (problem.status, problem.code) {
            (StatusCode::UNAUTHORIZED, NO_CREDENTIALS) => "",
            (StatusCode::UNAUTHORIZED, _) => ", error=\"invalid_token\"",
            (_, INSUFFICIENT_SCOPE) => ", error=\"insufficient_scope\"",
            (_, _) => return problem,
        };
        let mut challenge = "Bearer realm=\"saem\"".to_owned();
        if let Some(address) = self.jwt.as_ref().and_then(|jwt| jwt.metadata_address(path)) {
            challenge.push_str(&format!(", resource_metadata=\"{address}\""));
        }
        let names: Vec<String> = scopes.iter().copied().map(scope_name).collect();
        if !names.is_empty() {
            challenge.push_str(&format!(", scope=\"{}\"", names.join(" ")));
        }
        challenge.push_str(error);
        match HeaderValue::from_str(&challenge) {
            Ok(value) => problem.with_header(WWW_AUTHENTICATE, value),
            Err(_) => problem,
        }
    }

    /// The caller is known, and is not the owner.
    pub(crate) fn not_owner(&self) -> Problem {
        Problem::new(
            StatusCode::FORBIDDEN,
            "owner_only",
            "the credentials do not allow this",
            "This concerns every tenant, so only the owner of the data folder may do it.",
            "Use the saem command on the machine of the server.",
        )
    }

    async fn by_key(&self, secret: &Secret) -> Result<Identified, Problem> {
        let Some(prefix) = keys::checked_prefix(secret.expose()) else {
            return Err(self.unauthorized(
                "key_mistyped",
                "The key is not one that was ever made: characters are missing or changed.",
                "Copy the whole key again.",
            ));
        };
        let known = self.keys.find_key(prefix).await?;
        let Some(key) = keys::matching(known, secret.expose()) else {
            return Err(self.unknown_key());
        };
        if key.revoked_at.is_some() {
            return Err(self.unauthorized(
                "key_revoked",
                "The key has been revoked.",
                "Ask for a new one.",
            ));
        }
        if !key.is_live(self.clock.now()) {
            return Err(self.unauthorized(
                "key_expired",
                "The key has expired.",
                "Ask for a new one.",
            ));
        }
        let name = format!("key:{}", key.prefix);
        let principal = Principal { tenant: key.tenant, name, scopes: key.scopes };
        Ok(Identified { principal, ground: Ground::Key { prefix: key.prefix }, visit: None })
    }

    async fn by_token(&self, secret: &Secret) -> Result<Identified, Problem> {
        let Some(jwt) = &self.jwt else { return Err(self.unknown_key()) };
        let checked = jwt.verify(secret.expose(), self.clock.now()).await;
        checked.map_err(|fault| match fault {
            jwt::TokenFault::Refused { code, detail } => {
                self.unauthorized(code, detail, "Get a new token from your issuer.")
            }
            jwt::TokenFault::Unchecked => Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "issuer_unreachable",
                "the token cannot be checked now",
                "The issuer's keys cannot be fetched.",
                "Try again in a moment, or use an API key.",
            )
            .retry_after(jwks::RETRY_SECONDS),
        })
    }

    fn unknown_key(&self) -> Problem {
        self.unauthorized(
            "key_unknown",
            "Nobody has these credentials.",
            "Check the key, or ask for a new one.",
        )
    }

    fn unauthorized(
        &self,
        code: &'static str,
        detail: &'static str,
        action: &'static str,
    ) -> Problem {
        let title = "who is calling is not known";
        Problem::new(StatusCode::UNAUTHORIZED, code, title, detail, action)
    }
}

fn is_local(headers: &HeaderMap, peer: IpAddr) -> bool {
    let forwarded = PROXY_HEADERS.iter().any(|name| headers.contains_key(*name));
    peer.to_canonical().is_loopback() && !forwarded
}

fn refuse_query_credentials(uri: &Uri) -> Result<(), Problem> {
    let query = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
    // A query that cannot be read is refused by whoever reads it.
    let names = query.map(|query| query.0).unwrap_or_default();
    let is_credential = |name: &str| {
        QUERY_CREDENTIALS.iter().any(|credential| name.eq_ignore_ascii_case(credential))
    };
    if !names.iter().any(|(name, _)| is_credential(name)) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::BAD_REQUEST,
        "credential_in_query",
        "credentials do not belong into an address",
        "Addresses end up in logs and histories, so credentials in them are not looked at.",
        "Send the key as Authorization: Bearer …, and replace it: it may have been logged.",
    ))
}

/// The one credential of a request; the same one twice is still one.
fn credential(headers: &HeaderMap) -> Result<Option<Secret>, Problem> {
    let mut found: Option<&str> = None;
    let bearer = headers.get_all(AUTHORIZATION).iter().map(bearer_token);
    let direct = headers.get_all("x-api-key").iter().map(|value| value.to_str().ok());
    for token in bearer.chain(direct) {
        let token = token.map(str::trim).filter(|token| !token.is_empty());
        let Some(token) = token else { return Err(bad_credential("It is not a bearer token.")) };
        if found.is_some_and(|before| before != token) {
            return Err(bad_credential("There are two different ones."));
        }
        found = Some(token);
    }
    Ok(found.map(|token| Secret::new(token.to_owned())))
}

fn bearer_token(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

fn bad_credential(detail: &'static str) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "credential_unclear",
        "the credentials cannot be used",
        detail,
        "Send one key or token as Authorization: Bearer ….",
    )
}
