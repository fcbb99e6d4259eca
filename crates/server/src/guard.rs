//! What happens before a handler is called: identity, scope, quota and body limits, on the matched route.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agent::identity::{Principal, Scope};
use agent::visits::VisitDigest;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use tokio_util::sync::CancellationToken;

use crate::Shared;
use crate::body;
use crate::identity::{Ground, Identified, NO_CREDENTIALS};
use crate::openai;
use crate::problem::Problem;
use crate::quota::Permit;
use crate::registry;
use crate::routes::{Access, Row, Takes};
use crate::websocket::Held;

/// Whose request this is. Only a route that needs a scope has one.
#[derive(Debug, Clone)]
pub struct Caller(pub Principal);

/// Whose request this is, on a route that is open to everybody.
#[derive(Debug, Clone)]
pub struct Visitor(pub Option<Principal>);

/// Where the request comes from: the other end of the connection, never a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Told when the server is to end. Whoever answers with a stream ends it then.
#[derive(Debug, Clone)]
pub struct Shutdown(pub CancellationToken);

/// Asks again, while a long answer goes on, whether its caller is still allowed to have it.
#[derive(Clone)]
pub struct Standing {
    shared: Arc<Shared>,
    ground: Ground,
    visit: Option<VisitDigest>,
}

impl Standing {
    /// Why the caller is none any more. Streams ask every few seconds and end on an error.
    pub async fn check(&self) -> Result<(), Problem> {
        self.shared.identity.still_stands(&self.ground, self.visit.as_ref()).await
    }
}

/// Which route an answer came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteLabel(pub(crate) &'static str);

#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) shared: Arc<Shared>,
    pub(crate) row: Arc<Row>,
}

impl Deref for Caller {
    type Target = Principal;

    fn deref(&self) -> &Principal {
        &self.0
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(nobody)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get::<Caller>().map(|caller| caller.0.clone())))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Standing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(nobody)
    }
}

/// A public route has no caller; a handler that asks for one all the same gets nobody.
fn nobody() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "no_caller",
        "nobody is calling",
        "This route does not look at credentials.",
        "Use another route.",
    )
}

impl<S: Send + Sync> FromRequestParts<S> for Shutdown {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_else(|| Self(Default::default())))
    }
}

pub(crate) async fn guard(
    State(Guard { shared, row }): State<Guard>,
    request: Request,
    next: Next,
) -> Response {
    let mut answer = match admit(&shared, &row, request).await {
        Ok((request, permit)) => run(&shared, &row, request, permit, next).await,
        Err(problem) => {
            let scopes: &[Scope] = match &row.access {
                Access::Needs(scope) => std::slice::from_ref(scope),
                Access::Fixed | Access::Public | Access::Open | Access::Owner => &[],
            };
            shared.identity.challenged(problem, scopes, row.path).into_response()
        }
    };
    if row.path.starts_with(openai::PREFIX) {
        answer = openai::with_error(answer).await;
    }
    if registry::speaks_ard(&row) {
        answer = registry::with_error(answer).await;
    }
    answer.extensions_mut().insert(RouteLabel(row.path));
    answer
}

/// The request with its caller and a guarded body, or why it goes no further. The body has not been touched.
async fn admit(
    shared: &Arc<Shared>,
    row: &Row,
    request: Request,
) -> Result<(Request, Option<Permit>), Problem> {
    let (mut parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().copied().ok_or_else(Problem::no_route)?;
    let permit = match row.access {
        Access::Fixed => None,
        Access::Public => {
            shared.quota.address(peer.0.ip())?;
            None
        }
        Access::Open => match identify(shared, &parts, peer).await {
            Ok(Identified { principal, ground, .. }) => {
                let is_owner = matches!(ground, Ground::Owner);
                let permit = if is_owner { None } else { Some(shared.quota.caller(&principal)?) };
                parts.extensions.insert(Caller(principal));
                permit
            }
            // Whoever says nothing is nobody; whoever says something wrong is told so.
            Err(problem) if problem.code == NO_CREDENTIALS => None,
            Err(problem) => return Err(problem),
        },
        Access::Needs(_) | Access::Owner => {
            let Identified { principal, ground, visit } = identify(shared, &parts, peer).await?;
            // Whoever owns the folder could read and write it without asking: a quota would only slow them down.
            let is_owner = matches!(ground, Ground::Owner);
            let permit = if is_owner { None } else { Some(shared.quota.caller(&principal)?) };
            match row.access {
                Access::Needs(scope) if !principal.may(scope) => {
                    return Err(shared.identity.lacks(scope));
                }
                Access::Owner if !is_owner => return Err(shared.identity.not_owner()),
                Access::Fixed
                | Access::Public
                | Access::Open
                | Access::Needs(_)
                | Access::Owner => {}
            }
            parts.extensions.insert(Caller(principal));
            parts.extensions.insert(Standing { shared: Arc::clone(shared), ground, visit });
            permit
        }
    };
    let limits = &shared.limits;
    let bytes_max = match row.takes {
        Takes::Nothing => 0,
        Takes::Json(_) | Takes::Bytes(_) | Takes::Upload(_) => {
            row.body_bytes_max.unwrap_or(limits.body_bytes_max)
        }
    };
    body::check_head(&parts.headers, bytes_max)?;
    parts.extensions.insert(Arc::clone(shared));
    let body = body::guarded(body, bytes_max, limits.body_wait_max);
    Ok((Request::from_parts(parts, body), permit))
}

async fn identify(shared: &Shared, parts: &Parts, peer: Peer) -> Result<Identified, Problem> {
    let found = shared.identity.identify(parts, peer.0.ip()).await;
    if found.as_ref().is_err_and(|problem| problem.status.is_client_error()) {
        // Guessing is what the quota of the address is for; a good credential never pays for it.
        shared.quota.address(peer.0.ip())?;
    }
    found
}

async fn run(
    shared: &Shared,
    row: &Row,
    request: Request,
    permit: Option<Permit>,
    next: Next,
) -> Response {
    let Ok(answer) = AssertUnwindSafe(next.run(request)).catch_unwind().await else {
        shared.http.panicked();
        return Problem::panicked(row.path).into_response();
    };
    let answer =
        if is_bare(&answer) { Problem::of_status(answer.status()).into_response() } else { answer };
    // A stream counts as a request of its caller until it ends, and so does a socket.
    match (permit, answer.extensions().get::<Held>()) {
        (Some(permit), Some(held)) => {
            held.keep(permit);
            answer
        }
        (Some(permit), None) => answer.map(|body| body::holding(body, permit)),
        (None, _) => answer,
    }
}

/// Whether this is an error without a form, as a framework's own refusals are.
fn is_bare(answer: &Response) -> bool {
    let status = answer.status();
    let kind = answer.headers().get(CONTENT_TYPE);
    let plain = kind.is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    (status.is_client_error() || status.is_server_error()) && plain
}

/// The scopes' names in tokens.
pub(crate) fn scope_name(scope: Scope) -> String {
    format!("saem:{scope}")
}
