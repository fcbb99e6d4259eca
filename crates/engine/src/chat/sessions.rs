//! What people see of their conversations, and what they change.

use agent::identity::{AuditEntry, Principal};
use agent::ledger::{Booking, Day};
use agent::memory::{Entities, Memory, MemoryEdit, SaidTurn, Session, SessionId, Version};
use agent::names::TenantId;
use agent::ports::{Page, RECORDS_MAX, SAID_MAX, SessionLine};
use agent::turn::{TurnId, TurnRecord};

use super::Copilot;
use crate::error::EngineError;

/// Most sessions of a page, and turns that a view shows.
const PAGE_MAX: usize = 200;

/// Expired sessions that are forgotten at a time; those beyond are absent all the same.
const SWEPT_MAX: usize = 10_000;

/// A conversation as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    pub session: Session,
    /// Turns of which it is not kept any more how they came about, oldest first.
    pub said: Vec<SaidTurn>,
    /// The turns after those, oldest first.
    pub turns: Vec<TurnRecord>,
    /// The oldest turn that is kept.
    pub first_turn: u64,
}

/// What is remembered of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryView {
    pub memory: Memory,
    pub entities: Entities,
    /// Turns that are shown word for word, and those that wait to be taken in.
    pub short_term: usize,
    pub unfolded: usize,
    /// What the memory was before, oldest first.
    pub earlier: Vec<Version>,
}

impl Copilot {
    pub async fn sessions(
        &self,
        tenant: &TenantId,
        after: Option<String>,
        limit: usize,
    ) -> Result<Page<SessionLine>, EngineError> {
        let now = self.parts.clock.now();
        Ok(self.parts.sessions.sessions(tenant, after, limit.clamp(1, PAGE_MAX), now).await?)
    }

    pub async fn session(
        &self,
        tenant: &TenantId,
        id: &SessionId,
    ) -> Result<SessionView, EngineError> {
        self.session_page(tenant, id, None, PAGE_MAX).await
    }

    /// A conversation with the newest `count` of its turns before a number, or of all.
    pub async fn session_page(
        &self,
        tenant: &TenantId,
        id: &SessionId,
        before: Option<u64>,
        count: usize,
    ) -> Result<SessionView, EngineError> {
        let session = self.kept(tenant, id).await?;
        let (sessions, now) = (&self.parts.sessions, self.parts.clock.now());
        let all = session.turns_said;
        let before = before.unwrap_or(u64::MAX).min(all + 1);
        let first = before.saturating_sub(count.clamp(1, PAGE_MAX) as u64).max(1);
        // Only of the newest it is known how they came about.
        let turns = if before + (RECORDS_MAX as u64) > all + 1 {
            let newest = usize::try_from(all + 1 - first).unwrap_or(usize::MAX);
            let mut turns = sessions.records(tenant, id, newest.min(RECORDS_MAX), now).await?;
            turns.retain(|turn| (first..before).contains(&turn.number));
            turns
        } else {
            Vec::new()
        };
        let known = turns.first().map_or(before, |turn| turn.number);
        let missing = usize::try_from(known.saturating_sub(first)).unwrap_or(usize::MAX);
        let said = match missing {
            0 => Vec::new(),
            _ => sessions.said_before(tenant, id, known, missing, now).await?,
        };
        let first_turn = all.saturating_sub(SAID_MAX as u64) + 1;
        Ok(SessionView { session, said, turns, first_turn })
    }

    pub async fn memory(
        &self,
        tenant: &TenantId,
        id: &SessionId,
    ) -> Result<MemoryView, EngineError> {
        Ok(self.view(self.kept(tenant, id).await?))
    }

    pub async fn turn(&self, tenant: &TenantId, id: &TurnId) -> Result<TurnRecord, EngineError> {
        let found = self.parts.sessions.record(tenant, id, self.parts.clock.now()).await?;
        found.ok_or(EngineError::Absent { what: "turn of this id" })
    }

