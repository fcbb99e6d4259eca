//! The one error that every way in answers with: what went wrong, why, and what to do about it (RFC 9457).

use std::borrow::Cow;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use agent::names::NameError;
use agent::ports::PortError;
use axum::extract::multipart::MultipartError;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use schemars::JsonSchema;
use serde::Serialize;

use crate::body::BodyError;

/// Longest text of a caller's own input that an answer repeats, in characters.
const DETAIL_CHARS_MAX: usize = 300;

/// How long a caller should wait when something is busy, in seconds: a group commit takes milliseconds.
const BUSY_SECONDS: u64 = 1;

/// Counts what was our own fault, so that an answer and a log line can be brought together.
static INCIDENTS: AtomicU64 = AtomicU64::new(0);

/// An error as the caller reads it. What the log reads is written elsewhere.
#[derive(Debug)]
pub struct Problem {
    pub status: StatusCode,
    /// Stable, for programs: `key_expired`.
    pub code: &'static str,
    /// What went wrong; always the same for a code.
    pub title: &'static str,
    /// Why, this time.
    pub detail: Cow<'static, str>,
    /// What to do about it.
    pub action: Cow<'static, str>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The problem that an answer carries, for whoever counts them or says them otherwise.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) detail: Cow<'static, str>,
}

/// The wire form of a [`Problem`].
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemBody<'a> {
    /// A name for the kind of problem.
    pub r#type: String,
    /// What went wrong.
    pub title: &'a str,
    pub status: u16,
    /// Why, this time.
    pub detail: &'a str,
    /// Stable, for programs.
    pub code: &'a str,
    /// What to do about it.
    pub action: &'a str,
}

impl Problem {
    #[must_use]
    pub fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<Cow<'static, str>>,
        action: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (detail, action) = (detail.into(), action.into());
        Self { status, code, title, detail, action, headers: Vec::new() }
    }

    /// The same problem, with one more header on the answer.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The same problem, telling the caller when to come back.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.with_header(RETRY_AFTER, HeaderValue::from(seconds.max(1)))
    }

    /// The same problem, ending the connection: what is left on it is not worth reading.
    #[must_use]
    pub fn closing(self) -> Self {
        self.with_header(CONNECTION, HeaderValue::from_static("close"))
    }

    /// The caller sent something that cannot be used.
    #[must_use]
    pub fn refused(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "the request cannot be used",
            clipped(detail.into()),
            "Change what the detail names and send it again.",
        )
    }

    /// There is no such thing for this caller: absent and forbidden look the same.
    #[must_use]
    pub fn not_found(what: &'static str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "there is no such thing",
            format!("There is no such {what}."),
            "Check the id, or list what there is.",
        )
    }

    /// There is no such address.
    #[must_use]
    pub fn no_route() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "no_such_address",
            "there is no such address",
            "No route has this path.",
            "See /api/openapi.json for the paths there are.",
        )
    }

    /// Somebody else wants the same thing at the same time, or it is in the wrong state.
    #[must_use]
    pub fn conflict(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "conflict",
            "this is not possible now",
            clipped(detail.into()),
            "Read the present state and decide again.",
        )
    }

    /// Nobody but us can do something about it: the cause goes to the log, its number to the caller.
    #[must_use]
    pub fn broken(what: &str, cause: &dyn Error) -> Self {
        let incident = INCIDENTS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        tracing::error!(incident, what, cause = %chain(cause), "something of ours failed");
        Self::internal(incident)
    }

    /// A handler panicked. The message went to the panic hook; the answer only numbers it.
    #[must_use]
    pub fn panicked(route: &str) -> Self {
        let incident = INCIDENTS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        tracing::error!(incident, route, "a handler panicked");
        Self::internal(incident)
    }

    /// What a bare status means, for answers that say nothing themselves.
    #[must_use]
    pub(crate) fn of_status(status: StatusCode) -> Self {
        if status.is_server_error() {
            return Self::broken("a handler", &std::io::Error::other(status.to_string()));
        }
        Self { status, ..Self::refused(status.canonical_reason().unwrap_or("refused")) }
    }

    fn internal(incident: u64) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "something of ours failed",
            format!("It was written to the log as incident {incident}."),
            "Try again; if it stays, give the incident's number to whoever runs this server.",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ProblemBody {
            r#type: format!("urn:saem:problem:{}", self.code),
            title: self.title,
            status: self.status.as_u16(),
            detail: &self.detail,
            code: self.code,
            action: &self.action,
        };
        // Serialising six strings cannot fail; an empty body with the right status is still an answer.
        let bytes = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = (self.status, bytes).into_response();
        let problem_json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, problem_json);
        response.headers_mut().extend(self.headers);
        response.extensions_mut().insert(Refusal { code: self.code, detail: self.detail });
        response
    }
}

