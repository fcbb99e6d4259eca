//! Schemas as every client understands them: without the names that only Rust has for numbers.

use rmcp::handler::server::tool::schema_for_type;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde_json::Value;

/// Formats that JSON Schema does not know, and that validators complain about.
const OWN_FORMATS: [&str; 8] =
    ["uint", "uint8", "uint16", "uint32", "uint64", "int64", "float", "double"];

/// The schema of what a tool takes. What may be left out need not be null as well, which not every client can say.
pub(super) fn taken<T: JsonSchema + 'static>() -> JsonObject {
    let mut schema = schema_for_type::<T>().as_ref().clone();
    cleaned(&mut schema, Null::Dropped);
    schema
}

/// The schema of what a tool gives.
pub(super) fn given<T: JsonSchema + 'static>() -> JsonObject {
    let mut schema = schema_for_type::<T>().as_ref().clone();
    cleaned(&mut schema, Null::Kept);
    schema
}

/// What becomes of `null` beside another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Null {
    Kept,
    Dropped,
}

fn cleaned(schema: &mut JsonObject, null: Null) {
    let is_own = |value: &Value| value.as_str().is_some_and(|name| OWN_FORMATS.contains(&name));
    if schema.get("format").is_some_and(is_own) {
        schema.remove("format");
    }
    // That it may be left out is said elsewhere; some clients take this for a value to send.
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if null == Null::Dropped
        && let Some(kind) = schema.get_mut("type")
        && let Value::Array(kinds) = kind
        && let [one, Value::String(other)] = kinds.as_mut_slice()
        && other == "null"
    {
        *kind = one.take();
    }
    schema.values_mut().for_each(|value| inside(value, null));
}

fn inside(value: &mut Value, null: Null) {
    match value {
        Value::Object(object) => cleaned(object, null),
        Value::Array(values) => values.iter_mut().for_each(|value| inside(value, null)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::wire::SearchBody;
    use crate::mcp::tools::forms::SearchAll;

    #[test]
    fn no_schema_says_what_only_rust_knows() {
        let text = Value::Object(given::<SearchBody>()).to_string();
        assert!(text.contains("heading_path"), "{text}");
        for word in ["uint", "\"float\"", "\"double\"", "\"default\":null"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }

    #[test]
    fn what_is_taken_may_be_left_out_and_is_never_said_to_be_null() {
        let schema = Value::Object(taken::<SearchAll>());
        assert_eq!(schema["properties"]["collection"]["type"], "string");
        assert_eq!(schema["properties"]["count"]["type"], "integer");
        assert_eq!(schema["required"], serde_json::json!(["query"]));
    }
}
