//! Research in a server: runs of many callers, each seen and steered by its own alone, some at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use agent::identity::{Principal, Timestamp};
use agent::names::TenantId;
use agent::ports::{KeptRun, Page, RunLine, RunList};
use agent::research::journal::Steering;
use agent::research::message::{ProviderId, Uuid};
use agent::research::order::{Approval, Chooser, RunBudget, RunLimits};
use agent::research::report::{EndReason, Report};
use agent::research::run::Status;

use super::live::{Line, Live, Over, Watching};
use super::{Calling, Researcher, Wanted, replayed};
use crate::error::EngineError;

/// Runs of a tenant that may be unfinished at a time: each is held in memory.
const UNFINISHED_MAX: usize = 100;

/// Runs of one page.
const PAGE_MAX: usize = 200;

/// Messages of one answer.
const MESSAGES_MAX: usize = 1_000;

/// How often runs are looked for whose process is silent: a run that was left goes on a lease and this later.
const ADOPTING_PERIOD: Duration = Duration::from_millis(500);

/// Numbers of the configuration.
#[derive(Debug, Clone, Copy)]
pub struct ResearchRules {
    /// Runs that make calls at a time; the others wait.
    pub runs_max: usize,
    /// Seconds after which a plan is followed that nobody has objected to.
    pub plan_seconds: u64,
    /// Seconds after which a question about a call counts as answered with no.
    pub answer_seconds: u64,
}

impl Default for ResearchRules {
    fn default() -> Self {
        Self { runs_max: 4, plan_seconds: 60, answer_seconds: 300 }
    }
}

/// What somebody asks for.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub question: String,
    /// Where to search; empty for wherever it can be.
    pub sources: Vec<ProviderId>,
    /// None for the usual wait.
    pub approval: Option<Approval>,
    pub budget: RunBudget,
    /// Agents that the question has come through.
    pub hops: u32,
    /// The finished run whose report the question follows.
    pub follows: Option<Uuid>,
    /// The conversation of another protocol that it is asked in: it follows the last report there.
    pub conversation: Option<String>,
}

/// A run as its owner sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    pub line: RunLine,
    /// None in a list, of a run that nobody works on here.
    pub status: Option<Status>,
    /// Somebody works on it, or would if there were a seat; false in a list, of a run that nobody works on here.
    pub is_on_its_way: bool,
}

type Key = (TenantId, Uuid);

/// Makes runs for callers. Cheap to clone.
#[derive(Clone)]
pub struct Research {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) researcher: Researcher,
    rules: ResearchRules,
    /// Runs that somebody works on, or that somebody watches.
    lives: Mutex<HashMap<Key, Weak<Live>>>,
}

impl Research {
    #[must_use]
    pub fn new(researcher: Researcher, rules: ResearchRules) -> Self {
        let researcher = researcher.with_seats(rules.runs_max);
        Self { inner: Arc::new(Inner { researcher, rules, lives: Mutex::default() }) }
    }

    /// Takes up the runs that nobody works on: now, and where processes share them, whenever one has been silent for too long.
    pub async fn resume(&self) -> Result<(), EngineError> {
        self.adopt().await?;
        let parts = &self.inner.researcher.parts;
        if parts.journals.lease().is_some() {
            let (research, stopping) = (self.clone(), parts.tasks.stopping());
            parts.tasks.spawn(async move {
                loop {
                    tokio::select! {
                        () = stopping.cancelled() => return,
                        () = tokio::time::sleep(ADOPTING_PERIOD) => {}
                    }
                    if let Err(error) = research.adopt().await {
                        tracing::warn!(%error, "runs that nobody works on cannot be looked for");
                    }
                }
            });
        }
        Ok(())
    }

