//! MCP over HTTP: the route `/mcp`, with the caller from its guard, sessions that are their caller's alone, and streams
//! that end with the server or with the caller's rights.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use ::http::request::Parts;
use ::http::{HeaderMap, Method, StatusCode};
use agent::identity::{Principal, Scope};
use agent::ports::{Entropy, PortError};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Body as _;
use ring::hmac;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::events::Pulse;
use crate::guard::{Caller, Shutdown, Standing};
use crate::identity::jwt::MCP_PATH;
use crate::input;
use crate::mcp::early::{Early, LISTEN};
use crate::mcp::handler::{Handler, Whose};
use crate::mcp::lists::{ListAsked, Lists};
use crate::mcp::{Mcp, Shared};
use crate::problem::Problem;
use crate::routes::{Access, Route};

/// Largest message, in bytes: it is parsed in memory as a whole. Larger documents come by their address, or to
/// `/api/documents`.
pub(super) const MESSAGE_BYTES_MAX: u64 = 4 << 20;

/// Sessions of the older era at once, over all callers: each takes some kilobytes until it has been idle for a while.
const SESSIONS_MAX: usize = 10_000;

/// How long a session is kept that nobody uses: somebody who thinks about an answer should not lose it.
const SESSION_IDLE_MAX: Duration = Duration::from_secs(30 * 60);

/// How often it is asked whether the caller of an open stream still is one.
pub(super) const STANDING_INTERVAL: Duration = Duration::from_secs(5);

/// How long the stream of a call may take for its last words when the server is to end.
const GOODBYE_MAX: Duration = Duration::from_secs(5);

/// Bytes of the tag that binds a session to its caller.
const TAG_BYTES: usize = 16;

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// A session that is nobody's: the answer to it is the same as to one that has ended.
const NO_SESSION: HeaderValue = HeaderValue::from_static("none");

/// The routes of MCP.
#[must_use]
pub fn routes<S: Clone + Send + Sync + 'static>(mcp: &Mcp) -> Vec<Route<S>> {
    const READ: Access = Access::Needs(Scope::Read);
    let handler = || {
        let endpoint = Arc::clone(&mcp.endpoint);
        move |request: Request| {
            let endpoint = Arc::clone(&endpoint);
            async move { endpoint.answer(request).await }
        }
    };
    let routes = vec![
        Route::post(MCP_PATH, READ, "Takes a message of the Model Context Protocol", handler())
            .takes_bytes("application/json")
            .body_bytes_max(MESSAGE_BYTES_MAX)
            .gives_other(StatusCode::OK, "application/json"),
        Route::get(MCP_PATH, READ, "Streams what an MCP session is told without asking", handler())
            .gives_other(StatusCode::OK, "text/event-stream"),
        Route::delete(MCP_PATH, READ, "Ends an MCP session", handler())
            .gives_nothing(StatusCode::NO_CONTENT),
    ];
    routes.into_iter().map(|route| route.tag("mcp")).collect()
}

/// What stands behind `/mcp`.
pub(super) struct Endpoint {
    pub(super) service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    shared: Arc<Shared>,
    lists: Lists,
    /// Binds sessions to their callers. A new one with every start: sessions do not outlive the process either.
    key: hmac::Key,
}

