//! Keeping research runs: the order, and what happened since, entry by entry; and searching outside for them.

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{Later, PortError};
use crate::identity::Timestamp;
use crate::names::TenantId;
use crate::price::Cost;
use crate::research::call::{Failure, Freshness};
use crate::research::journal::{Entry, Steering};
use crate::research::message::{ProviderId, Uuid};
use crate::research::order::{Basis, Order, Provider};
use crate::research::report::EndReason;
use crate::research::source::Hit;

/// A run as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptRun {
    pub order: Order,
    /// Who asked for it.
    pub principal: String,
    pub begun_at: Timestamp,
    /// How often it was taken over.
    pub epoch: u64,
    /// All that happened, oldest first.
    pub entries: Vec<Entry>,
    /// None while it has not ended.
    pub ended: Option<EndReason>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    pub id: Uuid,
    pub question: String,
    /// Who asked for it.
    pub principal: String,
    pub begun_at: Timestamp,
    pub ended: Option<EndReason>,
    /// The finished run that it stands on.
    pub basis: Option<Basis>,
    /// The conversation of another protocol that it belongs to.
    pub conversation: Option<String>,
}

impl RunLine {
    #[must_use]
    pub fn new(
        order: &Order,
        principal: String,
        begun_at: Timestamp,
        ended: Option<EndReason>,
    ) -> Self {
        Self {
            id: order.id,
            question: order.question.clone(),
            principal,
            begun_at,
            ended,
            basis: order.basis,
            conversation: order.conversation.clone(),
        }
    }
}

/// Which runs a list shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunList {
    /// Those of this one alone.
    pub principal: Option<String>,
    /// Those after this one, which the page before has ended with.
    pub after: Option<(Timestamp, Uuid)>,
    pub limit: usize,
}

/// Entries for a run's journal.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntries {
    pub run: Uuid,
    /// The epoch under which they are written.
    pub epoch: u64,
    /// Entries that the writer knows to be there: these come after them.
    pub after: u64,
    pub entries: Vec<Entry>,
    /// The run has ended with them.
    pub ended: Option<EndReason>,
}

/// Research runs, durable.
///
/// All of one `append` becomes visible at once and is on disk when its future is ready. Tenants never meet.
pub trait Journals: Send + Sync {
    /// Keeps a new run, under epoch 0; refused if there is one of this id.
    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        order: Order,
        principal: String,
        at: Timestamp,
    ) -> Later<'a, ()>;
    /// Takes a run over: whoever had it before can write no more. None if it is not there or has ended.
    fn take_over<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<KeptRun>>;
    /// How long a run stays with a process that says nothing; none where one process has all runs, and keeps them.
    fn lease(&self) -> Option<Duration> {
        None
    }
    /// Takes a run over that nobody has: its lease has run out. None besides if it is not there or has ended.
    fn adopt<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<KeptRun>> {
        self.take_over(tenant, run)
    }
    /// Says that the run is still worked on, and takes what was left for whoever works on it; none if it is no longer the caller's.
    fn renew<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _run: Uuid,
        _epoch: u64,
    ) -> Later<'a, Option<Vec<Steering>>> {
        Box::pin(std::future::ready(Ok(Some(Vec::new()))))
    }
    /// Leaves a wish for the process that works on the run. It may be lost with that process: what came of it stands in the journal.
    fn leave_wish<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _run: Uuid,
        _wish: Steering,
    ) -> Later<'a, ()> {
        let why = "one process has all runs: it is told directly".to_owned();
        Box::pin(std::future::ready(Err(PortError::Refused(why))))
    }
    /// How many entries a run's journal has; none if it is not there.
    fn length<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<u64>> {
        Box::pin(
            async move { Ok(self.run(tenant, run).await?.map(|kept| kept.entries.len() as u64)) },
        )
    }
    /// Adds entries; false if the run was taken over or written by another, and nothing is changed.
    fn append<'a>(&'a self, tenant: &'a TenantId, new: NewEntries) -> Later<'a, bool>;
    fn run<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<KeptRun>>;
    /// The one begun last first.
    fn runs<'a>(&'a self, tenant: &'a TenantId, list: RunList) -> Later<'a, Vec<RunLine>>;
    /// Runs of all tenants that have not ended.
    fn unfinished(&self) -> Later<'_, Vec<(TenantId, Uuid)>>;
    /// Forgets a run and all that happened in it; false if it is not there.
    fn forget_run<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, bool>;
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Searched {
    pub hits: Vec<Hit>,
    /// What the provider takes for it.
    pub cost: Cost,
}

/// Searches of places outside, each at its own pace.
///
/// What goes wrong is said in words that a run can act on: whether to try again, when, or to leave the provider alone.
pub trait Searches: Send + Sync {
    /// Those that can be searched, the preferred first.
    fn providers(&self) -> Vec<Provider>;
    /// At most `results_max` results, the best first.
    fn search<'a>(
        &'a self,
        provider: &'a ProviderId,
        query: &'a str,
        results_max: u32,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<Searched, Failure>>;
}
