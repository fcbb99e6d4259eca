//! Tasks, messages and artifacts, and what is told about them while they come about.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Object;
use crate::ids::{ArtifactId, ContextId, MessageId, TaskId};
use crate::timestamp::Timestamp;

/// Something an agent was asked to do, and how far it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    /// A peer of 0.1 may leave it out; our tasks always have one.
    pub context: Option<ContextId>,
    pub status: TaskStatus,
    pub artifacts: Vec<Artifact>,
    /// What was said before the status's own message, oldest first.
    pub history: Vec<Message>,
    pub metadata: Option<Object>,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    pub state: TaskState,
    pub message: Option<Message>,
    pub timestamp: Option<Timestamp>,
}

/// The states of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// A peer's state that we do not know.
    Unspecified,
    Submitted,
    Working,
    Completed,
    Failed,
    Canceled,
    InputRequired,
    Rejected,
    AuthRequired,
}

impl TaskState {
    pub const ALL: [Self; 9] = [
        Self::Unspecified,
        Self::Submitted,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::InputRequired,
        Self::Rejected,
        Self::AuthRequired,
    ];

    /// For people and for lists; what goes over the wire is each version's own.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unknown",
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::InputRequired => "input-required",
            Self::Rejected => "rejected",
            Self::AuthRequired => "auth-required",
        }
    }

    /// Nothing happens to the task any more.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => true,
            Self::Unspecified
            | Self::Submitted
            | Self::Working
            | Self::InputRequired
            | Self::AuthRequired => false,
        }
    }

    /// The task waits for its caller.
    #[must_use]
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Agent,
}

/// One thing said, by a caller or an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub role: Role,
    pub parts: Vec<Part>,
    pub context: Option<ContextId>,
    pub task: Option<TaskId>,
    pub references: Vec<TaskId>,
    pub extensions: Vec<String>,
    pub metadata: Option<Object>,
}

/// A piece of a message or an artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub content: Content,
    pub media_type: Option<String>,
    pub filename: Option<String>,
    pub metadata: Option<Object>,
}

/// What a part holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    Text(String),
    /// A file's bytes.
    Raw(#[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")] Vec<u8>),
    /// Where a file is. It came from outside: only the egress guard may follow it.
    Url(String),
    Data(Value),
}

impl Part {
    #[must_use]
    pub fn new(content: Content) -> Self {
        Self { content, media_type: None, filename: None, metadata: None }
    }

    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    /// Parts as one text for people: files and addresses are only named.
    #[must_use]
    pub fn words(parts: &[Self]) -> String {
        let shown = parts.iter().map(|part| match &part.content {
            Content::Text(text) => text.clone(),
            Content::Data(data) => data.to_string(),
            Content::Raw(bytes) => {
                format!("[{}, {} bytes]", part.filename.as_deref().unwrap_or("a file"), bytes.len())
            }
            Content::Url(address) => format!("[{address}]"),
        });
        shown.collect::<Vec<_>>().join("\n")
    }
}

/// A result of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    pub id: ArtifactId,
    pub name: Option<String>,
    pub description: Option<String>,
    pub parts: Vec<Part>,
    pub extensions: Vec<String>,
    pub metadata: Option<Object>,
}

/// What a stream or a webhook tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    Task(Task),
    Message(Message),
    Status(StatusUpdate),
    Artifact(ArtifactUpdate),
}

/// A task has a new status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusUpdate {
    pub task: TaskId,
    pub context: Option<ContextId>,
    pub status: TaskStatus,
    pub metadata: Option<Object>,
}

/// A task has an artifact, or a further piece of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArtifactUpdate {
    pub task: TaskId,
    pub context: Option<ContextId>,
    pub artifact: Artifact,
    /// The parts go after those that the artifact has.
    pub append: bool,
    pub last_chunk: bool,
    /// The artifact's place among those of its task: 0.1 knows artifacts by it. No other version has it on the wire.
    pub index: u32,
    pub metadata: Option<Object>,
}

fn write_bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn read_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map_err(serde::de::Error::custom)
}
