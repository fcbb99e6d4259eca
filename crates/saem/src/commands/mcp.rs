//! `saem mcp`: what has to do with the Model Context Protocol, a file for each command.

mod bridge;
mod install;
mod serve;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::args::Common;
use crate::config::Config;
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// Serve the documents and the copilot to MCP clients
    Serve(serve::Serve),
    /// Print what an MCP client needs to know of this Saem, or write it into the client's configuration
    Install(install::Install),
}

impl Mcp {
    /// Whether it runs as a server that says in the log what it does.
    pub(crate) fn serves(&self) -> bool {
        match self {
            Self::Serve(serve) => !serve.stdio,
            Self::Install(_) => false,
        }
    }
}

pub(crate) async fn run(
    config: Config,
    mcp: Mcp,
    common: &Common,
    output: &Output,
) -> Result<ExitCode> {
    match mcp {
        Mcp::Serve(serve) => Box::pin(serve::run(config, &serve, output)).await,
        Mcp::Install(install) => install::run(&config, &install, common, output),
    }
}
