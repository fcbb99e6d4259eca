//! `saem mcp read`: a resource of a server, once or as it changes, or the list of them.

use std::process::ExitCode;

use anyhow::Result;

use crate::backend::Backend;
use crate::backend::tools::{Asked, server_named};
use crate::config::Config;
use crate::output::Output;
use crate::person;

pub(crate) async fn run(
    config: &Config,
    server: &str,
    uri: Option<&str>,
    output: &Output,
) -> Result<ExitCode> {
    let server = server_named(server);
    let backend = Backend::tools_of(config).await?;
    let Some(uri) = uri else {
        let offers = backend.offers(&server).await;
        backend.close().await;
        for resource in offers?.resources {
            output.json(&resource)?;
            output.line(&format!("{}  {}", resource.uri, resource.title))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let (person, attendance) = person::at_hand(false);
    let read = backend.read(&server, uri, &Asked { person, attendance }).await;
    backend.close().await;
    let read = read?;
    output.json(&read)?;
    output.line(&read.text)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows a resource, and again whenever it has changed.
pub(crate) async fn follow(
    config: &Config,
    server: &str,
    uri: &str,
    output: &Output,
) -> Result<ExitCode> {
    let server = server_named(server);
    let (person, attendance) = person::at_hand(false);
    let asked = Asked { person, attendance };
    let backend = Backend::tools_of(config).await?;
    let following = async {
        let mut seen = None;
        loop {
            let followed = backend.follow(&server, uri, seen, &asked).await?;
            seen = Some(followed.state);
            if let Some(resource) = followed.resource {
                output.json(&resource)?;
                output.line(&resource.text)?;
            }
        }
    };
    let ended: Result<()> = tokio::select! {
        failed = following => failed,
        stopped = tokio::signal::ctrl_c() => stopped.map_err(Into::into),
    };
    backend.close().await;
    ended.map(|()| ExitCode::SUCCESS)
}
