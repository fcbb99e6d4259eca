//! `saem eval copilot`: whole turns over the demo's questions: what is found, what is given up, what is cited.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use agent::knowledge::Passage;
use agent::memory::SessionId;
use agent::names::TenantId;
use agent::turn::{Done, Outcome, TurnRecord};
use anyhow::Result;
use engine::chat::{Copilot, Question, Talk, Watcher};
use engine::search::SearchRequest;
use serde_json::json;

use super::sets::{self, CopilotQuestion};
use super::{Scratch, fill};
use crate::backend::Unwatched;
use crate::commands::demo_files::DEMO_MENU;
use crate::config::Config;
use crate::output::Output;
use crate::wiring::{Installation, copilot};

/// Ranked passages among which the right one must be.
const RANKS: usize = 3;

/// Kinds of questions that are expected to be answered. Those of `paraphrase_hard` share hardly a word with the text
/// that answers them: they are reported by themselves.
pub(super) const ANSWERABLE: &[&str] = &["worded", "paraphrase", "cross_language", "follow_up"];

/// What is counted over the questions of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) questions: usize,
    /// Of questions that have an answer: a right passage is the first, or among the first three.
    pub(super) first: usize,
    pub(super) among: usize,
    /// The turn ended without an answer.
    pub(super) given_up: usize,
    /// The right place of the menu was offered.
    pub(super) led: usize,
    pub(super) citations: usize,
    pub(super) citations_valid: usize,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.questions += other.questions;
        self.first += other.first;
        self.among += other.among;
        self.given_up += other.given_up;
        self.led += other.led;
        self.citations += other.citations;
        self.citations_valid += other.citations_valid;
    }
}

/// The demo with its documents, its menu and a copilot, in a folder of its own.
pub(super) struct Demo {
    pub(super) copilot: Copilot,
    pub(super) model: String,
    installation: Installation,
    /// Goes with it.
    _scratch: Scratch,
}

impl Demo {
    pub(super) async fn open(
        mut config: Config,
        watcher: Arc<dyn Watcher>,
        output: &Output,
    ) -> Result<Self> {
        let scratch = Scratch::new()?;
        config.data.folder = scratch.path.display().to_string();
        let installation = Installation::open(&config).await?;
        fill(&installation.knowledge, &sets::cloudcost()?, output).await?;
        let menu = copilot::read_menu(DEMO_MENU)?;
        let copilot = copilot::copilot(&config, &installation, None, menu, watcher).await?;
        let model = copilot.model_name().unwrap_or("offline").to_owned();
        Ok(Self { copilot, model, installation, _scratch: scratch })
    }

    pub(super) async fn close(self) {
        self.installation.close().await;
    }
}

pub(super) async fn run(config: Config, limit: Option<usize>, output: &Output) -> Result<ExitCode> {
    let mut questions = sets::copilot_questions()?;
    questions.truncate(limit.unwrap_or(usize::MAX));
    let demo = Demo::open(config, Arc::new(Unwatched), output).await?;
    let bar = output.progress(questions.len() as u64, "questions");
    let mut halves: BTreeMap<(&str, String), Counts> = BTreeMap::new();
    for question in &questions {
        let (_, counts) = ask(&demo, question).await?;
        halves.entry((half(&question.id), question.kind.clone())).or_default().add(&counts);
        bar.inc(1);
    }
    bar.finish_and_clear();
    for half in ["tuned", "held_out"] {
        report(half, &halves, &demo.model, output)?;
    }
    demo.close().await;
    Ok(ExitCode::SUCCESS)
}

/// Thresholds were chosen on the questions with odd numbers and are reported on the others.
fn half(id: &str) -> &'static str {
    let is_odd = id.ends_with(['1', '3', '5', '7', '9']);
    if is_odd { "tuned" } else { "held_out" }
}

