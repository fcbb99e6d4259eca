//! Lists as they were last written: they are long, the same for everybody, and every client asks for them again and again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ::http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use ::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::body::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::mcp::http::SESSION_ID;

/// Lists that depend on nothing but the request: who asks makes no difference, nor do the documents.
const LISTS: [&str; 3] = ["tools/list", "prompts/list", "resources/templates/list"];

/// Answers that are kept: each client writes its requests in its own way.
const KEPT_MAX: usize = 64;

/// Largest request whose answer is kept, in bytes.
const REQUEST_BYTES_MAX: usize = 4096;

/// Answers to requests for lists, without the requests' ids.
#[derive(Default)]
pub(super) struct Lists {
    kept: Mutex<HashMap<String, Bytes>>,
}

/// A request for a list.
pub(super) struct ListAsked {
    /// All that its answer depends on.
    key: String,
    /// What every answer to it begins with.
    head: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    jsonrpc: String,
    id: Value,
    method: String,
    #[serde(default)]
    params: Value,
}

impl ListAsked {
    /// The request, if it is one for a list outside of any session.
    pub(super) fn read(headers: &HeaderMap, method: &str, message: &[u8]) -> Option<Self> {
        // A session may have ended since.
        if !LISTS.contains(&method)
            || message.len() > REQUEST_BYTES_MAX
            || headers.contains_key(SESSION_ID)
        {
            return None;
        }
        let message: Message = serde_json::from_slice(message).ok()?;
        let is_id = message.id.is_i64() || message.id.is_string();
        if !is_id || message.jsonrpc != "2.0" {
            return None;
        }
        let mut key = format!("{}\n{}", message.method, message.params);
        for (name, value) in headers {
            if says_how(name) {
                key.push_str(&format!("\n{name}: {}", value.to_str().ok()?));
            }
        }
        let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", message.id);
        Some(Self { key, head })
    }
}

/// Whether the protocol looks at the header.
fn says_how(name: &HeaderName) -> bool {
    name == ACCEPT || name == CONTENT_TYPE || name.as_str().starts_with("mcp-")
}

impl Lists {
    /// The answer, if one like it has been written before.
    pub(super) fn find(&self, asked: &ListAsked) -> Option<Response<Bytes>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = kept.get(&asked.key)?.clone();
        drop(kept);
        let mut body = Vec::with_capacity(asked.head.len() + rest.len());
        body.extend_from_slice(asked.head.as_bytes());
        body.extend_from_slice(&rest);
        let mut response = Response::new(Bytes::from(body));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Some(response)
    }

    /// Keeps an answer for those who ask the same.
    pub(super) fn keep(&self, asked: ListAsked, answer: &Response<Bytes>) {
        let kind = answer.headers().get(CONTENT_TYPE);
        let is_plain = answer.status() == StatusCode::OK
            && answer.headers().len() == 1
            && kind.is_some_and(|kind| kind == "application/json");
        let Some(rest) = answer.body().strip_prefix(asked.head.as_bytes()) else { return };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if is_plain && kept.len() < KEPT_MAX {
            kept.insert(asked.key, Bytes::copy_from_slice(rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::http::Head;

    const LIST: &str =
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"a":1}}}"#;

    fn headers(version: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("mcp-protocol-version", version.parse().unwrap());
        headers.insert("x-request-id", HeaderValue::from_static("1"));
        headers
    }

    fn asked(message: &str) -> Option<ListAsked> {
        asked_with(&headers("2026-07-28"), message)
    }

    fn asked_with(headers: &HeaderMap, message: &str) -> Option<ListAsked> {
        let head = Head::read(message.as_bytes())?;
        ListAsked::read(headers, head.method, message.as_bytes())
    }

    fn answer(body: &'static str) -> Response<Bytes> {
        let mut answer = Response::new(Bytes::from_static(body.as_bytes()));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        answer
    }

    #[test]
    fn a_list_is_written_once_and_answers_everybody_by_their_own_id() {
        let lists = Lists::default();
        assert!(lists.find(&asked(LIST).unwrap()).is_none());
        let written = answer(r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}"#);
        lists.keep(asked(LIST).unwrap(), &written);
        for (id, shown) in [("7", "7"), ("8", "8"), (r#""a\"b""#, r#""a\"b""#)] {
            let other = asked(&LIST.replace('7', id)).unwrap();
            let found = lists.find(&other).unwrap();
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{shown},"result":{{"tools":[]}}}}"#);
            assert_eq!(found.body(), expected.as_bytes());
        }
        let same = asked_with(&headers("2025-11-25"), LIST).unwrap();
        assert!(lists.find(&same).is_none(), "another version has another answer");
        assert!(lists.find(&asked(&LIST.replace("\"a\":1", "\"a\":2")).unwrap()).is_none());
    }

    #[test]
    fn what_is_no_list_or_no_good_answer_is_not_kept() {
        for other in [
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":7.5,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
            r#"{"jsonrpc":"1.0","id":7,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
            r#"[{"jsonrpc":"2.0","id":7,"method":"tools/list"}]"#,
        ] {
            assert!(asked(other).is_none(), "{other}");
        }
        let mut of_session = headers("2025-11-25");
        of_session.insert(SESSION_ID, HeaderValue::from_static("x"));
        assert!(asked_with(&of_session, LIST).is_none());
        let lists = Lists::default();
        let failed = answer(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600}}"#);
        lists.keep(asked(LIST).unwrap(), &failed);
        let mut session = answer(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
        session.headers_mut().insert("mcp-session-id", HeaderValue::from_static("x"));
        lists.keep(asked(LIST).unwrap(), &session);
        assert!(lists.find(&asked(LIST).unwrap()).is_none());
    }
}
