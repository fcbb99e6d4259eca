//! Agents in the registry: their skills are listed and called like the tools of servers.

use std::sync::Arc;

use agent::names::TenantId;
use agent::tools::listing::Listing;
use agent::tools::naming::{ServerId, ToolName};
use agent::tools::outcome::ToolOutput;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::calls::{CallError, Caller, absent};
use super::connection::Progress;
use super::host::{Host, ServerState};
use crate::peers::skills::Behalf;
use crate::peers::{Condition, PeerError, Peers};

impl Host {
    /// Lets servers of the configuration be agents.
    #[must_use]
    pub fn with_agents(mut self, agents: Peers) -> Self {
        self.agents = Some(agents);
        self
    }

    /// The client of the agents of the configuration, for a tenant that may use them.
    #[must_use]
    pub fn agents(&self, tenant: &TenantId) -> Option<&Peers> {
        self.agents.as_ref().filter(|_| self.may_use(tenant))
    }

    pub(super) async fn skills(&self, agent: &ServerId) -> Result<Arc<Listing>, String> {
        let agents = self.agents.as_ref().ok_or_else(|| "agents are off".to_owned())?;
        agents.listing(agent).await.map_err(|error| error.to_string())
    }

    pub(super) fn agent_state(&self, agent: &ServerId) -> ServerState {
        match self.agents.as_ref().map(|agents| agents.condition(agent)).unwrap_or_default() {
            Condition::Idle => ServerState::Idle,
            Condition::Up { version } => ServerState::Up { version },
            Condition::Down { why } => ServerState::Down { why },
        }
    }

    pub(super) async fn call_skill(
        &self,
        caller: &Caller,
        tool: (&ToolName, &ServerId, &str),
        arguments: &Map<String, Value>,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> Result<ToolOutput, CallError> {
        let (name, agent, skill) = tool;
        let behalf = Behalf { person: &caller.person, hops: caller.hops, progress };
        let agents = self.agents.as_ref().ok_or_else(|| absent(name))?;
        let called = agents.call_skill(agent, skill, arguments, behalf);
        called.await.map_err(|error| failed(agent, &error))
    }
}

/// What somebody hears who wants of an agent what only servers have.
pub(super) fn only_skills(agent: &ServerId) -> CallError {
    CallError::Absent(format!("{agent} is an agent: it has skills, but no resources or prompts"))
}

fn failed(agent: &ServerId, error: &PeerError) -> CallError {
    let words = format!("{agent}: {error}");
    match error {
        PeerError::Absent(_) => CallError::Absent(words),
        PeerError::Unusable(_) => CallError::Unusable(words),
        PeerError::Circle { .. } => CallError::Denied(words),
        PeerError::Refused { .. } => CallError::Refused(words),
        PeerError::Card(_) | PeerError::Closed(_) | PeerError::Down(_) => CallError::Down(words),
        PeerError::TimedOut => CallError::TimedOut(agent.to_string()),
        PeerError::Lost(_) => CallError::Lost(words),
        PeerError::Broken(_) => CallError::Broken(words),
    }
}