/// Asks what was asked before and then the question; gives its turn and what there is to count of it.
pub(super) async fn ask(demo: &Demo, question: &CopilotQuestion) -> Result<(TurnRecord, Counts)> {
    let Demo { copilot, installation, .. } = demo;
    let tenant = TenantId::local();
    let session: SessionId = format!("eval-{}", question.id).parse()?;
    for before in &question.history {
        let asked = Question::new(before.clone(), Talk::Known(session.clone()));
        copilot.ask(&tenant, asked)?.finish().await?;
    }
    let asked = Question::new(question.question.clone(), Talk::Known(session));
    let record = copilot.ask(&tenant, asked)?.finish().await?;
    let request = SearchRequest { text: record.query.clone(), ..SearchRequest::default() };
    let found = installation.knowledge.search(&tenant, request).await?.passages;
    let ranked = ranked(&record, &found);
    let is_right = |passage: &&Passage| question.relevant.iter().any(|place| place.is_in(passage));
    let valid = record.citations.iter().filter(|citation| {
        let mark = format!("[{}]", citation.number);
        let is_there = found.iter().any(|passage| passage.section == citation.section);
        record.answer.contains(&mark) && is_there
    });
    let led = question.menu.as_ref();
    let counts = Counts {
        questions: 1,
        first: usize::from(ranked.iter().take(1).any(is_right)),
        among: usize::from(ranked.iter().take(RANKS).any(is_right)),
        given_up: usize::from(matches!(record.outcome, Outcome::NotFound | Outcome::InPreparation)),
        led: usize::from(led.is_some_and(|menu| record.menu.iter().any(|link| link.link == *menu))),
        citations: record.citations.len(),
        citations_valid: valid.count(),
    };
    Ok((record, counts))
}

/// The passages in the order of the last verdict.
fn ranked<'a>(record: &TurnRecord, found: &'a [Passage]) -> Vec<&'a Passage> {
    let verdict = record.done.iter().rev().find_map(|done| match done {
        Done::Judged { verdict, .. } => Some(verdict),
        Done::Called { .. } | Done::Used(_) => None,
    });
    let places = verdict.map(|verdict| verdict.ranked_indices.as_slice()).unwrap_or_default();
    let considered = places.iter().filter_map(|place| record.passages.get(*place));
    let of = |section, chunk| {
        found.iter().find(|passage| passage.section == section && passage.chunk == chunk)
    };
    considered.filter_map(|passage| of(passage.section.clone(), passage.chunk)).collect()
}

fn report(
    half: &str,
    halves: &BTreeMap<(&str, String), Counts>,
    model: &str,
    output: &Output,
) -> Result<()> {
    let mut answerable = Counts::default();
    let own = || halves.iter().filter(|((of, _), _)| *of == half);
    for ((_, kind), counts) in own() {
        if ANSWERABLE.contains(&kind.as_str()) {
            answerable.add(counts);
        }
        line(half, kind, counts, model, output)?;
    }
    line(half, "answerable", &answerable, model, output)?;
    let unanswerable = own().find(|((_, kind), _)| kind == "unanswerable");
    let unanswerable = unanswerable.map(|(_, counts)| *counts).unwrap_or_default();
    let caught = unanswerable.given_up;
    let precision = share(caught, caught + answerable.given_up);
    let recall = share(caught, unanswerable.questions);
    let false_alarms = share(answerable.given_up, answerable.questions);
    let valid = share(answerable.citations_valid, answerable.citations);
    output.json(&json!({
        "set": "cloudcost", "half": half, "model": model, "hit3": share(answerable.among, answerable.questions),
        "fallback_precision": precision, "fallback_recall": recall, "false_alarms": false_alarms,
        "citations_valid": valid,
    }))?;
    output.line(&format!(
        "{half:<9} hit@3 {:.3} · unanswerable caught {recall:.3} · false alarms {false_alarms:.3} · \
         fallback precision {precision:.3} · citations valid {valid:.3}\n",
        share(answerable.among, answerable.questions),
    ))
}

fn line(half: &str, kind: &str, counts: &Counts, model: &str, output: &Output) -> Result<()> {
    let Counts { questions, first, among, given_up, led, citations, citations_valid } = *counts;
    output.json(&json!({
        "set": "cloudcost", "half": half, "kind": kind, "model": model, "questions": questions,
        "hit1": share(first, questions), "hit3": share(among, questions), "given_up": share(given_up, questions),
        "menu_hit": share(led, questions), "citations": citations, "citations_valid": citations_valid,
    }))?;
    output.line(&format!(
        "{half:<9} {kind:<16} {questions:>4} questions  hit@1 {:.3}  hit@3 {:.3}  given up {:.3}  menu {:.3}",
        share(first, questions),
        share(among, questions),
        share(given_up, questions),
        share(led, questions),
    ))
}

pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
