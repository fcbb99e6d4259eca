//! The MCP host: connections to servers of tools, one registry over all of them, and calls under a person's control.
//!
//! Each tenant has its own connections, so that what a server keeps about one is never seen by another. A server is
//! started when it is first needed; one that misbehaves costs its own callers their time-out, and nobody else anything.

mod access;
mod agents;
mod calls;
mod child;
mod connection;
mod convert;
mod desk;
mod doorway;
mod following;
mod greeting;
mod handler;
mod host;
mod http;
mod journal;
mod keeper;
mod limits;
mod login;
mod pinning;
mod relay;
mod settings;
mod switches;
#[cfg(test)]
mod tests;

pub use access::{Browser, Enterprise, Grant, LoginParts, LoginSettings, Outside};
pub use calls::{CallError, Caller};
pub use desk::{Desk, OpenQuestion};
pub use following::Followed;
pub use handler::Lending;
pub(crate) use host::digest;
pub use host::{Catalogue, Entry, Host, HostParts, HostRules, ServerLine, ServerState};
pub use limits::{Launcher, ProgramLimits, become_program};
pub use relay::{LoginBegun, Return};
pub use settings::{Launch, ServerSettings, Waits};

pub use self::connection::{Progress, PromptLine, ResourceLine};

/// How much the protocol's library may log at most: of logins, when it is asked for everything, it says codes aloud; of a
/// connection's end it says what we say ourselves.
pub const LOGGED: &str = "rmcp::transport::auth=info,rmcp::transport::worker=off";
