//! JSON schemas of our types in the narrow form that model servers hold a model to.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Formats that OpenAI's strict mode knows; the others are ours or `schemars`'.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// What says nothing to a model, or may not be said in strict mode.
const DROPPED: &[&str] =
    &["$schema", "title", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// Limits that strict mode refuses; they are told in the description instead, and checked by whoever asked.
const TOLD: &[(&str, &str)] = &[
    ("minLength", "least characters"),
    ("maxLength", "most characters"),
    ("minProperties", "least entries"),
    ("maxProperties", "most entries"),
    ("uniqueItems", "no repeats"),
];

/// The name of the one field around a type that is no object itself.
pub const WRAPPED: &str = "value";

/// A schema and what requests say of it: it goes with every question and is written down once.
#[derive(Debug, PartialEq)]
pub struct Schema {
    value: Value,
    text: String,
    is_strict: bool,
}

impl Schema {
    #[must_use]
    pub fn shared(value: Value) -> Arc<Self> {
        let (text, is_strict) = (value.to_string(), is_strict(&value));
        Arc::new(Self { value, text, is_strict })
    }

    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// It as JSON.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is one that strict mode takes: every object says all that it holds.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.is_strict
    }
}

/// A type as servers take it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    pub name: String,
    pub schema: Arc<Schema>,
    /// The type stands in the field [`WRAPPED`]: the root must be an object.
    pub is_wrapped: bool,
}

/// The shapes that were asked for, by type: each is made once.
static SHAPES: Mutex<BTreeMap<TypeId, Arc<Shape>>> = Mutex::new(BTreeMap::new());

/// The schema of a type as [`shape`] makes it.
pub fn known_shape<T: JsonSchema + 'static>() -> Arc<Shape> {
    let mut shapes = SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(shapes.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(shape::<T>())))
}

/// The schema of a type: every reference resolved, every field required, none besides them allowed.
pub fn shape<T: JsonSchema>() -> Shape {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    narrow(&mut schema);
    let is_wrapped = schema.get("type") != Some(&json!("object"));
    if is_wrapped {
        // References are to the root, which is another now.
        let definitions = schema.as_object_mut().and_then(|schema| schema.remove("$defs"));
        schema = json!({
            "type": "object",
            "properties": {WRAPPED: schema},
            "required": [WRAPPED],
            "additionalProperties": false,
        });
        if let (Some(definitions), Some(root)) = (definitions, schema.as_object_mut()) {
            root.insert("$defs".to_owned(), definitions);
        }
    }
    Shape { name: T::schema_name().into_owned(), schema: Schema::shared(schema), is_wrapped }
}

fn is_strict(schema: &Value) -> bool {
    let is_object = |node: &Map<String, Value>| match node.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.contains(&json!("object")),
        _ => node.contains_key("properties"),
    };
    let Some(node) = schema.as_object() else {
        return false;
    };
    let is_closed = || {
        let fields = node.get("properties").and_then(Value::as_object);
        let required = node.get("required").and_then(Value::as_array);
        let is_required = |name: &String| required.is_some_and(|all| all.contains(&json!(name)));
        node.get("additionalProperties") == Some(&Value::Bool(false))
            && fields.is_some_and(|fields| fields.keys().all(is_required))
    };
    let says_something = ["type", "anyOf", "enum", "const", "$ref"];
    says_something.iter().any(|word| node.contains_key(*word))
        && (!is_object(node) || is_closed())
        && !node.contains_key("prefixItems")
        && children(schema).into_iter().all(is_strict)
}

fn narrow(schema: &mut Value) {
    if let Some(node) = schema.as_object_mut() {
        narrow_node(node);
    }
    for child in children_mut(schema) {
        narrow(child);
    }
}

fn narrow_node(node: &mut Map<String, Value>) {
    if node.contains_key("$ref") {
        // Nothing may stand beside a reference.
        node.retain(|name, _| matches!(name.as_str(), "$ref" | "$defs"));
        return;
    }
    for name in DROPPED {
        node.remove(*name);
    }
    if !node.get("format").is_none_or(|format| FORMATS.iter().any(|known| format == known)) {
        node.remove("format");
    }
    if let Some(one_of) = node.remove("oneOf") {
        node.insert("anyOf".to_owned(), one_of);
    }
    let mut told = Vec::new();
    for (name, words) in TOLD {
        match node.remove(*name) {
            Some(Value::Bool(true)) => told.push((*words).to_owned()),
            Some(Value::Number(limit)) => told.push(format!("{words}: {limit}")),
            _ => {}
        }
    }
    if !told.is_empty() {
        let before = node.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = format!("{before} ({})", told.join(", "));
        node.insert("description".to_owned(), json!(description.trim_start()));
    }
    close(node);
}

