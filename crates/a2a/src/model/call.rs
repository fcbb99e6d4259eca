//! What a caller may ask of an agent, and what it is answered.

use serde::{Deserialize, Serialize};

use super::{AgentCard, Message, Object, Task, TaskState};
use crate::ids::{ContextId, PushConfigId, TaskId};
use crate::timestamp::Timestamp;

/// One request, whatever carried it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Where it is routed to; never what a caller may see.
    pub tenant: Option<String>,
    pub operation: Operation,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    Send(Send),
    Stream(Send),
    Get {
        task: TaskId,
        history_length: Option<u32>,
        metadata: Option<Object>,
    },
    List(ListQuery),
    Cancel {
        task: TaskId,
        metadata: Option<Object>,
    },
    Subscribe {
        task: TaskId,
        metadata: Option<Object>,
    },
    /// The config names its task.
    CreatePush(PushConfig),
    /// Versions before 1.0 may leave out which: then the task's only, or first, one is meant.
    GetPush {
        task: TaskId,
        config: Option<PushConfigId>,
        metadata: Option<Object>,
    },
    ListPush {
        task: TaskId,
        page_size: Option<u32>,
        page_token: Option<String>,
        metadata: Option<Object>,
    },
    DeletePush {
        task: TaskId,
        config: PushConfigId,
        metadata: Option<Object>,
    },
    ExtendedCard,
}

/// The kinds of [`Operation`], without what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperationKind {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    CreatePush,
    GetPush,
    ListPush,
    DeletePush,
    ExtendedCard,
}

impl OperationKind {
    pub const ALL: [Self; 11] = [
        Self::Send,
        Self::Stream,
        Self::Get,
        Self::List,
        Self::Cancel,
        Self::Subscribe,
        Self::CreatePush,
        Self::GetPush,
        Self::ListPush,
        Self::DeletePush,
        Self::ExtendedCard,
    ];

    /// Its answer is a stream of events.
    #[must_use]
    pub fn streams(self) -> bool {
        matches!(self, Self::Stream | Self::Subscribe)
    }
}

impl Operation {
    #[must_use]
    pub fn kind(&self) -> OperationKind {
        match self {
            Self::Send(_) => OperationKind::Send,
            Self::Stream(_) => OperationKind::Stream,
            Self::Get { .. } => OperationKind::Get,
            Self::List(_) => OperationKind::List,
            Self::Cancel { .. } => OperationKind::Cancel,
            Self::Subscribe { .. } => OperationKind::Subscribe,
            Self::CreatePush(_) => OperationKind::CreatePush,
            Self::GetPush { .. } => OperationKind::GetPush,
            Self::ListPush { .. } => OperationKind::ListPush,
            Self::DeletePush { .. } => OperationKind::DeletePush,
            Self::ExtendedCard => OperationKind::ExtendedCard,
        }
    }
}

/// A message to an agent. The task and the context that it continues stand in the message.
#[derive(Debug, Clone, PartialEq)]
pub struct Send {
    pub message: Message,
    pub configuration: SendConfiguration,
    pub metadata: Option<Object>,
}

/// How a message is to be answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SendConfiguration {
    /// Advice, not a demand.
    pub accepted_output_modes: Vec<String>,
    pub push: Option<PushConfig>,
    /// `None` is the server's choice, 0 is none at all.
    pub history_length: Option<u32>,
    pub returns: Returns,
}

/// When a send that does not stream is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Returns {
    /// The caller did not say: as [`Returns::AtRest`].
    #[default]
    Unsaid,
    /// When the task has ended or waits for its caller.
    AtRest,
    /// When the task exists.
    Immediately,
}

impl Returns {
    /// Whether the answer waits for the task to end, or to wait for its caller.
    #[must_use]
    pub fn waits(self) -> bool {
        match self {
            Self::Unsaid | Self::AtRest => true,
            Self::Immediately => false,
        }
    }
}

/// Which tasks a caller wants to see.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListQuery {
    pub context: Option<ContextId>,
    pub status: Option<TaskState>,
    pub page_size: Option<u32>,
    pub page_token: Option<String>,
    pub history_length: Option<u32>,
    pub include_artifacts: Option<bool>,
    /// This moment and later.
    pub updated_after: Option<Timestamp>,
}

/// Where a task's events are sent to.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct PushConfig {
    /// The server names it if the caller did not.
    pub id: Option<PushConfigId>,
    /// Absent while the config comes with the message that makes the task.
    pub task: Option<TaskId>,
    pub tenant: Option<String>,
    /// It came from outside: only the egress guard may follow it.
    pub url: String,
    /// A secret of the receiver's.
    pub token: Option<String>,
    pub authentication: Option<PushAuthentication>,
}

/// How the receiver of a webhook wants to be convinced.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushAuthentication {
    /// 1.0 has exactly one.
    pub schemes: Vec<String>,
    /// A secret of the receiver's.
    pub credentials: Option<String>,
}

impl std::fmt::Debug for PushConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token and what the URL's query may hold never reach a log.
        f.debug_struct("PushConfig")
            .field("id", &self.id)
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PushAuthentication {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Credentials never reach a log.
        f.debug_struct("PushAuthentication").field("schemes", &self.schemes).finish_non_exhaustive()
    }
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Sent(Sent),
    Task(Task),
    Tasks(TaskPage),
    Push(PushConfig),
    Pushes(PushPage),
    Deleted,
    Card(Box<AgentCard>),
}

/// What a message leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Sent {
    Task(Task),
    Message(Message),
}

/// Some of a caller's tasks, the latest status first.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPage {
    pub tasks: Vec<Task>,
    pub next_page_token: Option<String>,
    pub page_size: u32,
    pub total_size: u32,
}

/// Some of a task's webhooks.
#[derive(Debug, Clone, PartialEq)]
pub struct PushPage {
    pub configs: Vec<PushConfig>,
    pub next_page_token: Option<String>,
}
