//! What the writer is asked for: a session to be kept, anything else that is written, or only a look.

use std::sync::Arc;

use agent::ports::PortError;
use redb::WriteTransaction;
use tokio::sync::oneshot;

use super::Failure;
use crate::ahead::SessionWrite;

pub(super) trait Order: Send {
    fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error>;
    fn finish(self: Box<Self>, outcome: Result<(), Failure>);
    /// The session that it is about, if it is nothing else.
    fn session(&self) -> Option<&Arc<SessionWrite>> {
        None
    }
    /// What became of that session, when it was not `run`.
    fn kept(&mut self, _is_kept: bool) {}
    /// There is nothing to be done for it.
    fn is_nudge(&self) -> bool {
        false
    }
}

/// Has the thread look whether the tables are to be brought up to date.
pub(super) struct Nudge;

impl Order for Nudge {
    fn run(&mut self, _: &WriteTransaction) -> Result<(), redb::Error> {
        Ok(())
    }

    fn finish(self: Box<Self>, _: Result<(), Failure>) {}

    fn is_nudge(&self) -> bool {
        true
    }
}

/// A session that somebody waits for to be kept.
pub(super) struct Keeping {
    write: Arc<SessionWrite>,
    is_kept: bool,
    answer: oneshot::Sender<Result<bool, PortError>>,
}

impl Keeping {
    pub(super) fn new(
        write: Arc<SessionWrite>,
        answer: oneshot::Sender<Result<bool, PortError>>,
    ) -> Self {
        Self { write, is_kept: false, answer }
    }
}

impl Order for Keeping {
    fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        self.is_kept = self.write.run(transaction)?;
        Ok(())
    }

    fn finish(self: Box<Self>, outcome: Result<(), Failure>) {
        let is_kept = self.is_kept;
        // Nobody may be waiting any more; the write stands all the same.
        let _unheard = self.answer.send(outcome.map(|()| is_kept).map_err(PortError::from));
    }

    fn session(&self) -> Option<&Arc<SessionWrite>> {
        Some(&self.write)
    }

    fn kept(&mut self, is_kept: bool) {
        self.is_kept = is_kept;
    }
}

/// Work that is done once, and the value it gave.
pub(super) struct Once<T, F> {
    work: Option<F>,
    value: Option<T>,
}

impl<T, F> Once<T, F>
where
    F: FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
{
    pub(super) fn new(work: F) -> Self {
        Self { work: Some(work), value: None }
    }

    pub(super) fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        if let Some(work) = self.work.take() {
            self.value = Some(work(transaction)?);
        }
        Ok(())
    }

    /// What it gave, after the commit it was part of.
    pub(super) fn value(self, outcome: Result<(), Failure>) -> Result<T, PortError> {
        outcome?;
        let not_run = || Failure::Broken("the write was not run".to_owned());
        Ok(self.value.ok_or_else(not_run)?)
    }
}

pub(super) struct Waiting<T, F> {
    once: Once<T, F>,
    answer: oneshot::Sender<Result<T, PortError>>,
}

impl<T, F> Waiting<T, F>
where
    F: FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
{
    pub(super) fn new(work: F, answer: oneshot::Sender<Result<T, PortError>>) -> Self {
        Self { once: Once::new(work), answer }
    }
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
