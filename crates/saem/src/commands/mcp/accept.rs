//! `saem mcp accept` and `revoke`: what you have seen and agree to, and what you no longer do.

use std::process::ExitCode;

use agent::tools::naming::ToolName;
use anyhow::Result;

use crate::backend::Backend;
use crate::backend::tools::server_named;
use crate::config::Config;
use crate::output::Output;

pub(crate) async fn run(config: &Config, name: &str, output: &Output) -> Result<ExitCode> {
    let backend = Backend::tools_of(config).await?;
    let tool = name.parse::<ToolName>().ok().filter(|tool| tool.server().is_some());
    let server = tool.as_ref().and_then(ToolName::server).unwrap_or_else(|| server_named(name));
    let accepted = backend.accept(&server, tool.as_ref()).await;
    backend.close().await;
    let accepted = accepted?;
    output.json(&accepted)?;
    for tool in &accepted.accepted {
        output.line(&format!("accepted {tool}"))?;
    }
    if accepted.accepted.is_empty() {
        output.line("nothing was new or changed")?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn revoke(config: &Config, tool: &str, output: &Output) -> Result<ExitCode> {
    let tool = tool.parse()?;
    let backend = Backend::tools_of(config).await?;
    let taken_back = backend.take_back(&tool).await;
    backend.close().await;
    let taken_back = taken_back?;
    output.json(&taken_back)?;
    output.line(&format!("{} approvals of {tool} taken back", taken_back.taken_back))?;
    Ok(ExitCode::SUCCESS)
}
