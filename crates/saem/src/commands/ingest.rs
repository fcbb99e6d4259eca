//! `saem ingest`: loads files, folders, addresses and standard input, and says what became of each.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent::identity::Principal;
use agent::knowledge::Document;
use agent::names::CollectionName;
use agent::ports::{DocumentList, JobState};
use anyhow::{Context, Result, bail};
use engine::{Ingested, Knowledge, NewDocument, Order, Outcome, Upload};
use extract::Mapping;
use futures_util::StreamExt;
use serde::Serialize;

use crate::args;
use crate::config::Config;
use crate::output::Output;
use crate::wiring::Installation;

/// Documents on their way at the same time: enough to share commits, little enough to hold in memory.
const AT_ONCE: usize = 32;

/// Failures that are told one by one; the rest is counted.
const FAILURES_SHOWN: usize = 20;

/// What a run did, in numbers.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) loaded: u64,
    pub(crate) unchanged: u64,
    pub(crate) chunks: u64,
    pub(crate) deleted: u64,
    pub(crate) failed: Vec<Failure>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    pub(crate) source: String,
    pub(crate) reason: String,
}

/// A file and the name that its document gets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) source: String,
    pub(crate) path: PathBuf,
}

/// How documents of one run are loaded.
#[derive(Debug, Clone)]
pub(crate) struct Manner {
    pub(crate) collection: CollectionName,
    pub(crate) doc_type: Option<String>,
    pub(crate) mapping: Option<Mapping>,
}

