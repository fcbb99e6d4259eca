//! Saem as an A2A agent: one service behind JSON-RPC, HTTP+JSON and gRPC, in versions 0.1 to 1.0, and the card that says so.

mod calls;
mod cards;
mod conformance;
pub(crate) mod grpc;
mod receiver;
mod rest;
mod rpc;
mod signing;
mod streams;

use std::collections::BTreeSet;
use std::sync::Arc;

use ::a2a::admission;
use ::a2a::card::{BareCard, CARD_PATH, OLD_CARD_PATH, OLD_EXTENDED_CARD_PATH};
use ::a2a::error::Error;
use ::a2a::hops::HOPS_HEADER;
use ::a2a::ids::MessageId;
use ::a2a::model::Capabilities;
use ::a2a::version::{Bare, VERSION_HEADER, Version};
use agent::identity::{Principal, Scope};
use agent::ports::Entropy;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use engine::Knowledge;
use engine::agents::serving::TaskService;
use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use tokio_util::sync::CancellationToken;

pub use self::conformance::Kit;
pub use self::receiver::Receiver;
pub use self::signing::{SigningKey, SigningKeyError};

use crate::guard::{Caller, Shutdown, Standing};
use crate::input;
use crate::problem::Problem;
use crate::routes::{Access, Route};

/// Where the agent is: JSON-RPC right there, HTTP+JSON below.
pub const PATH: &str = "/a2a";

/// Largest request, in bytes: an inline file of the largest size, as base64, and its message.
const MESSAGE_BYTES_MAX: u64 = 24 << 20;

/// Who may read the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CardAccess {
    #[default]
    Public,
    /// Whoever may call the agent.
    Authenticated,
}

/// What the card says that only its operator knows, and how strict the agent is.
#[derive(Debug, Clone)]
pub struct A2aSettings {
    /// Under which address others reach the agent; none, and it is the one that they used.
    pub url: Option<String>,
    pub name: String,
    pub description: String,
    pub organization: String,
    pub organization_url: String,
    pub documentation_url: String,
    pub version: String,
    pub card_access: CardAccess,
    pub bare_card: BareCard,
    /// Whether methods of 1.0 are served to who does not say a version.
    pub bare_calls: Bare,
    pub card_seconds_max: u64,
    /// Whether the server encrypts by itself, and wants certificates of its callers.
    pub encryption: Encryption,
}

/// Whether connections are encrypted by the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    #[default]
    None,
    Server,
    /// Callers need a certificate too.
    Mutual,
}

/// What the agent works with.
pub struct A2aParts {
    pub service: TaskService,
    /// For the extended card: what its reader may ask about.
    pub knowledge: Knowledge,
    pub entropy: Arc<dyn Entropy>,
    /// With it the card is signed.
    pub key: Option<Arc<SigningKey>>,
}

/// An A2A agent. Cheap to clone.
#[derive(Clone)]
pub struct A2a {
    shared: Arc<Agent>,
}

struct Agent {
    service: TaskService,
    knowledge: Knowledge,
    entropy: Arc<dyn Entropy>,
    settings: A2aSettings,
    capabilities: Capabilities,
    key: Option<Arc<SigningKey>>,
}

impl A2a {
    #[must_use]
    pub fn new(parts: A2aParts, settings: A2aSettings) -> Self {
        let A2aParts { service, knowledge, entropy, key } = parts;
        let capabilities = cards::capabilities();
        Self {
            shared: Arc::new(Agent { service, knowledge, entropy, settings, capabilities, key }),
        }
    }
}

