//! As much of an MCP message as somebody needs to know who passes it on.

use anyhow::Result;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// What HTTP needs to say of a message besides the message.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const VERSION_POINTER: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// A message as it came, and what it is.
pub(super) struct Message {
    pub(super) text: String,
    pub(super) kind: Kind,
    pub(super) method: Option<String>,
    /// The version that it names itself, which only the newer era does.
    pub(super) version: Option<String>,
    /// What the method is applied to.
    name: Option<String>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Request {
        id: Value,
    },
    /// Takes a request back.
    Cancelled {
        id: Value,
    },
    /// Any other notification, or an answer to the server.
    Other,
}

impl Message {
    /// The message of a line, none for an empty one; or the error that its sender is told.
    pub(super) fn read(line: &[u8]) -> Result<Option<Self>, Value> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let unreadable = |why: &str| json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": why } });
        let text = std::str::from_utf8(line).map_err(|_| unreadable("a message is UTF-8"))?.trim();
        let value: Value =
            serde_json::from_str(text).map_err(|_| unreadable("a message is one line of JSON"))?;
        let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
        let id = value.get("id").filter(|id| !id.is_null()).cloned();
        let kind = match (method.as_deref(), id) {
            (Some(_), Some(id)) => Kind::Request { id },
            (Some("notifications/cancelled"), None) => {
                let id = value.pointer("/params/requestId").cloned().unwrap_or_default();
                Kind::Cancelled { id }
            }
            (Some(_) | None, _) => Kind::Other,
        };
        let at = |place: &str| value.pointer(place).and_then(Value::as_str).map(str::to_owned);
        let name = match method.as_deref() {
            Some("tools/call" | "prompts/get") => at("/params/name"),
            Some("resources/read") => at("/params/uri"),
            Some("tasks/get" | "tasks/update" | "tasks/cancel") => at("/params/taskId"),
            Some(_) | None => None,
        };
        let version = at(VERSION_POINTER);
        Ok(Some(Self { text: text.to_owned(), kind, method, version, name }))
    }

    /// The headers that say the same as the message. No tool of ours takes an argument as a header.
    pub(super) fn routing_headers(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        if let Some(method) = &self.method {
            headers.insert(METHOD, HeaderValue::from_str(method)?);
        }
        if let Some(name) = &self.name {
            headers.insert(NAME, HeaderValue::from_str(&wrapped(name))?);
        }
        Ok(headers)
    }
}

/// The answer to a request that could not be passed on.
pub(super) fn failure(id: &Value, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": why } })
}

/// The message that an event holds; none for a sign of life.
pub(super) fn in_event(event: &str) -> Option<Value> {
    let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
    let data: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    serde_json::from_str(&data.join("\n")).ok()
}

/// A value as a header: what a header cannot hold is wrapped.
fn wrapped(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && value.trim() == value
        && !value.starts_with("=?base64?");
    if is_plain { value.to_owned() } else { format!("=?base64?{}?=", base64(value.as_bytes())) }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let six = (bits >> (18 - 6 * place) & 63) as usize;
            let letter = LETTERS.get(six).copied().unwrap_or(b'=');
            text.push(if place > three.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_holds_what_it_can_and_wraps_what_it_cannot() {
        for (value, header) in [
            ("search_all", "search_all"),
            ("샘", "=?base64?7IOY?="),
            (" a", "=?base64?IGE=?="),
            ("=?base64?x", "=?base64?PT9iYXNlNjQ/eA==?="),
        ] {
            assert_eq!(wrapped(value), header);
        }
    }

    #[test]
    fn a_message_says_what_it_is() {
        let kind = |text: &str| Message::read(text.as_bytes()).unwrap().unwrap().kind;
        assert_eq!(kind(r#"{"id":1,"method":"ping"}"#), Kind::Request { id: json!(1) });
        assert_eq!(kind(r#"{"method":"notifications/initialized"}"#), Kind::Other);
        assert_eq!(kind(r#"{"id":"a","result":{}}"#), Kind::Other);
        let cancelled = r#"{"method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        assert_eq!(kind(cancelled), Kind::Cancelled { id: json!("a") });
        assert!(Message::read(b" \r\n").unwrap().is_none());
        assert!(Message::read(b"{").is_err());
    }

    #[test]
    fn an_event_may_come_in_several_lines_and_may_hold_nothing() {
        assert_eq!(in_event("id: 1\ndata: {\"a\":\ndata: 1}\n\n"), Some(json!({ "a": 1 })));
        assert_eq!(in_event(": still here\n\n"), None);
        assert_eq!(in_event("id: 0\nretry: 3000\ndata:\n\n"), None);
    }
}
