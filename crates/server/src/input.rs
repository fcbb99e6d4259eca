//! What handlers take: typed, checked, and refused with a [`Problem`] that says what to change.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::BodyExt;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::body::BodyError;
use crate::problem::{Problem, clipped, find_body_error};

/// A JSON body, in or out. Give `T` `#[serde(deny_unknown_fields)]`: the route table insists on it.
#[derive(Debug, Clone)]
pub struct Json<T>(pub T);

/// A body of bytes as they came, at most as many as the route takes.
#[derive(Debug, Clone)]
pub struct Bytes(pub bytes::Bytes);

/// A form with files, read part by part; `?` on each part gives the right [`Problem`].
#[derive(Debug)]
pub struct Multipart(pub axum::extract::Multipart);

/// The part of the address behind the question mark.
#[derive(Debug, Clone)]
pub struct Query<T>(pub T);

/// The parts in braces of the route's path, their percent signs decoded.
#[derive(Debug, Clone)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                "the body is not JSON",
                "The Content-Type is not application/json.",
                "Send JSON with the header Content-Type: application/json.",
            ));
        }
        parse_json(&read(request).await?).map(Self)
    }
}

impl<S: Send + Sync> FromRequest<S> for Bytes {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Problem> {
        read(request).await.map(Self)
    }
}

impl<S: Send + Sync> FromRequest<S> for Multipart {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let form = axum::extract::Multipart::from_request(request, state).await;
        form.map(Self).map_err(|_| {
            Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not_a_form",
                "the body is not a form",
                "The Content-Type is not multipart/form-data with a boundary.",
                "Send a form, as `curl -F file=@name` does.",
            )
        })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        query
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|rejection| query_problem(&rejection))
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(value)| Self(value))
            .map_err(|rejection| path_problem(&rejection))
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => {
                let json = HeaderValue::from_static("application/json");
                ([(CONTENT_TYPE, json)], bytes).into_response()
            }
            Err(error) => Problem::broken("writing an answer", &error).into_response(),
        }
    }
}

/// Parses a body: strict UTF-8, at most 128 levels deep, and no key twice in a typed struct.
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        json_problem("invalid_utf8", format!("Byte {} is not UTF-8.", error.valid_up_to()))
    })?;
    serde_json::from_str(text).map_err(|error| {
        let code = if error.is_data() { "invalid_field" } else { "invalid_json" };
        json_problem(code, format!("{error}."))
    })
}

fn json_problem(code: &'static str, detail: String) -> Problem {
    let title = "the JSON body cannot be used";
    let action = "Change what the detail names; /api/openapi.json has the schema.";
    Problem::new(StatusCode::BAD_REQUEST, code, title, clipped(detail.into()), action)
}

async fn read(request: Request) -> Result<bytes::Bytes, Problem> {
    let collected = request.into_body().collect().await;
    let whole = collected.map_err(|error| find_body_error(&error).unwrap_or(BodyError::Broken));
    whole.map(http_body_util::Collected::to_bytes).map_err(BodyError::problem)
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(CONTENT_TYPE).map(HeaderValue::to_str) else { return false };
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn query_problem(rejection: &QueryRejection) -> Problem {
    let title = "the query cannot be used";
    let detail = clipped(format!("{}.", rejection.body_text()).into());
    let action = "Change the part behind the question mark.";
    Problem::new(StatusCode::BAD_REQUEST, "invalid_query", title, detail, action)
}

fn path_problem(rejection: &PathRejection) -> Problem {
    let title = "the path cannot be used";
    let detail = clipped(format!("{}.", rejection.body_text()).into());
    let action = "Check the ids in the path.";
    Problem::new(StatusCode::BAD_REQUEST, "invalid_path", title, detail, action)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the reading of it is tested")]
    struct Sample {
        text: String,
        #[serde(default)]
        more: Option<serde_json::Value>,
        #[serde(default)]
        number: f64,
    }

    fn check(body: &[u8], code: &str, detail: &str) {
        let problem = parse_json::<Sample>(body).unwrap_err();
        assert_eq!((problem.status.as_u16(), problem.code), (400, code));
        assert!(problem.detail.contains(detail), "{}", problem.detail);
    }

    #[test]
    fn json_that_is_not_what_it_should_be_is_refused_with_the_place() {
        check(b"{", "invalid_json", "line 1 column 1");
        check(b"", "invalid_json", "EOF");
        check(b"{\"text\":\"a\"} x", "invalid_json", "trailing");
        check(b"{}", "invalid_field", "missing field `text`");
        check(b"{\"text\":1}", "invalid_field", "expected a string");
        check(b"{\"text\":\"a\",\"other\":1}", "invalid_field", "unknown field `other`");
        check(b"{\"Text\":\"a\"}", "invalid_field", "unknown field `Text`");
        check(b"{\"text\":\"\xff\"}", "invalid_utf8", "Byte 9");
        check(b"{\"text\":\"\\ud800\"}", "invalid_json", "");
        check(b"{\"text\":\"a\",\"number\":1e999}", "invalid_json", "out of range");
        check(b"{\"text\":\"a\",\"number\":NaN}", "invalid_json", "");
    }

    #[test]
    fn a_key_given_twice_is_refused() {
        check(b"{\"text\":\"a\",\"text\":\"b\"}", "invalid_field", "duplicate field `text`");
    }

    #[test]
    fn nesting_beyond_128_levels_is_refused() {
        let nested = |depth: usize| {
            format!("{{\"text\":\"a\",\"more\":{}{}}}", "[".repeat(depth), "]".repeat(depth))
        };
        assert!(parse_json::<Sample>(nested(100).as_bytes()).is_ok());
        check(nested(200).as_bytes(), "invalid_json", "recursion limit");
        check(nested(100_000).as_bytes(), "invalid_json", "recursion limit");
    }
}
