//! Rewrites memories in the background: one at a time for each session, and again after a restart.

use std::sync::PoisonError;

use agent::context;
use agent::identity::Timestamp;
use agent::ledger::{Account, Booking, Component, Day, Spent};
use agent::memory::{Draft, Fold, MemoryLimits, Rejected, Rewritten, Session, SessionId, gate};
use agent::model::structured::{self, StructuredSettings};
use agent::model::{LanguageModel, ModelRequest, Usage};
use agent::names::TenantId;
use agent::offline;
use agent::ports::{KeepSession, KeptSession};
use tracing::Instrument as _;

use super::running::OFFLINE;
use super::{Copilot, MemoryOutcome};
use crate::error::EngineError;
use crate::telemetry;

/// Turns outside the memory beyond which no model is waited for: a prompt has room for hardly more.
const UNFOLDED_MAX: usize = 40;

/// Tokens of a rewritten memory and its facts, thinking included: many times what it may have in the end.
const DRAFT_TOKENS_MAX: u32 = 8_000;

/// How often a rewrite is kept again after a turn came in between.
const KEEP_TRIES_MAX: usize = 16;

/// Rewrites of one session in a row: after a long outage there may be some to catch up with.
const FOLDS_MAX: usize = 64;

impl Copilot {
    /// Takes up the memories that an earlier process has left.
    pub async fn resume(&self) -> Result<usize, EngineError> {
        let due = self.parts.sessions.due().await?;
        let count = due.len();
        for (tenant, session) in due {
            self.rewrite_memory(tenant, session);
        }
        Ok(count)
    }

    /// Waits until no memory is being rewritten.
    pub async fn settled(&self) {
        loop {
            let folded = self.folded.notified();
            if self.folding.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
            folded.await;
        }
    }

    /// Has a memory rewritten, unless that is under way already.
    pub(super) fn rewrite_memory(&self, tenant: TenantId, session: SessionId) {
        let key = (tenant, session);
        if !self.begin_folding(&key) {
            return;
        }
        let copilot = self.clone();
        self.parts.tasks.spawn_here(async move {
            let stopping = copilot.parts.tasks.stopping();
            loop {
                tokio::select! {
                    () = stopping.cancelled() => return,
                    () = copilot.catch_up(&key.0, &key.1) => {}
                }
                if copilot.end_folding(&key) {
                    return;
                }
            }
        });
    }

    /// Whether it is this caller's to do; somebody who does it already will look again.
    fn begin_folding(&self, key: &(TenantId, SessionId)) -> bool {
        let mut folding = self.folding.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !folding.contains_key(key);
        folding.insert(key.clone(), !is_first);
        is_first
    }

    /// Whether nobody asked for another look meanwhile.
    fn end_folding(&self, key: &(TenantId, SessionId)) -> bool {
        let mut folding = self.folding.lock().unwrap_or_else(PoisonError::into_inner);
        match folding.get_mut(key) {
            Some(again) if *again => {
                *again = false;
                false
            }
            _ => {
                folding.remove(key);
                self.folded.notify_waiters();
                true
            }
        }
    }

    async fn catch_up(&self, tenant: &TenantId, session: &SessionId) {
        for _ in 0..FOLDS_MAX {
            let span = telemetry::memory_update(tenant.as_str(), session.as_str());
            let rewritten = self.rewrite_once(tenant, session).instrument(span.clone()).await;
            if let Ok(Some(outcome)) = &rewritten {
                telemetry::memory_updated(&span, outcome.as_str());
            }
            match rewritten {
                Ok(Some(outcome)) => {
                    self.parts.watcher.memory_updated(tenant, outcome);
                    if outcome != MemoryOutcome::Rewritten {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, %session, "a memory could not be rewritten; the next turn tries again");
                    self.parts.watcher.memory_updated(tenant, MemoryOutcome::Failed);
                    return;
                }
            }
        }
    }

    /// Rewrites the memory if that is due; none if it is not.
    async fn rewrite_once(
        &self,
        tenant: &TenantId,
        id: &SessionId,
    ) -> Result<Option<MemoryOutcome>, EngineError> {
        let now = self.parts.clock.now();
        let limits = &self.rules.memory;
        let Some(kept) = self.parts.sessions.session(tenant, id, now).await? else {
            return Ok(None);
        };
        let Some(fold) = kept.session.fold(limits) else {
            // It is named as due and is not: written as it is, the mark goes.
            self.change(tenant, id, |_| true).await?;
            return Ok(None);
        };
        let is_late = kept.session.unfolded().len() > UNFOLDED_MAX;
        let model = self.parts.models.memory.clone().filter(|_| !is_late);
        let (drafted, spent) = match model {
            Some(model) => {
                let (drafted, spent) = self.by_model(&*model, &fold).await;
                (drafted, vec![spent])
            }
            None => {
                let draft = offline::remember(&fold, limits, &*self.parts.tokenizer);
                (Ok((draft, OFFLINE.to_owned())), Vec::new())
            }
        };
        let judged = drafted.and_then(|(draft, written_by)| {
            // What is written without a model forgets by rule, oldest first; what a model loses, it lost by mistake.
            let lost_percent_max =
                if written_by == OFFLINE { 100 } else { limits.lost_percent_max };
            let allowed = MemoryLimits { lost_percent_max, ..*limits };
            let (text, entities) = gate(&fold, &draft, &allowed, &*self.parts.tokenizer)
                .map_err(|rejected| rejected.to_string())?;
            Ok(Rewritten { text, entities, written_by, written_at: now })
        });
        match judged {
            Ok(rewritten) => {
                let change =
                    |session: &mut Session| session.remember(&fold, rewritten.clone(), limits);
                self.change_and_book(tenant, id, spent, change).await?;
                Ok(Some(MemoryOutcome::Rewritten))
            }
            Err(why) => {
                tracing::warn!(why, session = %id, "a rewritten memory was refused");
                let change = |session: &mut Session| session.refuse(&fold, &why);
                self.change_and_book(tenant, id, spent, change).await?;
                Ok(Some(MemoryOutcome::Refused))
            }
        }
    }

