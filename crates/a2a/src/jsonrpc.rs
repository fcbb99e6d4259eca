//! JSON-RPC 2.0 as A2A uses it: the envelope around what is asked and answered.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Number, Value, json};

use crate::error::{Error, ErrorKind};
use crate::limits::NAME_BYTES_MAX;
use crate::version::Version;

/// What a caller calls its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Id {
    Null,
    Number(Number),
    Text(String),
}

impl From<&Id> for Value {
    fn from(id: &Id) -> Self {
        match id {
            Id::Null => Self::Null,
            Id::Number(number) => Self::Number(number.clone()),
            Id::Text(text) => Self::String(text.clone()),
        }
    }
}

/// A request whose envelope is right; nothing is known yet of its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub id: Id,
    pub method: String,
    /// An object, or `Null` if there are none.
    pub params: Value,
}

/// A request whose envelope is wrong, with its id as far as it could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Malformed {
    pub id: Id,
    pub error: Error,
}

/// Reads a request.
///
/// # Errors
/// If it is not JSON, a batch, or not a request of JSON-RPC 2.0.
pub fn read_request(body: &[u8]) -> Result<Request, Malformed> {
    let malformed =
        |id: Id, kind: ErrorKind, message: &str| Malformed { id, error: Error::new(kind, message) };
    let envelope: Envelope = match serde_json::from_slice(body) {
        Ok(envelope) => envelope,
        Err(error) if error.is_data() => {
            let words =
                "Request payload validation error: a request is one object without repeated names";
            return Err(malformed(Id::Null, ErrorKind::InvalidRequest, words));
        }
        Err(_) => return Err(malformed(Id::Null, ErrorKind::Parse, ErrorKind::Parse.words())),
    };
    let mut envelope = envelope.0;
    let invalid = |id: Id, words: &str| {
        malformed(
            id,
            ErrorKind::InvalidRequest,
            &format!("Request payload validation error: {words}"),
        )
    };
    let id = match envelope.remove("id") {
        None | Some(Value::Null) => Id::Null,
        Some(Value::String(text)) if text.len() <= NAME_BYTES_MAX => Id::Text(text),
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => Id::Number(number),
        Some(_) => return Err(invalid(Id::Null, "id is a string or a whole number")),
    };
    if envelope.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(id, "jsonrpc is \"2.0\""));
    }
    let Some(Value::String(method)) = envelope.remove("method") else {
        return Err(invalid(id, "method is a string"));
    };
    match envelope.remove("params").unwrap_or(Value::Null) {
        params @ (Value::Null | Value::Object(_)) => Ok(Request { id, method, params }),
        _ => Err(Malformed { id, error: Error::violation("params", "is an object") }),
    }
}

/// Writes a request.
#[must_use]
pub fn write_request(id: &Id, method: &str, params: Value) -> Value {
    let mut request = json!({ "jsonrpc": "2.0", "id": Value::from(id), "method": method });
    if let (false, Some(object)) = (params.is_null(), request.as_object_mut()) {
        object.insert("params".to_owned(), params);
    }
    request
}

/// Writes the answer to a request; in a stream, each event is one.
#[must_use]
pub fn write_result(id: &Id, result: Value) -> Value {
    let mut response = json!({ "jsonrpc": "2.0", "id": Value::from(id) });
    if let Some(object) = response.as_object_mut() {
        object.insert("result".to_owned(), result);
    }
    response
}

/// Writes the refusal of a request.
#[must_use]
pub fn write_error(id: &Id, version: Version, error: &Error) -> Value {
    json!({ "jsonrpc": "2.0", "id": Value::from(id), "error": error.to_jsonrpc(version) })
}

/// Reads a peer's answer: its result, or what it refused with.
///
/// # Errors
/// With the peer's error, or [`ErrorKind::InvalidAgentResponse`] if it is no answer to the request `id`.
pub fn read_response(id: &Id, mut response: Value) -> Result<Value, Error> {
    let broken = |words: &str| {
        Error::new(ErrorKind::InvalidAgentResponse, format!("Invalid agent response: {words}"))
    };
    let Some(object) = response.as_object_mut() else { return Err(broken("not an object")) };
    if let Some(error) = object.get("error").filter(|error| !error.is_null()) {
        return Err(Error::from_jsonrpc(error));
    }
    if object.get("id").is_some_and(|answered| *answered != Value::from(id)) {
        return Err(broken("it answers another request"));
    }
    object.remove("result").ok_or_else(|| broken("neither result nor error"))
}

/// An object that has each name once: a proxy and we might otherwise each believe another of two methods.
struct Envelope(Map<String, Value>);

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Envelope, A::Error> {
        let mut map = Map::new();
        while let Some((name, value)) = access.next_entry::<String, Value>()? {
            if map.insert(name, value).is_some() {
                return Err(A::Error::custom("a name stands twice"));
            }
        }
        Ok(Envelope(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, id: &Id, kind: ErrorKind) {
        let malformed = read_request(body.as_bytes()).unwrap_err();
        assert_eq!((&malformed.id, malformed.error.kind), (id, kind), "{body}");
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_id_if_it_has_one() {
        use ErrorKind::{InvalidParams, InvalidRequest, Parse};
        let one = Id::Number(1.into());
        check("", &Id::Null, Parse);
        check("{", &Id::Null, Parse);
        check("\u{feff}{}", &Id::Null, Parse);
        check("[]", &Id::Null, InvalidRequest);
        check("7", &Id::Null, InvalidRequest);
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, &Id::Null, InvalidRequest);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}"#, &Id::Null, InvalidRequest);
        check(r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, &one, InvalidRequest);
        check(r#"{"id":1,"method":"x"}"#, &one, InvalidRequest);
        check(r#"{"jsonrpc":"2.0","id":1}"#, &one, InvalidRequest);
        check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, &one, InvalidRequest);
        check(r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, &Id::Null, InvalidRequest);
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, &Id::Null, InvalidRequest);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#, &one, InvalidParams);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1e999}}"#, &Id::Null, Parse);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\ud800"}}"#, &Id::Null, Parse);
        check(&format!("{}1{}", "[".repeat(300), "]".repeat(300)), &Id::Null, InvalidRequest);
        let deep = format!(r#"{{"params":{}1{}}}"#, "[".repeat(300), "]".repeat(300));
        check(&deep, &Id::Null, Parse);
    }

    #[test]
    fn an_answer_is_the_one_to_its_request() {
        let id = Id::Text("a".to_owned());
        assert_eq!(read_response(&id, write_result(&id, Value::Null)), Ok(Value::Null));
        let other = read_response(&id, write_result(&Id::Null, json!(1)));
        assert_eq!(other.unwrap_err().kind, ErrorKind::InvalidAgentResponse);
        let refused = write_error(&id, Version::V0_3, &Error::task_not_found());
        assert_eq!(read_response(&id, refused), Err(Error::task_not_found()));
        assert!(read_response(&id, json!([])).is_err());
        assert!(read_response(&id, json!({ "jsonrpc": "2.0", "id": "a" })).is_err());
    }
}
