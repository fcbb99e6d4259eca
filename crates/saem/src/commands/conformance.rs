//! `saem conformance`: stands in for a server in the conformance suite of a protocol.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;

use super::serve;
use crate::config::Config;
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum Conformance {
    /// Serve what MCP's suite looks for on a server, on a free port; the first line is the address
    McpServer,
}

pub(crate) async fn run(config: Config, suite: Conformance, output: &Output) -> Result<ExitCode> {
    match suite {
        Conformance::McpServer => Box::pin(mcp_server(config, output)).await,
    }
}

/// The real server, on a folder of its own that goes with it.
async fn mcp_server(mut config: Config, output: &Output) -> Result<ExitCode> {
    let folder = std::env::temp_dir().join(format!("saem-conformance-{}", std::process::id()));
    std::fs::create_dir(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    config.data.folder = folder.display().to_string();
    let outcome = serve::serve_suite(config, output).await;
    // It is in the system's own place for what may go at any time.
    _ = std::fs::remove_dir_all(&folder);
    outcome
}