    /// Gives a session another title.
    pub async fn rename(
        &self,
        principal: &Principal,
        id: &SessionId,
        title: &str,
    ) -> Result<Session, EngineError> {
        let changed = self.change(&principal.tenant, id, |session| {
            session.rename(title);
            true
        });
        changed.await?.ok_or(ABSENT)
    }

    /// Changes what is remembered, as a person wants it.
    pub async fn edit_memory(
        &self,
        principal: &Principal,
        id: &SessionId,
        edit: MemoryEdit,
    ) -> Result<MemoryView, EngineError> {
        let (limits, now) = (&self.rules.memory, self.parts.clock.now());
        let mut refused = None;
        let changed = self.change(&principal.tenant, id, |session| {
            let edited = session.edit(edit.clone(), now, limits, &*self.parts.tokenizer);
            refused = edited.err();
            refused.is_none()
        });
        let changed = changed.await?;
        if let Some(error) = refused {
            return Err(EngineError::Refused(error.to_string()));
        }
        self.note(principal, "memory.edit", id).await?;
        changed.map(|session| self.view(session)).ok_or(ABSENT)
    }

    /// Brings an earlier version of the memory back; what it has not seen is taken in again.
    pub async fn roll_back(
        &self,
        principal: &Principal,
        id: &SessionId,
        version: u64,
    ) -> Result<MemoryView, EngineError> {
        let tenant = &principal.tenant;
        let (limits, now) = (&self.rules.memory, self.parts.clock.now());
        let said = self.parts.sessions.said(tenant, id, SAID_MAX, now).await?;
        let mut refused = None;
        let changed = self.change(tenant, id, |session| {
            refused = session.roll_back(version, said.clone(), now, limits).err();
            refused.is_none()
        });
        let changed = changed.await?;
        if let Some(error) = refused {
            return Err(EngineError::Refused(error.to_string()));
        }
        let session = changed.ok_or(ABSENT)?;
        self.note(principal, "memory.roll_back", id).await?;
        if session.is_due(limits) {
            self.rewrite_memory(tenant.clone(), id.clone());
        }
        Ok(self.view(session))
    }

    /// Forgets a session and all that was said in it.
    pub async fn forget(&self, principal: &Principal, id: &SessionId) -> Result<(), EngineError> {
        if !self.parts.sessions.forget(&principal.tenant, id).await? {
            return Err(ABSENT);
        }
        self.note(principal, "session.forget", id).await
    }

    /// Forgets what is left of expired sessions; says of how many.
    pub async fn sweep(&self) -> Result<u64, EngineError> {
        let now = self.parts.clock.now();
        Ok(self.parts.sessions.forget_expired(now, SWEPT_MAX).await?)
    }

    /// What was spent on these days, both included.
    pub async fn booked(
        &self,
        tenant: &TenantId,
        first: Day,
        last: Day,
    ) -> Result<Vec<Booking>, EngineError> {
        Ok(self.parts.ledger.booked(tenant, first, last).await?)
    }

    /// Today.
    #[must_use]
    pub fn today(&self) -> Day {
        Day::of(self.parts.clock.now())
    }

    async fn kept(&self, tenant: &TenantId, id: &SessionId) -> Result<Session, EngineError> {
        let kept = self.parts.sessions.session(tenant, id, self.parts.clock.now()).await?;
        kept.map(|kept| kept.session).ok_or(ABSENT)
    }

    fn view(&self, session: Session) -> MemoryView {
        MemoryView {
            short_term: session.short_term(&self.rules.memory).len(),
            unfolded: session.unfolded().len(),
            memory: session.memory,
            entities: session.entities,
            earlier: session.earlier,
        }
    }

    async fn note(
        &self,
        principal: &Principal,
        action: &str,
        id: &SessionId,
    ) -> Result<(), EngineError> {
        let entry = AuditEntry {
            at: self.parts.clock.now(),
            principal: principal.name.clone(),
            action: action.to_owned(),
            object: id.to_string(),
        };
        Ok(self.parts.audit.note(&principal.tenant, entry).await?)
    }
}

const ABSENT: EngineError = EngineError::Absent { what: "session of this id" };
