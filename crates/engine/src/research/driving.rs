//! The loop of one run: what is about to be done is written down, then done, then what came of it is written down.

use std::sync::Arc;
use std::time::Duration;

use agent::identity::Timestamp;
use agent::ledger::{Account, Booking, Component, Day, Spent};
use agent::names::TenantId;
use agent::ports::{NewEntries, PortError};
use agent::research::call::{Call, CallKey};
use agent::research::journal::{Entry, Event, Steering};
use agent::research::message::Uuid;
use agent::research::run::{Run, RunError};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Interval, MissedTickBehavior};

use super::callees::Behalf;
use super::calling::{Made, make};
use super::live::{Live, Over};
use super::{ResearchParts, Wish};
use crate::error::EngineError;

/// How often a lease is renewed before it would run out: some renewals may be lost, and what other processes have left for a run
/// does not wait long.
const RENEWALS: u32 = 12;

/// One run and who follows it.
pub(super) struct Driver {
    parts: Arc<ResearchParts>,
    tenant: TenantId,
    /// For whom calls are made.
    behalf: Arc<Behalf>,
    run: Run,
    epoch: u64,
    /// Entries in the journal.
    length: u64,
    live: Arc<Live>,
    wishes: mpsc::Receiver<Wish>,
    seats: Arc<Semaphore>,
    /// Held while calls are made: runs that wait for a person leave it to others.
    seat: Option<OwnedSemaphorePermit>,
    /// What the run has taken in and nobody has written down yet.
    taken: Vec<Entry>,
    /// What it has cost, not booked yet.
    bookings: Vec<Booking>,
}

/// Who follows a run, and what it works with beside the parts.
pub(super) struct Surroundings {
    pub(super) live: Arc<Live>,
    pub(super) wishes: mpsc::Receiver<Wish>,
    /// One for each run that may make calls at a time.
    pub(super) seats: Arc<Semaphore>,
}

/// Why a run is left before its end.
enum Stopped {
    /// The process ends, or another has the run.
    Left,
    Failed(EngineError),
}

impl From<EngineError> for Stopped {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

/// What the loop was woken by.
enum Woken {
    Made(Vec<Made>),
    Wished(Wish),
    Time,
    Seated(OwnedSemaphorePermit),
    /// The lease of the run is to be renewed.
    Lease,
    Stopping,
}

impl Driver {
    pub(super) fn new(
        parts: Arc<ResearchParts>,
        tenant: TenantId,
        run: Run,
        epoch: u64,
        length: u64,
        surroundings: Surroundings,
    ) -> Self {
        let Surroundings { live, wishes, seats } = surroundings;
        let behalf = Arc::new(Behalf {
            tenant: tenant.clone(),
            principal: live.principal.clone(),
            run: run.order().id,
            hops: run.order().hops,
        });
        Self {
            parts,
            tenant,
            behalf,
            run,
            epoch,
            length,
            live,
            wishes,
            seats,
            seat: None,
            taken: Vec::new(),
            bookings: Vec::new(),
        }
    }

    /// Goes on until the end of the run; what is told last says how it ended.
    pub(super) async fn drive(mut self) {
        let over = match self.run_on().await {
            Ok(()) => Over::of(&self.run),
            Err(Stopped::Left) => Over::Left,
            Err(Stopped::Failed(error)) => {
                tracing::warn!(%error, run = %self.id(), "a research run could not go on");
                Over::Failed(Arc::new(error))
            }
        };
        self.live.end(over);
    }

    fn id(&self) -> Uuid {
        self.run.order().id
    }

    async fn run_on(&mut self) -> Result<(), Stopped> {
        if self.epoch > 0 {
            self.keep(vec![Event::TakenOver { epoch: self.epoch }]).await?;
        }
        let mut under_way = FuturesUnordered::new();
        let mut renewing = self.parts.journals.lease().map(|lease| pulse(lease / RENEWALS));
        loop {
            let next = self.run.next();
            let wants_calls = !next.is_ended && !next.calls.is_empty();
            let makes_calls = wants_calls && self.seat.is_some();
            if makes_calls {
                // That one call has ended and that the next begin is written down at once.
                let begun = next.calls.iter().map(|(key, _)| Event::Begun { key: key.clone() });
                self.take_in(begun.collect())?;
            }
            self.write_down().await?;
            self.live.tell(&self.run);
            if next.is_ended {
                return Ok(());
            }
            if !wants_calls && under_way.is_empty() {
                self.seat = None;
            }
            if makes_calls {
                for (key, call) in next.calls {
                    under_way.push(self.made(key, call));
                }
                continue;
            }
            let woken = {
                let stopping = self.parts.tasks.stopping();
                let wait = next.wake_at.map(|at| until(self.parts.clock.now(), at));
                tokio::select! {
                    Some(made) = under_way.next() => Woken::Made(with_others(made, &mut under_way)),
                    Some(wish) = self.wishes.recv() => Woken::Wished(wish),
                    () = sleep(wait), if wait.is_some() => Woken::Time,
                    Ok(seat) = Arc::clone(&self.seats).acquire_owned(), if wants_calls => {
                        Woken::Seated(seat)
                    }
                    Some(()) = beat(renewing.as_mut()) => Woken::Lease,
                    () = stopping.cancelled() => Woken::Stopping,
                }
            };
            match woken {
                Woken::Made(all) => {
                    for made in all {
                        self.take(made)?;
                    }
                }
                Woken::Wished(wish) => self.grant(wish).await?,
                Woken::Time => self.keep(vec![Event::Woke]).await?,
                Woken::Seated(seat) => self.seat = Some(seat),
                Woken::Lease => self.renew().await?,
                Woken::Stopping => return Err(Stopped::Left),
            }
        }
    }

