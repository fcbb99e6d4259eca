//! `saem cost`: what models have cost, and what a month would.

use std::process::ExitCode;

use anyhow::Result;
use server::api::chat::{CostBy, CostWanted};
use server::api::wire::cost::SpentBody;

use crate::args::{self, Cost};
use crate::backend::Backend;
use crate::config::Config;
use crate::output::Output;

pub(crate) async fn run(config: Config, cost: &Cost, output: &Output) -> Result<ExitCode> {
    let wanted = CostWanted {
        by: match cost.by {
            args::CostBy::Component => CostBy::Component,
            args::CostBy::Session => CostBy::Session,
            args::CostBy::Day => CostBy::Day,
            args::CostBy::Model => CostBy::Model,
        },
        days: cost.days,
        sessions: cost.project.as_ref().and_then(|load| load.first().copied()),
        turns: cost.project.as_ref().and_then(|load| load.get(1).copied()),
    };
    let backend = Backend::chat(&config).await?;
    let body = backend.cost(&wanted).await;
    backend.close().await;
    let body = body?;
    output.json(&body)?;
    output.line(&format!("spent from {} to {}:", body.from, body.to))?;
    output.line(&row("", "calls", "tokens in", "out", "cost"))?;
    for (key, spent) in &body.spent {
        output.line(&spent_row(key, spent))?;
    }
    output.line(&spent_row("total", &body.total))?;
    let Some(month) = body.projection else {
        output.line("\nno turns yet, so there is nothing to project a month from")?;
        return Ok(ExitCode::SUCCESS);
    };
    output.line(&format!(
        "\na month of {:.0} sessions a day with {:.1} turns each, at the averages of {} turns:",
        month.sessions_per_day, month.turns_per_session, month.turns_seen
    ))?;
    output.line(&format!(
        "memory updates ${:.2} · judging and answering ${:.2} · total ${:.2}",
        month.memory_dollars, month.answer_dollars, month.total_dollars
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn spent_row(key: &str, spent: &SpentBody) -> String {
    let unknown = match spent.calls_without_price {
        0 => String::new(),
        calls => format!(" + {calls} calls of unknown price"),
    };
    let cost = format!("${:.6}{unknown}", spent.dollars);
    let (calls, tokens_in) = (spent.calls.to_string(), spent.tokens_in.to_string());
    row(key, &calls, &tokens_in, &spent.tokens_out.to_string(), &cost)
}

fn row(key: &str, calls: &str, tokens_in: &str, tokens_out: &str, cost: &str) -> String {
    format!("{key:<24} {calls:>8} {tokens_in:>12} {tokens_out:>10}  {cost}")
}
