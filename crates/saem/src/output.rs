//! What commands print: lines for people, or JSON for programs.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

/// How often a bar without steps shows that it is alive.
const TICK: Duration = Duration::from_millis(200);

/// Standard output, in the form that was asked for.
pub(crate) struct Output {
    is_json: bool,
}

impl Output {
    pub(crate) fn new(is_json: bool) -> Self {
        Self { is_json }
    }

    /// A line for people; programs do not get it.
    pub(crate) fn line(&self, text: &str) -> Result<()> {
        if self.is_json { Ok(()) } else { write(text) }
    }

    /// A value for programs; people do not get it.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<()> {
        if self.is_json { write(&serde_json::to_string(value)?) } else { Ok(()) }
    }

    /// A bar over `length` steps, on a terminal; elsewhere nothing.
    pub(crate) fn progress(&self, length: u64, unit: &str) -> ProgressBar {
        let target = if self.is_json || !std::io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        let template = format!("{{bar:30}} {{pos}}/{{len}} {unit} · {{per_sec}} · {{msg}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar
    }

    /// Says that documents are being indexed, on a terminal, until `work` is done.
    pub(crate) async fn while_indexing<T>(&self, work: impl Future<Output = T>) -> T {
        let bar = self.progress(0, "").with_message("indexing");
        bar.enable_steady_tick(TICK);
        let done = work.await;
        bar.finish_and_clear();
        done
    }
}

/// A reader that has gone away is no error: `saem search … | head` is fine.
fn write(text: &str) -> Result<()> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
