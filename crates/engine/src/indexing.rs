//! Brings a tenant's index up to what the store holds: at start, after every change, and into a new index when
//! the embedder or the recipe has changed.

mod ahead;
mod batch;
mod filled;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::knowledge::Document;
use agent::names::TenantId;
use agent::ports::{Embedder, IndexState, Lane, PortError};
use futures_util::future::{join, join3};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use self::ahead::Ahead;
use self::batch::{Batch, embed};
use self::filled::{Filled, Staged};
use crate::error::EngineError;
use crate::fresh::{Fresh, Ticket};
use crate::knowledge::{Knowledge, Parts, Rules};
use crate::reading::Cut;

/// Bytes of text that are readied in one go: enough that handing them over does not count, and soon there, so that
/// indexing goes on beside reading.
const STAGE_BYTES: usize = 1 << 20;

/// Documents that come one after another share a commit: it waits for those under way, but no longer than a
/// person would notice.
const GATHERING_MAX: Duration = Duration::from_secs(2);

/// First and longest wait before indexing is tried again.
const RETRY_WAIT_MIN: Duration = Duration::from_secs(1);
const RETRY_WAIT_MAX: Duration = Duration::from_secs(30);

/// The one task that writes a tenant's index.
pub(crate) struct Indexer {
    wake: Notify,
    /// How far the serving index has come.
    applied: watch::Sender<Progress>,
    fresh: Mutex<Fresh>,
    /// Nothing has come since it last began to look.
    listens: AtomicBool,
    /// Documents that are being taken in.
    coming: AtomicUsize,
    /// Those and all that are said to come after them.
    expected: AtomicUsize,
    /// The last change that is known to be kept.
    kept: AtomicU64,
}

/// Documents that a load has said to bring; those that have not come are no longer waited for when this is dropped.
pub struct Expected {
    indexer: Arc<Indexer>,
    documents: usize,
}

impl Expected {
    /// One of them has come, or will not.
    pub fn one_less(&mut self) {
        if self.documents > 0 {
            self.documents -= 1;
            self.indexer.expected.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.indexer.expected.fetch_sub(self.documents, Ordering::Relaxed);
    }
}

/// A document on its way; it has arrived, or failed to, when this is dropped.
pub(crate) struct Coming(Arc<Indexer>);

impl Drop for Coming {
    fn drop(&mut self) {
        // While others are under way, what they bring is waited for anyway.
        if self.0.coming.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.wake();
        }
    }
}

/// A document that is about to be kept; it is forgotten when this is dropped unconfirmed.
pub(crate) struct Announced {
    indexer: Arc<Indexer>,
    /// None once it is confirmed.
    ticket: Option<Ticket>,
}

impl Drop for Announced {
    fn drop(&mut self) {
        if let Some(ticket) = &self.ticket {
            self.indexer.fresh().withdraw(ticket);
        }
    }
}

