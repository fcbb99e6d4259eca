//! The one writer: many small writes become one durable commit, answered after it is on disk.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Failpoints, PortError};
use redb::WriteTransaction;
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

/// Hands writes to the writer's thread.
#[derive(Clone)]
pub(crate) struct Writer {
    orders: mpsc::Sender<Box<dyn Order>>,
    health: watch::Receiver<Health>,
}

impl Writer {
    /// Starts the thread; it ends when the last `Writer` is gone.
    pub(crate) fn start(file: Arc<File>, failpoints: Arc<dyn Failpoints>) -> io::Result<Self> {
        let (orders, inbox) = mpsc::channel(WAITING_MAX);
        let (tell, health) = watch::channel(Health::Well);
        let thread = Thread { file, failpoints, inbox, tell };
        std::thread::Builder::new().name("store-writer".to_owned()).spawn(move || thread.run())?;
        Ok(Self { orders, health })
    }

    pub(crate) fn health(&self) -> watch::Receiver<Health> {
        self.health.clone()
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
        let order = Box::new(Waiting { work: Some(work), value: None, answer });
        self.orders.try_send(order).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => PortError::Busy { what: "the store" },
            mpsc::error::TrySendError::Closed(_) => gone(),
        })?;
        outcome.await.map_err(|_| gone())?
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

struct Waiting<T, F> {
    work: Option<F>,
    value: Option<T>,
    answer: oneshot::Sender<Result<T, PortError>>,
}

impl<T, F> Order for Waiting<T, F>
where
    T: Send,
    F: FnOnce(&WriteTransaction) -> Result<T, redb::Error> + Send,
{
    fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        if let Some(work) = self.work.take() {
            self.value = Some(work(transaction)?);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, outcome: Result<(), Failure>) {
        let answer = match (outcome, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => Err(Failure::Broken("the write was not run".to_owned()).into()),
            (Err(failure), _) => Err(failure.into()),
        };
        // Nobody may be waiting any more; the write stands all the same.
        let _unheard = self.answer.send(answer);
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
    file: Arc<File>,
    failpoints: Arc<dyn Failpoints>,
    inbox: mpsc::Receiver<Box<dyn Order>>,
    tell: watch::Sender<Health>,
}

impl Thread {
    fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        let mut before = 0;
        while self.inbox.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
            if before >= CROWD {
                self.wait_for_more();
            }
            // Whoever sent one write may be about to send the next, which belongs to it.
            std::thread::yield_now();
            self.take_waiting(&mut batch);
            before = batch.len();
            let outcome = self.commit(&mut batch);
            self.tell.send_replace(match &outcome {
                Ok(()) => Health::Well,
                Err(Failure::Full) => Health::Full,
                Err(Failure::Broken(why)) => Health::Broken(why.clone()),
            });
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

    fn commit(&self, batch: &mut [Box<dyn Order>]) -> Result<(), Failure> {
        if let Health::Broken(why) = &*self.tell.borrow() {
            return Err(Failure::Broken(why.clone()));
        }
        if !self.file.has_room() {
            return Err(Failure::Full);
        }
        let outcome = self.file.with(|database| {
            let transaction = database.begin_write()?;
            for order in batch.iter_mut() {
                order.run(&transaction)?;
            }
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
