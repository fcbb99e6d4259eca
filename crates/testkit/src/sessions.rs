//! Sessions and bookings in memory, for tests that are about something else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent::identity::Timestamp;
use agent::ledger::{Account, Booking, Day, Spent};
use agent::memory::{SaidTurn, Session, SessionId};
use agent::names::TenantId;
use agent::ports::{
    KeepSession, KeptSession, Later, Ledger, Page, PortError, RECORDS_MAX, SAID_MAX, SessionLine,
    Sessions,
};
use agent::turn::{TurnId, TurnRecord};

type Key = (TenantId, SessionId);

/// Keeps the contracts of `Sessions` and `Ledger` until it is dropped, and fails when it is told to.
#[derive(Default)]
pub struct MemorySessions {
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    sessions: BTreeMap<Key, Row>,
    due: BTreeSet<Key>,
    ledger: BTreeMap<(TenantId, Account), Spent>,
    is_down: bool,
}

struct Row {
    session: Session,
    revision: u64,
    expires_at: Timestamp,
    records: Vec<TurnRecord>,
}

impl MemorySessions {
    /// From now on everything fails, or works again.
    pub fn set_down(&self, is_down: bool) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).is_down = is_down;
    }

    fn rows(&self) -> Result<MutexGuard<'_, Rows>, PortError> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let (what, why) = ("the sessions".to_owned(), "they are down".to_owned());
        if rows.is_down { Err(PortError::Unavailable { what, why }) } else { Ok(rows) }
    }

    fn newest<T>(
        &self,
        key: &Key,
        limit: usize,
        now: Timestamp,
        take: impl Fn(&TurnRecord) -> T,
    ) -> Result<Vec<T>, PortError> {
        let rows = self.rows()?;
        let Some(row) = rows.live(key, now) else { return Ok(Vec::new()) };
        let first = row.records.len().saturating_sub(limit);
        Ok(row.records.iter().skip(first).map(take).collect())
    }
}

impl Rows {
    fn live(&self, key: &Key, now: Timestamp) -> Option<&Row> {
        self.sessions.get(key).filter(|row| now < row.expires_at)
    }

    fn book(&mut self, tenant: &TenantId, bookings: Vec<Booking>) {
        for Booking { account, spent } in bookings {
            self.ledger.entry((tenant.clone(), account)).or_default().add(&spent);
        }
    }

    fn keep(&mut self, tenant: &TenantId, keep: KeepSession) -> bool {
        let key = (tenant.clone(), keep.session.id.clone());
        let before = self.live(&key, keep.now);
        if before.map_or(0, |row| row.revision) != keep.revision {
            return false;
        }
        let mut records = before.map(|row| row.records.clone()).unwrap_or_default();
        records.extend(keep.turn.map(Arc::unwrap_or_clone));
        if keep.is_due {
            self.due.insert(key.clone());
        } else {
            self.due.remove(&key);
        }
        self.book(tenant, keep.bookings);
        let KeepSession { session, revision, expires_at, .. } = keep;
        self.sessions.insert(key, Row { session, revision: revision + 1, expires_at, records });
        true
    }
}

fn later<'a, T: Send + 'a>(outcome: Result<T, PortError>) -> Later<'a, T> {
    Box::pin(std::future::ready(outcome))
}

