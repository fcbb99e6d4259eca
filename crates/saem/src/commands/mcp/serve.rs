//! `saem mcp serve`: to clients over HTTP, or to the one that has started us over standard input and output.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::bridge;
use crate::backend::Client;
use crate::commands::serve;
use crate::config::Config;
use crate::output::Output;
use crate::wiring::{self, Claim};

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Speak on standard input and output, as clients want it that start their servers themselves
    #[arg(long)]
    pub(crate) stdio: bool,
}

pub(super) async fn run(config: Config, serve: &Serve, output: &Output) -> Result<ExitCode> {
    if !serve.stdio {
        if config.remote.is_some() {
            bail!("--server goes with --stdio: over HTTP, clients reach that server themselves");
        }
        return serve::serve_mcp(config, output).await;
    }
    if let Some(remote) = &config.remote {
        return bridge::run(Client::of_address(remote)?).await;
    }
    match wiring::claim(&config).await? {
        Claim::Ours(store) => serve::serve_pipes(config, store).await,
        Claim::Served(running) => bridge::run(Client::of_owner(&running)?).await,
    }
}