/// The routes of the agent.
#[must_use]
pub fn routes<S: Clone + Send + Sync + 'static>(a2a: &A2a) -> Vec<Route<S>> {
    const READ: Access = Access::Needs(Scope::Read);
    const JSON: &str = "application/json";
    const GRPC: &str = ::a2a::grpc::MEDIA_TYPE;
    let agent = &a2a.shared;
    let card_access = match agent.settings.card_access {
        CardAccess::Public => Access::Public,
        CardAccess::Authenticated => READ,
    };
    let mut routes = Vec::new();
    for path in [CARD_PATH, "/a2a/.well-known/agent-card.json"] {
        let card =
            handler(
                agent,
                |agent, request| async move { agent.card(request.into_parts().0).await },
            );
        let summary = "Describes this server as an A2A agent";
        routes.push(Route::get(path, card_access, summary, card).gives_other(StatusCode::OK, JSON));
    }
    for path in [OLD_CARD_PATH, "/a2a/.well-known/agent.json", "/a2a/agent.json", "/agent.json"] {
        let card =
            handler(
                agent,
                |agent, request| async move { agent.old_card(request.into_parts().0).await },
            );
        let summary = "Describes this server as an A2A agent, for clients before 0.3";
        routes.push(Route::get(path, card_access, summary, card).gives_other(StatusCode::OK, JSON));
    }
    let extended = handler(agent, |agent, request| async move {
        agent.old_extended_card(request.into_parts().0).await
    });
    let summary = "Describes this A2A agent to a caller that it knows";
    let route = Route::get(OLD_EXTENDED_CARD_PATH, READ, summary, extended);
    routes.push(route.gives_other(StatusCode::OK, JSON));
    if let Some(key) = &agent.key {
        let set = key.key_set();
        let keys = move || std::future::ready(json(200, JSON, &set));
        let summary = "The key that this agent signs with";
        let route = Route::get("/.well-known/jwks.json", Access::Public, summary, keys);
        routes.push(route.gives_other(StatusCode::OK, JSON));
    }
    // Some clients know the host alone.
    for path in [PATH, "/a2a/", "/"] {
        let rpc = handler(agent, |agent, request| async move { agent.rpc(request).await });
        let summary = "Takes a request of A2A as JSON-RPC";
        let route = Route::post(path, READ, summary, rpc).takes_bytes(JSON);
        let route = route.body_bytes_max(MESSAGE_BYTES_MAX).gives_other(StatusCode::OK, JSON);
        routes.push(route);
    }
    let rest = || handler(agent, |agent, request| async move { agent.rest(request).await });
    let below = "/a2a/{*operation}";
    let summary = "Takes a request of A2A as HTTP+JSON";
    let posted = Route::post(below, READ, summary, rest()).takes_bytes(JSON);
    routes.extend(
        [
            Route::get(below, READ, "Shows tasks of A2A and streams what happens to them", rest()),
            posted.body_bytes_max(MESSAGE_BYTES_MAX),
            Route::delete(below, READ, "Takes a webhook of an A2A task away", rest()),
        ]
        .map(|route| route.gives_other(StatusCode::OK, JSON)),
    );
    for path in grpc::PATHS {
        let grpc = handler(agent, |agent, request| async move { agent.grpc(request).await });
        let summary = "Takes a request of A2A as gRPC";
        let route = Route::post(path, READ, summary, grpc).takes_bytes(GRPC);
        routes.push(route.body_bytes_max(MESSAGE_BYTES_MAX).gives_other(StatusCode::OK, GRPC));
    }
    routes.into_iter().map(|route| route.tag("a2a")).collect()
}

/// A handler that has the agent.
fn handler<F, Answered>(
    agent: &Arc<Agent>,
    answer: F,
) -> impl Fn(Request) -> futures_util::future::BoxFuture<'static, Response> + Clone + Send + Sync + 'static
where
    F: Fn(Arc<Agent>, Request) -> Answered + Clone + Send + Sync + 'static,
    Answered: Future<Output = Result<Response, Problem>> + Send + 'static,
{
    let agent = Arc::clone(agent);
    move |request| {
        let answered = answer(Arc::clone(&agent), request);
        Box::pin(async move { answered.await.unwrap_or_else(IntoResponse::into_response) })
    }
}

