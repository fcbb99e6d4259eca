//! Logging in at a server of tools with a person's help, and forgetting it again.

use std::sync::Arc;
use std::time::Duration;

use agent::identity::Principal;
use agent::tools::naming::ServerId;

use super::access::{Access, Browser, LoginParts};
use super::greeting::connect;
use super::handler::Shared;
use super::host::Host;
use super::http::BoundedClient;
use super::settings::ServerSettings;
use crate::error::EngineError;

/// How long a person may take in the browser: to find a password, and a telephone for the second factor.
pub(super) const PERSON_WAIT_MAX: Duration = Duration::from_secs(300);

impl Host {
    /// Logs in at a server. Says whether there was anything to log in for.
    pub async fn log_in(
        &self,
        principal: &Principal,
        id: &ServerId,
        browser: Arc<dyn Browser>,
        scopes: Vec<String>,
    ) -> Result<bool, EngineError> {
        let (mut server, parts) = self.with_door(principal, id)?;
        if !scopes.is_empty() {
            server.login.scopes = scopes;
        }
        server.waits.connect = server.waits.connect.max(PERSON_WAIT_MAX);
        server.waits.list = server.waits.list.max(PERSON_WAIT_MAX);
        let url = server.launch.door().unwrap_or_default().to_owned();
        let parts = LoginParts { browser: Some(browser), ..parts };
        let (tenant, clock) = (principal.tenant.clone(), Arc::clone(&self.parts.clock));
        let settings = server.login.clone();
        let access = Access::new(tenant, id.clone(), url.clone(), settings, parts, clock).anew();
        let client = BoundedClient::new(server.waits.connect).map_err(|error| refused(&error))?;
        // Asked beforehand: the greeting does not wait for a person.
        if let Some(challenge) = client.challenge(&url).await.map_err(|error| refused(&error))? {
            access.log_in(&challenge, None).await.map_err(|error| refused(&error))?;
        }
        let ground = self.ground(&server, Some(access));
        let shared = Arc::new(Shared::new(id.clone(), server.roots.clone(), None));
        let link = connect(&server, &shared, &ground).await.map_err(EngineError::Refused)?;
        let listed = link.tools().await;
        link.close().await;
        listed.map_err(|error| refused(&error))?;
        let access = ground.access.ok_or(EngineError::Absent { what: "way in" })?;
        let has_token = access.token().await.map_err(|error| refused(&error))?.is_some();
        self.forget(&principal.tenant, id);
        Ok(has_token)
    }

    /// Forgets a login. Says whether there was one.
    pub async fn log_out(&self, principal: &Principal, id: &ServerId) -> Result<bool, EngineError> {
        let (_, parts) = self.with_door(principal, id)?;
        let was_there = parts.vault.clear(&principal.tenant, id).await?;
        self.forget(&principal.tenant, id);
        Ok(was_there)
    }

    fn with_door(
        &self,
        principal: &Principal,
        id: &ServerId,
    ) -> Result<(ServerSettings, LoginParts), EngineError> {
        let tenant = &principal.tenant;
        let server = self.server(tenant, id).filter(|server| self.is_on(tenant, server));
        let server = server.ok_or(EngineError::Absent { what: "server of this name" })?;
        if server.launch.door().is_none() {
            return Err(EngineError::Refused(format!(
                "{id} takes no login: it is a program, or its headers say already who you are"
            )));
        }
        let parts = self.parts.logins.clone();
        let parts = parts.ok_or_else(|| EngineError::Refused("logins are off".to_owned()))?;
        Ok((server.clone(), parts))
    }
}

fn refused(error: &dyn std::error::Error) -> EngineError {
    EngineError::Refused(error.to_string())
}
