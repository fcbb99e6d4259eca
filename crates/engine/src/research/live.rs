//! What was said in a run, kept once for all who watch it: each of them holds only how far it has come.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::identity::Timestamp;
use agent::ports::{PortError, RunLine};
use agent::research::message::{AgentMessage, Uuid};
use agent::research::order::Order;
use agent::research::report::{EndReason, Report};
use agent::research::run::{Run, Status};
use tokio::sync::{mpsc, watch};

use super::{Wheel, Wish};
use crate::error::EngineError;

/// Messages of a run that are kept at hand, and their bytes: a run of all rounds with all sources has some hundreds.
/// What is older stands in the journal.
const MESSAGES_MAX: usize = 4_096;
const BYTES_MAX: usize = 16 << 20;

/// Those who may watch one run at a time.
const WATCHERS_MAX: usize = 1_000;

/// A message as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub seq: u64,
    /// The message in JSON, on one line.
    pub json: Arc<str>,
}

impl Line {
    pub(super) fn of(message: &AgentMessage) -> Self {
        let json = message.to_value().to_string();
        Self { seq: message.more.seq.unwrap_or_default(), json: json.into() }
    }
}

/// Why there is nothing more to watch.
#[derive(Debug, Clone)]
pub enum Over {
    Ended {
        reason: EndReason,
        /// None of a run that was stopped.
        report: Option<Arc<Report>>,
    },
    /// This process is ending, or another has taken the run over; it goes on there.
    Left,
    Failed(Arc<EngineError>),
}

impl Over {
    /// How a run has ended; one that has not goes on somewhere else.
    pub(super) fn of(run: &Run) -> Self {
        let report = run.report().cloned().map(Arc::new);
        run.end_reason().map_or(Self::Left, |reason| Self::Ended { reason, report })
    }
}

/// Which process works on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worker {
    Here,
    /// What is told here is what it has written down.
    Elsewhere,
}

/// What a watcher sees next.
#[derive(Debug, Clone)]
pub enum Seen {
    Said(Line),
    /// What was asked for is not at hand; nothing comes after this.
    Gap(Gap),
    /// Nothing comes after this.
    Over(Over),
}

/// Messages that a watcher cannot be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The watcher knew this message and wanted the next.
    pub after: u64,
    /// The first message at hand, and the last.
    pub earliest: u64,
    pub latest: u64,
}

/// One run, for all who watch it.
pub(super) struct Live {
    pub(super) id: Uuid,
    pub(super) principal: String,
    /// What was asked for, and when.
    order: Order,
    begun_at: Timestamp,
    worker: Worker,
    kept: Mutex<Kept>,
    changed: watch::Sender<()>,
    wishes: mpsc::Sender<Wish>,
}

struct Kept {
    lines: VecDeque<Line>,
    bytes: usize,
    /// The place of the last message.
    latest: u64,
    status: Status,
    over: Option<Over>,
}

impl Live {
    /// A run on its way; what it has said already is not told here.
    pub(super) fn new(
        run: &Run,
        principal: String,
        wishes: mpsc::Sender<Wish>,
        worker: Worker,
    ) -> Self {
        let kept =
            Kept { lines: VecDeque::new(), bytes: 0, latest: 0, status: run.status(), over: None };
        let (changed, _) = watch::channel(());
        let (order, begun_at) = (run.order().clone(), run.begun_at());
        let (id, kept) = (order.id, Mutex::new(kept));
        Self { id, principal, order, begun_at, worker, kept, changed, wishes }
    }

    /// A run that has ended.
    pub(super) fn past(run: &Run, principal: String) -> Self {
        let (wishes, _) = mpsc::channel(1);
        let live = Self::new(run, principal, wishes, Worker::Here);
        live.tell(run);
        live.end(Over::of(run));
        live
    }

