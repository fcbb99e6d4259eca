//! `saem eval copilot --sample`: a question of each sort, each turn with what came of it and what it took.
//!
//! A model on a small machine takes minutes for a turn, so ten of them have to do. They are the same ones each time.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent::language::Language;
use agent::names::TenantId;
use agent::turn::{Done, TurnRecord};
use anyhow::Result;
use engine::chat::{MemoryOutcome, Watcher};
use serde_json::json;

use super::copilot::{ANSWERABLE, Counts, Demo, ask, share};
use super::sets::{self, CopilotQuestion};
use crate::config::Config;
use crate::output::Output;

/// Kinds that are asked about, once in each language.
const KINDS: &[&str] = &["worded", "cross_language", "follow_up", "unanswerable", "menu"];

/// What became of the memories that were due.
#[derive(Default)]
struct Memories {
    rewritten: AtomicUsize,
    refused: AtomicUsize,
    failed: AtomicUsize,
}

impl Watcher for Memories {
    fn turn_ended(&self, _tenant: &TenantId, _record: &TurnRecord) {}

    fn memory_updated(&self, _tenant: &TenantId, outcome: MemoryOutcome) {
        let count = match outcome {
            MemoryOutcome::Rewritten => &self.rewritten,
            MemoryOutcome::Refused => &self.refused,
            MemoryOutcome::Failed => &self.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// A turn with what is said of it.
struct Asked {
    question: CopilotQuestion,
    record: TurnRecord,
    counts: Counts,
}

pub(super) async fn run(config: Config, output: &Output) -> Result<ExitCode> {
    let questions = sample(sets::copilot_questions()?);
    let memories = Arc::new(Memories::default());
    let demo = Demo::open(config, Arc::clone(&memories) as Arc<dyn Watcher>, output).await?;
    let bar = output.progress(questions.len() as u64, "questions");
    let mut asked = Vec::new();
    for question in questions {
        let (record, counts) = ask(&demo, &question).await?;
        // A memory that is due would take its time from the next turn.
        demo.copilot.settled().await;
        let turn = Asked { question, record, counts };
        bar.suspend(|| turn.report(&demo.model, output))?;
        asked.push(turn);
        bar.inc(1);
    }
    bar.finish_and_clear();
    summary(&asked, &memories, &demo.model, output)?;
    demo.close().await;
    Ok(ExitCode::SUCCESS)
}

/// The first question of each kind in each language.
fn sample(mut questions: Vec<CopilotQuestion>) -> Vec<CopilotQuestion> {
    let mut taken = BTreeSet::new();
    questions.retain(|question| {
        let CopilotQuestion { kind, language, .. } = question;
        KINDS.contains(&kind.as_str()) && taken.insert((kind.clone(), language.clone()))
    });
    questions
}

impl Asked {
    fn is_answerable(&self) -> bool {
        ANSWERABLE.contains(&self.question.kind.as_str())
    }

    fn is_unanswerable(&self) -> bool {
        self.question.kind == "unanswerable"
    }

    /// Given up if there is no answer, and not if there is one.
    fn ended_as_it_should(&self) -> bool {
        (self.counts.given_up > 0) == self.is_unanswerable()
    }

    fn is_in_the_questions_language(&self) -> bool {
        Language::of(&self.record.answer) == Language::of(&self.question.question)
    }

    /// Verdicts, and those among them that came from the judge itself.
    fn verdicts(&self) -> (usize, usize) {
        let verdicts = self.record.done.iter().filter_map(|done| match done {
            Done::Judged { without_judge, .. } => Some(usize::from(without_judge.is_none())),
            Done::Called { .. } | Done::Used(_) => None,
        });
        verdicts.fold((0, 0), |(all, own), is_own| (all + 1, own + is_own))
    }

    /// Tokens read and written by the models of the turn.
    fn tokens(&self) -> (u64, u64) {
        let usages = self.record.calls.iter().map(|call| call.usage);
        usages.fold((0, 0), |(input, output), usage| (input + usage.input, output + usage.output))
    }

    fn seconds(&self) -> f64 {
        self.record.took_milliseconds as f64 / 1_000.0
    }

    fn report(&self, model: &str, output: &Output) -> Result<()> {
        let Self { question, record, counts } = self;
        let ((verdicts, verdicts_own), (tokens_in, tokens_out)) = (self.verdicts(), self.tokens());
        let (outcome, seconds) = (record.outcome.as_str(), self.seconds());
        output.json(&json!({
            "set": "cloudcost", "sample": question.id, "kind": question.kind, "language": question.language,
            "model": model, "outcome": outcome, "hit3": counts.among > 0, "given_up": counts.given_up > 0,
            "menu_hit": counts.led > 0, "citations": counts.citations, "citations_valid": counts.citations_valid,
            "language_right": self.is_in_the_questions_language(), "verdicts": verdicts,
            "verdicts_own": verdicts_own, "tokens_in": tokens_in, "tokens_out": tokens_out, "seconds": seconds,
        }))?;
        output.line(&format!(
            "{:<5} {:<14} {} {outcome:<17} {seconds:>6.1} s  {tokens_in:>5} tokens read  {tokens_out:>4} written",
            question.id, question.kind, question.language,
        ))
    }
}

fn summary(asked: &[Asked], memories: &Memories, model: &str, output: &Output) -> Result<()> {
    let of = |is: fn(&Asked) -> bool| asked.iter().filter(move |turn| is(turn));
    let among = |part: fn(&Asked) -> bool, whole: fn(&Asked) -> bool| {
        share(of(whole).filter(|turn| part(turn)).count(), of(whole).count())
    };
    let hits = among(|turn| turn.counts.among > 0, Asked::is_answerable);
    let ended =
        among(Asked::ended_as_it_should, |turn| turn.is_answerable() || turn.is_unanswerable());
    let menu = among(|turn| turn.counts.led > 0, |turn| turn.question.menu.is_some());
    let language = among(Asked::is_in_the_questions_language, |_| true);
    let mut all = Counts::default();
    asked.iter().for_each(|turn| all.add(&turn.counts));
    let valid = share(all.citations_valid, all.citations);
    let verdicts = asked.iter().map(Asked::verdicts);
    let (verdicts, own) = verdicts.fold((0, 0), |sum, turn| (sum.0 + turn.0, sum.1 + turn.1));
    let tokens = asked.iter().map(Asked::tokens);
    let (read, written) = tokens.fold((0, 0), |sum, turn| (sum.0 + turn.0, sum.1 + turn.1));
    let turns = asked.len().max(1) as f64;
    let (read, written) = (read as f64 / turns, written as f64 / turns);
    let seconds = asked.iter().map(Asked::seconds).sum::<f64>() / turns;
    let memory = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    let (rewritten, refused) = (memory(&memories.rewritten), memory(&memories.refused));
    output.json(&json!({
        "set": "cloudcost", "sample": "all", "model": model, "questions": asked.len(), "hit3": hits,
        "fallback_right": ended, "menu_hit": menu, "citations": all.citations, "citations_valid": valid,
        "language_right": language, "verdicts_own": share(own, verdicts), "memories_rewritten": rewritten,
        "memories_refused": refused, "memories_failed": memory(&memories.failed),
        "tokens_in": read, "tokens_out": written, "seconds": seconds,
    }))?;
    output.line(&format!(
        "hit@3 {hits:.3} · given up rightly {ended:.3} · menu {menu:.3} · citations valid {valid:.3} · \
         language right {language:.3}\nmemories rewritten {rewritten}, refused {refused} · a turn takes {seconds:.1} s, \
         reads {read:.0} and writes {written:.0} tokens",
    ))
}
