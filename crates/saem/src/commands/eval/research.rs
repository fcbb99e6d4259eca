//! `saem eval research`: whole research runs over questions that need two paragraphs each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use agent::names::TenantId;
use agent::research::citation::locate;
use agent::research::message::CheckVerdict;
use agent::research::report::Report;
use agent::research::run::Run;
use anyhow::{Context, Result, bail};
use engine::research::{Researcher, Told, Wanted};
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::Instant;

use super::sets::{HotpotQuestion, hotpot_questions, hotpotqa};
use super::{NO_FOLDER, Scratch, fill};
use crate::config::Config;
use crate::output::Output;
use crate::wiring::{Installation, research};

/// Runs under way at the same time.
const AT_ONCE: usize = 4;

/// The kind that stands for all questions together.
const ALL: &str = "all";

/// What came of one run, each part from 0 to 1 but for the counts.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    questions: f64,
    /// Right paragraphs that the run found.
    found: f64,
    /// All of them found.
    all_found: f64,
    /// Right paragraphs that the report cites, and cited ones that are right.
    cited: f64,
    cited_right: f64,
    /// How well the sentences that are quoted are those that answer.
    fact_f1: f64,
    /// Questions with an answer other than yes or no, and reports with these words.
    worded: f64,
    answered: f64,
    citations: f64,
    /// Citations whose source the run did not find, or whose words do not stand in it.
    invented: f64,
    seconds: f64,
}

impl Figures {
    fn add(&mut self, other: &Self) {
        self.questions += other.questions;
        self.found += other.found;
        self.all_found += other.all_found;
        self.cited += other.cited;
        self.cited_right += other.cited_right;
        self.fact_f1 += other.fact_f1;
        self.worded += other.worded;
        self.answered += other.answered;
        self.citations += other.citations;
        self.invented += other.invented;
        self.seconds += other.seconds;
    }
}

pub(super) async fn run(
    mut config: Config,
    folder: Option<PathBuf>,
    limit: Option<usize>,
    output: &Output,
) -> Result<ExitCode> {
    let folder = folder.context(NO_FOLDER)?;
    let mut questions = hotpot_questions(&folder)?;
    questions.truncate(limit.unwrap_or(usize::MAX));
    let set = hotpotqa(&folder)?;
    let documents: BTreeMap<String, String> = set
        .documents
        .iter()
        .map(|document| (document.source.clone(), String::from_utf8_lossy(&document.bytes).into()))
        .collect();
    let scratch = Scratch::new()?;
    config.data.folder = scratch.path.display().to_string();
    let installation = Installation::open(&config).await?;
    fill(&installation.knowledge, &set, output).await?;
    let researcher = &research::researcher(&config, &installation, None).await?;
    let documents = &documents;
    let bar = output.progress(questions.len() as u64, "questions");
    let asking = questions.iter().map(|question| async move {
        Ok::<_, anyhow::Error>((&question.kind, ask(researcher, question, documents).await?))
    });
    let mut asking = futures_util::stream::iter(asking).buffer_unordered(AT_ONCE);
    let mut kinds: BTreeMap<String, Figures> = BTreeMap::new();
    while let Some(asked) = asking.next().await {
        let (kind, figures) = asked?;
        kinds.entry(kind.clone()).or_default().add(&figures);
        kinds.entry(ALL.to_owned()).or_default().add(&figures);
        bar.inc(1);
    }
    drop(asking);
    bar.finish_and_clear();
    let model = if config.models.model.is_empty() { "offline" } else { &config.models.model };
    for (kind, figures) in &kinds {
        say(kind, figures, model, output)?;
    }
    installation.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn ask(
    researcher: &Researcher,
    question: &HotpotQuestion,
    documents: &BTreeMap<String, String>,
) -> Result<Figures> {
    let begun = Instant::now();
    let (run, report) = reported(researcher, Wanted::unattended(&question.text)).await?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Figures { seconds, ..judged(question, &run, &report, documents) })
}

