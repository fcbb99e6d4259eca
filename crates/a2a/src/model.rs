//! What A2A talks about, with the meaning that version 1.0 gives to it.
//!
//! These types can be written down as they are, since `store` keeps tasks and cards between two steps; what goes over
//! the wire is made in [`crate::wire`].

mod call;
mod card;
mod task;

pub use call::{
    Answer, Call, ListQuery, Operation, OperationKind, PushAuthentication, PushConfig, PushPage,
    Returns, Send, SendConfiguration, Sent, TaskPage,
};
pub use card::{
    AgentCard, ApiKeyLocation, Capabilities, CardSignature, Extension, Interface,
    LegacyAuthentication, OAuthFlow, OAuthFlowKind, Provider, SecurityRequirement, SecurityScheme,
    SecuritySchemeKind, Skill,
};
pub use task::{
    Artifact, ArtifactUpdate, Content, Event, Message, Part, Role, StatusUpdate, Task, TaskState,
    TaskStatus,
};

/// A JSON object that the protocol hands on without looking into it.
pub type Object = serde_json::Map<String, serde_json::Value>;
