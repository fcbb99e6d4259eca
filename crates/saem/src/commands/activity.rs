//! `saem activity`: which tools were called, by whom, on whose word, and how it ended.

use std::process::ExitCode;

use agent::ports::Clock;
use anyhow::Result;
use clap::Args;
use server::api::wire::tools::ActivityBody;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::backend::Backend;
use crate::backend::tools::{WantedActivity, server_named};
use crate::config::Config;
use crate::output::Output;
use crate::system::SystemClock;

/// Lines asked for at a time.
const PAGE: usize = 500;

#[derive(Debug, Args)]
pub(crate) struct Activity {
    /// Only of this server of tools
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only of this tool: server__tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only of this conversation
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only what ended so: done, tool_error, failed, timed_out, cancelled, denied
    #[arg(long, value_name = "WORD")]
    outcome: Option<String>,
    /// Only of the last so many days
    #[arg(long, value_name = "N")]
    days: Option<u64>,
    /// This many lines, the latest
    #[arg(long, default_value_t = 50, value_name = "N")]
    count: usize,
}

pub(crate) async fn run(config: Config, activity: Activity, output: &Output) -> Result<ExitCode> {
    let since = activity
        .days
        .map(|days| SystemClock.now().0.saturating_sub(days.saturating_mul(24 * 3_600_000)));
    let backend = Backend::tools_of(&config).await?;
    let mut wanted = WantedActivity {
        server: activity.from.map(|name| server_named(&name).into()),
        tool: activity.tool,
        session: activity.session,
        outcome: activity.outcome,
        since,
        count: 0,
        after: None,
    };
    let mut left = activity.count;
    while left > 0 {
        wanted.count = left.min(PAGE);
        let page = backend.activity(&wanted).await?;
        left -= page.activity.len().min(left);
        for line in &page.activity {
            output.json(line)?;
            output.line(&shown(line))?;
        }
        wanted.after = page.next;
        if wanted.after.is_none() {
            break;
        }
    }
    backend.close().await;
    Ok(ExitCode::SUCCESS)
}

fn shown(line: &ActivityBody) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(line.at) * 1_000_000);
    let at = at.ok().and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_default();
    let approval = line.approval.as_deref().unwrap_or("not run");
    let reason = line.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!(
        "{at}  {}  {}  {approval}  {} ms  {}{reason}  {}",
        line.principal, line.tool, line.milliseconds, line.outcome, line.arguments
    )
}
