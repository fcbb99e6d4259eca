//! `saem ingest --watch`: stays and loads what changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::ingest::{Found, Manner, Report, find_files, load_files, source_name, tell};
use crate::backend::Backend;
use crate::output::Output;
use crate::wiring::Installation;

/// Changes that may wait; beyond that everything is looked at anew.
const WAITING_MAX: usize = 1024;

/// An editor writes a file in several steps: they are taken together.
const QUIET: Duration = Duration::from_millis(300);

/// Loads changed files and deletes the documents of deleted ones, until Ctrl-C.
pub(crate) async fn watch(
    backend: &Backend<Installation>,
    manner: &Manner,
    paths: &[&str],
    output: &Output,
) -> Result<()> {
    let (tell_change, mut changes) = mpsc::channel::<PathBuf>(WAITING_MAX);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        for path in event.into_iter().flat_map(|event| event.paths) {
            // A full queue is emptied by a look at everything, so nothing is lost.
            let _full = tell_change.try_send(path);
        }
    })?;
    for path in paths {
        let path = Path::new(path).canonicalize()?;
        watcher.watch(&path, RecursiveMode::Recursive).context("the folder cannot be watched")?;
    }
    output.line("watching; Ctrl-C ends it")?;
    loop {
        let first = tokio::select! {
            stopped = tokio::signal::ctrl_c() => return Ok(stopped?),
            path = changes.recv() => path,
        };
        let Some(first) = first else { return Ok(()) };
        let mut touched = BTreeSet::from([first]);
        while let Ok(Some(path)) = tokio::time::timeout(QUIET, changes.recv()).await {
            touched.insert(path);
        }
        load_touched(backend, manner, paths, &touched, output).await?;
    }
}

async fn load_touched(
    backend: &Backend<Installation>,
    manner: &Manner,
    paths: &[&str],
    touched: &BTreeSet<PathBuf>,
    output: &Output,
) -> Result<()> {
    let there = find_files(paths)?;
    let is_touched = |file: &Found| touched.iter().any(|path| file.path.starts_with(path));
    let changed = there.iter().filter(|file| is_touched(file)).cloned().collect();
    let mut report = Report::default();
    load_files(backend, manner, changed, output, &mut report).await;
    let gone = touched.iter().filter(|path| !path.exists());
    let mut ids = Vec::new();
    for path in gone {
        for root in paths.iter().filter_map(|root| Path::new(root).canonicalize().ok()) {
            let base = root.parent().unwrap_or(&root);
            if path.starts_with(&root) {
                ids.push(engine::document_id(&manner.collection, &source_name(base, path))?);
            }
        }
    }
    if !ids.is_empty() {
        report.deleted = backend.delete(ids).await?.len() as u64;
    }
    output.while_indexing(backend.settle()).await?;
    if report.loaded + report.deleted > 0 || !report.failed.is_empty() {
        tell(&report, output)?;
    }
    Ok(())
}
