//! What commands print: lines for people, or JSON for programs.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::terminal::Terminal;

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

    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    /// A piece of a text for people; programs get the whole in the end.
    pub(crate) fn piece(&self, terminal: &mut Terminal, text: &str) -> Result<()> {
        if self.is_json { Ok(()) } else { terminal.show(text) }
    }

    /// The end of such a text.
    pub(crate) fn end(&self, terminal: &mut Terminal) -> Result<()> {
        if self.is_json { Ok(()) } else { terminal.end() }
    }

    /// A line beside it.
    pub(crate) fn aside(&self, terminal: &Terminal, text: &str) -> Result<()> {
        if self.is_json { Ok(()) } else { terminal.aside(text) }
    }

    /// Says on a terminal what is waited for, until it is cleared.
    pub(crate) fn waiting(&self, what: &'static str) -> ProgressBar {
        let bar = self.progress(0, "").with_message(what);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        bar
    }

    /// Says that documents are being indexed, on a terminal, until `work` is done.
    pub(crate) async fn while_indexing<T>(&self, work: impl Future<Output = T>) -> T {
        let bar = self.waiting("indexing");
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