impl From<PortError> for Problem {
    fn from(error: PortError) -> Self {
        match error {
            PortError::Full => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "disk_full",
                "the disk is full",
                "Nothing more can be kept; reading and searching go on.",
                "Free some space on the server's disk, or raise the maxmemory of its Redis, and try again.",
            ),
            PortError::Busy { what } => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "too much at once",
                format!("{what} is busy."),
                "Try again in a moment.",
            )
            .retry_after(BUSY_SECONDS),
            PortError::Unavailable { what, why } => {
                tracing::warn!(what, why, "something outside does not answer");
                Self::new(
                    StatusCode::BAD_GATEWAY,
                    "unavailable",
                    "something that this server needs does not answer",
                    clipped(format!("{what} does not answer.").into()),
                    "Try again later; the server's log says why.",
                )
            }
            PortError::Refused(reason) => Self::refused(reason),
            PortError::Broken { what, source } => Self::broken(what, &*source),
        }
    }
}

impl From<NameError> for Problem {
    fn from(error: NameError) -> Self {
        Self::refused(error.to_string())
    }
}

impl From<MultipartError> for Problem {
    fn from(error: MultipartError) -> Self {
        if let Some(body) = find_body_error(&error) {
            return body.problem();
        }
        Self::refused(format!("The form cannot be read: {}.", error.body_text()))
    }
}

/// Finds our own error under what a reader of bodies made of it.
pub(crate) fn find_body_error(error: &(dyn Error + 'static)) -> Option<BodyError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<BodyError>() {
            return Some(*found);
        }
        next = error.source();
    }
    None
}

/// As much of a text with the caller's own words in it as an answer can bear, without control characters.
pub(crate) fn clipped(text: Cow<'static, str>) -> Cow<'static, str> {
    if text.len() <= DETAIL_CHARS_MAX && !text.contains(char::is_control) {
        return text;
    }
    let kept = text.chars().take(DETAIL_CHARS_MAX);
    kept.map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().into()
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: PortError, status: u16, code: &str) -> Response {
        let problem = Problem::from(error);
        assert_eq!((problem.status.as_u16(), problem.code), (status, code));
        problem.into_response()
    }

    #[test]
    fn each_failure_of_a_port_has_its_status() {
        check(PortError::Full, 507, "disk_full");
        let busy = check(PortError::Busy { what: "the writer" }, 503, "busy");
        assert_eq!(busy.headers()[RETRY_AFTER], "1");
        assert_eq!(busy.headers()[CONTENT_TYPE], "application/problem+json");
        let gone = PortError::Unavailable { what: "the model".into(), why: "10.0.0.7".into() };
        check(gone, 502, "unavailable");
        check(PortError::Refused("no".into()), 400, "invalid_request");
        let source = std::io::Error::other("/secret/path");
        check(PortError::Broken { what: "the store", source: source.into() }, 500, "internal");
    }

    #[test]
    fn the_caller_never_reads_what_broke() {
        let source = std::io::Error::other("/secret/path");
        let error = PortError::Broken { what: "the store", source: source.into() };
        let problem = Problem::from(error);
        assert!(!problem.detail.contains("secret") && problem.detail.contains("incident"));
        let gone = PortError::Unavailable { what: "the model".into(), why: "10.0.0.7".into() };
        assert!(!Problem::from(gone).detail.contains("10.0.0.7"));
    }

    #[test]
    fn a_long_or_dirty_detail_is_cut_and_cleaned() {
        let problem = Problem::refused("가\u{1b}[31m".repeat(500));
        assert!(problem.detail.chars().count() <= DETAIL_CHARS_MAX);
        assert!(!problem.detail.contains('\u{1b}'));
    }
}