impl Sessions for MemorySessions {
    fn session<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        now: Timestamp,
    ) -> Later<'a, Option<KeptSession>> {
        later(self.rows().map(|rows| {
            let row = rows.live(&(tenant.clone(), id.clone()), now)?;
            Some(KeptSession { session: row.session.clone(), revision: row.revision })
        }))
    }

    fn keep<'a>(&'a self, tenant: &'a TenantId, keep: KeepSession) -> Later<'a, bool> {
        later(self.rows().map(|mut rows| rows.keep(tenant, keep)))
    }

    fn books(&self) -> bool {
        true
    }

    fn said<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Vec<SaidTurn>> {
        let key = (tenant.clone(), id.clone());
        later(self.newest(&key, limit.min(SAID_MAX), now, TurnRecord::said))
    }

    fn said_before<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        before: u64,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Vec<SaidTurn>> {
        let key = (tenant.clone(), id.clone());
        later(self.newest(&key, SAID_MAX, now, TurnRecord::said).map(|mut said| {
            said.retain(|turn| turn.number < before);
            said.split_off(said.len().saturating_sub(limit))
        }))
    }

    fn records<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Vec<TurnRecord>> {
        let key = (tenant.clone(), id.clone());
        later(self.newest(&key, limit.min(RECORDS_MAX), now, Clone::clone))
    }

    fn record<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a TurnId,
        now: Timestamp,
    ) -> Later<'a, Option<TurnRecord>> {
        later(self.rows().map(|rows| {
            let row = rows.live(&(tenant.clone(), id.session.clone()), now)?;
            row.records.iter().find(|record| record.id == *id).cloned()
        }))
    }

    fn forget<'a>(&'a self, tenant: &'a TenantId, id: &'a SessionId) -> Later<'a, bool> {
        let key = (tenant.clone(), id.clone());
        later(self.rows().map(|mut rows| {
            rows.due.remove(&key);
            rows.sessions.remove(&key).is_some()
        }))
    }

    fn sessions<'a>(
        &'a self,
        tenant: &'a TenantId,
        after: Option<String>,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Page<SessionLine>> {
        later(self.rows().map(|rows| {
            let live = rows
                .sessions
                .iter()
                .filter(|((owner, _), row)| owner == tenant && now < row.expires_at);
            let mut lines: Vec<SessionLine> = live
                .map(|((_, id), row)| SessionLine {
                    id: id.clone(),
                    title: row.session.title.clone(),
                    used_at: row.session.used_at,
                })
                .collect();
            lines.sort_by_key(|line| std::cmp::Reverse(line.used_at));
            let start = after.and_then(|after| after.parse().ok()).unwrap_or(0);
            let items: Vec<SessionLine> = lines.iter().skip(start).take(limit).cloned().collect();
            let end = start + items.len();
            Page { items, next: (end < lines.len()).then(|| end.to_string()) }
        }))
    }

    fn due(&self) -> Later<'_, Vec<(TenantId, SessionId)>> {
        later(self.rows().map(|rows| rows.due.iter().cloned().collect()))
    }

    fn forget_expired(&self, now: Timestamp, limit: usize) -> Later<'_, u64> {
        later(self.rows().map(|mut rows| {
            let old = rows.sessions.iter().filter(|(_, row)| now >= row.expires_at);
            let old: Vec<Key> = old.take(limit).map(|(key, _)| key.clone()).collect();
            for key in &old {
                rows.due.remove(key);
                rows.sessions.remove(key);
            }
            old.len() as u64
        }))
    }
}

impl Ledger for MemorySessions {
    fn book<'a>(&'a self, tenant: &'a TenantId, bookings: Vec<Booking>) -> Later<'a, ()> {
        later(self.rows().map(|mut rows| rows.book(tenant, bookings)))
    }

    fn booked<'a>(
        &'a self,
        tenant: &'a TenantId,
        first: Day,
        last: Day,
    ) -> Later<'a, Vec<Booking>> {
        later(self.rows().map(|rows| {
            let own = rows.ledger.iter().filter(|((owner, account), _)| {
                owner == tenant && (first..=last).contains(&account.day)
            });
            let booking = |((_, account), spent): (&(TenantId, Account), &Spent)| Booking {
                account: account.clone(),
                spent: *spent,
            };
            own.map(booking).collect()
        }))
    }

    fn forget_booked(&self, before: Day) -> Later<'_, u64> {
        later(self.rows().map(|mut rows| {
            let count = rows.ledger.len();
            rows.ledger.retain(|(_, account), _| account.day >= before);
            (count - rows.ledger.len()) as u64
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::MemorySessions;
    use crate::contracts;

    #[tokio::test]
    async fn sessions_in_memory_keep_the_contracts() {
        contracts::sessions::keeps_its_promise(&MemorySessions::default()).await;
        contracts::ledger::keeps_its_promise(&MemorySessions::default()).await;
        let both = MemorySessions::default();
        contracts::sessions::books_what_a_turn_cost(&both, &both).await;
    }
}
