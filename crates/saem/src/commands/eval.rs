//! `saem eval`: measures how well search finds, memory keeps and research cites, on sets of questions with known answers.

mod citations;
mod copilot;
mod figures;
mod memory;
mod research;
mod research_sample;
mod sample;
mod sets;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use agent::identity::Principal;
use agent::names::TenantId;
use anyhow::{Context, Result};
use engine::search::{Mode, SearchRequest};
use engine::{Knowledge, NewDocument, Outcome};
use futures_util::StreamExt;
use serde_json::json;

use self::figures::Figures;
use self::sets::{Question, Set};
use crate::args::{self, EvalSet};
use crate::config::{self, Config};
use crate::output::Output;
use crate::wiring::Installation;

/// Ranks that count.
pub(crate) const DEPTH: usize = 10;

/// Documents and questions on their way at the same time.
const AT_ONCE: usize = 16;

const MODES: [(Mode, &str); 3] =
    [(Mode::Keyword, "keyword"), (Mode::Vector, "vector"), (Mode::Hybrid, "hybrid")];

/// What is said where a data set is asked for and its folder is not known.
const NO_FOLDER: &str =
    "the data sets are not part of Saem: name their folder with --sets DIR or SAEM_DATA";

pub(crate) async fn run(config: Config, eval: args::Eval, output: &Output) -> Result<ExitCode> {
    let folder =
        |named: Option<PathBuf>| named.or_else(|| config::variable("SAEM_DATA").map(PathBuf::from));
    match eval {
        args::Eval::Retrieval { set, sets, limit } => {
            retrieval(config, set, folder(sets), limit, output).await
        }
        args::Eval::Copilot { sample: true, .. } => sample::run(config, output).await,
        args::Eval::Copilot { limit, sample: false } => copilot::run(config, limit, output).await,
        args::Eval::Memory { set, sets, limit } => memory::run(set, folder(sets), limit, output),
        args::Eval::Citations { sets, limit } => citations::run(folder(sets), limit, output),
        args::Eval::Research { sample: true, .. } => research_sample::run(config, output).await,
        args::Eval::Research { sets, limit, sample: false } => {
            research::run(config, folder(sets), limit, output).await
        }
    }
}

async fn retrieval(
    mut config: Config,
    set: EvalSet,
    folder: Option<PathBuf>,
    limit: Option<usize>,
    output: &Output,
) -> Result<ExitCode> {
    let mut set = load(set, folder)?;
    set.questions.truncate(limit.unwrap_or(usize::MAX));
    let scratch = Scratch::new()?;
    config.data.folder = scratch.path.display().to_string();
    let installation = Installation::open(&config).await?;
    let knowledge = &installation.knowledge;
    fill(knowledge, &set, output).await?;
    for (mode, name) in MODES {
        let kinds = ask_all(knowledge, &set, mode, output).await?;
        for (kind, figures) in kinds {
            output.json(&json!({
                "set": set.name, "kind": kind, "mode": name, "questions": figures.count,
                "ndcg10": figures.ndcg(), "recall10": figures.recall(), "hit10": figures.hit(),
                "mrr10": figures.mrr(), "embedder": installation.embedder.identity(),
            }))?;
            output.line(&format!(
                "{:<10} {:<16} {:<8} {:>6} questions  nDCG@10 {:.4}  recall@10 {:.4}  hit@10 {:.4}  MRR@10 {:.4}",
                set.name, kind, name, figures.count, figures.ndcg(), figures.recall(), figures.hit(), figures.mrr(),
            ))?;
        }
    }
    installation.close().await;
    Ok(ExitCode::SUCCESS)
}

fn load(set: EvalSet, folder: Option<PathBuf>) -> Result<Set> {
    if set == EvalSet::Cloudcost {
        return sets::cloudcost();
    }
    let folder = folder.context(NO_FOLDER)?;
    match set {
        EvalSet::Korquad => sets::korquad(&folder),
        EvalSet::Hotpotqa => sets::hotpotqa(&folder),
        EvalSet::Cloudcost => sets::cloudcost(),
    }
}

/// Loads the set's documents the way a user's are loaded.
async fn fill(knowledge: &Knowledge, set: &Set, output: &Output) -> Result<()> {
    let owner = &Principal::local_owner();
    let bar = output.progress(set.documents.len() as u64, "documents");
    let loading = set.documents.iter().map(|document| async move {
        let new = NewDocument {
            collection: document.collection.parse()?,
            source: document.source.clone(),
            bytes: document.bytes.clone(),
            media_type: None,
            doc_type: None,
            mapping: None,
            updated_at: None,
            accepted: None,
        };
        match knowledge.ingest(owner, new).await?.outcome {
            Outcome::Failed { reason } => anyhow::bail!("{}: {reason}", document.source),
            Outcome::Unchanged { .. } | Outcome::Superseded | Outcome::Kept { .. } => Ok(()),
        }
    });
    let mut loading = futures_util::stream::iter(loading).buffer_unordered(AT_ONCE);
    while let Some(loaded) = loading.next().await {
        loaded?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(output.while_indexing(knowledge.indexed(&TenantId::local(), None)).await?)
}

async fn ask_all(
    knowledge: &Knowledge,
    set: &Set,
    mode: Mode,
    output: &Output,
) -> Result<BTreeMap<String, Figures>> {
    let bar = output.progress(set.questions.len() as u64, "questions");
    let asking = set.questions.iter().map(|question| async move {
        Ok::<_, anyhow::Error>((question.kind.clone(), ask(knowledge, set, question, mode).await?))
    });
    let mut asking = futures_util::stream::iter(asking).buffer_unordered(AT_ONCE);
    let mut kinds: BTreeMap<String, Figures> = BTreeMap::new();
    while let Some(answer) = asking.next().await {
        let (kind, (ranks, relevant)) = answer?;
        kinds.entry(kind).or_default().add(&ranks, relevant);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(kinds)
}

/// The ranks at which something new and right was found, and how much there is to find.
async fn ask(
    knowledge: &Knowledge,
    set: &Set,
    question: &Question,
    mode: Mode,
) -> Result<(Vec<usize>, usize)> {
    let request = SearchRequest {
        text: question.text.clone(),
        mode,
        count: Some(if set.ranks_documents { DEPTH * 5 } else { DEPTH }),
        ..SearchRequest::default()
    };
    let mut passages = knowledge.search(&TenantId::local(), request).await?.passages;
    if set.ranks_documents {
        let mut seen = std::collections::BTreeSet::new();
        passages.retain(|passage| seen.insert(passage.document.clone()));
    }
    let mut open: Vec<_> = question.relevant.iter().collect();
    let mut ranks = Vec::new();
    for (rank, passage) in (1..=DEPTH).zip(&passages) {
        let before = open.len();
        open.retain(|place| !place.is_in(passage));
        if open.len() < before {
            ranks.push(rank);
        }
    }
    Ok((ranks, question.relevant.len()))
}

/// A folder that goes when the evaluation ends.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("saem-eval-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.path);
    }
}
