//! The routes by which a browser signs in and out, and by which a page learns who its visitor is.

use std::sync::Arc;

use agent::identity::Scope;
use axum::Extension;
use axum::response::{IntoResponse, Response};
use engine::keys::Secret;
use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Shared;
use crate::guard::Caller;
use crate::identity::visits::{VisitCookie, forgotten};
use crate::input::Json;
use crate::problem::Problem;
use crate::routes::{Access, Route};

/// Largest body of a sign-in: the longest token fits.
const LOGIN_BYTES_MAX: u64 = 32 << 10;

type Server = Extension<Arc<Shared>>;

pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Vec<Route<S>> {
    let read = Access::Needs(Scope::Read);
    let routes = vec![
        Route::post("/api/login", Access::Public, "Signs a browser in with a key", login)
            .takes::<SignInBody>()
            .body_bytes_max(LOGIN_BYTES_MAX)
            .gives::<CallerBody>(StatusCode::OK),
        Route::post("/api/logout", read, "Signs a browser out", logout)
            .gives_nothing(StatusCode::NO_CONTENT),
        Route::get("/api/me", read, "Says who is calling", me).gives::<CallerBody>(StatusCode::OK),
    ];
    routes.into_iter().map(|route| route.tag("page")).collect()
}

/// A key to sign in with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignInBody {
    /// An API key, or a token of the issuer.
    key: String,
}

/// Who is calling.
#[derive(Serialize, JsonSchema)]
struct CallerBody {
    tenant: String,
    /// `owner`, `key:ab12cd34` or `jwt:subject`.
    name: String,
    scopes: Vec<String>,
    /// A browser that has signed in: what it sends as `x-saem-csrf` with everything that changes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf: Option<String>,
    version: String,
}

async fn login(
    Extension(server): Server,
    headers: HeaderMap,
    Json(body): Json<SignInBody>,
) -> Result<Response, Problem> {
    let key = Secret::new(body.key.trim().to_owned());
    let (caller, cookie) = server.identity.sign_in(&key).await?;
    let body = caller_body(&Caller(caller.principal), Some(&cookie), &server);
    let mut answer = Json(body).into_response();
    answer.headers_mut().extend(cookie.kept(&headers).map(|kept| (SET_COOKIE, kept)));
    Ok(answer)
}

async fn logout(Extension(server): Server, headers: HeaderMap) -> Response {
    server.identity.sign_out(&headers);
    let mut answer = StatusCode::NO_CONTENT.into_response();
    answer.headers_mut().extend(forgotten(&headers).map(|gone| (SET_COOKIE, gone)));
    answer
}

async fn me(Extension(server): Server, caller: Caller, headers: HeaderMap) -> Json<CallerBody> {
    let cookie = VisitCookie::read(&headers).filter(|cookie| server.identity.knows(cookie));
    Json(caller_body(&caller, cookie.as_ref(), &server))
}

fn caller_body(caller: &Caller, cookie: Option<&VisitCookie>, server: &Shared) -> CallerBody {
    CallerBody {
        tenant: caller.tenant.to_string(),
        name: caller.name.clone(),
        scopes: caller.scopes.iter().map(ToString::to_string).collect(),
        csrf: cookie.map(VisitCookie::csrf),
        version: server.version.clone(),
    }
}
