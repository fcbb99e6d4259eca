//! The form of messages in which the fields are named as TypeScript names them.

use serde_json::Value;

/// Fields whose own fields are names of others and no words of the protocol.
const NAMES_OF_OTHERS: [&str; 4] = ["details", "results_by_source", "resultsBySource", "arguments"];

/// The same message with `queryId` for `query_id`.
#[must_use]
pub fn to_camel(message: &Value) -> Value {
    renamed(message, &camel)
}

/// The same message with `query_id` for `queryId`.
#[must_use]
pub fn from_camel(message: &Value) -> Value {
    renamed(message, &snake)
}

fn renamed(value: &Value, name: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(field, inner)| {
                    let inner = match NAMES_OF_OTHERS.contains(&field.as_str()) {
                        true => inner.clone(),
                        false => renamed(inner, name),
                    };
                    (name(field), inner)
                })
                .collect(),
        ),
        Value::Array(items) => items.iter().map(|item| renamed(item, name)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn camel(field: &str) -> String {
    let mut parts = field.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut name, part| {
        let mut letters = part.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.extend(letters);
        name
    })
}

fn snake(field: &str) -> String {
    let mut name = String::with_capacity(field.len() + 4);
    for letter in field.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
