//! `saem mcp call`: one call of one tool.

use std::process::ExitCode;

use anyhow::Result;
use engine::tools::Progress;
use tokio::sync::mpsc;

use super::Call;
use crate::backend::Backend;
use crate::backend::tools::Asked;
use crate::config::Config;
use crate::output::Output;
use crate::person;

/// Signs of progress that wait to be shown; more are missed.
const PROGRESS_WAITING_MAX: usize = 16;

pub(crate) async fn run(config: &Config, order: Call, output: &Output) -> Result<ExitCode> {
    let name = order.tool.parse()?;
    let arguments = super::arguments(order.arguments.as_deref(), &order.pairs)?;
    let (person, attendance) = person::at_hand(order.yes);
    let backend = Backend::tools_of(config).await?;
    let waiting = output.waiting("calling");
    let asked = Asked { person: person::interrupting(person, &waiting), attendance };
    let (tell, mut progress) = mpsc::channel(PROGRESS_WAITING_MAX);
    let calling = backend.call(&name, arguments, &asked, tell);
    let showing = async {
        while let Some(progress) = progress.recv().await {
            waiting.set_message(shown(&progress));
        }
    };
    let (called, ()) = tokio::join!(calling, showing);
    waiting.finish_and_clear();
    backend.close().await;
    let given = called?;
    output.json(&given)?;
    output.line(&given.text)?;
    if given.is_cut {
        output.line("[cut: the tool gave more than is taken]")?;
    }
    Ok(if given.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// How far a call is, in a line.
fn shown(progress: &Progress) -> String {
    let Progress { done, total, message } = progress;
    let total = total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = message.as_deref().map(|text| format!(" · {text}")).unwrap_or_default();
    // A line is a line, whatever the server says.
    format!("{done}{total}{message}").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_one_line() {
        let mut progress = Progress { done: 2.0, total: Some(5.0), message: None };
        assert_eq!(shown(&progress), "2 of 5");
        progress = Progress { done: 0.5, total: None, message: Some("half\nway".to_owned()) };
        assert_eq!(shown(&progress), "0.5 · half way");
    }
}
