//! `saem eval memory`: how much of what was said a model would still see when it is asked about it later.
//!
//! No model takes part. A conversation goes through the product's own session, fold, gate and context; a question is
//! then asked, and what counts is the share of its answer's words that stand in the context (coverage) and the share
//! of the turns that hold the answer and stand there word for word (evidence).

mod conversations;
mod coverage;
mod seen;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::BTreeMap;
use std::process::ExitCode;

use agent::memory::Session;
use anyhow::{Context, Result};
use serde_json::json;

use self::conversations::MemorySet;
use self::seen::Seen;
use self::tokens::Tokens;
use crate::args::MemoryEvalSet;
use crate::output::Output;

/// The kind that stands for all questions together.
const ALL: &str = "all";

/// What a model gets to see of a conversation.
struct Row {
    name: &'static str,
    /// The short-term, the memory and the facts, as the product holds them.
    holds_session: bool,
    recall_tokens_max: usize,
}

const ROWS: [Row; 5] = [
    Row { name: "session", holds_session: true, recall_tokens_max: 0 },
    Row { name: "session+recall500", holds_session: true, recall_tokens_max: 500 },
    Row { name: "session+recall1500", holds_session: true, recall_tokens_max: 1500 },
    Row { name: "recall500", holds_session: false, recall_tokens_max: 500 },
    Row { name: "recall1500", holds_session: false, recall_tokens_max: 1500 },
];

/// Sums over questions, from which the means follow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    questions: usize,
    tokens: f64,
    tokens_by_letters: f64,
    coverage: f64,
    /// Questions that name the turns of their answer.
    with_evidence: usize,
    evidence: f64,
}

impl Sums {
    fn mean(&self, sum: f64) -> f64 {
        sum / self.questions.max(1) as f64
    }

    fn coverage(&self) -> f64 {
        self.mean(self.coverage)
    }

    fn evidence(&self) -> f64 {
        self.evidence / self.with_evidence.max(1) as f64
    }
}

pub(super) fn run(
    set: MemoryEvalSet,
    folder: Option<std::path::PathBuf>,
    limit: Option<usize>,
    output: &Output,
) -> Result<ExitCode> {
    let mut set = load(set, folder)?;
    set.truncate(limit.unwrap_or(usize::MAX));
    let tokens = &Tokens::new();
    let sessions = sessions(&set, tokens)?;
    for row in &ROWS {
        let bar = output.progress(set.conversations.len() as u64, "conversations");
        let kinds = measure(&set, &sessions, row, tokens, || bar.inc(1));
        bar.finish_and_clear();
        print(&set, row, &kinds, output)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn load(set: MemoryEvalSet, folder: Option<std::path::PathBuf>) -> Result<MemorySet> {
    match set {
        MemoryEvalSet::Dialogues => conversations::dialogues(),
        MemoryEvalSet::Locomo => conversations::locomo(&folder.context(super::NO_FOLDER)?),
    }
}

/// A line for each row: what it takes and, for each kind of question, coverage and evidence in percent.
fn print(set: &MemorySet, row: &Row, kinds: &Kinds, output: &Output) -> Result<()> {
    let all = kinds.get(ALL).copied().unwrap_or_default();
    let mut header = format!("{:<10}  {:<18}  {:>6}", "set", "row", "tokens");
    let mut line = format!("{:<10}  {:<18}  {:>6.0}", set.name, row.name, all.mean(all.tokens));
    for (kind, sums) in std::iter::once((ALL, &all)).chain(by_kind(kinds)) {
        output.json(&json!({
            "set": set.name, "row": row.name, "kind": kind, "questions": sums.questions,
            "tokens": sums.mean(sums.tokens), "tokens_by_letters": sums.mean(sums.tokens_by_letters),
            "coverage": sums.coverage(), "evidence": sums.evidence(),
        }))?;
        let (coverage, evidence) = (100.0 * sums.coverage(), 100.0 * sums.evidence());
        header.push_str(&format!("  {kind:>13}"));
        line.push_str(&format!("  {:>13}", format!("{coverage:.1} / {evidence:.1}")));
    }
    if row.name == ROWS[0].name {
        output.line(&header)?;
    }
    output.line(&line)
}

/// The sums of each kind of question, and of [`ALL`].
type Kinds = BTreeMap<String, Sums>;

fn by_kind(kinds: &Kinds) -> impl Iterator<Item = (&str, &Sums)> {
    kinds.iter().map(|(kind, sums)| (kind.as_str(), sums)).filter(|(kind, _)| *kind != ALL)
}

/// What is held of each conversation after its last turn.
fn sessions(set: &MemorySet, tokens: &Tokens) -> Result<Vec<Session>> {
    set.conversations.iter().map(|one| seen::remembered(one, tokens)).collect()
}

/// The sums of a row; `done` is called after each conversation.
fn measure(
    set: &MemorySet,
    sessions: &[Session],
    row: &Row,
    tokens: &Tokens,
    mut done: impl FnMut(),
) -> Kinds {
    let mut kinds = Kinds::new();
    for (conversation, session) in set.conversations.iter().zip(sessions) {
        for asked in &conversation.questions {
            let seen = Seen::new(conversation, session, asked, row, tokens);
            let coverage = set.measure.coverage(&asked.answer, &seen.text);
            let evidence = asked.evidence.iter().filter(|turn| seen.turns.contains(turn)).count();
            for kind in [ALL, &asked.kind] {
                let sums = kinds.entry(kind.to_owned()).or_default();
                sums.questions += 1;
                sums.tokens += seen.tokens as f64;
                sums.tokens_by_letters += coverage::tokens_by_letters(&seen.text);
                sums.coverage += coverage;
                if !asked.evidence.is_empty() {
                    sums.with_evidence += 1;
                    sums.evidence += evidence as f64 / asked.evidence.len() as f64;
                }
            }
        }
        done();
    }
    kinds
}