impl Endpoint {
    pub(super) fn new(shared: &Arc<Shared>, entropy: &dyn Entropy) -> Result<Self, PortError> {
        let mut secret = [0; 32];
        entropy.fill(&mut secret)?;
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_IDLE_MAX);
        let sessions = Arc::new(sessions);
        // Hosts and origins are checked by the gate that stands before every route, with the names of the configuration.
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_max_request_body_bytes(usize::try_from(MESSAGE_BYTES_MAX).unwrap_or(usize::MAX))
            .with_cancellation_token(shared.tasks.stopping())
            .disable_allowed_hosts();
        let each = Arc::clone(shared);
        let handler = move || Ok(Handler::new(Arc::clone(&each), Whose::Each));
        let service = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let (shared, lists) = (Arc::clone(shared), Lists::default());
        Ok(Self { service, sessions, shared, lists, key })
    }

    async fn answer(&self, request: Request) -> Response {
        match self.try_answer(request).await {
            Ok(response) => response,
            Err(problem) => problem.into_response(),
        }
    }

    async fn try_answer(&self, request: Request) -> Result<Response, Problem> {
        let (mut parts, body) = request.into_parts();
        let caller = parts.extensions.get::<Caller>().cloned().ok_or_else(Problem::no_route)?;
        let server = parts.extensions.get::<Arc<crate::Shared>>().cloned();
        let server = server.ok_or_else(Problem::no_route)?;
        let standing = parts.extensions.get::<Standing>().cloned();
        let shutdown = parts.extensions.get::<Shutdown>().cloned();
        self.unbind(&mut parts.headers, &caller);
        // The caller is known; nothing behind here needs what it has proven itself with, and nothing can log it.
        parts.headers.remove(AUTHORIZATION);
        parts.headers.remove("x-api-key");
        let (message, list) = if parts.method == Method::POST {
            let input::Bytes(bytes) = input::Bytes::from_request(Request::new(body), &()).await?;
            let head = Head::read(&bytes);
            let missing = head.as_ref().and_then(|head| self.missing_scope(head, &caller));
            if let Some(scope) = missing {
                let problem = server.identity.lacks(scope);
                return Err(server.identity.challenged(problem, &[Scope::Read, scope], MCP_PATH));
            }
            self.check_room(&parts.headers).await?;
            if head.as_ref().is_some_and(|head| head.method == LISTEN) {
                self.bring_along(&mut parts, &caller).await;
            }
            let list = head.and_then(|head| ListAsked::read(&parts.headers, head.method, &bytes));
            (bytes, list)
        } else {
            (Bytes::new(), None)
        };
        if let Some(written) = list.as_ref().and_then(|list| self.lists.find(list)) {
            return Ok(written.map(Body::from));
        }
        let request = ::http::Request::from_parts(parts, Full::new(message));
        let is_goodbye = request.method() == Method::DELETE;
        // A stream that nothing was asked on has no last words to wait for.
        let goodbye_max =
            if request.method() == Method::GET { Duration::ZERO } else { GOODBYE_MAX };
        let mut answer = self.service.handle(request).await;
        if let Some(list) = list
            && answer.body().size_hint().exact().is_some()
        {
            let (head, body) = answer.into_parts();
            let Ok(body) = body.collect().await;
            let written = ::http::Response::from_parts(head, body.to_bytes());
            self.lists.keep(list, &written);
            return Ok(written.map(Body::from));
        }
        self.bind(answer.headers_mut(), &caller);
        if is_goodbye && answer.status() == StatusCode::ACCEPTED {
            // It has ended by now, and some clients take anything but 200 and 204 for a failure.
            *answer.status_mut() = StatusCode::NO_CONTENT;
        }
        let kind = answer.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        if !kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
            return Ok(answer.map(Body::new));
        }
        let unbuffered = HeaderName::from_static("x-accel-buffering");
        answer.headers_mut().insert(unbuffered, HeaderValue::from_static("no"));
        Ok(answer.map(|body| watched(body, standing, shutdown, goodbye_max)))
    }

    /// Gives a request to listen what it is to be told of.
    pub(super) async fn bring_along(&self, parts: &mut Parts, caller: &Principal) {
        let early = Early::open(&self.shared.offers, &caller.tenant).await;
        parts.extensions.insert(early);
    }

    /// What a call needs that its caller does not have. It is looked for before the call is made, so that the answer can
    /// say so in the way of HTTP: a client then knows what to ask its issuer for.
    pub(super) fn missing_scope(&self, head: &Head<'_>, caller: &Principal) -> Option<Scope> {
        let params = head.params.as_ref().filter(|_| head.method == "tools/call");
        let name = params?.name.as_ref()?;
        let scope = self.shared.tool(name)?.scope(name);
        (!caller.may(scope)).then_some(scope)
    }

    /// Refuses one session more than there is room for.
    async fn check_room(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if headers.contains_key(SESSION_ID)
            || self.sessions.sessions.read().await.len() < SESSIONS_MAX
        {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "sessions_full",
            "there are too many MCP sessions",
            "Every session that can be kept is in use.",
            "Try again in some minutes, or use the protocol version 2026-07-28, which needs none.",
        )
        .retry_after(60))
    }

    /// Takes the tag off a session's id; an id of somebody else's becomes one of nobody's.
    fn unbind(&self, headers: &mut HeaderMap, caller: &Principal) {
        let Some(given) = headers.get(SESSION_ID) else { return };
        let own = given.to_str().ok().and_then(|given| {
            let (id, tag) = given.rsplit_once('.')?;
            let is_own =
                subtle::ConstantTimeEq::ct_eq(self.tag(id, caller).as_bytes(), tag.as_bytes());
            bool::from(is_own).then(|| HeaderValue::from_str(id).ok()).flatten()
        });
        headers.insert(SESSION_ID, own.unwrap_or(NO_SESSION));
    }

    /// Puts the caller's tag onto the id of a new session.
    fn bind(&self, headers: &mut HeaderMap, caller: &Principal) {
        let id = headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
        let bound = id.map(|id| format!("{id}.{}", self.tag(id, caller)));
        if let Some(bound) = bound.and_then(|bound| HeaderValue::from_str(&bound).ok()) {
            headers.insert(SESSION_ID, bound);
        }
    }

    fn tag(&self, id: &str, caller: &Principal) -> String {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [id, caller.tenant.as_str(), &caller.name] {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part.as_bytes());
        }
        let tag = context.sign();
        tag.as_ref().iter().take(TAG_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// As much of a message as says what it asks for, and which tool it calls.
#[derive(Deserialize)]
pub(super) struct Head<'a> {
    pub(super) method: &'a str,
    #[serde(borrow)]
    params: Option<Named<'a>>,
}

