//! `saem mcp tools`: every tool, or one of them in full.

use std::process::ExitCode;

use agent::tools::naming::{ServerId, ToolName};
use anyhow::{Context, Result};
use server::api::wire::tools::{EffectBody, StandingBody, ToolBody, ToolsBody};

use crate::backend::Backend;
use crate::backend::tools::server_named;
use crate::config::Config;
use crate::output::Output;

pub(crate) async fn run(config: &Config, name: Option<&str>, output: &Output) -> Result<ExitCode> {
    let backend = Backend::tools_of(config).await?;
    let tool = name.and_then(|name| name.parse::<ToolName>().ok());
    let tool = tool.filter(|tool| tool.server().is_some());
    let server = match (&tool, name) {
        (Some(tool), _) => tool.server(),
        (None, Some(name)) => Some(server_named(name)),
        (None, None) => None,
    };
    let found = backend.catalogue(server.as_ref().map(ServerId::as_str)).await;
    backend.close().await;
    let ToolsBody { tools, servers } = found?;
    if let (Some(server), true) = (&server, servers.is_empty()) {
        anyhow::bail!("there is no server {server}; `saem mcp list` shows them");
    }
    if let Some(wanted) = tool {
        let one = tools.iter().find(|tool| tool.name == wanted.as_str());
        show(
            one.with_context(|| format!("there is no tool {wanted}; `saem mcp tools` shows them"))?,
            output,
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    for tool in &tools {
        output.json(tool)?;
        let words = tool.description.lines().next().unwrap_or_default();
        output.line(&format!("{}  [{}]  {words}", tool.name, state(tool)))?;
    }
    for server in servers.iter().filter(|server| server.state == "down") {
        let reason = server.reason.as_deref().unwrap_or_default();
        output.line(&format!("{} does not answer: {reason}", server.id))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(tool: &ToolBody, output: &Output) -> Result<()> {
    output.json(tool)?;
    output.line(&format!("{}  [{}]", tool.name, state(tool)))?;
    output.line(&tool.description)?;
    output.line(&serde_json::to_string_pretty(&tool.input_schema)?)?;
    for finding in &tool.findings {
        output.line(&format!("suspicious: {finding}"))?;
    }
    Ok(())
}

fn state(tool: &ToolBody) -> String {
    let effect = match tool.effect {
        EffectBody::Reads => "reads",
        EffectBody::Sends => "sends",
        EffectBody::Changes => "changes",
    };
    let standing = match tool.standing {
        StandingBody::Known => "",
        StandingBody::New => ", new: off until accepted",
        StandingBody::Changed => ", changed: off until accepted",
    };
    let findings = if tool.findings.is_empty() { "" } else { ", suspicious" };
    format!("{effect}{standing}{findings}")
}
