//! The messages of the agents: an envelope of seven fields and what came to it later, and a content for each kind.
//!
//! Every message is checked where it is sent and where it is received, by six rules; what breaks one is told which
//! field it was, and nothing else happens.

mod camel;
mod content;
mod kind;
mod moment;
mod provider;
mod read;
mod schema;
mod share;
#[cfg(test)]
mod tests;
mod uuid;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use self::camel::{from_camel, to_camel};
pub use self::content::{
    AdditionalSearchRequest, AgentError, AnswerDraft, AnswerReady, BudgetPart, BudgetUpdate,
    CheckVerdict, CitationCheck, Content, ContentRequest, Control, Decision, DraftApproval,
    DraftSection, ErrorType, FinalAnswer, FinalApproval, Measured, PlanApproval, PlanQuestion,
    PlanningRequest, QualityAssessment, QualityScore, QuotedSource, RunControl, SearchProgress,
    SearchResults, SearchStep, SourceRead, StandsOn, SubmitQuery, ToolApproval, ToolDecision,
    ToolQuestion, WritingProgress,
};
pub use self::kind::Kind;
pub use self::moment::{Moment, MomentError};
pub use self::provider::{Callee, ProviderId, ProviderIdError};
pub use self::read::{MessageError, Rule};
pub use self::schema::schema;
pub use self::share::Share;
pub use self::uuid::{Uuid, UuidError};
use crate::model::Usage;

/// The version of what messages hold beside the seven fields.
pub const SCHEMA_VERSION: &str = "1.1.0";

/// Who sends and receives. The last two are none of the four agents: they have messages of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Party {
    Planning,
    Research,
    Reflect,
    Content,
    User,
    System,
}

impl Party {
    pub const ALL: [Self; 6] =
        [Self::Planning, Self::Research, Self::Reflect, Self::Content, Self::User, Self::System];

    /// The four agents.
    pub const AGENTS: [Self; 4] = [Self::Planning, Self::Research, Self::Reflect, Self::Content];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Research => "research",
            Self::Reflect => "reflect",
            Self::Content => "content",
            Self::User => "user",
            Self::System => "system",
        }
    }
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageType {
    Request,
    Response,
    Notification,
    Error,
}

impl MessageType {
    pub const ALL: [Self; 4] = [Self::Request, Self::Response, Self::Notification, Self::Error];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Notification => "notification",
            Self::Error => "error",
        }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentMessage {
    pub id: Uuid,
    /// The run that it belongs to.
    pub query_id: Uuid,
    pub sender: Party,
    /// None for all of them.
    pub recipient: Option<Party>,
    pub message_type: MessageType,
    pub content: Content,
    pub timestamp: Moment,
    /// What came to the seven fields later; a message without it is good too.
    pub more: More,
}

/// What a message holds beside the seven fields.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct More {
    /// Its place in the run, from 1, without gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<Uuid>,
    /// How often the run had been taken over when it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_epoch: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<String>,
    /// What the sender's model used for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl AgentMessage {
    /// Reads a message and holds it to the six rules.
    ///
    /// # Errors
    /// If it breaks one: which, and at which field.
    pub fn read(value: &Value) -> Result<Self, MessageError> {
        read::message(value)
    }

    /// Whether it may be sent: what its type does not hold it to already.
    ///
    /// # Errors
    /// If its kind does not go from this sender to this recipient as this type.
    pub fn check(&self) -> Result<(), MessageError> {
        read::route(self.content.kind(), self.message_type, self.sender, self.recipient)
    }

    /// As it goes over the wire.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "id": self.id,
            "query_id": self.query_id,
            "sender": self.sender,
            "recipient": self.recipient,
            "message_type": self.message_type,
            "content": self.content.to_value(),
            "timestamp": self.timestamp,
        });
        let more = serde_json::to_value(&self.more);
        if let (Some(fields), Ok(Value::Object(more))) = (value.as_object_mut(), more) {
            fields.extend::<Map<String, Value>>(more);
        }
        value
    }
}

impl Serialize for AgentMessage {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AgentMessage {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::read(&value).map_err(serde::de::Error::custom)
    }
}
