//! `saem conformance`: stands in for a server or a client in the conformance suite of a protocol.

mod client;

use std::path::PathBuf;
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
    /// Do as a client what a scenario of MCP's suite asks for; it is named by MCP_CONFORMANCE_SCENARIO
    McpClient {
        /// The address of the suite's server
        url: String,
    },
    /// Serve an A2A agent for kits on a free port: messages say by the beginning of their id what becomes of them; the first line is the address
    A2a,
}

pub(crate) async fn run(config: Config, suite: Conformance, output: &Output) -> Result<ExitCode> {
    match suite {
        Conformance::McpServer => Box::pin(mcp_server(config, output)).await,
        Conformance::A2a => Box::pin(a2a(config, output)).await,
        Conformance::McpClient { url } => Box::pin(mcp_client(config, url)).await,
    }
}

/// The real server, on a folder of its own that goes with it.
async fn mcp_server(mut config: Config, output: &Output) -> Result<ExitCode> {
    let folder = Folder::make(&mut config)?;
    let outcome = serve::serve_suite(config, output).await;
    drop(folder);
    outcome
}

/// The real server with an agent that does as it is told, on a folder of its own that goes with it.
async fn a2a(mut config: Config, output: &Output) -> Result<ExitCode> {
    let folder = Folder::make(&mut config)?;
    let outcome = serve::serve_kit(config, output).await;
    drop(folder);
    outcome
}

/// The real host, on a folder of its own that goes with it.
async fn mcp_client(mut config: Config, url: String) -> Result<ExitCode> {
    let folder = Folder::make(&mut config)?;
    let outcome = client::run(&config, url).await;
    drop(folder);
    outcome.map(|()| ExitCode::SUCCESS)
}

/// A data folder for one run.
struct Folder(PathBuf);

impl Folder {
    fn make(config: &mut Config) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("saem-conformance-{}", std::process::id()));
        std::fs::create_dir(&folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        config.data.folder = folder.display().to_string();
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is in the system's own place for what may go at any time.
        _ = std::fs::remove_dir_all(&self.0);
    }
}
