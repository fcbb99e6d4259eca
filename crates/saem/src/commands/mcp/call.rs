//! `saem mcp call`: one call of one tool.

use std::process::ExitCode;

use anyhow::Result;

use super::Call;
use crate::backend::Backend;
use crate::backend::tools::Asked;
use crate::config::Config;
use crate::output::Output;
use crate::person;

pub(crate) async fn run(config: &Config, order: Call, output: &Output) -> Result<ExitCode> {
    let name = order.tool.parse()?;
    let arguments = super::arguments(order.arguments.as_deref(), &order.pairs)?;
    let (person, attendance) = person::at_hand(order.yes);
    let backend = Backend::tools_of(config).await?;
    let called = backend.call(&name, arguments, &Asked { person, attendance }).await;
    backend.close().await;
    let given = called?;
    output.json(&given)?;
    output.line(&given.text)?;
    if given.is_cut {
        output.line("[cut: the tool gave more than is taken]")?;
    }
    Ok(if given.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
