//! `saem ingest`: loads files, folders, addresses and standard input, and says what became of each.

use std::collections::BTreeSet;
use std::io::Read;
use std::process::ExitCode;

use agent::names::CollectionName;
use anyhow::{Context, Result, anyhow, bail};
use engine::{NewDocument, Order};
use extract::Mapping;
use futures_util::StreamExt;
use serde::Serialize;
use server::api::wire::DocumentBody;
use tokio::sync::Semaphore;

use super::files::{Found, Roots};
use super::watch::Watch;
use crate::args;
use crate::backend::{Backend, Loaded};
use crate::config::Config;
use crate::output::Output;
use crate::wiring::Installation;

/// Documents on their way at the same time: enough to share commits.
const AT_ONCE: usize = 256;

/// Bytes of documents on their way at the same time, in KiB: what is held in memory.
const AT_ONCE_KIBIBYTES: u32 = 128 << 10;

/// Files up to this many bytes are read where they are asked for.
const INLINE_BYTES_MAX: u64 = 64 << 10;

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

/// How documents of one run are loaded.
#[derive(Debug, Clone)]
pub(crate) struct Manner {
    pub(crate) collection: CollectionName,
    pub(crate) doc_type: Option<String>,
    pub(crate) mapping: Option<Mapping>,
    /// Files that are larger are not even read.
    pub(crate) bytes_max: usize,
}

