//! Puts the MCP host together from the servers of the configuration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent::names::TenantId;
use anyhow::{Context, Result};
use engine::tools::{Desk, Host, HostParts, HostRules, Launcher, Lending};

use super::Installation;
use crate::config::{self, Config};
use crate::system::SystemClock;

/// Variables of our environment that a program needs to run at all; none of them holds a secret.
const HARMLESS_VARIABLES: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CACHE_HOME",
];

/// The folder in the data folder that holds what servers say on standard error.
pub(crate) const LOGS: &str = "mcp-logs";

/// The host over the configured servers, and what was wrong with those that are left out.
pub(crate) async fn host(
    config: &Config,
    installation: &Installation,
) -> Result<(Host, Vec<String>)> {
    let model = match config.mcp.sampling_tokens_max {
        0 => None,
        _ => super::copilot::roles(&config.models).await?.roles.answer,
    };
    let lending = match model {
        Some(model) => Some(Lending {
            model,
            ledger: Arc::new(installation.store.clone()),
            prices: super::copilot::prices(&config.models.prices)?,
        }),
        None => None,
    };
    let mut found = config.mcp.servers(&installation.folder, &config::variable)?;
    let agents = config.agents.named(&config::variable)?;
    for agent in &agents {
        found.add(agent.server.clone(), "agents");
    }
    for warning in &found.warnings {
        tracing::warn!("a server of tools is left out: {warning}");
    }
    let named = config.mcp.environment.iter().map(String::as_str);
    let environment: BTreeMap<String, String> = HARMLESS_VARIABLES
        .into_iter()
        .chain(named)
        .filter_map(|name| Some((name.to_owned(), config::variable(name)?)))
        .collect();
    let tenants = config.mcp.tenants.iter().map(|tenant| tenant.parse());
    let rules = HostRules {
        servers: found.servers,
        tenants: tenants.collect::<Result<Vec<TenantId>, _>>().context("mcp.tenants")?,
        environment,
        launcher: Some(Launcher {
            program: std::env::current_exe().context("this program's own path")?,
            argument: "program".to_owned(),
        }),
        logs: Some(installation.folder.join(LOGS)),
        sampling_tokens_max: config.mcp.sampling_tokens_max,
    };
    let parts = HostParts {
        records: Arc::new(installation.store.clone()),
        clock: Arc::new(SystemClock),
        tasks: installation.tasks().clone(),
        lending,
        logins: Some(super::logins::parts(&installation.folder, super::egress(config)?)?),
    };
    let peers = super::agents::peers(config, &agents, installation.tasks().clone())?;
    let host = Host::new(parts, rules).with_agents(peers);
    host.restore_switches().await?;
    Ok((host, found.warnings))
}

/// Where questions wait for people who call over the API.
pub(crate) fn desk(config: &Config) -> Desk {
    let wait_max = Duration::from_secs(config.mcp.approval_seconds_max.max(1));
    Desk::new(Arc::new(SystemClock), wait_max)
}
