//! `saem research`: a question is planned, searched, judged and written up, and the report is printed or kept.

use std::io::{BufRead, IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use agent::names::TenantId;
use agent::research::journal::Steering;
use agent::research::message::{AgentMessage, Content, ProviderId, SearchStep, Uuid};
use agent::research::order::{Approval, Chooser, RunBudget, RunLimits};
use agent::research::report::{EndReason, Report};
use anyhow::{Context, Result, bail};
use engine::chat::QUESTION_BYTES_MAX;
use engine::research::{Following, Researcher, Told, Wanted, Wheel};
use indicatif::ProgressBar;
use serde_json::json;

use crate::args;
use crate::config::Config;
use crate::output::Output;
use crate::wiring::{Installation, research};

/// Seconds after which a plan is followed that nobody at the terminal has objected to.
const PLAN_WAIT_SECONDS: u64 = 60;

/// Runs that a list shows.
const LISTED_MAX: usize = 50;

/// Micro-dollars in a dollar.
const MICRODOLLARS: f64 = 1_000_000.0;

pub(crate) async fn run(
    config: Config,
    wanted: args::Research,
    output: &Output,
) -> Result<ExitCode> {
    if config.remote.is_some() {
        bail!("saem research works on a data folder: leave --server out");
    }
    if let Some(out) = &wanted.out {
        form(out)?;
    }
    let installation = Installation::open(&config).await?;
    let outcome = act(&config, &installation, wanted, output).await;
    installation.close().await;
    outcome
}

async fn act(
    config: &Config,
    installation: &Installation,
    wanted: args::Research,
    output: &Output,
) -> Result<ExitCode> {
    let researcher = research::researcher(config, installation).await?;
    if wanted.list {
        return list(&researcher, output).await;
    }
    let tenant = TenantId::local();
    let following = match &wanted.resume {
        Some(id) => {
            let id: Uuid = id.parse().with_context(|| format!("{id:?} is no run: it"))?;
            researcher.resume(&tenant, id).await?
        }
        None => {
            output.while_indexing(installation.knowledge.indexed(&tenant, None)).await?;
            researcher.begin(&tenant, order(&wanted)?).await?
        }
    };
    let id = following.id;
    match follow(following, output).await? {
        Ended::Reported(report) => {
            deliver(&report, wanted.out.as_deref(), output)?;
            Ok(ExitCode::SUCCESS)
        }
        Ended::Without(reason) => {
            output.line(&format!("There is no report: {}.", reason.as_str()))?;
            Ok(ExitCode::FAILURE)
        }
        Ended::Left => {
            output.line(&format!("Interrupted. Go on with: saem research --resume {id}"))?;
            Ok(ExitCode::from(130))
        }
    }
}

fn order(wanted: &args::Research) -> Result<Wanted> {
    let question = match wanted.words.as_slice() {
        [] => read_input()?,
        [one] if one == "-" => read_input()?,
        words => words.join(" "),
    };
    let is_person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let approval = match wanted.yes || !is_person {
        true => Approval::Given,
        false => Approval::After { seconds: PLAN_WAIT_SECONDS },
    };
    let source = |name: &String| {
        name.trim().parse().with_context(|| format!("--sources: {name:?} is no source: it"))
    };
    Ok(Wanted {
        question,
        sources: wanted.sources.iter().map(source).collect::<Result<Vec<_>>>()?,
        principal: "owner".to_owned(),
        approval,
        chooser: Chooser::Rules,
        limits: RunLimits::default(),
        budget: budget(&wanted.budget)?,
    })
}

fn read_input() -> Result<String> {
    let mut bytes = Vec::new();
    // One more than allowed: then it is told how long it may be.
    let most = QUESTION_BYTES_MAX as u64 + 1;
    std::io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).context("the question is not UTF-8 text")
}

