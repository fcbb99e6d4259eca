//! The one writer: many small writes become one durable commit, answered after it is on disk.

mod orders;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::ports::{Failpoints, PortError};
use redb::{ReadableDatabase as _, WriteTransaction};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::ahead::{Ahead, Known, SessionWrite, in_tables};
use crate::redb_file::File;

use self::orders::{Keeping, Nudge, Once, Order, Waiting};

/// Writes that may wait: a commit takes a few milliseconds, so this is far more than a second's worth.
const WAITING_MAX: usize = 4096;

/// Writes in one commit: keeps a commit's memory and the wait of its first writer small.
const BATCH_MAX: usize = 512;

/// So many writes in the last commit are a crowd: more of it is about to come, and a commit that waits for them
/// costs the disk less than two. Somebody who writes alone never waits.
const CROWD: usize = 4;
const CROWD_WAIT: Duration = Duration::from_millis(6);

/// A disk that has an entry of the log in so many microseconds is waited for where a turn ends: two changes of threads
/// take about as long.
const QUICK_MICROS: u64 = 300;

/// How long the disk counts as having room for turns after a look at it.
const LOOK_FOR_ROOM_EVERY: Duration = Duration::from_millis(100);

/// How the writer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Well,
    /// Writes are refused until there is room again; this is found out by itself.
    Full,
    /// Nothing can be written any more: the process has to start anew.
    Broken(String),
}

/// Hands writes to the writer's thread, or does one that is alone where it is asked for.
#[derive(Clone)]
pub(crate) struct Writer {
    orders: mpsc::Sender<Box<dyn Order>>,
    desk: Arc<Desk>,
}

impl Writer {
    /// Starts the thread; it ends when the last `Writer` is gone.
    pub(crate) fn start(
        file: Arc<File>,
        ahead: Ahead,
        failpoints: Arc<dyn Failpoints>,
    ) -> io::Result<Self> {
        let (orders, inbox) = mpsc::channel(WAITING_MAX);
        let (tell, _) = watch::channel(Health::Well);
        let desk = Arc::new(Desk {
            file,
            failpoints,
            tell,
            ahead: Mutex::new(ahead),
            known: Known::default(),
            under_way: AtomicUsize::new(0),
            shared: AtomicUsize::new(0),
            log_micros: AtomicU64::new(0),
        });
        let thread = Thread { inbox, desk: Arc::clone(&desk) };
        std::thread::Builder::new().name("store-writer".to_owned()).spawn(move || thread.run())?;
        Ok(Self { orders, desk })
    }

    pub(crate) fn health(&self) -> watch::Receiver<Health> {
        self.desk.tell.subscribe()
    }

    /// Does `work` in the next commit and gives its value once that commit is on disk.
    ///
    /// `work` must decide before it changes anything: others share its commit. Dropping the future after
    /// the first poll leaves the write in place.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, PortError>
    where
        T: Send + 'static,
        F: FnOnce(&WriteTransaction) -> Result<T, redb::Error> + Send + 'static,
    {
        let (answer, outcome) = oneshot::channel();
        self.order(Box::new(Waiting::new(work, answer)))?;
        outcome.await.map_err(|_| gone())?
    }

    /// Hands an order to the thread.
    fn order(&self, order: Box<dyn Order>) -> Result<(), PortError> {
        self.desk.under_way.fetch_add(1, Ordering::AcqRel);
        self.orders.try_send(order).map_err(|error| {
            self.desk.under_way.fetch_sub(1, Ordering::AcqRel);
            match error {
                mpsc::error::TrySendError::Full(_) => PortError::Busy { what: "the store" },
                mpsc::error::TrySendError::Closed(_) => gone(),
            }
        })
    }

    /// Keeps a session, in the log first; false if somebody else has written it since. Who writes alone does it here if the
    /// disk is quicker than two changes of threads; else it is done by the thread.
    pub(crate) async fn keep(&self, write: SessionWrite) -> Result<bool, PortError> {
        let write = Arc::new(write);
        if let Some(kept) = self.desk.keep_here(&write) {
            if kept.is_full {
                // It is kept whether the thread hears of it or not; whoever keeps the next one tells it again.
                _ = self.order(Box::new(Nudge));
            }
            return Ok(kept.outcome?);
        }
        let (answer, outcome) = oneshot::channel();
        self.order(Box::new(Keeping::new(write, answer)))?;
        outcome.await.map_err(|_| gone())?
    }

