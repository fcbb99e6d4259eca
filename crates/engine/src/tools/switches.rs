//! Servers that people have switched off, and on again; the configuration says which may be on at all.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use agent::identity::Principal;
use agent::names::TenantId;
use agent::tools::naming::ServerId;

use super::host::Host;
use super::settings::ServerSettings;
use crate::error::EngineError;

/// What was switched, as the store has it: every call looks at it.
#[derive(Clone, Default)]
pub(super) struct Switches(Arc<RwLock<HashMap<(TenantId, ServerId), bool>>>);

impl Switches {
    fn set(&self, tenant: &TenantId, server: &ServerId, is_on: bool) {
        let mut switches = self.0.write().unwrap_or_else(PoisonError::into_inner);
        switches.insert((tenant.clone(), server.clone()), is_on);
    }

    fn is_on(&self, tenant: &TenantId, server: &ServerId) -> bool {
        let switches = self.0.read().unwrap_or_else(PoisonError::into_inner);
        switches.get(&(tenant.clone(), server.clone())).copied().unwrap_or(true)
    }
}

impl Host {
    /// Reads what was switched before.
    pub async fn restore_switches(&self) -> Result<(), EngineError> {
        for tenant in &self.rules.tenants {
            for (server, is_on) in self.parts.records.switches(tenant).await? {
                self.switches.set(tenant, &server, is_on);
            }
        }
        Ok(())
    }

    /// Switches a server on or off for a tenant. One that is off is stopped, and none of its tools is there.
    pub async fn switch(
        &self,
        principal: &Principal,
        id: &ServerId,
        is_on: bool,
    ) -> Result<(), EngineError> {
        let tenant = &principal.tenant;
        let server = self.server(tenant, id);
        let server = server.ok_or(EngineError::Absent { what: "server of this name" })?;
        if !server.enabled {
            let why = format!("{id} is off in the configuration, and is switched on there");
            return Err(EngineError::Conflict(why));
        }
        let action = if is_on { "tools.switch_on" } else { "tools.switch_off" };
        let audit = self.audit(&principal.name, action, id.as_str());
        self.parts.records.switch(tenant, id, is_on, audit).await?;
        self.switches.set(tenant, id, is_on);
        if !is_on {
            self.forget(tenant, id);
        }
        Ok(())
    }

    pub(super) fn is_on(&self, tenant: &TenantId, server: &ServerSettings) -> bool {
        server.enabled && self.switches.is_on(tenant, &server.id)
    }
}
