//! `saem mcp prompt`: the messages of a server's prompt, or the list of its prompts.

use std::process::ExitCode;

use anyhow::Result;

use super::Prompt;
use crate::backend::Backend;
use crate::backend::tools::{Asked, server_named};
use crate::config::Config;
use crate::output::Output;
use crate::person;

pub(crate) async fn run(config: &Config, order: Prompt, output: &Output) -> Result<ExitCode> {
    let server = server_named(&order.from);
    let arguments = super::arguments(None, &order.pairs)?;
    let backend = Backend::tools_of(config).await?;
    let Some(name) = order.name else {
        let offers = backend.offers(&server).await;
        backend.close().await;
        for prompt in offers?.prompts {
            output.json(&prompt)?;
            let arguments = prompt.arguments.join(" ");
            output.line(&format!("{}  {arguments}  {}", prompt.name, prompt.description))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let (person, attendance) = person::at_hand(false);
    let said = backend.prompt(&server, &name, arguments, &Asked { person, attendance }).await;
    backend.close().await;
    let said = said?;
    output.json(&said)?;
    for message in &said.messages {
        output.line(&format!("[{}] {}", message.role, message.text))?;
    }
    Ok(ExitCode::SUCCESS)
}
