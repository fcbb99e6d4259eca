//! A tool as its server describes it, and what may be believed of that.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::naming::{ServerId, ToolName};
use super::suspicion::Finding;

/// A tool as its server offers it, word for word.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Offered {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input_schema: Value,
    pub output_schema: Option<Value>,
    pub annotations: Annotations,
}

/// What a server claims about its tool; none where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Annotations {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

/// What a call does to the world, as far as it is known; whatever is not said counts as the worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads, and nothing of the arguments leaves the server's own domain.
    Reads,
    /// Changes nothing, but what it is given may go out into the world.
    Sends,
    /// Changes something.
    Changes,
}

impl Annotations {
    #[must_use]
    pub fn effect(&self) -> Effect {
        match (self.read_only, self.open_world) {
            (Some(true), Some(false)) => Effect::Reads,
            (Some(true), Some(true) | None) => Effect::Sends,
            (Some(false) | None, _) => Effect::Changes,
        }
    }
}

/// A tool in the registry: cleaned, named by us, pinned.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub server: ServerId,
    pub name: ToolName,
    /// What the server calls it, for calling it.
    pub original: String,
    pub title: Option<String>,
    /// Without what cannot be seen, and not too long.
    pub description: String,
    pub input_schema: Value,
    pub output_schema: Option<Value>,
    pub annotations: Annotations,
    /// Digest of all that the server said, byte for byte: another one means that the tool has changed.
    pub pin: String,
    pub findings: Vec<Finding>,
}

impl Definition {
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.annotations.effect()
    }

    /// How much of a context it takes: what a model reads of it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.name.as_str().len() + self.description.len() + self.input_schema.to_string().len()
    }
}

/// All that a pin covers, in one spelling: keys in order, no blanks.
#[must_use]
pub fn canonical(server: &ServerId, offered: &Offered) -> String {
    let Offered { name, title, description, input_schema, output_schema, annotations } = offered;
    let mut out = String::new();
    let annotations = serde_json::json!({
        "destructive": annotations.destructive,
        "idempotent": annotations.idempotent,
        "openWorld": annotations.open_world,
        "readOnly": annotations.read_only,
    });
    let parts = [
        ("annotations", annotations),
        ("description", Value::from(description.as_str())),
        ("inputSchema", input_schema.clone()),
        ("name", Value::from(name.as_str())),
        ("outputSchema", output_schema.clone().unwrap_or(Value::Null)),
        ("server", Value::from(server.as_str())),
        ("title", title.clone().map_or(Value::Null, Value::from)),
    ];
    for (key, value) in parts {
        out.push_str(key);
        out.push(':');
        write_in_order(&value, &mut out);
        out.push('\n');
    }
    out
}

/// Writes keys in the order of their bytes, however the map keeps them.
fn write_in_order(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push('{');
            for key in keys {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                if let Some(inner) = map.get(key) {
                    write_in_order(inner, out);
                }
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_in_order(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn offered() -> Offered {
        Offered {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"a": {}, "b": {}}}),
            ..Offered::default()
        }
    }

    fn of(offered: &Offered) -> String {
        canonical(&ServerId::for_name("s"), offered)
    }

    #[test]
    fn what_is_not_said_of_a_tool_counts_as_the_worse() {
        assert_eq!(Annotations::default().effect(), Effect::Changes);
        let only_reads = Annotations { read_only: Some(true), ..Annotations::default() };
        assert_eq!(only_reads.effect(), Effect::Sends);
        let at_home = Annotations { open_world: Some(false), ..only_reads };
        assert_eq!(at_home.effect(), Effect::Reads);
        let harmless = Annotations { destructive: Some(false), ..Annotations::default() };
        assert_eq!(harmless.effect(), Effect::Changes);
    }

    #[test]
    fn the_order_of_keys_says_nothing() {
        let mut other = offered();
        other.input_schema =
            serde_json::from_str(r#"{"properties": {"b": {}, "a": {}}, "type": "object"}"#)
                .unwrap();
        assert_eq!(of(&offered()), of(&other));
    }

    #[test]
    fn every_part_of_a_definition_counts() {
        let changes: [fn(&mut Offered); 7] = [
            |tool| tool.name.push('x'),
            |tool| tool.title = Some("T".to_owned()),
            |tool| tool.description.push('\u{200b}'),
            |tool| {
                tool.input_schema = json!({"type": "object", "properties": {"a": {"default": 1}}})
            },
            |tool| tool.output_schema = Some(json!({})),
            |tool| tool.annotations.read_only = Some(true),
            |tool| tool.annotations.open_world = Some(true),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut changed = offered();
            change(&mut changed);
            assert_ne!(of(&offered()), of(&changed), "{number}");
        }
        assert_ne!(of(&offered()), canonical(&ServerId::for_name("t"), &offered()));
    }
}
