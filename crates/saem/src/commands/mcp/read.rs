//! `saem mcp read`: a resource of a server, or the list of them.

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
