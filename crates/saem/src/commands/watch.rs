//! `saem ingest --watch`: stays and loads what changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::files::{Found, Roots};
use super::ingest::{Manner, Report, load_files, tell};
use crate::backend::Backend;
use crate::output::Output;
use crate::system::StopSignals;
use crate::wiring::Installation;

/// Paths that are remembered one by one; beyond that everything is looked at anew.
const TOUCHED_MAX: usize = 1024;

/// An editor writes a file in several steps: they are taken together.
const QUIET: Duration = Duration::from_millis(300);

/// A file that is written all the time is loaded this often all the same.
const QUIET_WAIT_MAX: Duration = Duration::from_secs(5);

/// Sees changes from the moment it is made, so that none is lost while files are still being loaded.
pub(crate) struct Watch {
    roots: Roots,
    watcher: RecommendedWatcher,
    /// Roots that were there when they were last looked at: a folder that comes back has to be watched anew.
    there: BTreeSet<PathBuf>,
    touched: Arc<Touched>,
}

/// What has changed and was not looked at yet.
#[derive(Default)]
struct Touched {
    what: Mutex<What>,
    bell: Notify,
}

#[derive(Debug, Default, PartialEq)]
struct What {
    paths: BTreeSet<PathBuf>,
    /// More than can be named.
    is_all: bool,
}

impl Watch {
    pub(crate) fn start(roots: Roots) -> Result<Self> {
        let touched = Arc::new(Touched::default());
        let told = Arc::clone(&touched);
        let watcher = notify::recommended_watcher(move |event| told.hear(event))?;
        let mut watch = Self { roots, watcher, there: BTreeSet::new(), touched };
        for root in watch.roots.paths() {
            // A file that an editor replaces, or a folder that is made anew, is seen from above.
            let above = root.parent().unwrap_or(root);
            watch
                .watcher
                .watch(above, RecursiveMode::NonRecursive)
                .with_context(|| unseen(above))?;
        }
        watch.follow_folders()?;
        Ok(watch)
    }

    /// Loads changed files and deletes the documents of deleted ones, until a signal; `known` is what is loaded.
    pub(crate) async fn run(
        mut self,
        backend: &Backend<Installation>,
        manner: &Manner,
        known: Vec<Found>,
        output: &Output,
    ) -> Result<()> {
        let mut signals = StopSignals::heard().context("the signals to stop cannot be heard")?;
        let mut stop = Box::pin(signals.asked());
        let mut known: BTreeSet<Found> = known.into_iter().collect();
        output.line("watching; Ctrl-C ends it")?;
        loop {
            let round = async {
                let what = self.touched.settled().await;
                self.follow_folders()?;
                let there: BTreeSet<Found> = self.roots.files()?.into_iter().collect();
                let changed = what.changed(&known, &there);
                let gone: Vec<Found> = known.difference(&there).cloned().collect();
                let report = load(backend, manner, changed, &gone, output).await?;
                Ok::<_, anyhow::Error>((there, report))
            };
            let outcome = tokio::select! {
                () = &mut stop => return Ok(()),
                outcome = round => outcome,
            };
            match outcome {
                Ok((there, report)) => {
                    known = there;
                    if report.loaded + report.deleted > 0 || !report.failed.is_empty() {
                        tell(&report, output)?;
                    }
                }
                // A server may come back, and a folder be readable again: the next change tries all of it.
                Err(error) => {
                    tracing::error!("{error:#}; going on with the next change");
                    self.touched.put_off();
                }
            }
        }
    }

    /// Watches folders that are there and were not before.
    fn follow_folders(&mut self) -> Result<()> {
        let there: BTreeSet<PathBuf> =
            self.roots.paths().iter().filter(|root| root.is_dir()).cloned().collect();
        for folder in there.difference(&self.there) {
            let all = RecursiveMode::Recursive;
            self.watcher.watch(folder, all).with_context(|| unseen(folder))?;
        }
        self.there = there;
        Ok(())
    }
}

fn unseen(path: &Path) -> String {
    format!("{} cannot be watched", path.display())
}

