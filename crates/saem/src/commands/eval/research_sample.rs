//! `saem eval research --sample`: a research run in each language over the demo's documents, each with what its report stands on.
//!
//! For a model that takes minutes for an answer: few steps, few sources, short reports. A citation that leads nowhere, or
//! whose words do not stand in its document, ends the command with an error.

use std::collections::BTreeMap;
use std::process::ExitCode;

use agent::research::citation::locate;
use agent::research::message::CheckVerdict;
use agent::research::order::RunLimits;
use agent::research::report::{Citation, Report};
use agent::research::run::Run;
use anyhow::{Context, Result};
use engine::research::Wanted;
use extract::{Hint, Limits};
use serde_json::json;
use tokio::time::Instant;

use super::research::reported;
use super::sets::{self, Set};
use super::{Scratch, fill};
use crate::config::Config;
use crate::output::Output;
use crate::wiring::{Installation, research};

const QUESTIONS: [&str; 2] = [
    "How do budget alerts work, and who can be told by them?",
    "예산 알림은 언제 오고, 누가 받을 수 있나요?",
];

/// What a model that reads some twenty tokens a second gets through in a quarter of an hour.
const LIMITS: RunLimits = RunLimits {
    steps_max: 2,
    rounds_max: 1,
    stalls_max: 1,
    replans_max: 0,
    parallel_max: 1,
    results_per_search_max: 3,
    pages_per_round_max: 0,
    sources_max: 6,
    tries_max: 2,
    sections_max: 2,
    drafts_max: 1,
    instructions_max: 0,
};

pub(super) async fn run(mut config: Config, output: &Output) -> Result<ExitCode> {
    let set = sets::cloudcost()?;
    let documents = texts(&set)?;
    let scratch = Scratch::new()?;
    config.data.folder = scratch.path.display().to_string();
    let installation = Installation::open(&config).await?;
    fill(&installation.knowledge, &set, output).await?;
    let researcher = research::researcher(&config, &installation, None).await?;
    let model = if config.models.model.is_empty() { "offline" } else { &config.models.model };
    let bar = output.progress(QUESTIONS.len() as u64, "questions");
    let mut invented = 0;
    for question in QUESTIONS {
        let begun = Instant::now();
        let wanted = Wanted { limits: LIMITS, ..Wanted::unattended(question) };
        let (run, report) = reported(&researcher, wanted).await?;
        let found = judged(&run, &report, &documents);
        let seconds = begun.elapsed().as_secs_f64();
        bar.suspend(|| found.say(&run, &report, (model, seconds), output))?;
        invented += found.invented;
        bar.inc(1);
    }
    bar.finish_and_clear();
    installation.close().await;
    Ok(if invented == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The documents' texts as they are read, by their sources: what a quote has to stand in.
fn texts(set: &Set) -> Result<BTreeMap<String, String>> {
    let read = |document: &sets::SetDocument| {
        let hint = Hint { file_name: Some(&document.source), ..Hint::default() };
        let extracted = extract::extract(&document.bytes, &hint, &Limits::default());
        let extracted = extracted.with_context(|| format!("{} cannot be read", document.source))?;
        Ok((document.source.clone(), extracted.text))
    };
    set.documents.iter().map(read).collect()
}

/// What a report stands on.
struct Found {
    claims: usize,
    supported: usize,
    /// Citations that the report shows.
    citations: usize,
    /// Of these, citations whose source is not there, or whose words do not stand in it.
    invented: usize,
    /// Quotes of the model's that stand nowhere: they are not shown.
    refused: usize,
}

fn judged(run: &Run, report: &Report, documents: &BTreeMap<String, String>) -> Found {
    let is_shown = |citation: &&Citation| citation.verdict != CheckVerdict::Unsupported;
    let all = || report.claims().flat_map(|claim| &claim.citations);
    let stands = |citation: &&Citation| {
        let is_listed = report.sources.iter().any(|source| source.id == citation.source_id);
        let source = run.sources().iter().find(|source| source.id == citation.source_id);
        let document = source.and_then(|source| documents.get(&source.place));
        is_listed && document.is_some_and(|text| locate(&citation.quote, text).is_some())
    };
    let citations = all().filter(is_shown).count();
    Found {
        claims: report.claims().count(),
        supported: report.claims().filter(|claim| claim.is_supported).count(),
        citations,
        invented: citations - all().filter(is_shown).filter(stands).count(),
        refused: all().count() - citations,
    }
}

impl Found {
    fn say(
        &self,
        run: &Run,
        report: &Report,
        (model, seconds): (&str, f64),
        output: &Output,
    ) -> Result<()> {
        let used = |name: &str| {
            let budget = run.status().budget;
            budget.iter().find(|part| part.name == name).map_or(0, |part| part.used)
        };
        let Self { claims, supported, citations, invented, refused } = self;
        output.json(&json!({
            "set": "cloudcost", "kind": "sample", "model": model, "question": report.question,
            "ended": report.ended.as_str(), "sources": run.sources().len(), "sections": report.sections.len(),
            "claims": claims, "supported": supported, "citations": citations, "invented": invented,
            "quotes_refused": refused, "notes": report.notes.len(), "calls": used("calls"), "tokens": used("tokens"),
            "seconds": seconds,
        }))?;
        output.line(&format!(
            "{}\n  {} sections, {claims} claims ({supported} supported), {citations} citations ({invented} invented, {refused} quotes \
             refused), {} calls, {} tokens, {seconds:.0} s, ended: {}",
            report.question,
            report.sections.len(),
            used("calls"),
            used("tokens"),
            report.ended.as_str(),
        ))
    }
}
