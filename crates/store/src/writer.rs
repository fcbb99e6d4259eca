//! The one writer: many small writes become one durable commit, answered after it is on disk.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::ports::{Failpoints, PortError};
use redb::WriteTransaction;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{mpsc, oneshot, watch};

use crate::redb_file::File;

/// Writes that may wait: a commit takes a few milliseconds, so this is far more than a second's worth.
const WAITING_MAX: usize = 4096;

/// Writes in one commit: keeps a commit's memory and the wait of its first writer small.
const BATCH_MAX: usize = 512;

/// So many writes in the last commit are a crowd: more of it is about to come, and a commit that waits for them
/// costs the disk less than two. Somebody who writes alone never waits.
const CROWD: usize = 4;
const CROWD_WAIT: Duration = Duration::from_millis(6);

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
    pub(crate) fn start(file: Arc<File>, failpoints: Arc<dyn Failpoints>) -> io::Result<Self> {
        let (orders, inbox) = mpsc::channel(WAITING_MAX);
        let (tell, _) = watch::channel(Health::Well);
        let desk = Arc::new(Desk {
            file,
            failpoints,
            tell,
            one_at_a_time: Mutex::new(()),
            under_way: AtomicUsize::new(0),
            shared: AtomicUsize::new(0),
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
        let order = Box::new(Waiting { once: Once::new(work), answer });
        self.desk.under_way.fetch_add(1, Ordering::AcqRel);
        self.orders.try_send(order).map_err(|error| {
            self.desk.under_way.fetch_sub(1, Ordering::AcqRel);
            match error {
                mpsc::error::TrySendError::Full(_) => PortError::Busy { what: "the store" },
                mpsc::error::TrySendError::Closed(_) => gone(),
            }
        })?;
        outcome.await.map_err(|_| gone())?
    }

    /// As [`write`](Self::write), but when nobody else is writing it is done at once and here: two changes of threads
    /// take as long as half a commit. For a write to which no other belongs, as that one could not share its commit.
    pub(crate) async fn write_by_itself<T, F>(&self, work: F) -> Result<T, PortError>
    where
        T: Send + 'static,
        F: FnOnce(&WriteTransaction) -> Result<T, redb::Error> + Send + 'static,
    {
        let Some(alone) = self.desk.alone() else {
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

trait Order: Send {
    fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error>;
    fn finish(self: Box<Self>, outcome: Result<(), Failure>);
}

/// Work that is done once, and the value it gave.
struct Once<T, F> {
    work: Option<F>,
    value: Option<T>,
}

impl<T, F> Once<T, F>
where
    F: FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
{
    fn new(work: F) -> Self {
        Self { work: Some(work), value: None }
    }

    fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        if let Some(work) = self.work.take() {
            self.value = Some(work(transaction)?);
        }
        Ok(())
    }

    /// What it gave, after the commit it was part of.
    fn value(self, outcome: Result<(), Failure>) -> Result<T, PortError> {
        outcome?;
        let not_run = || Failure::Broken("the write was not run".to_owned());
        Ok(self.value.ok_or_else(not_run)?)
    }
}

struct Waiting<T, F> {
    once: Once<T, F>,
    answer: oneshot::Sender<Result<T, PortError>>,
}

impl<T, F> Order for Waiting<T, F>
where
    T: Send,
    F: FnOnce(&WriteTransaction) -> Result<T, redb::Error> + Send,
{
    fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        self.once.run(transaction)
    }

    fn finish(self: Box<Self>, outcome: Result<(), Failure>) {
        // Nobody may be waiting any more; the write stands all the same.
        let _unheard = self.answer.send(self.once.value(outcome));
    }
}

#[derive(Debug, Clone)]
enum Failure {
    Full,
    Broken(String),
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
            self.desk.shared.store(batch.len(), Ordering::Release);
            let outcome = self.desk.commit(&mut |transaction| {
                batch.iter_mut().try_for_each(|order| order.run(transaction))
            });
            self.desk.under_way.fetch_sub(batch.len(), Ordering::AcqRel);
            for order in batch.drain(..) {
                order.finish(outcome.clone());
            }
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

/// Where commits are made: by the thread, or by whoever writes alone.
struct Desk {
    file: Arc<File>,
    failpoints: Arc<dyn Failpoints>,
    tell: watch::Sender<Health>,
    one_at_a_time: Mutex<()>,
    /// Writes that were asked for and are not on disk yet.
    under_way: AtomicUsize,
    /// Writes in the thread's last commit.
    shared: AtomicUsize,
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

    /// None when somebody else is writing or about to, or when no other thread could do this one's tasks meanwhile.
    fn alone(&self) -> Option<Alone<'_>> {
        let may_wait = Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        let is_mine = may_wait
            && !self.is_crowded()
            && self.under_way.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire).is_ok();
        // Not `then_some`: what is made and let go gives back a right that was not had.
        is_mine.then(|| Alone { desk: self })
    }

    /// One durable commit of what `run` writes; says how the writer is then.
    fn commit(
        &self,
        run: &mut dyn FnMut(&WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), Failure> {
        let _guard = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.try_commit(run);
        let health = match &outcome {
            Ok(()) => Health::Well,
            Err(Failure::Full) => Health::Full,
            Err(Failure::Broken(why)) => Health::Broken(why.clone()),
        };
        // Nobody is woken to hear what is known.
        self.tell.send_if_modified(|told| std::mem::replace(told, health.clone()) != health);
        outcome
    }

    fn try_commit(
        &self,
        run: &mut dyn FnMut(&WriteTransaction) -> Result<(), redb::Error>,
    ) -> Result<(), Failure> {
        if let Health::Broken(why) = &*self.tell.borrow() {
            return Err(Failure::Broken(why.clone()));
        }
        if !self.file.has_room() {
            return Err(Failure::Full);
        }
        let outcome = self.file.with(|database| {
            let transaction = database.begin_write()?;
            run(&transaction)?;
            self.failpoints.reached("store.before_commit");
            transaction.commit()?;
            self.failpoints.reached("store.after_commit");
            Ok(())
        });
        outcome.map_err(|error| self.settle(&error))
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{SyncSender, sync_channel};

    use futures_util::FutureExt as _;
    use futures_util::future::try_join_all;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::{Options, Store};

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("saem.redb"), Options::default()).unwrap();
        (folder, store)
    }

    /// Counts one more, and says on which thread.
    fn count(transaction: &WriteTransaction) -> Result<Option<String>, redb::Error> {
        use redb::ReadableTable as _;
        let mut meta = transaction.open_table(crate::tables::META)?;
        let before = meta.get("count")?.map_or(0, |row| row.value());
        meta.insert("count", before + 1)?;
        Ok(std::thread::current().name().map(str::to_owned))
    }

    async fn counted(store: &Store) -> u64 {
        let read = store.read(|transaction| {
            let meta = transaction.open_table(crate::tables::META)?;
            Ok(meta.get("count")?.map_or(0, |row| row.value()))
        });
        read.await.unwrap()
    }

    /// A write that has begun and is held up; it ends when something is sent.
    async fn held_up(store: &Store, is_by_itself: bool) -> (SyncSender<()>, JoinHandle<()>) {
        let (begun, has_begun) = sync_channel(1);
        let (go, may_go) = sync_channel::<()>(1);
        let writer = store.writer.clone();
        let held_up = tokio::task::spawn_blocking(move || {
            let work = move |transaction: &WriteTransaction| {
                begun.send(()).unwrap();
                may_go.recv().unwrap();
                count(transaction)
            };
            let runtime = Handle::current();
            let written = if is_by_itself {
                runtime.block_on(writer.write_by_itself(work))
            } else {
                runtime.block_on(writer.write(work))
            };
            written.unwrap();
        });
        tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
        (go, held_up)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_write_is_done_where_it_is_asked_for_and_more_of_them_by_the_thread() {
        let (_folder, store) = store();
        let alone = store.writer.write_by_itself(count).await.unwrap();
        assert_ne!(alone.as_deref(), Some("store-writer"));

        let (go, first) = held_up(&store, true).await;
        let second = store.writer.write_by_itself(count);
        tokio::pin!(second);
        assert!(second.as_mut().now_or_never().is_none());
        go.send(()).unwrap();
        assert_eq!(second.await.unwrap().as_deref(), Some("store-writer"));
        first.await.unwrap();

        let again = store.writer.write_by_itself(count).await.unwrap();
        assert_ne!(again.as_deref(), Some("store-writer"));
        assert_eq!(counted(&store).await, 4);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn in_a_crowd_nobody_takes_a_commit_for_one_write() {
        let (_folder, store) = store();
        let (go, first) = held_up(&store, false).await;
        let crowd = try_join_all((0..CROWD).map(|_| store.writer.write(count)));
        tokio::pin!(crowd);
        assert!(crowd.as_mut().now_or_never().is_none());
        go.send(()).unwrap();
        crowd.await.unwrap();
        first.await.unwrap();
        let next = store.writer.write_by_itself(count).await.unwrap();
        assert_eq!(next.as_deref(), Some("store-writer"));
        let after = store.writer.write_by_itself(count).await.unwrap();
        assert_ne!(after.as_deref(), Some("store-writer"));
        assert_eq!(counted(&store).await, CROWD as u64 + 3);
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_is_not_held_up() {
        let (_folder, store) = store();
        let done = store.writer.write_by_itself(count).await.unwrap();
        assert_eq!(done.as_deref(), Some("store-writer"));
    }
}