    /// Sessions that are in the log and not in the tables.
    pub(crate) fn known(&self) -> &Known {
        &self.desk.known
    }

    /// Waits until the tables have all that was kept before.
    pub(crate) async fn settled(&self) -> Result<(), PortError> {
        if self.desk.known.is_ahead() { self.write(|_| Ok(())).await } else { Ok(()) }
    }

    /// As [`write`](Self::write), but when nobody else is writing it is done at once and here: two changes of threads
    /// take as long as half a commit. For a write to which no other belongs, as that one could not share its commit.
    pub(crate) async fn write_by_itself<T, F>(&self, work: F) -> Result<T, PortError>
    where
        T: Send + 'static,
        F: FnOnce(&WriteTransaction) -> Result<T, redb::Error> + Send + 'static,
    {
        // Who shares tasks with other threads leaves them to these and waits for the disk; a strand's tasks have nobody else.
        let can_wait = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
        let Some(alone) = can_wait.then(|| self.desk.alone()).flatten() else {
            return self.write(work).await;
        };
        let mut once = Once::new(work);
        let outcome = tokio::task::block_in_place(|| {
            alone.desk.commit(&mut |transaction| once.run(transaction))
        });
        once.value(outcome)
    }
}

fn gone() -> PortError {
    let why = "its writer has ended; restart saem".to_owned();
    PortError::Unavailable { what: "the store".to_owned(), why }
}

#[derive(Debug, Clone)]
enum Failure {
    Full,
    Broken(String),
}

impl Failure {
    /// What does not get into the log. After a failed fsync nobody knows what is on the disk: only a new start is safe.
    fn of_log(error: &io::Error) -> Self {
        tracing::error!(%error, "the log could not be written");
        match error.kind() {
            io::ErrorKind::StorageFull => Self::Full,
            _ => Self::Broken(error.to_string()),
        }
    }
}

impl From<Failure> for PortError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Full => Self::Full,
            Failure::Broken(why) => Self::Broken { what: "the store", source: why.into() },
        }
    }
}

struct Thread {
    inbox: mpsc::Receiver<Box<dyn Order>>,
    desk: Arc<Desk>,
}

impl Thread {
    fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while self.inbox.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
            if self.desk.is_crowded() {
                self.wait_for_more();
            }
            // Whoever sent one write may be about to send the next, which belongs to it.
            std::thread::yield_now();
            self.take_waiting(&mut batch);
            let taken = batch.len();
            batch.retain(|order| !order.is_nudge());
            self.desk.shared.store(batch.len(), Ordering::Release);
            let outcome = self.desk.write(&mut batch);
            self.desk.under_way.fetch_sub(taken, Ordering::AcqRel);
            for order in batch.drain(..) {
                order.finish(outcome.clone());
            }
            // Who has been told waits for nothing here; who writes next may.
            self.desk.catch_up();
        }
        // The last who could ask for anything is gone. What is left in the log is caught up with at the next start, if
        // there is no time for it here.
        if self.desk.known.is_ahead() {
            _ = self.desk.commit(&mut |_| Ok(()));
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this thread does nothing but write")]
    fn wait_for_more(&mut self) {
        std::thread::sleep(CROWD_WAIT);
    }

    fn take_waiting(&mut self, batch: &mut Vec<Box<dyn Order>>) {
        while batch.len() < BATCH_MAX
            && let Ok(order) = self.inbox.try_recv()
        {
            batch.push(order);
        }
    }
}

/// What somebody writes in a commit.
type Run<'a> = dyn FnMut(&WriteTransaction) -> Result<(), redb::Error> + 'a;

/// Where commits are made: by the thread, or by whoever writes alone.
struct Desk {
    file: Arc<File>,
    failpoints: Arc<dyn Failpoints>,
    tell: watch::Sender<Health>,
    ahead: Mutex<Ahead>,
    known: Known,
    /// Writes that were asked for and are not on disk yet.
    under_way: AtomicUsize,
    /// Writes in the thread's last commit.
    shared: AtomicUsize,
    /// How long an entry of the log takes to get to the disk, in microseconds, the last ones counting most; 0 before the first.
    log_micros: AtomicU64,
}