/// A run to its end, and what it came to.
pub(super) async fn reported(
    researcher: &Researcher,
    wanted: Wanted,
) -> Result<(Run, Arc<Report>)> {
    let tenant = TenantId::local();
    let question = wanted.question.clone();
    let mut following = researcher.begin(&tenant, wanted).await?;
    let report = loop {
        match following.next().await {
            Some(Told::Said(_)) => {}
            Some(Told::Ended { report: Some(report), .. }) => break report,
            Some(Told::Failed(error)) => return Err(error.into()),
            Some(Told::Ended { report: None, .. } | Told::Left) | None => {
                bail!("{question:?} has no report")
            }
        }
    };
    let run = researcher.run(&tenant, following.id).await?.context("the run is gone")?;
    Ok((run, report))
}

fn judged(
    question: &HotpotQuestion,
    run: &Run,
    report: &Report,
    documents: &BTreeMap<String, String>,
) -> Figures {
    let right: BTreeSet<&str> = question.facts.iter().map(|(title, _)| title.as_str()).collect();
    let count = |titles: &BTreeSet<&str>| titles.intersection(&right).count() as f64;
    let found = run.sources().iter().map(|source| source.place.as_str()).collect();
    let cited: BTreeSet<&str> = report.sources.iter().map(|it| it.place.as_str()).collect();
    let said: String = report.claims().map(|claim| claim.text.to_lowercase() + "\n").collect();
    let is_worded = !matches!(question.answer.as_str(), "yes" | "no");
    let has_answer = said.contains(&question.answer.to_lowercase());
    let citations: Vec<_> = report
        .claims()
        .flat_map(|claim| &claim.citations)
        .filter(|citation| citation.verdict != CheckVerdict::Unsupported)
        .collect();
    let place = |id| run.sources().iter().find(|it| it.id == id).map(|it| it.place.as_str());
    let stands = |quote: &str, id| {
        let document = place(id).and_then(|place| documents.get(place));
        document.is_some_and(|document| locate(quote, document).is_some())
    };
    let invented = citations.iter().filter(|it| !stands(&it.quote, it.source_id)).count();
    let quotes: Vec<(&str, &str)> =
        citations.iter().filter_map(|it| Some((place(it.source_id)?, it.quote.as_str()))).collect();
    Figures {
        questions: 1.0,
        found: count(&found) / right.len().max(1) as f64,
        all_found: flag(right.is_subset(&found)),
        cited: count(&cited) / right.len().max(1) as f64,
        cited_right: count(&cited) / cited.len().max(1) as f64,
        fact_f1: fact_f1(question, &quotes),
        worded: flag(is_worded),
        answered: flag(is_worded && has_answer),
        citations: citations.len() as f64,
        invented: invented as f64,
        seconds: 0.0,
    }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// The harmonic mean of how many right sentences are quoted, and how many quoted ones are right.
fn fact_f1(question: &HotpotQuestion, quotes: &[(&str, &str)]) -> f64 {
    let is_quoted = |(title, sentence): &(String, String)| {
        let sentence = sentence.trim();
        quotes.iter().any(|(place, quote)| {
            place == title && (quote.contains(sentence) || sentence.contains(quote.trim()))
        })
    };
    let right = question.facts.iter().filter(|fact| is_quoted(fact)).count();
    let different: BTreeSet<_> = quotes.iter().collect();
    2.0 * right as f64 / (question.facts.len() + different.len()).max(1) as f64
}

fn say(kind: &str, figures: &Figures, model: &str, output: &Output) -> Result<()> {
    let mean = |sum: f64| sum / figures.questions.max(1.0);
    let answered = figures.answered / figures.worded.max(1.0);
    output.json(&json!({
        "set": "hotpotqa", "kind": kind, "model": model, "questions": figures.questions,
        "found": mean(figures.found), "all_found": mean(figures.all_found),
        "cited": mean(figures.cited), "cited_right": mean(figures.cited_right),
        "fact_f1": mean(figures.fact_f1), "answered": answered,
        "citations": figures.citations, "invented": figures.invented,
        "seconds": mean(figures.seconds),
    }))?;
    output.line(&format!(
        "{kind:<12} {:>4} questions  found {:.3} (all {:.3})  cited {:.3}, right {:.3}  facts F1 {:.3}  \
         answer in report {answered:.3}  {} citations, {} invented  {:.2} s",
        figures.questions,
        mean(figures.found),
        mean(figures.all_found),
        mean(figures.cited),
        mean(figures.cited_right),
        mean(figures.fact_f1),
        figures.citations,
        figures.invented,
        mean(figures.seconds),
    ))
}