pub(crate) async fn run(config: Config, args: &args::Ingest, output: &Output) -> Result<ExitCode> {
    let mapping = (args.question.is_some() || args.answer.is_some()).then(|| Mapping {
        question: args.question.clone(),
        answer: args.answer.clone(),
        ..Mapping::default()
    });
    let manner =
        Manner { collection: args.collection.parse()?, doc_type: args.doc_type.clone(), mapping };
    let (addresses, paths): (Vec<&str>, Vec<&str>) =
        args.paths.iter().map(String::as_str).partition(|path| is_address(path));
    let (inputs, paths): (Vec<&str>, Vec<&str>) = paths.into_iter().partition(|path| *path == "-");
    let files = find_files(&paths)?;
    let installation = Installation::open(&config).await?;
    let knowledge = &installation.knowledge;
    let mut report = Report::default();
    if !inputs.is_empty() {
        let name = args.name.clone().context("name the document with --name, such as notes.md")?;
        let mut bytes = Vec::new();
        // One more than allowed: its presence says that there is too much.
        let most = (config.ingest.document_mebibytes_max as u64) << 20;
        std::io::stdin().lock().take(most + 1).read_to_end(&mut bytes).context("standard input")?;
        let new = manner.document(name.clone(), bytes, None);
        note(&mut report, name, knowledge.ingest(&Principal::local_owner(), new).await);
    }
    for address in addresses {
        fetch(knowledge, &manner, address, &mut report).await?;
    }
    load_files(knowledge, &manner, files, output, &mut report).await;
    if args.prune {
        prune(knowledge, &manner.collection, &paths, &mut report).await?;
    }
    settle(knowledge, output).await?;
    tell(&report, output)?;
    if args.watch {
        super::watch::watch(knowledge, &manner, &paths, output).await?;
    }
    installation.close().await;
    Ok(if report.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

impl Manner {
    fn document(&self, source: String, bytes: Vec<u8>, updated_at: Option<String>) -> NewDocument {
        NewDocument {
            collection: self.collection.clone(),
            source,
            bytes,
            media_type: None,
            doc_type: self.doc_type.clone(),
            mapping: self.mapping.clone(),
            updated_at,
            accepted: None,
        }
    }
}

fn is_address(path: &str) -> bool {
    path.contains("://")
}

/// All files below the paths, with the names their documents get: the path below the given one's parent.
pub(crate) fn find_files(paths: &[&str]) -> Result<Vec<Found>> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for given in paths {
        let given = Path::new(given);
        let root = given
            .canonicalize()
            .with_context(|| format!("{} cannot be read: is the path right?", given.display()))?;
        let base = root.parent().unwrap_or(&root).to_owned();
        for path in files_below(&root)? {
            let source = source_name(&base, &path);
            if let Some(other) = found.insert(source.clone(), path.clone())
                && other != path
            {
                bail!(
                    "{} and {} would both be the document {source}: load them into two collections",
                    other.display(),
                    path.display(),
                );
            }
        }
    }
    Ok(found.into_iter().map(|(source, path)| Found { source, path }).collect())
}

/// A file itself, or what a folder holds but for hidden files and what .gitignore and .saemignore leave out.
fn files_below(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let walk = ignore::WalkBuilder::new(root)
        .add_custom_ignore_filename(".saemignore")
        .require_git(false)
        .follow_links(false)
        .build();
    for entry in walk {
        let entry = entry.context("a folder cannot be read")?;
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

pub(crate) fn source_name(base: &Path, path: &Path) -> String {
    let below = path.strip_prefix(base).unwrap_or(path);
    let names = below.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    names.collect::<Vec<_>>().join("/")
}

/// Loads files, many at once, with a bar that shows how far it is.
pub(crate) async fn load_files(
    knowledge: &Knowledge,
    manner: &Manner,
    files: Vec<Found>,
    output: &Output,
    report: &mut Report,
) {
    let bar = output.progress(files.len() as u64, "files");
    let loading = files.into_iter().map(|file| async move {
        let outcome = load_file(knowledge, manner, &file).await;
        (file.source, outcome)
    });
    let mut loading = futures_util::stream::iter(loading).buffer_unordered(AT_ONCE);
    while let Some((source, outcome)) = loading.next().await {
        note(report, source, outcome);
        bar.inc(1);
        bar.set_message(format!("{} chunks · {} failed", report.chunks, report.failed.len()));
    }
    bar.finish_and_clear();
}

async fn load_file(
    knowledge: &Knowledge,
    manner: &Manner,
    file: &Found,
) -> Result<Ingested, engine::EngineError> {
    let refused = |error: std::io::Error| {
        engine::EngineError::Refused(format!("the file cannot be read: {error}"))
    };
    let metadata = tokio::fs::metadata(&file.path).await.map_err(refused)?;
    let most = knowledge.document_bytes_max() as u64;
    if metadata.len() > most {
        let (bytes, most) = (metadata.len(), most >> 20);
        return Err(engine::EngineError::Refused(format!(
            "it has {bytes} bytes and {most} MiB are allowed: split it, or raise ingest.document_mebibytes_max"
        )));
    }
    let updated_at = metadata.modified().ok().and_then(iso_date);
    let bytes = tokio::fs::read(&file.path).await.map_err(refused)?;
    let new = manner.document(file.source.clone(), bytes, updated_at);
    knowledge.ingest(&Principal::local_owner(), new).await
}

fn iso_date(time: std::time::SystemTime) -> Option<String> {
    let date = time::OffsetDateTime::from(time).date();
    date.format(&time::macros::format_description!("[year]-[month]-[day]")).ok()
}

pub(crate) fn note(
    report: &mut Report,
    source: String,
    outcome: Result<Ingested, engine::EngineError>,
) {
    match outcome.map(|ingested| ingested.outcome) {
        Ok(Outcome::Unchanged { .. } | Outcome::Superseded) => report.unchanged += 1,
        Ok(Outcome::Kept { chunks, .. }) => {
            report.loaded += 1;
            report.chunks += u64::from(chunks);
        }
        Ok(Outcome::Failed { reason }) => report.failed.push(Failure { source, reason }),
        Err(error) => report.failed.push(Failure { source, reason: error.to_string() }),
    }
}

/// A web address is fetched as a job, so that the guard and its limits are the server's own.
async fn fetch(
    knowledge: &Knowledge,
    manner: &Manner,
    address: &str,
    report: &mut Report,
) -> Result<()> {
    let order = Order {
        collection: manner.collection.clone(),
        source: address.to_owned(),
        media_type: None,
        doc_type: manner.doc_type.clone(),
        mapping: manner.mapping.clone(),
        is_address: true,
    };
    let owner = Principal::local_owner();
    let upload = Upload { order, bytes: Vec::new(), idempotency: None };
    let job = knowledge.accept(&owner, upload).await?;
    let done = knowledge.finished(&owner.tenant, &job.id).await?;
    match done.state {
        JobState::Done => report.loaded += 1,
        JobState::Waiting | JobState::Failed => {
            let reason = done.failures.first().map(|failure| failure.reason.clone());
            let reason = reason.unwrap_or_else(|| "it did not come to an end".to_owned());
            report.failed.push(Failure { source: address.to_owned(), reason });
        }
    }
    Ok(())
}

/// Deletes the documents of these folders whose files are gone.
async fn prune(
    knowledge: &Knowledge,
    collection: &CollectionName,
    paths: &[&str],
    report: &mut Report,
) -> Result<()> {
    let there: Vec<String> = find_files(paths)?.into_iter().map(|file| file.source).collect();
    let folders: Vec<String> = paths
        .iter()
        .filter_map(|path| Path::new(path).canonicalize().ok())
        .filter(|path| path.is_dir())
        .filter_map(|path| Some(format!("{}/", path.file_name()?.to_string_lossy())))
        .collect();
    let is_gone = |document: &Document| {
        folders.iter().any(|folder| document.source.starts_with(folder.as_str()))
            && there.binary_search(&document.source).is_err()
    };
    let mut gone = Vec::new();
    let mut after = None;
    let owner = Principal::local_owner();
    loop {
        let list = DocumentList { collection: Some(collection.clone()), after, limit: 500 };
        let page = knowledge.documents(&owner.tenant, list).await?;
        gone.extend(page.items.into_iter().filter(is_gone).map(|document| document.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    report.deleted += knowledge.delete(&owner, gone).await?.len() as u64;
    Ok(())
}

/// Waits until everything loaded can be found.
pub(crate) async fn settle(knowledge: &Knowledge, output: &Output) -> Result<()> {
    let bar = output.progress(0, "").with_message("indexing");
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    let outcome = knowledge.indexed(&Principal::local_owner().tenant, None).await;
    bar.finish_and_clear();
    Ok(outcome?)
}

pub(crate) fn tell(report: &Report, output: &Output) -> Result<()> {
    output.json(report)?;
    let Report { loaded, unchanged, chunks, deleted, failed } = report;
    let mut line = format!("{loaded} loaded ({chunks} chunks), {unchanged} unchanged");
    if *deleted > 0 {
        line += &format!(", {deleted} deleted");
    }
    output.line(&format!("{line}, {} failed", failed.len()))?;
    for failure in failed.iter().take(FAILURES_SHOWN) {
        output.line(&format!("  {}: {}", failure.source, failure.reason))?;
    }
    if failed.len() > FAILURES_SHOWN {
        output
            .line(&format!("  … and {} more; --json lists all", failed.len() - FAILURES_SHOWN))?;
    }
    Ok(())
}
