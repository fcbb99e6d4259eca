//! Writes the activity log behind the calls: a call never waits for the disk.

use std::sync::Arc;
use std::time::Duration;

use agent::names::TenantId;
use agent::ports::ToolRecords;
use agent::tools::activity::Activity;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::tasks::Tasks;

/// Lines that may wait to be written: seconds of the busiest server. Beyond, callers wait.
const WAITING_MAX: usize = 4_096;

/// Lines in one write.
const BATCH_MAX: usize = 256;

/// How long lines are gathered: a write for each would cost more than the call that it tells of.
const GATHERING: Duration = Duration::from_millis(100);

enum Entry {
    Line(TenantId, Box<Activity>),
    /// Tells when everything before it is written.
    Mark(oneshot::Sender<()>),
}

/// The way to the activity log. Cheap to clone.
#[derive(Clone)]
pub(super) struct Journal(mpsc::Sender<Entry>);

impl Journal {
    pub(super) fn start(records: Arc<dyn ToolRecords>, tasks: &Tasks) -> Self {
        let (sender, inbox) = mpsc::channel(WAITING_MAX);
        let stopping = tasks.stopping();
        tasks.spawn(async move { write(records, inbox, stopping).await });
        Self(sender)
    }

    pub(super) async fn note(&self, tenant: &TenantId, line: Activity) {
        if self.0.send(Entry::Line(tenant.clone(), Box::new(line))).await.is_err() {
            tracing::warn!("a call came too late for the activity log");
        }
    }

    /// Waits until everything noted so far is on disk.
    pub(super) async fn settle(&self) {
        let (mark, written) = oneshot::channel();
        if self.0.send(Entry::Mark(mark)).await.is_ok() {
            let _ended = written.await;
        }
    }
}

async fn write(
    records: Arc<dyn ToolRecords>,
    mut inbox: mpsc::Receiver<Entry>,
    stopping: CancellationToken,
) {
    let mut batch = Vec::new();
    loop {
        let count = tokio::select! {
            count = inbox.recv_many(&mut batch, BATCH_MAX) => count,
            // What is there when the end comes is still written.
            () = stopping.cancelled() => {
                inbox.close();
                inbox.recv_many(&mut batch, WAITING_MAX).await
            }
        };
        if count == 0 {
            return;
        }
        gather(&mut inbox, &mut batch, &stopping).await;
        keep(records.as_ref(), batch.drain(..)).await;
    }
}

/// Waits for more lines, unless somebody waits for those that are there.
async fn gather(
    inbox: &mut mpsc::Receiver<Entry>,
    batch: &mut Vec<Entry>,
    stopping: &CancellationToken,
) {
    let until = Instant::now() + GATHERING;
    let mut seen = 0;
    loop {
        let is_awaited = batch.iter().skip(seen).any(|entry| matches!(entry, Entry::Mark(_)));
        if is_awaited || batch.len() >= BATCH_MAX {
            return;
        }
        seen = batch.len();
        tokio::select! {
            () = stopping.cancelled() => return,
            more = timeout_at(until, inbox.recv_many(batch, BATCH_MAX)) => {
                if more.unwrap_or_default() == 0 {
                    return;
                }
            }
        }
    }
}

async fn keep(records: &dyn ToolRecords, batch: impl Iterator<Item = Entry>) {
    let mut lines: Vec<(TenantId, Vec<Activity>)> = Vec::new();
    let mut marks = Vec::new();
    for entry in batch {
        match entry {
            Entry::Line(tenant, line) => match lines.iter_mut().find(|(of, _)| *of == tenant) {
                Some((_, own)) => own.push(*line),
                None => lines.push((tenant, vec![*line])),
            },
            Entry::Mark(mark) => marks.push(mark),
        }
    }
    for (tenant, own) in lines {
        if let Err(error) = records.note_activity(&tenant, own).await {
            tracing::error!(%error, "calls of tools are missing in the activity log");
        }
    }
    for mark in marks {
        let _gone = mark.send(());
    }
}
