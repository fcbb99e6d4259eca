//! Schemas as every client understands them: without the names that only Rust has for numbers.

use rmcp::handler::server::tool::schema_for_type;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde_json::Value;

/// Formats that JSON Schema does not know, and that validators complain about.
const OWN_FORMATS: [&str; 8] =
    ["uint", "uint8", "uint16", "uint32", "uint64", "int64", "float", "double"];

/// The schema of a type.
pub(super) fn portable<T: JsonSchema + 'static>() -> JsonObject {
    let mut schema = schema_for_type::<T>().as_ref().clone();
    cleaned(&mut schema);
    schema
}

fn cleaned(schema: &mut JsonObject) {
    let is_own = |value: &Value| value.as_str().is_some_and(|name| OWN_FORMATS.contains(&name));
    if schema.get("format").is_some_and(is_own) {
        schema.remove("format");
    }
    // That it may be left out is said elsewhere; some clients take this for a value to send.
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    schema.values_mut().for_each(inside);
}

fn inside(value: &mut Value) {
    match value {
        Value::Object(object) => cleaned(object),
        Value::Array(values) => values.iter_mut().for_each(inside),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::wire::SearchBody;

    #[test]
    fn no_schema_says_what_only_rust_knows() {
        let text = Value::Object(portable::<SearchBody>()).to_string();
        assert!(text.contains("heading_path"), "{text}");
        for word in ["uint", "\"float\"", "\"double\"", "\"default\":null"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}