    /// Takes what a run has said since the last time, and where it stands.
    pub(super) fn tell(&self, run: &Run) {
        let mut kept = self.kept();
        let known = usize::try_from(kept.latest).unwrap_or(usize::MAX);
        for message in run.messages().iter().skip(known) {
            let line = Line::of(message);
            kept.latest = line.seq;
            kept.bytes += line.json.len();
            kept.lines.push_back(line);
        }
        while kept.lines.len() > MESSAGES_MAX || kept.bytes > BYTES_MAX {
            let Some(line) = kept.lines.pop_front() else { break };
            kept.bytes -= line.json.len();
        }
        kept.status = run.status();
        drop(kept);
        self.changed.send_replace(());
    }

    pub(super) fn end(&self, over: Over) {
        self.kept().over = Some(over);
        self.changed.send_replace(());
    }

    pub(super) fn status(&self) -> Status {
        self.kept().status.clone()
    }

    /// As a list shows it.
    pub(super) fn line(&self) -> RunLine {
        let ended = self.kept().status.ended;
        RunLine::new(&self.order, self.principal.clone(), self.begun_at, ended)
    }

    /// Whether somebody still works on it.
    pub(super) fn is_on_its_way(&self) -> bool {
        self.kept().over.is_none()
    }

    /// Whether this process works on it.
    pub(super) fn is_worked_on_here(&self) -> bool {
        self.worker == Worker::Here && self.is_on_its_way()
    }

    pub(super) fn wheel(&self) -> Wheel {
        Wheel { wishes: self.wishes.clone() }
    }

    /// Messages after this one, at most so many; none if the first of them is not at hand.
    pub(super) fn lines(&self, after: u64, limit: usize) -> Option<Vec<Line>> {
        let kept = self.kept();
        if after.saturating_add(1) < kept.earliest() {
            return None;
        }
        let later = kept.lines.iter().filter(|line| line.seq > after);
        Some(later.take(limit).cloned().collect())
    }

    /// Watches from the message after this one.
    pub(super) fn watch(self: &Arc<Self>, after: u64) -> Result<Watching, EngineError> {
        if self.changed.receiver_count() >= WATCHERS_MAX {
            return Err(EngineError::Port(PortError::Busy { what: "the run" }));
        }
        Ok(Watching {
            live: Arc::clone(self),
            changed: self.changed.subscribe(),
            after,
            is_over: false,
        })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn earliest(&self) -> u64 {
        self.lines.front().map_or(self.latest + 1, |line| line.seq)
    }

    /// What comes after this message; none if nothing has come yet.
    fn next(&self, after: u64) -> Option<Seen> {
        let earliest = self.earliest();
        let is_gone = after.saturating_add(1) < earliest || after > self.latest;
        if is_gone {
            return Some(Seen::Gap(Gap { after, earliest, latest: self.latest }));
        }
        let place = usize::try_from(after + 1 - earliest).unwrap_or(usize::MAX);
        match self.lines.get(place) {
            Some(line) => Some(Seen::Said(line.clone())),
            None => self.over.clone().map(Seen::Over),
        }
    }
}

/// Somebody who watches a run.
pub struct Watching {
    live: Arc<Live>,
    changed: watch::Receiver<()>,
    /// The last message that was seen.
    after: u64,
    is_over: bool,
}

impl Watching {
    /// The run that is watched.
    #[must_use]
    pub fn id(&self) -> Uuid {
        self.live.id
    }

    /// What comes next; none after the last.
    pub async fn next(&mut self) -> Option<Seen> {
        while !self.is_over {
            self.changed.mark_unchanged();
            let seen = self.live.kept().next(self.after);
            match &seen {
                Some(Seen::Said(line)) => self.after = line.seq,
                Some(Seen::Gap(_) | Seen::Over(_)) => self.is_over = true,
                None => {
                    // The sender lives as long as what we hold.
                    self.is_over = self.changed.changed().await.is_err();
                    continue;
                }
            }
            return seen;
        }
        None
    }

    /// A handle that steers the run.
    #[must_use]
    pub fn wheel(&self) -> Wheel {
        self.live.wheel()
    }
}

impl std::fmt::Debug for Watching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watching").field("run", &self.live.id).field("after", &self.after).finish()
    }
}
