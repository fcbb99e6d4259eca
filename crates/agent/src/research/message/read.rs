//! Reads messages and holds them to the six rules.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::content::Fault;
use super::{
    AgentError, AgentMessage, Content, ErrorType, Kind, MessageType, Moment, More, Party, Uuid,
};
use crate::text::clip;

/// Longest text of a stranger that goes into an error, in bytes.
const SHOWN_BYTES_MAX: usize = 200;

/// The rules that every message keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    RequiredFields,
    UuidFormat,
    TimestampFormat,
    SenderRecipient,
    ContentStructure,
    Broadcast,
}

impl Rule {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RequiredFields => "required_fields",
            Self::UuidFormat => "uuid_format",
            Self::TimestampFormat => "timestamp_format",
            Self::SenderRecipient => "sender_recipient",
            Self::ContentStructure => "content_structure",
            Self::Broadcast => "broadcast",
        }
    }
}

/// Which rule a message breaks, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct MessageError {
    pub rule: Rule,
    pub field: String,
    pub why: String,
}

impl MessageError {
    fn new(rule: Rule, field: &str, why: impl Into<String>) -> Self {
        Self { rule, field: field.to_owned(), why: why.into() }
    }

    /// What the sender is told.
    #[must_use]
    pub fn told(&self) -> AgentError {
        let details = json!({"field": self.field, "rule": self.rule.as_str()});
        AgentError {
            error_type: ErrorType::ValidationError,
            error_message: self.to_string(),
            details: details.as_object().cloned(),
            recoverable: false,
            suggested_action: Some(format!("correct {} and send the message again", self.field)),
        }
    }
}

pub(super) fn message(value: &Value) -> Result<AgentMessage, MessageError> {
    let fields = value.as_object().ok_or_else(|| {
        MessageError::new(Rule::RequiredFields, "message", "a message is an object")
    })?;
    for name in ["id", "query_id", "sender", "message_type", "content", "timestamp"] {
        if fields.get(name).is_none_or(Value::is_null) {
            return Err(MessageError::new(Rule::RequiredFields, name, "is missing"));
        }
    }
    let sender = party(fields, "sender")?;
    let recipient = match fields.get("recipient") {
        None | Some(Value::Null) => None,
        Some(_) => Some(party(fields, "recipient")?),
    };
    let message_type: MessageType = field(fields, "message_type", Rule::ContentStructure)?;
    let (id, query_id): (Uuid, Uuid) =
        (field(fields, "id", Rule::UuidFormat)?, field(fields, "query_id", Rule::UuidFormat)?);
    let timestamp: Moment = field(fields, "timestamp", Rule::TimestampFormat)?;
    let content = content(fields, message_type)?;
    route(content.kind(), message_type, sender, recipient)?;
    let more = More {
        seq: optional(fields, "seq", Rule::ContentStructure)?,
        in_reply_to: optional(fields, "in_reply_to", Rule::UuidFormat)?,
        run_epoch: optional(fields, "run_epoch", Rule::ContentStructure)?,
        schema_version: optional(fields, "schema_version", Rule::ContentStructure)?,
        usage: optional(fields, "usage", Rule::ContentStructure)?,
    };
    Ok(AgentMessage { id, query_id, sender, recipient, message_type, content, timestamp, more })
}

/// Whether messages of this kind go this way.
pub(super) fn route(
    kind: Kind,
    message_type: MessageType,
    sender: Party,
    recipient: Option<Party>,
) -> Result<(), MessageError> {
    let name = kind.name();
    let ways = kind.routes();
    let of_type = || ways.iter().filter(|route| route.message_type == message_type);
    if of_type().next().is_none() {
        let why = format!("{name} is no {}", message_type.as_str());
        return Err(MessageError::new(Rule::ContentStructure, "message_type", why));
    }
    let of_sender = || of_type().filter(|route| route.senders.contains(&sender));
    if of_sender().next().is_none() {
        let why = format!("{name} does not come from {}", sender.as_str());
        return Err(MessageError::new(Rule::SenderRecipient, "sender", why));
    }
    if of_sender().any(|route| route.recipient == recipient) {
        return Ok(());
    }
    let is_for_all = of_sender().all(|route| route.recipient.is_none());
    let (rule, why) = match recipient {
        Some(_) if is_for_all => (Rule::Broadcast, format!("{name} is for all: it is null")),
        None => (Rule::Broadcast, format!("{name} is for one agent, not for all")),
        Some(other) => (Rule::SenderRecipient, format!("{name} does not go to {}", other.as_str())),
    };
    Err(MessageError::new(rule, "recipient", why))
}

fn party(fields: &Map<String, Value>, name: &str) -> Result<Party, MessageError> {
    let value = fields.get(name).and_then(Value::as_str).unwrap_or_default();
    Party::ALL.into_iter().find(|party| party.as_str() == value).ok_or_else(|| {
        let why = "is one of planning, research, reflect, content (or user, system)";
        MessageError::new(Rule::SenderRecipient, name, why)
    })
}

fn field<T: DeserializeOwned>(
    fields: &Map<String, Value>,
    name: &str,
    rule: Rule,
) -> Result<T, MessageError> {
    let value = fields.get(name).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|error| MessageError::new(rule, name, error.to_string()))
}

fn optional<T: DeserializeOwned>(
    fields: &Map<String, Value>,
    name: &str,
    rule: Rule,
) -> Result<Option<T>, MessageError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => field(fields, name, rule).map(Some),
    }
}

fn content(
    fields: &Map<String, Value>,
    message_type: MessageType,
) -> Result<Content, MessageError> {
    let wrong = |field: &str, why: String| MessageError::new(Rule::ContentStructure, field, why);
    let Some(Value::Object(content)) = fields.get("content") else {
        return Err(wrong("content", "is an object".to_owned()));
    };
    let mut content = content.clone();
    let kind = match message_type {
        MessageType::Error => Kind::AgentError,
        MessageType::Request | MessageType::Response | MessageType::Notification => {
            // Notifications say what has happened, the others what is to be done.
            let name = match message_type {
                MessageType::Notification => "event",
                _ => "action",
            };
            let word = content.remove(name).unwrap_or_default();
            let kind = Kind::ALL.into_iter().find(|kind| {
                kind.word().is_some_and(|(field, known)| field == name && word == known)
            });
            kind.ok_or_else(|| {
                let word = word.to_string();
                let why = format!("there is no {name} {}", clip(&word, SHOWN_BYTES_MAX));
                wrong(&format!("content.{name}"), why)
            })?
        }
    };
    Content::read(kind, content).map_err(|Fault { field, why }| wrong(&field, why))
}