/// Limits as they are written: `seconds=300,dollars=0.20`.
fn budget(text: &str) -> Result<RunBudget> {
    let mut budget = RunBudget::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, amount) = part.split_once('=').unwrap_or((part, ""));
        let amount = amount.trim();
        let number =
            || amount.parse().with_context(|| format!("--budget: {name} takes a whole number"));
        match name.trim() {
            "seconds" => budget.seconds = Some(number()?),
            "tokens" => budget.tokens = Some(number()?),
            "calls" => budget.calls = Some(number()?),
            "pages" => budget.pages = Some(number()?),
            "dollars" => budget.microdollars = Some(microdollars(amount)?),
            other => {
                bail!("--budget: {other:?} is none of seconds, tokens, dollars, calls and pages")
            }
        }
    }
    Ok(budget)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is below 0 was refused, and a cast of what is too large gives the largest"
)]
fn microdollars(amount: &str) -> Result<u64> {
    let dollars: f64 = amount.parse().unwrap_or(-1.0);
    if !dollars.is_finite() || dollars < 0.0 {
        bail!("--budget: dollars takes an amount such as 0.20");
    }
    Ok((dollars * MICRODOLLARS).round() as u64)
}

/// How following a run ended.
enum Ended {
    Reported(Box<Report>),
    Without(EndReason),
    /// It is not over, and can be taken up again.
    Left,
}

async fn follow(mut following: Following, output: &Output) -> Result<Ended> {
    let waiting = output.waiting("planning");
    let wheel = following.wheel();
    loop {
        let told = tokio::select! {
            told = following.next() => told,
            stopped = tokio::signal::ctrl_c() => {
                stopped?;
                waiting.finish_and_clear();
                return Ok(Ended::Left);
            }
        };
        match told {
            Some(Told::Said(message)) => {
                output.json(&message)?;
                show(&waiting, &message);
                ask_about_plan(&waiting, &message, &wheel)?;
            }
            Some(Told::Ended { reason, report }) => {
                waiting.finish_and_clear();
                return Ok(report.map_or(Ended::Without(reason), Ended::Reported));
            }
            Some(Told::Failed(error)) => {
                waiting.finish_and_clear();
                let id = following.id;
                return Err(error).with_context(|| {
                    format!(
                        "the run cannot go on now; later, go on with: saem research --resume {id}"
                    )
                });
            }
            Some(Told::Left) | None => {
                waiting.finish_and_clear();
                return Ok(Ended::Left);
            }
        }
    }
}

/// Shows on a terminal what an agent says: lines for what is done, and beside them what is being done.
fn show(waiting: &ProgressBar, message: &AgentMessage) {
    match &message.content {
        Content::PlanningRequest(plan) => {
            waiting.println(format!("plan: {}", plan.strategy));
            plan.search_steps.iter().for_each(|step| waiting.println(planned(step)));
            waiting.set_message("searching");
        }
        Content::SearchProgress(progress) => waiting.set_message(format!(
            "searching: {:.0} % · {} found",
            progress.progress.get() * 100.0,
            progress.sources_found
        )),
        Content::SearchResults(results) => {
            let found = results.result_ids.len();
            waiting
                .println(format!("found: {} passages in {found} sources", results.total_results));
            waiting.set_message("judging");
        }
        Content::QualityAssessment(quality) => waiting.println(format!(
            "judged: quality {:.2}, relevance {:.2}, coverage {:.2} · {}",
            quality.quality_score.get(),
            quality.relevance_score.get(),
            quality.coverage_score.get(),
            quality.feedback
        )),
        Content::AdditionalSearchRequest(more) => {
            waiting.println(format!("more: {}", more.keywords.join(" | ")));
        }
        Content::WritingProgress(progress) => waiting.set_message(format!(
            "writing {} of {}: {}",
            progress.sections_completed + 1,
            progress.total_sections,
            progress.current_section
        )),
        Content::DraftApproval(approval) => waiting.println(format!(
            "checked: {:.0} % of the claims are supported",
            approval.supported_share.get() * 100.0
        )),
        Content::AgentError(error) => {
            let action = error.suggested_action.clone().unwrap_or_default();
            waiting.println(format!("error: {} · {action}", error.error_message));
        }
        _ => {}
    }
}