/// A session that was kept by whoever asked for it, and whether the tables are to be brought up to date.
struct KeptHere {
    outcome: Result<bool, Failure>,
    is_full: bool,
}

/// The right to write here, while it is held: who comes meanwhile goes to the thread.
struct Alone<'a> {
    desk: &'a Desk,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.desk.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Desk {
    fn is_crowded(&self) -> bool {
        self.shared.load(Ordering::Acquire) >= CROWD
    }

    /// None when somebody else is writing or about to.
    fn alone(&self) -> Option<Alone<'_>> {
        let is_mine = !self.is_crowded()
            && self.under_way.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_ok();
        // Not `then_some`: what is made and let go gives back a right that was not had.
        is_mine.then(|| Alone { desk: self })
    }

    /// Has a session in the log, on the thread that asks; none where it is better left to the writer's. A thread that waits
    /// for a quick disk is gone for as long as for a search.
    fn keep_here(&self, write: &Arc<SessionWrite>) -> Option<KeptHere> {
        let is_quick = (1..=QUICK_MICROS).contains(&self.log_micros.load(Ordering::Relaxed));
        if !is_quick {
            return None;
        }
        let _alone = self.alone()?;
        let mut ahead = self.ahead.try_lock().ok()?;
        let outcome = self.try_log(&mut ahead, std::slice::from_ref(write)).transpose()?;
        self.feel(outcome.as_ref().err());
        let outcome = outcome.map(|kept| kept.first().copied().unwrap_or_default());
        Some(KeptHere { outcome, is_full: ahead.is_full() })
    }

    /// Does a batch of orders: in the log, if all are sessions, else in the tables.
    fn write(&self, batch: &mut [Box<dyn Order>]) -> Result<(), Failure> {
        let writes: Vec<_> = batch.iter().map_while(|order| order.session().cloned()).collect();
        if writes.len() < batch.len() {
            return self.commit(&mut |transaction| {
                batch.iter_mut().try_for_each(|order| order.run(transaction))
            });
        }
        let kept = self.keep(&writes)?;
        batch.iter_mut().zip(kept).for_each(|(order, is_kept)| order.kept(is_kept));
        Ok(())
    }

    /// Has sessions in the log; says which of them were still as they had been.
    fn keep(&self, writes: &[Arc<SessionWrite>]) -> Result<Vec<bool>, Failure> {
        let outcome = self.try_keep(&mut self.ahead(), writes);
        self.feel(outcome.as_ref().err());
        outcome
    }

    /// Puts what is in the log into the tables when it is time. It is kept in any case; if the tables cannot be written,
    /// whoever writes next is told.
    fn catch_up(&self) {
        let mut ahead = self.ahead();
        if ahead.is_full() {
            let outcome = self.try_commit(&mut ahead, None);
            self.feel(outcome.as_ref().err());
        }
    }

    fn try_keep(
        &self,
        ahead: &mut Ahead,
        writes: &[Arc<SessionWrite>],
    ) -> Result<Vec<bool>, Failure> {
        if let Some(kept) = self.try_log(ahead, writes)? {
            return Ok(kept);
        }
        if !ahead.is_empty() {
            // There may be room in the log when the tables have what is in it.
            self.try_commit(ahead, None)?;
            if let Some(kept) = self.try_log(ahead, writes)? {
                return Ok(kept);
            }
        }
        let mut kept = Vec::with_capacity(writes.len());
        let mut run = |transaction: &WriteTransaction| {
            writes.iter().try_for_each(|write| {
                kept.push(write.run(transaction)?);
                Ok(())
            })
        };
        self.try_commit(ahead, Some(&mut run))?;
        Ok(kept)
    }

    /// Has sessions in the log; none if the tables have to be written first, or there is no room.
    fn try_log(
        &self,
        ahead: &mut Ahead,
        writes: &[Arc<SessionWrite>],
    ) -> Result<Option<Vec<bool>>, Failure> {
        self.may_log(ahead)?;
        let Some(log) = &mut ahead.log else { return Ok(None) };
        let accepted = self.file.with(|database| {
            self.known.accept(writes, |write| in_tables(&database.begin_read()?, write))
        });
        let accepted = accepted.map_err(|error| self.settle(&error))?;
        let Some(accepted) = accepted.filter(|it| log.has_room(&it.entries)) else {
            return Ok(None);
        };
        let kept = accepted.kept.clone();
        if !accepted.entries.is_empty() {
            self.failpoints.reached("store.before_log");
            let begun = Instant::now();
            let last = log.append(&accepted.entries).map_err(|error| Failure::of_log(&error))?;
            self.note_pace(begun.elapsed());
            self.failpoints.reached("store.after_log");
            ahead.logged(accepted, last, &self.known);
        }
        Ok(Some(kept))
    }

    fn note_pace(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        let before = self.log_micros.load(Ordering::Relaxed);
        let now = if before == 0 { took } else { (before / 8 * 7).saturating_add(took / 8).max(1) };
        self.log_micros.store(now, Ordering::Relaxed);
    }

    /// One durable commit of what `run` writes, behind what is in the log; says how the writer is then.
    fn commit(&self, run: &mut Run<'_>) -> Result<(), Failure> {
        let mut ahead = self.ahead();
        let outcome = self.try_commit(&mut ahead, Some(run));
        self.feel(outcome.as_ref().err());
        outcome
    }

    fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells how the writer is after a write. Nobody is woken to hear what is known.
    fn feel(&self, failure: Option<&Failure>) {
        let health = match failure {
            None => Health::Well,
            Some(Failure::Full) => Health::Full,
            Some(Failure::Broken(why)) => Health::Broken(why.clone()),
        };
        self.tell.send_if_modified(|told| std::mem::replace(told, health.clone()) != health);
    }

    fn may_write(&self) -> Result<(), Failure> {
        self.is_whole()?;
        if self.file.has_room() { Ok(()) } else { Err(Failure::Full) }
    }

    /// The same for the log, which has its room already: each entry need not look for more.
    fn may_log(&self, ahead: &mut Ahead) -> Result<(), Failure> {
        let now = Instant::now();
        if ahead.has_room_until.is_some_and(|until| now < until) {
            return self.is_whole();
        }
        self.may_write()?;
        ahead.has_room_until = Some(now + LOOK_FOR_ROOM_EVERY);
        Ok(())
    }

    fn is_whole(&self) -> Result<(), Failure> {
        match &*self.tell.borrow() {
            Health::Broken(why) => Err(Failure::Broken(why.clone())),
            Health::Well | Health::Full => Ok(()),
        }
    }

    /// Commits what is in the log and, behind it, what `run` writes.
    fn try_commit(&self, ahead: &mut Ahead, run: Option<&mut Run<'_>>) -> Result<(), Failure> {
        self.may_write()?;
        // What others write may be about sessions too.
        let is_known_still = run.is_none();
        let outcome = self.file.with(|database| {
            let transaction = database.begin_write()?;
            ahead.put_into_tables(&transaction)?;
            if let Some(run) = run {
                run(&transaction)?;
            }
            self.failpoints.reached("store.before_commit");
            transaction.commit()?;
            self.failpoints.reached("store.after_commit");
            Ok(())
        });
        outcome.map_err(|error| self.settle(&error))?;
        ahead.done();
        if is_known_still {
            self.known.settled();
        } else {
            self.known.clear();
        }
        Ok(())
    }

    /// After a failed commit: opens the file anew, which brings back its last good state.
    fn settle(&self, error: &redb::Error) -> Failure {
        let is_full =
            matches!(error, redb::Error::Io(error) if error.kind() == io::ErrorKind::StorageFull);
        tracing::error!(%error, "a commit failed");
        match self.file.reopen() {
            Ok(()) if is_full => Failure::Full,
            // A failed fsync may have lost pages that the kernel calls clean: only a new start is safe.
            Ok(()) => Failure::Broken(error.to_string()),
            Err(_) if is_full => Failure::Full,
            Err(error) => Failure::Broken(error.to_string()),
        }
    }
}
