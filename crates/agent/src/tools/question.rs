//! What a person is asked on behalf of a server or a model, and what that person may say; and the port to ask one.

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition::Effect;
use super::naming::{ServerId, ToolName};
use super::policy::Extent;
use super::redaction::is_secret_key;

/// Something that only a person can answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Question {
    /// May this call be made?
    Call {
        server: ServerId,
        tool: ToolName,
        title: Option<String>,
        effect: Effect,
        /// Exactly what will be sent.
        arguments: Value,
        extents: Vec<Extent>,
        reasons: Vec<String>,
    },
    /// A server wants a form filled in.
    Form { server: ServerId, message: String, schema: Value },
    /// A server wants the person to open an address. It is shown, never opened unasked.
    Link {
        server: ServerId,
        message: String,
        address: String,
        host: String,
        /// The host has letters beyond ASCII, which may look like those of another.
        has_foreign_letters: bool,
    },
    /// A server wants our model to answer; it would pay with our tokens.
    Sample { server: ServerId, prompt: String, tokens_max: u32 },
}

impl Question {
    /// A server's wish that the person opens an address.
    #[must_use]
    pub fn link(server: ServerId, message: String, address: String, host: String) -> Self {
        let has_foreign_letters =
            !host.is_ascii() || host.split('.').any(|part| part.starts_with("xn--"));
        Self::Link { server, message, address, host, has_foreign_letters }
    }

    #[must_use]
    pub fn server(&self) -> &ServerId {
        match self {
            Self::Call { server, .. }
            | Self::Form { server, .. }
            | Self::Link { server, .. }
            | Self::Sample { server, .. } => server,
        }
    }

    /// The reply as it counts for this question: an extent that was not offered is the narrowest one, and a form is
    /// only an answer to a form.
    #[must_use]
    pub fn settle(&self, reply: Reply) -> Reply {
        match (self, reply) {
            (_, Reply::No) => Reply::No,
            (Self::Call { extents, .. }, Reply::Yes(extent)) => {
                Reply::Yes(if extents.contains(&extent) { extent } else { Extent::Once })
            }
            (Self::Link { .. } | Self::Sample { .. }, Reply::Yes(_)) => Reply::Yes(Extent::Once),
            (Self::Form { .. }, Reply::Filled(values)) => Reply::Filled(values),
            (Self::Form { .. }, Reply::Yes(_))
            | (Self::Call { .. } | Self::Link { .. } | Self::Sample { .. }, Reply::Filled(_)) => {
                Reply::No
            }
        }
    }
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    No,
    Yes(Extent),
    Filled(Map<String, Value>),
}

/// Somebody who can be asked: at the terminal, or over the API.
pub trait Person: Send + Sync {
    /// Asks and waits. Whoever does not answer in time says no.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Reply>;
}

/// Nobody: says no to everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Person for Nobody {
    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Reply> {
        Box::pin(std::future::ready(Reply::No))
    }
}

/// The defaults of a form's fields, where its schema has some.
#[must_use]
pub fn defaults(schema: &Value) -> Map<String, Value> {
    let fields = schema.get("properties").and_then(Value::as_object);
    let named = fields.into_iter().flatten();
    named.filter_map(|(key, field)| Some((key.clone(), field.get("default")?.clone()))).collect()
}

/// The field of a form that asks for a secret, if one does: those are not for forms, whoever asks.
#[must_use]
pub fn secret_field(schema: &Value) -> Option<&str> {
    let fields = schema.get("properties").and_then(Value::as_object);
    let is_secret = |name: &str, field: &Value| {
        let is_text = field.get("type").is_none_or(|kind| kind == "string");
        let is_hidden = field.get("format").is_some_and(|format| format == "password");
        is_hidden || (is_text && is_secret_key(name))
    };
    let mut named = fields.into_iter().flatten();
    named.find(|(name, field)| is_secret(name, field)).map(|(name, _)| name.as_str())
}

/// What is wrong with a filled form: a field that has to be there, or one of another type.
#[must_use]
pub fn form_fault(schema: &Value, values: &Map<String, Value>) -> Option<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.into_iter().find(|key| !values.contains_key(*key)) {
        return Some(format!("{missing} is missing"));
    }
    let fields = schema.get("properties").and_then(Value::as_object)?;
    values.iter().find_map(|(key, value)| {
        let Some(field) = fields.get(key) else { return Some(format!("{key} was not asked for")) };
        let kind = field.get("type").and_then(Value::as_str).unwrap_or_default();
        let fits = match kind {
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "array" => value.is_array(),
            _ => true,
        };
        if !fits {
            return Some(format!("{key} has to be a {kind}"));
        }
        let choices = field.get("enum").and_then(Value::as_array)?;
        (!choices.contains(value)).then(|| format!("{key} is none of the choices"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(extents: &[Extent]) -> Question {
        let server = ServerId::for_name("s");
        Question::Call {
            tool: ToolName::of(&server, "t"),
            server,
            title: None,
            effect: Effect::Changes,
            arguments: json!({}),
            extents: extents.to_vec(),
            reasons: Vec::new(),
        }
    }

    #[test]
    fn a_yes_reaches_no_further_than_was_offered() {
        let question = call(&[Extent::Once, Extent::Session]);
        assert_eq!(question.settle(Reply::Yes(Extent::Session)), Reply::Yes(Extent::Session));
        assert_eq!(question.settle(Reply::Yes(Extent::Always)), Reply::Yes(Extent::Once));
        assert_eq!(question.settle(Reply::Filled(Map::new())), Reply::No);
        assert_eq!(question.settle(Reply::No), Reply::No);
    }

    #[test]
    fn a_form_is_answered_by_a_form() {
        let question = Question::Form {
            server: ServerId::for_name("s"),
            message: String::new(),
            schema: json!({}),
        };
        assert_eq!(question.settle(Reply::Yes(Extent::Always)), Reply::No);
        assert_eq!(question.settle(Reply::Filled(Map::new())), Reply::Filled(Map::new()));
    }

    #[test]
    fn a_form_that_asks_for_a_secret_is_known() {
        let form = |field: Value| json!({"type": "object", "properties": field});
        let secret = |field: Value| secret_field(&form(field)).map(str::to_owned);
        let text = json!({"type": "string"});
        for name in ["password", "API key", "github_token", "비밀번호"] {
            assert_eq!(secret(json!({"name": text, name: text})).as_deref(), Some(name));
        }
        let hidden = json!({"code": {"type": "string", "format": "password"}});
        assert_eq!(secret(hidden).as_deref(), Some("code"));
        assert_eq!(secret(json!({"name": text, "max_tokens": {"type": "integer"}})), None);
    }

    #[test]
    fn a_form_is_checked_against_what_was_asked() {
        let schema = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "age": {"type": "integer", "default": 30},
            "plan": {"type": "string", "enum": ["a", "b"]}}});
        let fault = |values: Value| form_fault(&schema, values.as_object().unwrap());
        assert_eq!(fault(json!({"name": "미나", "age": 3, "plan": "a"})), None);
        assert_eq!(fault(json!({})).unwrap(), "name is missing");
        assert_eq!(fault(json!({"name": 1})).unwrap(), "name has to be a string");
        assert_eq!(fault(json!({"name": "", "age": 1.5})).unwrap(), "age has to be a integer");
        assert_eq!(fault(json!({"name": "", "plan": "c"})).unwrap(), "plan is none of the choices");
        assert_eq!(fault(json!({"name": "", "x": 1})).unwrap(), "x was not asked for");
        assert_eq!(Value::from(defaults(&schema)), json!({"age": 30}));
    }
}