    /// The model's draft, told once what is wrong with it, and who wrote it; and what that cost.
    async fn by_model(
        &self,
        model: &dyn LanguageModel,
        fold: &Fold,
    ) -> (Result<(Draft, String), String>, Booking) {
        let (limits, tokenizer) = (&self.rules.memory, &*self.parts.tokenizer);
        let messages = context::fold(fold, limits, tokenizer);
        let request = ModelRequest {
            temperature: Some(0.0),
            tokens_max: Some(DRAFT_TOKENS_MAX),
            ..ModelRequest::new(messages)
        };
        let check = |draft: &Draft| {
            let judged: Result<_, Rejected> = gate(fold, draft, limits, tokenizer);
            judged.map(|_| ()).map_err(|rejected| rejected.to_string())
        };
        let settings = StructuredSettings::default();
        let span = telemetry::model_call(Component::Memory, model.name());
        let asking = structured::ask_checked(model, request, &settings, check);
        let asked = asking.instrument(span.clone()).await;
        let (name, usage) = match &asked {
            Ok(answer) => (answer.model.as_str(), answer.usage),
            Err(error) => (model.name(), error.usage()),
        };
        let failed = asked.as_ref().err().map(ToString::to_string);
        telemetry::model_called(&span, name, &usage, failed.as_deref());
        let booking = self.memory_booking(&fold.session, name, usage);
        let drafted = match asked {
            Ok(answer) => Ok((answer.value, answer.model)),
            Err(error) => Err(error.to_string()),
        };
        (drafted, booking)
    }

    fn memory_booking(&self, session: &SessionId, model: &str, usage: Usage) -> Booking {
        let account = Account {
            day: Day::of(self.parts.clock.now()),
            session: session.to_string(),
            component: Component::Memory,
            model: model.to_owned(),
        };
        Booking { account, spent: Spent::call(usage, self.parts.prices.cost(model, &usage)) }
    }

    /// Changes a session and books what that took: in one write if that can be, and whether or not the change still applies.
    async fn change_and_book(
        &self,
        tenant: &TenantId,
        id: &SessionId,
        spent: Vec<Booking>,
        change: impl FnMut(&mut Session) -> bool,
    ) -> Result<(), EngineError> {
        let books = self.parts.sessions.books();
        let together = if books { spent.clone() } else { Vec::new() };
        let changed = self.change_with(tenant, id, together, change).await;
        let is_booked = books && matches!(changed, Ok(Some(_)));
        if !is_booked && !spent.is_empty() {
            let booked = self.parts.ledger.book(tenant, spent).await;
            if let Err(error) = booked {
                tracing::error!(%error, session = %id, "what a memory cost could not be booked");
            }
        }
        changed.map(|_| ())
    }

    /// Changes a session as it is by then; `change` says whether it still applies. Its time to live stays as it is.
    pub(super) async fn change(
        &self,
        tenant: &TenantId,
        id: &SessionId,
        change: impl FnMut(&mut Session) -> bool,
    ) -> Result<Option<Session>, EngineError> {
        self.change_with(tenant, id, Vec::new(), change).await
    }

    async fn change_with(
        &self,
        tenant: &TenantId,
        id: &SessionId,
        bookings: Vec<Booking>,
        mut change: impl FnMut(&mut Session) -> bool,
    ) -> Result<Option<Session>, EngineError> {
        for _ in 0..KEEP_TRIES_MAX {
            let now = self.parts.clock.now();
            let Some(kept) = self.parts.sessions.session(tenant, id, now).await? else {
                return Ok(None);
            };
            let KeptSession { mut session, revision } = kept;
            if !change(&mut session) {
                return Ok(None);
            }
            let is_due = session.is_due(&self.rules.memory);
            let expires_at = self.expiry(session.used_at);
            let changed = session.clone();
            let (turn, bookings) = (None, bookings.clone());
            let keep = KeepSession { session, revision, turn, bookings, is_due, now, expires_at };
            if self.parts.sessions.keep(tenant, keep).await? {
                return Ok(Some(changed));
            }
        }
        Err(EngineError::Conflict("others write to this session all the time".to_owned()))
    }

    /// When a session that was used last at this moment expires.
    pub(super) fn expiry(&self, used_at: Timestamp) -> Timestamp {
        let kept = super::running::milliseconds(self.rules.session_kept);
        Timestamp(used_at.0.saturating_add(kept))
    }
}
