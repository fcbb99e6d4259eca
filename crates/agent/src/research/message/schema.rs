//! The JSON schema of all messages, made from their types.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::content::schema_of;
use super::kind::Route;
use super::{Kind, Moment, Uuid};

/// The schema: one definition for each kind, and a message is one of them.
#[must_use]
pub fn schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut generator = settings.into_generator();
    let mut definitions = Map::new();
    let mut names = Vec::new();
    for kind in Kind::ALL {
        definitions.insert(kind.name().to_owned(), message(kind, &mut generator));
        names.push(json!({"$ref": format!("#/$defs/{}", kind.name())}));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AgentMessage",
        "description": "A message of Saem's research agents.",
        "oneOf": names,
        "$defs": definitions,
    })
}

fn message(kind: Kind, generator: &mut SchemaGenerator) -> Value {
    let ways: Vec<Value> = kind.routes().iter().map(way).collect();
    let mut schema = json!({
        "type": "object",
        "properties": {
            "id": generator.subschema_for::<Uuid>(),
            "query_id": generator.subschema_for::<Uuid>(),
            "sender": {},
            "recipient": {},
            "message_type": {},
            "content": content(kind, generator),
            "timestamp": generator.subschema_for::<Moment>(),
            "seq": {"type": "integer", "minimum": 1},
            "in_reply_to": generator.subschema_for::<Uuid>(),
            "run_epoch": {"type": "integer", "minimum": 0},
            "schema_version": {"type": "string"},
            "usage": {
                "type": "object",
                "properties": {
                    "input": {"type": "integer", "minimum": 0},
                    "cached": {"type": "integer", "minimum": 0},
                    "output": {"type": "integer", "minimum": 0},
                    "reasoning": {"type": "integer", "minimum": 0},
                    "is_estimated": {"type": "boolean"},
                },
                "required": ["input", "cached", "output", "reasoning", "is_estimated"],
            },
        },
        "required": ["id", "query_id", "sender", "message_type", "content", "timestamp"],
        "anyOf": ways,
    });
    let is_for_all = kind.routes().iter().all(|route| route.recipient.is_none());
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut)
        && !is_for_all
    {
        required.push(json!("recipient"));
    }
    schema
}

fn way(route: &Route) -> Value {
    json!({"properties": {
        "sender": {"enum": route.senders},
        "recipient": {"const": route.recipient},
        "message_type": {"const": route.message_type},
    }})
}

fn content(kind: Kind, generator: &mut SchemaGenerator) -> Value {
    let mut schema = schema_of(kind, generator).to_value();
    let (Some(node), Some((field, word))) = (schema.as_object_mut(), kind.word()) else {
        return schema;
    };
    let fields = node.entry("properties").or_insert_with(|| json!({}));
    if let Some(fields) = fields.as_object_mut() {
        fields.insert(field.to_owned(), json!({"const": word}));
    }
    let required = node.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        required.insert(0, json!(field));
    }
    schema
}