/// Who calls, and how the call came.
struct Asked {
    principal: Principal,
    standing: Option<Standing>,
    shutdown: CancellationToken,
    method: Method,
    /// As it stands in the request, with its percent signs.
    path: String,
    query: String,
    /// The version that the caller names.
    version: Option<String>,
    accept: Option<String>,
    content_type: Option<String>,
    extensions: BTreeSet<String>,
    /// How many agents the message has come through, as a header says it.
    hops: Option<String>,
    body: Bytes,
    base: String,
    server: Option<Arc<crate::Shared>>,
}

impl Asked {
    async fn read(agent: &Agent, request: Request) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let input::Bytes(body) =
            <input::Bytes as axum::extract::FromRequest<()>>::from_request(Request::new(body), &())
                .await?;
        let caller = parts.extensions.get::<Caller>().cloned().ok_or_else(Problem::no_route)?;
        let shutdown = parts.extensions.get::<Shutdown>().cloned();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let version = text(&parts.headers, VERSION_HEADER).or_else(|| in_query(&query));
        let named = ["A2A-Extensions", "X-A2A-Extensions"].into_iter();
        let named = named.flat_map(|name| parts.headers.get_all(name));
        let extensions = admission::extensions(named.filter_map(|value| value.to_str().ok()));
        Ok(Self {
            principal: caller.0,
            standing: parts.extensions.get::<Standing>().cloned(),
            shutdown: shutdown.map(|shutdown| shutdown.0).unwrap_or_default(),
            base: agent.base(&parts),
            server: parts.extensions.get::<Arc<crate::Shared>>().cloned(),
            path: parts.uri.path().to_owned(),
            version,
            accept: text(&parts.headers, "accept"),
            content_type: text(&parts.headers, "content-type"),
            hops: text(&parts.headers, HOPS_HEADER),
            method: parts.method,
            query,
            extensions,
            body,
        })
    }

    /// The version in which to say that a request could not be read.
    fn version_of_errors(&self) -> Version {
        match self.version.as_deref().map(Version::read) {
            Some(Some(Version::V1_0)) => Version::V1_0,
            _ => Version::V0_3,
        }
    }
}

impl Agent {
    /// Under which address the agent was called, or is to be called.
    fn base(&self, parts: &Parts) -> String {
        if let Some(url) = &self.settings.url {
            return url.trim_end_matches('/').to_owned();
        }
        let host = text(&parts.headers, "host").unwrap_or_else(|| "localhost".to_owned());
        match self.settings.encryption {
            Encryption::None => format!("http://{host}"),
            Encryption::Server | Encryption::Mutual => format!("https://{host}"),
        }
    }

    /// A name for a message that came without one.
    fn fresh(&self) -> Result<MessageId, Error> {
        let failed = || Error::of(::a2a::error::ErrorKind::Internal);
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes).map_err(|_| failed())?;
        format!("{:032x}", u128::from_be_bytes(bytes)).parse().map_err(|_| failed())
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// The version may stand in the query too.
fn in_query(query: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(VERSION_HEADER).then(|| value.to_owned())
    })
}

/// An answer of JSON.
fn json(status: u16, media_type: &'static str, body: &serde_json::Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // A value can always be written.
    let body = serde_json::to_vec(body).unwrap_or_default();
    let mut response = (status, body).into_response();
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Says which extensions are in use.
fn with_extensions(mut response: Response, version: Version, active: &[String]) -> Response {
    if active.is_empty() {
        return response;
    }
    let value = HeaderValue::from_str(&active.join(", ")).ok();
    let name = version.extensions_header().map(str::to_ascii_lowercase);
    let name = name.and_then(|name| name.parse::<HeaderName>().ok());
    if let (Some(name), Some(value)) = (name, value) {
        response.headers_mut().insert(name, value);
    }
    response
}