fn planned(step: &SearchStep) -> String {
    let sources: Vec<&str> = step.sources.iter().map(ProviderId::as_str).collect();
    format!("  {}. {} ({})", step.step_number, step.description, sources.join(", "))
}

/// Asks the person at the terminal about the plan. A thread of its own waits for the answer: the run goes on by itself
/// if there is none.
fn ask_about_plan(waiting: &ProgressBar, message: &AgentMessage, wheel: &Wheel) -> Result<()> {
    let Content::PlanApproval(approval) = &message.content else { return Ok(()) };
    let Some(question) = &approval.request else { return Ok(()) };
    waiting.println(format!("plan: {}", question.strategy));
    question.search_steps.iter().for_each(|step| waiting.println(planned(step)));
    waiting.println(format!(
        "Enter follows it, n refuses it; without an answer it is followed in {PLAN_WAIT_SECONDS} s."
    ));
    waiting.set_message("waiting for your word");
    let (wheel, runtime) = (wheel.clone(), tokio::runtime::Handle::current());
    let ask = move || {
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line).is_ok() {
            let is_no = matches!(line.trim(), "n" | "N" | "no" | "아니요" | "ㄴ");
            let steering = if is_no { Steering::Refuse } else { Steering::Approve };
            // Too late is no fault: then it has gone on by itself.
            let _late = runtime.block_on(wheel.steer(steering));
        }
    };
    std::thread::Builder::new().name("standard-input".to_owned()).spawn(ask)?;
    Ok(())
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Markdown,
    Html,
    Pdf,
    Docx,
    Json,
}

fn form(path: &Path) -> Result<Form> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("md" | "markdown") => Ok(Form::Markdown),
        Some("html" | "htm") => Ok(Form::Html),
        Some("pdf") => Ok(Form::Pdf),
        Some("docx") => Ok(Form::Docx),
        Some("json") => Ok(Form::Json),
        _ => bail!("--out {}: the file ends in .md, .html, .pdf, .docx or .json", path.display()),
    }
}

fn deliver(report: &Report, out: Option<&Path>, output: &Output) -> Result<()> {
    output.json(&json!({ "report": report }))?;
    let Some(path) = out else { return output.line(&report.to_markdown()) };
    let bytes = match form(path)? {
        Form::Markdown => report.to_markdown().into_bytes(),
        Form::Html => report.to_html().into_bytes(),
        Form::Pdf => report.to_pdf(),
        Form::Docx => report.to_docx(),
        Form::Json => serde_json::to_vec_pretty(report)?,
    };
    std::fs::write(path, bytes).with_context(|| format!("{} cannot be written", path.display()))?;
    output.line(&format!(
        "{} · {} claims, {} of them unsupported · {} sources",
        path.display(),
        report.claims().count(),
        report.unsupported(),
        report.sources.len()
    ))
}

async fn list(researcher: &Researcher, output: &Output) -> Result<ExitCode> {
    for line in researcher.runs(&TenantId::local(), LISTED_MAX).await? {
        let state = line.ended.map_or("unfinished", EndReason::as_str);
        output.json(&json!({ "id": line.id, "question": line.question, "state": state }))?;
        output.line(&format!("{}  {state:<14}  {}", line.id, line.question))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_read_as_it_is_written() {
        let expected = RunBudget {
            seconds: Some(300),
            tokens: Some(5),
            microdollars: Some(200_000),
            calls: Some(60),
            pages: Some(7),
        };
        let written = "seconds=300, tokens=5,dollars=0.20,calls=60,pages=7";
        assert_eq!(budget(written).unwrap(), expected);
        assert_eq!(budget("").unwrap(), RunBudget::default());
        for bad in ["seconds", "seconds=x", "dollars=-1", "dollars=NaN", "pages=", "hours=1"] {
            assert!(budget(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_end_of_a_file_says_how_a_report_is_written() {
        assert_eq!(form(Path::new("a.html")).unwrap(), Form::Html);
        assert_eq!(form(Path::new("a.b.md")).unwrap(), Form::Markdown);
        assert!(form(Path::new("report")).is_err());
        assert!(form(Path::new("report.exe")).is_err());
    }
}