pub(crate) async fn run(config: Config, args: &args::Ingest, output: &Output) -> Result<ExitCode> {
    let mapping = (args.question.is_some() || args.answer.is_some()).then(|| Mapping {
        question: args.question.clone(),
        answer: args.answer.clone(),
        ..Mapping::default()
    });
    let manner = Manner {
        collection: args.collection.parse()?,
        doc_type: args.doc_type.clone(),
        mapping,
        bytes_max: config.ingest.document_mebibytes_max << 20,
    };
    let (addresses, paths): (Vec<&str>, Vec<&str>) =
        args.paths.iter().map(String::as_str).partition(|path| is_address(path));
    let (inputs, paths): (Vec<&str>, Vec<&str>) = paths.into_iter().partition(|path| *path == "-");
    let roots = Roots::of(&paths)?;
    let watch = args.watch.then(|| Watch::start(roots.clone())).transpose()?;
    // Folders are walked while the data folder is opened.
    let walked = roots.clone();
    let walking = tokio::task::spawn_blocking(move || walked.files());
    let (files, opened) = tokio::join!(walking, Backend::open(&config));
    let (files, opened) = (files??, opened?);
    let backend = &opened;
    let mut report = Report::default();
    if !inputs.is_empty() {
        let name = args.name.clone().context("name the document with --name, such as notes.md")?;
        let mut bytes = Vec::new();
        // One more than allowed: its presence says that there is too much.
        let most = (config.ingest.document_mebibytes_max as u64) << 20;
        std::io::stdin().lock().take(most + 1).read_to_end(&mut bytes).context("standard input")?;
        let new = manner.document(name.clone(), bytes, None);
        note(&mut report, name, backend.ingest(new).await);
    }
    for address in addresses {
        fetch(backend, &manner, address, &mut report).await;
    }
    load_files(backend, &manner, files.clone(), output, &mut report).await;
    if args.prune {
        prune(backend, &manner.collection, &roots, &files, &mut report).await?;
    }
    output.while_indexing(backend.settle()).await?;
    tell(&report, output)?;
    if let Some(watch) = watch {
        watch.run(backend, &manner, files, output).await?;
    }
    opened.close().await;
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

/// Loads files, many at once, with a bar that shows how far it is.
pub(crate) async fn load_files(
    backend: &Backend<Installation>,
    manner: &Manner,
    files: Vec<Found>,
    output: &Output,
    report: &mut Report,
) {
    let bar = output.progress(files.len() as u64, "files");
    let mut expected = backend.expect(files.len());
    let room = &Semaphore::new(AT_ONCE_KIBIBYTES as usize);
    let loading = files.into_iter().map(|file| async move {
        let outcome = load_file(backend, manner, &file, room).await;
        (file.source, outcome)
    });
    let mut loading = futures_util::stream::iter(loading).buffer_unordered(AT_ONCE);
    while let Some((source, outcome)) = loading.next().await {
        note(report, source, outcome);
        if let Some(expected) = &mut expected {
            expected.one_less();
        }
        bar.inc(1);
        bar.set_message(format!("{} chunks · {} failed", report.chunks, report.failed.len()));
    }
    bar.finish_and_clear();
}

async fn load_file(
    backend: &Backend<Installation>,
    manner: &Manner,
    file: &Found,
    room: &Semaphore,
) -> Result<Loaded> {
    let unreadable = |error: std::io::Error| anyhow!("the file cannot be read: {error}");
    // Looking at a file takes less time than handing that to another thread.
    let metadata = std::fs::metadata(&file.path).map_err(unreadable)?;
    if let Some(reason) = engine::too_large(metadata.len(), manner.bytes_max) {
        bail!(reason);
    }
    let kibibytes = u32::try_from(metadata.len() >> 10).unwrap_or(u32::MAX);
    let _held = room.acquire_many(kibibytes.clamp(1, AT_ONCE_KIBIBYTES)).await.ok();
    let updated_at = metadata.modified().ok().and_then(iso_date);
    // So does reading a small one.
    let bytes = if metadata.len() <= INLINE_BYTES_MAX {
        std::fs::read(&file.path)
    } else {
        tokio::fs::read(&file.path).await
    };
    let bytes = bytes.map_err(unreadable)?;
    backend.ingest(manner.document(file.source.clone(), bytes, updated_at)).await
}

fn iso_date(time: std::time::SystemTime) -> Option<String> {
    let date = time::OffsetDateTime::from(time).date();
    date.format(&time::macros::format_description!("[year]-[month]-[day]")).ok()
}

fn note(report: &mut Report, source: String, outcome: Result<Loaded>) {
    match outcome {
        Ok(Loaded::Unchanged) => report.unchanged += 1,
        Ok(Loaded::Kept { chunks }) => {
            report.loaded += 1;
            report.chunks += chunks;
        }
        Ok(Loaded::Failed { reason }) => report.failed.push(Failure { source, reason }),
        Err(error) => report.failed.push(Failure { source, reason: format!("{error:#}") }),
    }
}

/// A web address is fetched as a job, so that the guard and its limits are the server's own.
async fn fetch(
    backend: &Backend<Installation>,
    manner: &Manner,
    address: &str,
    report: &mut Report,
) {
    let order = Order {
        collection: manner.collection.clone(),
        source: address.to_owned(),
        media_type: None,
        doc_type: manner.doc_type.clone(),
        mapping: manner.mapping.clone(),
        is_address: true,
        updated_at: None,
    };
    note(report, address.to_owned(), backend.fetch(order).await);
}

/// Deletes the documents of these folders whose files are gone.
async fn prune(
    backend: &Backend<Installation>,
    collection: &CollectionName,
    roots: &Roots,
    files: &[Found],
    report: &mut Report,
) -> Result<()> {
    let there: BTreeSet<&str> = files.iter().map(|file| file.source.as_str()).collect();
    let folders = roots.folder_names();
    let is_gone = |document: &DocumentBody| {
        folders.iter().any(|folder| document.source.starts_with(folder.as_str()))
            && !there.contains(document.source.as_str())
    };
    let mut gone = Vec::new();
    let keep_gone = |document: DocumentBody| {
        if is_gone(&document) {
            gone.push(document.id.parse()?);
        }
        Ok(())
    };
    backend.each_document(Some(collection), keep_gone).await?;
    report.deleted += backend.delete(gone).await?.len() as u64;
    Ok(())
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