    async fn adopt(&self) -> Result<(), EngineError> {
        let researcher = &self.inner.researcher;
        let unfinished = researcher.parts.journals.unfinished().await?;
        let is_here = |tenant: &TenantId, id: Uuid| {
            self.live(tenant, id).is_some_and(|live| live.is_worked_on_here())
        };
        for (tenant, id) in unfinished.into_iter().filter(|(tenant, id)| !is_here(tenant, *id)) {
            match researcher.adopt(&tenant, id).await {
                Ok(Some(live)) => self.keep(&tenant, &live),
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, run = %id, "a research run was not taken up"),
            }
        }
        Ok(())
    }

    /// Begins a run. It goes on by itself.
    pub async fn create(
        &self,
        principal: &Principal,
        asked: Asked,
    ) -> Result<RunView, EngineError> {
        let basis = self.followed(principal, &asked).await?;
        let Asked { question, sources, approval, budget, hops, conversation, .. } = asked;
        let usual = Approval::After { seconds: self.inner.rules.plan_seconds };
        let wanted = Wanted {
            question,
            sources,
            principal: principal.name.clone(),
            calling: Calling::of(principal),
            approval: approval.unwrap_or(usual),
            chooser: Chooser::Rules,
            limits: RunLimits::default(),
            budget,
            answer_seconds: Some(self.inner.rules.answer_seconds),
            hops,
            basis,
            conversation,
        };
        self.begin(principal, wanted).await
    }

    /// Begins a run for a caller who may have another one.
    pub(super) async fn begin(
        &self,
        principal: &Principal,
        wanted: Wanted,
    ) -> Result<RunView, EngineError> {
        let unfinished = self.inner.researcher.parts.journals.unfinished().await?;
        let theirs = unfinished.iter().filter(|(tenant, _)| *tenant == principal.tenant).count();
        if theirs >= UNFINISHED_MAX {
            return Err(EngineError::Conflict(format!(
                "{theirs} runs are unfinished: wait for one of them, or stop one"
            )));
        }
        let live = self.inner.researcher.start(&principal.tenant, wanted).await?;
        self.keep(&principal.tenant, &live);
        Ok(viewed(&live))
    }

    /// The caller's runs, the one begun last first.
    pub async fn list(
        &self,
        principal: &Principal,
        after: Option<String>,
        limit: usize,
    ) -> Result<Page<RunView>, EngineError> {
        let limit = limit.clamp(1, PAGE_MAX);
        let after = after.map(|token| read_token(&token)).transpose()?;
        // One more, to know whether there is more.
        let list = RunList { principal: Some(principal.name.clone()), after, limit: limit + 1 };
        let journals = &self.inner.researcher.parts.journals;
        let mut lines = journals.runs(&principal.tenant, list).await?;
        let has_more = lines.len() > limit;
        lines.truncate(limit);
        let last = lines.last().filter(|_| has_more);
        let next = last.map(|line| format!("{}.{}", line.begun_at.0, line.id));
        let items = lines.into_iter().map(|line| match self.live(&principal.tenant, line.id) {
            Some(live) => viewed(&live),
            None => RunView { line, status: None, is_on_its_way: false },
        });
        Ok(Page { items: items.collect(), next })
    }

    pub async fn view(&self, principal: &Principal, id: Uuid) -> Result<RunView, EngineError> {
        let mine = self.live(&principal.tenant, id);
        if let Some(live) = mine.filter(|live| live.principal == principal.name) {
            return Ok(viewed(&live));
        }
        let kept = self.kept(principal, id).await?;
        let (principal, begun_at, ended) = (kept.principal.clone(), kept.begun_at, kept.ended);
        let line = RunLine::new(&kept.order, principal, begun_at, ended);
        let (status, is_on_its_way) = (Some(replayed(kept)?.status()), self.is_shared(ended));
        Ok(RunView { line, status, is_on_its_way })
    }

    /// Messages after this one, the oldest first.
    pub async fn messages(
        &self,
        principal: &Principal,
        id: Uuid,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Line>, EngineError> {
        let limit = limit.clamp(1, MESSAGES_MAX);
        let mine = self.live(&principal.tenant, id);
        let mine = mine.filter(|live| live.principal == principal.name);
        if let Some(lines) = mine.and_then(|live| live.lines(after, limit)) {
            return Ok(lines);
        }
        let run = replayed(self.kept(principal, id).await?)?;
        let known = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(run.messages().iter().skip(known).take(limit).map(Line::of).collect())
    }

    /// Watches a run from the message after this one.
    pub async fn watch(
        &self,
        principal: &Principal,
        id: Uuid,
        after: u64,
    ) -> Result<Watching, EngineError> {
        self.at_hand(principal, id).await?.watch(after)
    }

    /// Has a run do this; it is written down when the future is ready.
    pub async fn steer(
        &self,
        principal: &Principal,
        id: Uuid,
        steering: Steering,
    ) -> Result<RunView, EngineError> {
        let live = self.at_hand(principal, id).await?;
        live.wheel().steer(steering).await?;
        Ok(viewed(&live))
    }

    /// Has a run stopped by somebody who cannot wait for it; at the end of the process it is left for the next one.
    pub(crate) fn stop_later(&self, principal: &Principal, id: Uuid) {
        let tasks = &self.inner.researcher.parts.tasks;
        if tasks.stopping().is_cancelled() {
            return;
        }
        let (research, principal) = (self.clone(), principal.clone());
        tasks.spawn(async move {
            // It may have ended by itself meanwhile.
            let _ended = research.steer(&principal, id, Steering::Stop).await;
        });
    }

    /// What a run came to.
    pub async fn report(&self, principal: &Principal, id: Uuid) -> Result<Report, EngineError> {
        let kept = self.kept(principal, id).await?;
        if kept.ended.is_none() {
            return Err(EngineError::Conflict("the report is not written yet".to_owned()));
        }
        replayed(kept)?.report().cloned().ok_or(EngineError::Absent { what: "report" })
    }

    /// Forgets a run and all that happened in it; one on its way is stopped.
    pub async fn forget(&self, principal: &Principal, id: Uuid) -> Result<(), EngineError> {
        self.kept(principal, id).await?;
        if let Some(live) = self.live(&principal.tenant, id) {
            // It may have ended by itself meanwhile.
            let _ended = live.wheel().steer(Steering::Stop).await;
        }
        self.lives().remove(&(principal.tenant.clone(), id));
        let journals = &self.inner.researcher.parts.journals;
        match journals.forget_run(&principal.tenant, id).await? {
            true => Ok(()),
            false => Err(EngineError::Absent { what: "run" }),
        }
    }

    /// A run for whoever watches or steers it; one that nobody works on any more is taken up.
    async fn at_hand(&self, principal: &Principal, id: Uuid) -> Result<Arc<Live>, EngineError> {
        let absent = EngineError::Absent { what: "run" };
        if let Some(live) = self.live(&principal.tenant, id) {
            if live.principal != principal.name {
                return Err(absent);
            }
            let has_ended = live.status().ended.is_some();
            if live.is_on_its_way() || has_ended {
                return Ok(live);
            }
        }
        let kept = self.kept(principal, id).await?;
        if kept.ended.is_none() {
            let researcher = &self.inner.researcher;
            let live = match researcher.adopt(&principal.tenant, id).await? {
                Some(live) => live,
                None => researcher.follow(&principal.tenant, kept)?,
            };
            self.keep(&principal.tenant, &live);
            return Ok(live);
        }
        let by = kept.principal.clone();
        let live = Arc::new(Live::past(&replayed(kept)?, by));
        self.keep(&principal.tenant, &live);
        Ok(live)
    }

    /// The caller's run; somebody else's looks as if it were not there.
    pub(super) async fn kept(
        &self,
        principal: &Principal,
        id: Uuid,
    ) -> Result<KeptRun, EngineError> {
        let journals = &self.inner.researcher.parts.journals;
        let kept = journals.run(&principal.tenant, id).await?;
        let mine = kept.filter(|kept| kept.principal == principal.name);
        mine.ok_or(EngineError::Absent { what: "run" })
    }

    /// Whether other processes may work on a run of this end: each run has one, or gets one soon.
    fn is_shared(&self, ended: Option<EndReason>) -> bool {
        ended.is_none() && self.inner.researcher.parts.journals.lease().is_some()
    }

    fn live(&self, tenant: &TenantId, id: Uuid) -> Option<Arc<Live>> {
        self.lives().get(&(tenant.clone(), id))?.upgrade()
    }

    fn keep(&self, tenant: &TenantId, live: &Arc<Live>) {
        let mut lives = self.lives();
        lives.retain(|_, live| live.strong_count() > 0);
        let before = lives.insert((tenant.clone(), live.id), Arc::downgrade(live));
        let before = before.and_then(|before| before.upgrade());
        // Whoever followed the run elsewhere comes back, and follows it here.
        if let Some(before) = before.filter(|it| it.is_on_its_way() && !Arc::ptr_eq(it, live)) {
            before.end(Over::Left);
        }
    }

    fn lives(&self) -> MutexGuard<'_, HashMap<Key, Weak<Live>>> {
        self.inner.lives.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn viewed(live: &Live) -> RunView {
    let status = Some(live.status());
    RunView { line: live.line(), status, is_on_its_way: live.is_on_its_way() }
}

/// Where a page has ended: when its last run was begun, and its name.
fn read_token(token: &str) -> Result<(Timestamp, Uuid), EngineError> {
    let read = || {
        let (at, id) = token.split_once('.')?;
        Some((Timestamp(at.parse().ok()?), id.parse().ok()?))
    };
    read().ok_or_else(|| EngineError::Refused("after: pass the next of the page before".to_owned()))
}
