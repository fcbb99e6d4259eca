//! `saem mcp list`: the servers of the configuration.

use std::process::ExitCode;

use anyhow::Result;
use server::api::wire::tools::ToolServerBody;

use crate::backend::Backend;
use crate::config::Config;
use crate::output::Output;

pub(crate) async fn run(config: &Config, check: bool, output: &Output) -> Result<ExitCode> {
    let backend = Backend::tools_of(config).await?;
    let servers = match check {
        true => backend.catalogue(None).await?.servers,
        false => backend.servers().await?.servers,
    };
    for server in &servers {
        output.json(server)?;
        output.line(&line(server))?;
        for refused in &server.refused {
            output.line(&format!("    left out: {refused}"))?;
        }
    }
    for warning in backend.warnings() {
        output.line(&format!("left out: {warning}"))?;
    }
    if servers.is_empty() && backend.warnings().is_empty() {
        output.line("There are no servers of tools. docs/mcp-host.md says how to add one.")?;
    }
    let is_well = servers.iter().all(|server| server.state != "down");
    backend.close().await;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn line(server: &ToolServerBody) -> String {
    let trust = if server.trusted { "trusted" } else { "untrusted" };
    let version =
        server.version.as_ref().map(|version| format!(" · MCP {version} · {} tools", server.tools));
    let reason = server.reason.as_ref().map(|reason| format!(": {reason}"));
    format!(
        "{}  {}{}{}  {trust}  {}",
        server.id,
        server.state,
        reason.unwrap_or_default(),
        version.unwrap_or_default(),
        server.launch
    )
}
