//! What people have accepted of tools: definitions as they were seen, and yeses that are remembered.

use agent::identity::Principal;
use agent::names::TenantId;
use agent::tools::definition::Definition;
use agent::tools::naming::{ServerId, ToolName};
use agent::tools::policy::{Approval, Pins, Standing};

use super::host::{Entry, Host, ServerState};
use crate::error::EngineError;

impl Host {
    /// The pins of a server; at the first meeting, those of its tools as they are.
    pub(super) async fn pins(
        &self,
        tenant: &TenantId,
        server: &ServerId,
        tools: &[Definition],
    ) -> Result<Pins, EngineError> {
        if let Some(pins) = self.parts.records.pins(tenant, server).await? {
            return Ok(pins);
        }
        let pins = Pins::of(tools);
        let audit = self.audit("host", "tools.meet", server.as_str());
        self.parts.records.pin(tenant, server, pins.clone(), audit).await?;
        Ok(pins)
    }

    /// Accepts the definitions of a server's tools as they are now: of one tool, or of all. Says which were new or changed.
    pub async fn accept(
        &self,
        principal: &Principal,
        server: &ServerId,
        tool: Option<&ToolName>,
    ) -> Result<Vec<ToolName>, EngineError> {
        let tenant = &principal.tenant;
        let catalogue = self.catalogue(tenant, Some(server)).await;
        if let Some(line) = catalogue.servers.first()
            && let ServerState::Down { why } = &line.state
        {
            return Err(EngineError::Refused(format!("{server} does not answer: {why}")));
        }
        let mut pins = self.parts.records.pins(tenant, server).await?.unwrap_or_default();
        let wanted = |entry: &&Entry| tool.is_none_or(|tool| entry.tool.name == *tool);
        let mut accepted = Vec::new();
        for entry in catalogue.tools.iter().filter(wanted) {
            if entry.standing != Standing::Known {
                pins.0.insert(entry.tool.original.clone(), entry.tool.pin.clone());
                accepted.push(entry.tool.name.clone());
            }
        }
        if !accepted.is_empty() {
            let names: Vec<&str> = accepted.iter().map(ToolName::as_str).collect();
            let audit = self.audit(&principal.name, "tools.accept", &names.join(" "));
            self.parts.records.pin(tenant, server, pins, audit).await?;
        }
        Ok(accepted)
    }

    /// Takes back every yes to a tool; says how many.
    pub async fn disapprove(
        &self,
        principal: &Principal,
        tool: ToolName,
    ) -> Result<u64, EngineError> {
        let audit = self.audit(&principal.name, "tools.disapprove", tool.as_str());
        Ok(self.parts.records.disapprove(&principal.tenant, tool, audit).await?)
    }

    pub async fn approvals(&self, tenant: &TenantId) -> Result<Vec<Approval>, EngineError> {
        Ok(self.parts.records.approvals(tenant).await?)
    }
}