    /// A call on its way. It holds nothing of the driver, so that the driver can go on meanwhile.
    fn made(&self, key: CallKey, call: Call) -> impl Future<Output = Made> + Send + use<> {
        make(Arc::clone(&self.parts), Arc::clone(&self.behalf), key, call)
    }

    fn take(&mut self, made: Made) -> Result<(), Stopped> {
        let Made { key, outcome, spent, model } = made;
        self.take_in(vec![Event::Ended { key, outcome, spent }])?;
        if let Some(model) = model {
            let day = Day::of(self.parts.clock.now());
            let session = self.id().to_string();
            let account = Account { day, session, component: Component::Research, model };
            let cost = Some(spent.cost).filter(|cost| cost.picodollars > 0);
            self.bookings.push(Booking { account, spent: Spent::call(spent.usage, cost) });
        }
        Ok(())
    }

    async fn grant(&mut self, wish: Wish) -> Result<(), Stopped> {
        let checked = check(&self.run, &wish.steering, self.parts.clock.now());
        let outcome = match checked {
            Ok(entry) => self.keep(vec![entry.event]).await,
            Err(error) => {
                let _gone = wish.answer.send(Err(error));
                return Ok(());
            }
        };
        if outcome.is_ok() {
            // Whoever asks now where the run stands sees what came of the wish.
            self.live.tell(&self.run);
            let _gone = wish.answer.send(Ok(()));
        }
        outcome
    }

    /// Lets the run take these, and writes them down.
    async fn keep(&mut self, events: Vec<Event>) -> Result<(), Stopped> {
        self.take_in(events)?;
        self.write_down().await
    }

    /// Lets the run take these. A run that then cannot be written down is left by this process, so nobody sees what it took
    /// in vain.
    fn take_in(&mut self, events: Vec<Event>) -> Result<(), Stopped> {
        let at = self.parts.clock.now();
        for event in events {
            let entry = Entry { at, event };
            self.run.apply(&entry).map_err(|error| refused(&error))?;
            self.taken.push(entry);
        }
        Ok(())
    }

    /// Writes down what was taken in: it counts, and is told of, only once it is on disk.
    async fn write_down(&mut self) -> Result<(), Stopped> {
        if self.taken.is_empty() {
            return Ok(());
        }
        let new = NewEntries {
            run: self.id(),
            epoch: self.epoch,
            after: self.length,
            ended: self.run.end_reason(),
            entries: std::mem::take(&mut self.taken),
        };
        let count = new.entries.len() as u64;
        let bookings = std::mem::take(&mut self.bookings);
        let (kept, booked) =
            tokio::join!(self.parts.journals.append(&self.tenant, new), self.book(bookings));
        if let Err(error) = booked {
            tracing::warn!(%error, "what a call has cost could not be booked");
        }
        if !kept.map_err(EngineError::from)? {
            return Err(Stopped::Left);
        }
        self.length += count;
        Ok(())
    }

    async fn book(&self, bookings: Vec<Booking>) -> Result<(), PortError> {
        match bookings.is_empty() {
            true => Ok(()),
            false => self.parts.ledger.book(&self.tenant, bookings).await,
        }
    }

    /// A call outlasts a lease: while nothing is written, this says that somebody is there.
    async fn renew(&mut self) -> Result<(), Stopped> {
        match self.parts.journals.renew(&self.tenant, self.id(), self.epoch).await {
            Ok(Some(left)) => {
                for steering in left {
                    // Whoever has left it reads in the journal what came of it.
                    let (answer, _) = oneshot::channel();
                    self.grant(Wish { steering, answer }).await?;
                }
                Ok(())
            }
            Ok(None) => Err(Stopped::Left),
            Err(error) => {
                // If it lasts, another takes the run, and the next write finds that out.
                tracing::warn!(%error, run = %self.id(), "the lease of a run could not be renewed");
                Ok(())
            }
        }
    }
}

/// What else has come back by now: it is written down with the first.
fn with_others(first: Made, under_way: &mut (impl Stream<Item = Made> + Unpin)) -> Vec<Made> {
    let mut all = vec![first];
    while let Some(Some(made)) = under_way.next().now_or_never() {
        all.push(made);
    }
    all
}

/// The entry that says that a run was steered so, if it can be now.
pub(super) fn check(run: &Run, steering: &Steering, at: Timestamp) -> Result<Entry, EngineError> {
    let entry = Entry { at, event: Event::Steered { steering: steering.clone() } };
    let is_about_state = !matches!(steering, Steering::Edit { .. } | Steering::Instruct { .. });
    run.check(&entry).map_err(|error| match is_about_state {
        true => EngineError::Conflict(error.to_string()),
        false => refused(&error),
    })?;
    Ok(entry)
}

fn refused(error: &RunError) -> EngineError {
    EngineError::Refused(error.to_string())
}

fn until(now: Timestamp, at: Timestamp) -> Duration {
    Duration::from_millis(at.0.saturating_sub(now.0))
}

/// Beats whatever else happens meanwhile; a beat that was missed comes late, and once.
fn pulse(period: Duration) -> Interval {
    let mut pulse = tokio::time::interval(period);
    pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pulse
}

async fn beat(pulse: Option<&mut Interval>) -> Option<()> {
    pulse?.tick().await;
    Some(())
}

async fn sleep(wait: Option<Duration>) {
    tokio::time::sleep(wait.unwrap_or_default()).await;
}