async fn load(
    backend: &Backend<Installation>,
    manner: &Manner,
    changed: Vec<Found>,
    gone: &[Found],
    output: &Output,
) -> Result<Report> {
    let mut report = Report::default();
    load_files(backend, manner, changed, output, &mut report).await;
    if !gone.is_empty() {
        let ids = gone.iter().map(|file| engine::document_id(&manner.collection, &file.source));
        report.deleted = backend.delete(ids.collect::<Result<_, _>>()?).await?.len() as u64;
    }
    output.while_indexing(backend.settle()).await?;
    Ok(report)
}

impl Touched {
    /// Called by the watcher's own thread.
    fn hear(&self, event: notify::Result<notify::Event>) {
        let mut what = self.what.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Ok(event) if event.need_rescan() => what.is_all = true,
            Ok(event) if is_reading(event.kind) => return,
            Ok(event) => what.paths.extend(event.paths),
            Err(error) => {
                tracing::warn!(%error, "the watcher has missed something");
                what.is_all = true;
            }
        }
        if what.paths.len() > TOUCHED_MAX {
            *what = What { paths: BTreeSet::new(), is_all: true };
        }
        drop(what);
        self.bell.notify_one();
    }

    /// Waits for a change, and for quiet after it.
    async fn settled(&self) -> What {
        self.bell.notified().await;
        let latest = Instant::now() + QUIET_WAIT_MAX;
        while Instant::now() < latest {
            let quiet = latest.min(Instant::now() + QUIET);
            if timeout_at(quiet, self.bell.notified()).await.is_err() {
                break;
            }
        }
        std::mem::take(&mut *self.what.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everything counts as changed, once the next change comes.
    fn put_off(&self) {
        self.what.lock().unwrap_or_else(PoisonError::into_inner).is_all = true;
    }
}

impl What {
    /// The files to load: those that are new, and those that were touched.
    fn changed(&self, known: &BTreeSet<Found>, there: &BTreeSet<Found>) -> Vec<Found> {
        let is_touched = |file: &Found| {
            self.is_all
                || !known.contains(file)
                || file.path.ancestors().any(|path| self.paths.contains(path))
        };
        there.iter().filter(|file| is_touched(file)).cloned().collect()
    }
}

/// Whether nothing was changed: our own reading must not be heard, or it would never end.
fn is_reading(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> BTreeSet<Found> {
        let found = |name: &&str| Found { source: (*name).to_owned(), path: PathBuf::from(name) };
        names.iter().map(found).collect()
    }

    #[track_caller]
    fn check(what: &What, expected: &[&str]) {
        let (known, there) = (files(&["/d/a", "/d/e/b"]), files(&["/d/a", "/d/e/b", "/d/new"]));
        let changed: BTreeSet<Found> = what.changed(&known, &there).into_iter().collect();
        assert_eq!(changed, files(expected), "{what:?}");
    }

    #[test]
    fn what_is_new_or_touched_is_loaded_and_all_of_it_when_something_was_missed() {
        let touched = |path: &str| What { paths: BTreeSet::from([path.into()]), is_all: false };
        check(&What::default(), &["/d/new"]);
        check(&touched("/d/a"), &["/d/a", "/d/new"]);
        check(&touched("/d/e"), &["/d/e/b", "/d/new"]);
        check(&touched("/d/ab"), &["/d/new"]);
        check(&What { is_all: true, ..What::default() }, &["/d/a", "/d/e/b", "/d/new"]);
    }

    #[tokio::test(start_paused = true)]
    async fn more_changes_than_can_be_named_are_a_look_at_everything() {
        let heard = Touched::default();
        for number in 0..=TOUCHED_MAX {
            let event = notify::Event::new(EventKind::Any).add_path(format!("/d/{number}").into());
            heard.hear(Ok(event));
        }
        assert_eq!(heard.settled().await, What { paths: BTreeSet::new(), is_all: true });
        heard.hear(Err(notify::Error::generic("lost")));
        assert!(heard.settled().await.is_all);
    }
}