/// All fields required and no others allowed, where the fields are known.
fn close(node: &mut Map<String, Value>) {
    let is_map = node.get("additionalProperties").is_some_and(|others| *others != json!(false));
    let is_object = node.get("type") == Some(&json!("object")) || node.contains_key("properties");
    if !is_object || is_map {
        return;
    }
    let fields = node.entry("properties").or_insert_with(|| json!({}));
    let names: Vec<String> =
        fields.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
    node.insert("required".to_owned(), json!(names));
    node.insert("additionalProperties".to_owned(), json!(false));
}

/// Where schemas stand in schemas: as the value, in a list, under names.
const PLACES: &[&str] = &[
    "items",
    "not",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "prefixItems",
    "properties",
    "patternProperties",
    "$defs",
];

fn children(schema: &Value) -> Vec<&Value> {
    let places = PLACES.iter().filter_map(|place| schema.get(*place).map(|child| (*place, child)));
    places
        .flat_map(|(place, child)| match child {
            Value::Array(list) => list.iter().collect(),
            Value::Object(named) if is_named(place) => named.values().collect(),
            Value::Bool(_) if place == "additionalProperties" => Vec::new(),
            other => vec![other],
        })
        .collect()
}

fn children_mut(schema: &mut Value) -> Vec<&mut Value> {
    let Some(node) = schema.as_object_mut() else {
        return Vec::new();
    };
    node.iter_mut()
        .filter(|(place, _)| PLACES.contains(&place.as_str()))
        .flat_map(|(place, child)| -> Vec<&mut Value> {
            match (is_named(place), child) {
                (_, Value::Array(list)) => list.iter_mut().collect(),
                (true, Value::Object(named)) => named.values_mut().collect(),
                (_, other) => vec![other],
            }
        })
        .collect()
}

fn is_named(place: &str) -> bool {
    matches!(place, "properties" | "patternProperties" | "$defs")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schemars::JsonSchema;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Verdict {
        /// Best first.
        ranked: Vec<u32>,
        next: Option<Action>,
        #[serde(default)]
        #[schemars(length(max = 20))]
        missing: String,
        #[schemars(length(min = 1))]
        confidence: Inner,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Action {
        SearchAgain,
        GetSection,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Inner {
        share: f32,
    }

    #[test]
    fn a_type_becomes_a_schema_that_strict_mode_takes() {
        let shape = shape::<Verdict>();
        assert_eq!((shape.name.as_str(), shape.is_wrapped), ("Verdict", false));
        let expected = json!({
            "type": "object",
            "properties": {
                "ranked": {"type": "array", "items": {"type": "integer", "minimum": 0}, "description": "Best first."},
                "next": {"type": ["string", "null"], "enum": ["search_again", "get_section", null]},
                "missing": {"type": "string", "description": "(most characters: 20)"},
                "confidence": {
                    "type": "object",
                    "properties": {"share": {"type": "number"}},
                    "required": ["share"],
                    "additionalProperties": false,
                },
            },
            "required": ["ranked", "next", "missing", "confidence"],
            "additionalProperties": false,
        });
        let sorted = |mut schema: Value| {
            schema["required"].as_array_mut().unwrap().sort_by_key(Value::to_string);
            schema
        };
        assert_eq!(sorted(shape.schema.value().clone()), sorted(expected));
        assert!(shape.schema.is_strict());
        let read: Value = serde_json::from_str(shape.schema.text()).unwrap();
        assert_eq!(&read, shape.schema.value());
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Tree {
        children: Vec<Self>,
    }

    #[test]
    fn a_type_that_holds_itself_keeps_its_reference() {
        let shape = shape::<Vec<Tree>>();
        assert!(shape.is_wrapped);
        let schema = shape.schema.value();
        assert!(is_strict(schema), "{schema}");
        assert!(schema["$defs"]["Tree"].is_object(), "{schema}");
    }

    #[test]
    fn a_root_that_is_no_object_is_wrapped() {
        let shape = shape::<Vec<String>>();
        assert!(shape.is_wrapped);
        assert_eq!(shape.schema.value()["properties"]["value"]["type"], "array");
        assert!(shape.schema.is_strict());
    }

    #[test]
    fn what_may_hold_anything_is_not_strict() {
        assert!(!shape::<BTreeMap<String, u32>>().schema.is_strict());
        assert!(!shape::<Vec<Value>>().schema.is_strict());
        assert!(!is_strict(&json!({"type": "object", "properties": {"a": {"type": "string"}}})));
        assert!(!is_strict(&json!(true)));
    }
}