impl Announced {
    /// It is kept, as this change.
    pub(crate) fn confirm(mut self, sequence: u64) {
        self.indexer.kept.fetch_max(sequence, Ordering::Relaxed);
        let enough = {
            let mut fresh = self.indexer.fresh();
            if let Some(ticket) = self.ticket.take() {
                fresh.confirm(&ticket, sequence);
            }
            fresh.kept_bytes() >= STAGE_BYTES
        };
        // Between the first and enough there is nothing to do: the indexer only gathers.
        let is_first = self.indexer.listens.swap(false, Ordering::AcqRel);
        if is_first || enough {
            self.indexer.wake();
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Progress {
    applied: u64,
    /// Rounds that looked at the store and found nothing more to do.
    rounds: u64,
    trouble: Option<String>,
}

impl Indexer {
    pub(crate) fn start(tenant: TenantId, parts: Arc<Parts>, rules: Arc<Rules>) -> Arc<Self> {
        let (applied, _) = watch::channel(Progress::default());
        let indexer = Arc::new(Self {
            wake: Notify::new(),
            applied,
            fresh: Mutex::default(),
            listens: AtomicBool::new(true),
            coming: AtomicUsize::new(0),
            expected: AtomicUsize::new(0),
            kept: AtomicU64::new(0),
        });
        let (this, tasks) = (Arc::clone(&indexer), parts.tasks.clone());
        let stopping = tasks.stopping();
        tasks.spawn(async move {
            let work = Work { tenant, parts, rules, indexer: this };
            tokio::select! {
                () = stopping.cancelled() => {}
                () = work.run() => {}
            }
        });
        indexer
    }

    /// Something has changed.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// A document is about to come.
    pub(crate) fn expect(self: &Arc<Self>) -> Coming {
        self.coming.fetch_add(1, Ordering::Relaxed);
        Coming(Arc::clone(self))
    }

    /// So many documents are about to come, one after the other.
    fn expect_many(self: &Arc<Self>, documents: usize) -> Expected {
        self.expected.fetch_add(documents, Ordering::Relaxed);
        Expected { indexer: Arc::clone(self), documents }
    }

    /// About how many documents come after this change, as far as is known.
    fn documents_after(&self, sequence: u64) -> usize {
        let kept = self.kept.load(Ordering::Relaxed).saturating_sub(sequence);
        let under_way = self.coming.load(Ordering::Relaxed);
        let coming = self.expected.load(Ordering::Relaxed).max(under_way);
        coming.saturating_add(usize::try_from(kept).unwrap_or(usize::MAX))
    }

    /// Takes what was made of a document that is about to be kept, so that it need not be made again.
    pub(crate) fn announce(self: &Arc<Self>, document: Document, cut: Cut) -> Announced {
        let ticket = Some(self.fresh().announce(document, cut));
        Announced { indexer: Arc::clone(self), ticket }
    }

    fn fresh(&self) -> MutexGuard<'_, Fresh> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the serving index holds a change after this one, and says which is its last; none if it never will.
    pub(crate) async fn applied_after(&self, sequence: u64) -> Option<u64> {
        let mut progress = self.applied.subscribe();
        let later = progress.wait_for(|progress| progress.applied > sequence).await;
        later.ok().map(|progress| progress.applied)
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.applied.borrow().trouble.clone()
    }
}

impl Knowledge {
    /// Says how many documents are about to be taken in, so that the last of them are found as soon as may be.
    pub fn expect(&self, tenant: &TenantId, documents: usize) -> Expected {
        self.indexer(tenant).expect_many(documents)
    }

    /// Waits until a change, or everything that has changed up to now, can be found by searches.
    pub async fn indexed(
        &self,
        tenant: &TenantId,
        sequence: Option<u64>,
    ) -> Result<(), EngineError> {
        let indexer = self.indexer(tenant);
        let mut progress = indexer.applied.subscribe();
        let rounds = progress.borrow_and_update().rounds;
        indexer.wake();
        let is_done = |now: &Progress| match sequence {
            Some(sequence) => now.applied >= sequence,
            // The round under way may have looked before the change: the next one has not.
            None => now.rounds > rounds + 1,
        };
        loop {
            let now = progress.borrow_and_update().clone();
            if is_done(&now) {
                return Ok(());
            }
            if let Some(why) = now.trouble {
                return Err(PortError::Unavailable { what: "indexing".to_owned(), why }.into());
            }
            indexer.wake();
            let gone = || PortError::Unavailable {
                what: "indexing".to_owned(),
                why: "saem is shutting down; it goes on at the next start".to_owned(),
            };
            let stopping = self.parts.tasks.stopping();
            tokio::select! {
                changed = progress.changed() => changed.map_err(|_| gone())?,
                () = stopping.cancelled() => return Err(gone().into()),
            }
        }
    }
}

struct Work {
    tenant: TenantId,
    parts: Arc<Parts>,
    rules: Arc<Rules>,
    indexer: Arc<Indexer>,
}

impl Work {
    async fn run(self) {
        let mut wait = RETRY_WAIT_MIN;
        loop {
            self.indexer.listens.store(true, Ordering::Release);
            match self.catch_up().await {
                Ok(()) => {
                    wait = RETRY_WAIT_MIN;
                    self.indexer.applied.send_modify(|progress| {
                        progress.rounds += 1;
                        progress.trouble = None;
                    });
                    self.indexer.wake.notified().await;
                    self.gather(Instant::now() + GATHERING_MAX).await;
                }
                Err(error) => {
                    let why = told(&error);
                    tracing::warn!(tenant = %self.tenant, why, "indexing has to wait");
                    self.indexer.applied.send_modify(|progress| progress.trouble = Some(why));
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(RETRY_WAIT_MAX);
                }
            }
        }
    }

    /// Waits while more is coming, until there is enough of it.
    async fn gather(&self, until: Instant) {
        let indexer = &self.indexer;
        let more = async {
            while self.is_gathering() {
                indexer.wake.notified().await;
            }
        };
        // Too long is long enough.
        _ = tokio::time::timeout_at(until, more).await;
    }

    /// Whether more is coming, and not enough there.
    fn is_gathering(&self) -> bool {
        let indexer = &self.indexer;
        indexer.coming.load(Ordering::Relaxed) > 0 && indexer.fresh().kept_bytes() < STAGE_BYTES
    }

    async fn catch_up(&self) -> Result<(), PortError> {
        let (index, tenant) = (&self.parts.index, &self.tenant);
        let serving = match index.state(tenant, Lane::Serving).await? {
            Some(state) => state,
            None => self.begin().await?,
        };
        self.fill(Lane::Serving, serving.clone()).await?;
        if self.is_current(&serving) {
            return Ok(());
        }
        let building = match index.state(tenant, Lane::Building).await? {
            Some(state) if self.is_current(&state) => state,
            _ => self.begin().await?,
        };
        tracing::info!(%tenant, from = serving.embedder, to = building.embedder, "building a new index");
        self.fill(Lane::Building, building).await?;
        index.promote(tenant).await?;
        tracing::info!(%tenant, "the new index serves");
        Ok(())
    }

    async fn begin(&self) -> Result<IndexState, PortError> {
        let embedder = &self.parts.embedder;
        let (identity, dimensions) = (embedder.identity(), embedder.dimensions());
        let recipe = &self.rules.index_recipe;
        let lane = self.parts.index.begin(&self.tenant, identity, dimensions, recipe).await?;
        Ok(self.parts.index.state(&self.tenant, lane).await?.unwrap_or_default())
    }

    fn is_current(&self, state: &IndexState) -> bool {
        state.embedder == self.parts.embedder.identity() && state.recipe == self.rules.index_recipe
    }

    /// Applies all changes that an index has not seen.
    async fn fill(&self, lane: Lane, state: IndexState) -> Result<(), PortError> {
        let embedder = self.parts.embedder_of(&state.embedder);
        let embedder = embedder.filter(|embedder| embedder.dimensions() > 0);
        self.tell(lane, state.applied);
        let mut filled = Filled::default();
        let mut ahead = Ahead::of(state.applied);
        let (mut formed, mut embedded): (Option<Batch>, Option<Batch>) = (None, None);
        loop {
            let is_idle = formed.is_none() && embedded.is_none();
            // A batch is embedded while the one before it is put into the index and the next one is gathered: each alone
            // would leave processors idle. None is left alone if another fails: what it still does would come between.
            let embedding = embed(embedder.as_ref(), formed);
            let putting = self.put(lane, embedded, filled, is_idle);
            let forming = self.batch(&mut ahead, embedder.is_some(), is_idle);
            let (vectors, put, next) = join3(embedding, putting, forming).await;
            (embedded, filled, formed) = (vectors?, put?, next?);
            if embedder.is_none() {
                embedded = formed.take();
            }
            if formed.is_some() || embedded.is_some() {
                continue;
            }
            match filled.staged.take_if(|_| is_idle) {
                Some(rest) => filled = self.show(lane, rest).await?,
                None if is_idle => return Ok(()),
                // What has come meanwhile is seldom all that comes.
                None => {
                    let soon = || Instant::now() + GATHERING_MAX;
                    let until = filled.staged.as_ref().map(|staged| staged.until);
                    self.gather(until.unwrap_or_else(soon)).await;
                }
            }
        }
    }

    /// Readies a batch, and beside that commits what was readied before if it is time for that. Where nothing was under way, a
    /// batch may come next whose readying the commit goes on beside.
    async fn put(
        &self,
        lane: Lane,
        batch: Option<Batch>,
        mut filled: Filled,
        is_idle: bool,
    ) -> Result<Filled, PortError> {
        let full = filled.staged.take_if(|staged| {
            let coming = self.indexer.documents_after(staged.last);
            !is_idle && staged.is_full(coming)
        });
        let commit = async {
            match full {
                Some(full) => self.show(lane, full).await,
                None => Ok(filled),
            }
        };
        let Some(mut batch) = batch else { return commit.await };
        batch.hand_out();
        let Batch { last, bytes, documents, .. } = batch;
        let count = documents.len();
        let stage = self.parts.index.stage(&self.tenant, lane, documents);
        let (shown, staged) = join(commit, stage).await;
        staged?;
        let mut filled = shown?;
        let commit = filled.commit;
        let staged = filled.staged.get_or_insert_with(|| Staged::after(commit));
        staged.add(count, bytes, last);
        Ok(filled)
    }

    /// Commits what was readied.
    async fn show(&self, lane: Lane, staged: Staged) -> Result<Filled, PortError> {
        let begun = Instant::now();
        self.parts.index.apply(&self.tenant, lane, Vec::new(), staged.last).await?;
        self.tell(lane, staged.last);
        Ok(Filled { staged: None, commit: begun.elapsed() })
    }

    fn tell(&self, lane: Lane, applied: u64) {
        if lane == Lane::Serving {
            self.indexer.applied.send_modify(|progress| {
                progress.applied = applied;
                progress.trouble = None;
            });
        }
    }
}

/// An error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl Parts {
    /// The embedder of this identity, if it can be had.
    pub(crate) fn embedder_of(&self, identity: &str) -> Option<Arc<dyn Embedder>> {
        let mut all = std::iter::once(&self.embedder).chain(&self.other_embedders);
        all.find(|embedder| embedder.identity() == identity).cloned()
    }
}
