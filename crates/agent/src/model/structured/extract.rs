//! Finds the JSON in what a model wrote, and makes a value of it or says what is wrong.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::schema::{Shape, WRAPPED};

/// Places in a text at which JSON is looked for: prose has few braces, and each is a walk through the rest.
const PLACES_MAX: usize = 64;

/// Where the thinking of a model ends whose beginning was not marked.
const THINKING_ENDS: &[&str] = &["</think>", "</thinking>"];

/// Around the arguments when a model writes a tool call as text.
const CALL_FIELDS: &[&str] = &["arguments", "parameters"];

/// The last value of the right shape in the text: models say what they will do, do it, and sometimes correct it.
pub fn value<T: DeserializeOwned>(text: &str, shape: &Shape) -> Result<T, String> {
    let found = found(without_thinking(text));
    let mut fault = None;
    for candidate in found.iter().rev() {
        match read(candidate, shape) {
            Ok(value) => return Ok(value),
            // The fault of the last one: it is the answer the model meant.
            Err(why) => fault = fault.or(Some(why)),
        }
    }
    Err(fault.unwrap_or_else(|| match text.trim() {
        "" => "it is empty".to_owned(),
        text if text.contains('{') => "it holds no complete JSON object".to_owned(),
        _ => "it holds no JSON object".to_owned(),
    }))
}

fn read<T: DeserializeOwned>(candidate: &Value, shape: &Shape) -> Result<T, String> {
    let plain = typed(candidate, shape);
    if plain.is_ok() {
        return plain;
    }
    let inner = CALL_FIELDS.iter().filter_map(|field| candidate.get(*field));
    inner.into_iter().find_map(|inner| typed(inner, shape).ok()).map_or(plain, Ok)
}

fn typed<T: DeserializeOwned>(candidate: &Value, shape: &Shape) -> Result<T, String> {
    let inner = match candidate.get(WRAPPED) {
        Some(inner) if shape.is_wrapped => inner,
        _ => candidate,
    };
    serde_path_to_error::deserialize(inner).map_err(|error| {
        let path = error.path().to_string();
        let at = if path == "." { String::new() } else { format!("`{path}`: ") };
        format!("{at}{}", error.into_inner())
    })
}

fn without_thinking(text: &str) -> &str {
    let ends = THINKING_ENDS.iter().filter_map(|end| Some(text.rfind(end)? + end.len()));
    ends.max().and_then(|end| text.get(end..)).unwrap_or(text)
}

/// All complete objects and lists in the text that are not inside another, in order.
fn found(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut rest = text;
    for _ in 0..PLACES_MAX {
        let Some(place) = rest.find(['{', '[']) else {
            break;
        };
        let tail = rest.get(place..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(tail).into_iter::<Value>();
        let next = match values.next() {
            Some(Ok(value)) => {
                found.push(value);
                values.byte_offset()
            }
            _ => 1,
        };
        rest = tail.get(next..).unwrap_or_default();
    }
    found
}