impl<'a> Head<'a> {
    /// What has none is answered by whoever reads it all.
    pub(super) fn read(message: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(message).ok()
    }
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    name: Option<std::borrow::Cow<'a, str>>,
}

type Inner = BoxBody<Bytes, Infallible>;

/// A stream that ends when the server does, or when its caller is none any more.
fn watched(
    body: Inner,
    standing: Option<Standing>,
    shutdown: Option<Shutdown>,
    goodbye_max: Duration,
) -> Body {
    let pulse = Pulse::every(STANDING_INTERVAL);
    let shutdown = shutdown.map_or_else(CancellationToken::new, |shutdown| shutdown.0);
    let watched = Watched { body, standing, shutdown, goodbye_max, cut_at: None, pulse };
    Body::from_stream(stream::unfold(watched, |mut watched| async move {
        let piece = watched.next().await?;
        Some((Ok::<_, Infallible>(piece), watched))
    }))
}

struct Watched {
    body: Inner,
    standing: Option<Standing>,
    shutdown: CancellationToken,
    goodbye_max: Duration,
    /// Once the server is to end.
    cut_at: Option<Instant>,
    pulse: Pulse,
}

impl Watched {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                frame = self.body.frame() => {
                    let Ok(frame) = frame?;
                    if let Ok(data) = frame.into_data() {
                        return Some(data);
                    }
                }
                () = self.shutdown.cancelled(), if self.cut_at.is_none() => {
                    self.cut_at = Some(Instant::now() + self.goodbye_max);
                }
                () = cut(self.cut_at) => return None,
                () = self.pulse.beat() => {
                    if let Some(standing) = &self.standing {
                        standing.check().await.ok()?;
                    }
                }
            }
        }
    }
}

/// Waits for this moment, for good if there is none.
async fn cut(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
