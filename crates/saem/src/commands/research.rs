//! `saem research`: a question is planned, searched, judged and written up, and the report is printed or kept.

mod following;
mod view;

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use agent::research::message::Uuid;
use agent::research::order::RunBudget;
use agent::research::report::Report;
use anyhow::{Context, Result, bail};
use engine::chat::QUESTION_BYTES_MAX;
use serde_json::json;
use server::api::wire::research::{
    ApprovalBody, ControlBody, ControlKind, PlanBody, PlanDecision, ResearchBody, RunBody, RunState,
};

use self::following::{Ended, follow};
use crate::args;
use crate::backend::Backend;
use crate::backend::research::{LocalResearch, Word};
use crate::config::Config;
use crate::output::Output;

/// Runs that a list shows.
const LISTED_MAX: usize = 50;

/// What a run can be told.
const CONTROLS: &str = "--control ID takes approve, refuse, pause, resume, stop, finish, instruct and what else to look for, or \
     allow, repeat or do-without and a call that is asked about";

/// Micro-dollars in a dollar.
const MICRODOLLARS: f64 = 1_000_000.0;

pub(crate) async fn run(
    config: Config,
    wanted: args::Research,
    output: &Output,
) -> Result<ExitCode> {
    if let Some(out) = &wanted.out {
        form(out)?;
    }
    let backend = Backend::research(&config).await?;
    let outcome = act(&backend, wanted, output).await;
    backend.close().await;
    outcome
}

async fn act(
    backend: &Backend<LocalResearch>,
    wanted: args::Research,
    output: &Output,
) -> Result<ExitCode> {
    if wanted.list {
        return list(backend, output).await;
    }
    if let Some(id) = &wanted.show {
        return show(backend, read_id(id)?, wanted.out.as_deref(), output).await;
    }
    if let Some(id) = &wanted.control {
        return control(backend, read_id(id)?, &wanted.words, output).await;
    }
    let (id, after) = match &wanted.resume {
        Some(id) => {
            let run = backend.run(read_id(id)?).await?;
            if run.state == RunState::Ended {
                bail!("the run has ended: saem research --show {id} shows it");
            }
            // What was said before was shown to those who followed it then.
            (run.id, run.progress.map_or(0, |progress| progress.last_seq))
        }
        None => (begin(backend, &wanted, output).await?, 0),
    };
    match follow(backend, id, after, output).await? {
        Ended::Reported => {
            deliver(&backend.report(id).await?, wanted.out.as_deref(), output)?;
            Ok(ExitCode::SUCCESS)
        }
        Ended::Without(reason) => {
            output.line(&format!("There is no report: {reason}."))?;
            Ok(ExitCode::FAILURE)
        }
        Ended::Left => {
            let state =
                if backend.is_remote() { "It goes on at the server" } else { "Interrupted" };
            output.line(&format!("{state}. Go on with: saem research --resume {id}"))?;
            Ok(ExitCode::from(130))
        }
    }
}

/// Begins what is wanted: a run of its own, or one step of a finished one anew.
async fn begin(
    backend: &Backend<LocalResearch>,
    wanted: &args::Research,
    output: &Output,
) -> Result<Uuid> {
    if let (Some(run), Some(step)) = (&wanted.again, wanted.step) {
        let run = read_id(run)?;
        output.while_indexing(backend.settle()).await?;
        return Ok(backend.again(run, step).await?.id);
    }
    let order = order(wanted)?;
    output.while_indexing(backend.settle()).await?;
    Ok(backend.begin(order).await?.id)
}

fn read_id(id: &str) -> Result<Uuid> {
    id.parse().with_context(|| format!("{id:?} is no run: it"))
}

fn order(wanted: &args::Research) -> Result<ResearchBody> {
    let question = match wanted.words.as_slice() {
        [] => read_input()?,
        [one] if one == "-" => read_input()?,
        words => words.join(" "),
    };
    let is_person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    // Nobody can be asked, or nobody wants to be.
    let approval = (wanted.yes || !is_person).then_some(ApprovalBody::Given);
    let source = |name: &String| {
        name.trim().parse().with_context(|| format!("--sources: {name:?} is no source: it"))
    };
    Ok(ResearchBody {
        question,
        sources: wanted.sources.iter().map(source).collect::<Result<Vec<_>>>()?,
        budget: budget(&wanted.budget)?.into(),
        approval,
        follows: wanted.follow.as_deref().map(read_id).transpose()?,
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

async fn list(backend: &Backend<LocalResearch>, output: &Output) -> Result<ExitCode> {
    for run in backend.runs(LISTED_MAX).await?.runs {
        let state = state(&run);
        output.json(&json!({ "id": run.id, "question": run.question, "state": state }))?;
        output.line(&format!("{}  {state:<14}  {}", run.id, run.question))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Why a run ended, or that it has not.
fn state(run: &RunBody) -> &str {
    run.ended.as_deref().unwrap_or("unfinished")
}

/// Shows where a run stands, and its report if there is one.
async fn show(
    backend: &Backend<LocalResearch>,
    id: Uuid,
    out: Option<&Path>,
    output: &Output,
) -> Result<ExitCode> {
    let run = backend.run(id).await?;
    output.json(&run)?;
    if run.progress.as_ref().is_some_and(|progress| progress.has_report) {
        deliver(&backend.report(id).await?, out, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    tell(&run, output)
}

/// Has a run do what is wanted.
async fn control(
    backend: &Backend<LocalResearch>,
    id: Uuid,
    words: &[String],
    output: &Output,
) -> Result<ExitCode> {
    let (name, rest) = words.split_first().context(CONTROLS)?;
    let plan = |decision| Word::Plan(PlanBody { decision, steps: Vec::new() });
    let control = |control| Word::Control(ControlBody { control, instruction: None, call: None });
    let about = |control| {
        let call = Some(rest.join(" ")).filter(|call| !call.is_empty());
        Word::Control(ControlBody { control, instruction: None, call })
    };
    let word = match name.as_str() {
        "approve" => plan(PlanDecision::Approve),
        "refuse" => plan(PlanDecision::Refuse),
        "pause" => control(ControlKind::Pause),
        "resume" => control(ControlKind::Resume),
        "stop" => control(ControlKind::Stop),
        "finish" => control(ControlKind::FinishNow),
        "allow" => about(ControlKind::Allow),
        "repeat" => about(ControlKind::Repeat),
        "do-without" => about(ControlKind::DoWithout),
        "instruct" => Word::Control(ControlBody {
            control: ControlKind::Instruct,
            instruction: Some(rest.join(" ")),
            call: None,
        }),
        _ => bail!("{CONTROLS}"),
    };
    let run = backend.steer(id, word).await?;
    output.json(&run)?;
    tell(&run, output)
}

fn tell(run: &RunBody, output: &Output) -> Result<ExitCode> {
    let state = serde_json::to_value(run.state)?;
    let state = run.ended.as_deref().or(state.as_str()).unwrap_or_default();
    let progress = run.progress.as_ref().map_or_else(String::new, |progress| {
        format!(
            " · round {} of {} · {} sources · {} messages",
            progress.round, progress.rounds_max, progress.sources, progress.last_seq
        )
    });
    output.line(&format!("{}  {state}{progress}\n{}", run.id, run.question))?;
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
