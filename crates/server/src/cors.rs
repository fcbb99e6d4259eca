//! What lets a page of another server read our answers (CORS): only pages that the settings name, and never cookies.

use axum::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderValue, ORIGIN, VARY,
};
use http::{HeaderMap, Method, StatusCode};

/// Headers that a page may send: who calls, what the body is, the key of a repeated request, and what MCP says there.
const TAKEN: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, last-event-id, mcp-method, mcp-name, mcp-protocol-version, \
     mcp-session-id, x-api-key",
);

/// Headers of an answer that a page may read besides the harmless ones.
const SHOWN: HeaderValue =
    HeaderValue::from_static("mcp-session-id, retry-after, www-authenticate");

/// Seconds for which a browser need not ask again: a page that loses its place in the settings loses it this soon.
const REMEMBERED_SECONDS: HeaderValue = HeaderValue::from_static("600");

/// A page of another server that the settings name; the Origin as its browser wrote it.
#[derive(Debug, Clone)]
pub(crate) struct ForeignPage(pub(crate) HeaderValue);

/// Lets the page read the answer.
pub(crate) fn show(response: &mut Response, page: ForeignPage) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page.0);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, SHOWN);
}

/// Says that the answer depends on the page that asks, so that none is given to another page.
pub(crate) fn vary(response: &mut Response) {
    response.headers_mut().append(VARY, HeaderValue::from(ORIGIN));
}

/// Whether a browser asks on behalf of a page what the page may send. It brings no credentials.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// What a page may send to an address that takes these methods.
pub(crate) fn preflight(methods: &HeaderValue) -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, methods.clone()),
        (ACCESS_CONTROL_ALLOW_HEADERS, TAKEN),
        (ACCESS_CONTROL_MAX_AGE, REMEMBERED_SECONDS),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
