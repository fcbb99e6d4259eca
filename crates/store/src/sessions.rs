//! Conversations: each a row, with indexes by last use and by expiry that change in the same commit.

use std::sync::Arc;

use agent::identity::Timestamp;
use agent::memory::{SaidTurn, Session, SessionId};
use agent::names::TenantId;
use agent::ports::{
    KeepSession, KeptSession, Later, Page, RECORDS_MAX, SAID_MAX, SessionLine, Sessions,
};
use agent::turn::{TurnId, TurnRecord};
use redb::{ReadTransaction, ReadableTable, Table, WriteTransaction};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::ahead::{SessionWrite, TurnWrite};
use crate::redb_file::{Store, broken};
use crate::tables::{self, LAST, from_row, to_row};

/// How many more turns than are kept may gather before the oldest are let go: looking each time would cost each turn.
const SURPLUS_MAX: u64 = 50;

/// How far a session's expiry may move, in milliseconds, before its place among the expiries is moved as well: a
/// conversation moves it with every turn, and a few minutes early only means a look at the row.
const EXPIRY_STEP: u64 = 10 * 60 * 1000;

/// A session's row, with the session or with what is wanted of it.
#[derive(Serialize, Deserialize)]
struct Row<S> {
    session: S,
    revision: u64,
    expires_at: Timestamp,
    /// Under which time it is found among the expiries, which is no later; none if it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    listed_at: Option<Timestamp>,
}

/// What the indexes say of a session: a write looks at no more of what was there.
#[derive(Deserialize)]
struct Indexed {
    used_at: Timestamp,
}

impl<S> Row<S> {
    fn listed_at(&self) -> Timestamp {
        self.listed_at.unwrap_or(self.expires_at)
    }

    /// Where to list it from now on: where it is, while that is early by less than the step and not late.
    fn listed_for(&self, expires_at: Timestamp) -> Timestamp {
        let listed_at = self.listed_at();
        let is_near =
            (listed_at.0..listed_at.0.saturating_add(EXPIRY_STEP)).contains(&expires_at.0);
        if is_near { listed_at } else { expires_at }
    }
}

impl Sessions for Store {
    fn session<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        now: Timestamp,
    ) -> Later<'a, Option<KeptSession>> {
        if let Some(known) = self.writer.known().session(tenant, id, now) {
            return Box::pin(std::future::ready(Ok(known)));
        }
        Box::pin(self.look_up(move |transaction| {
            let row = live(transaction, tenant, id, now)?;
            Ok(row.map(|Row { session, revision, .. }| KeptSession { session, revision }))
        }))
    }

    fn keep<'a>(&'a self, tenant: &'a TenantId, keep: KeepSession) -> Later<'a, bool> {
        let write = SessionWrite::new(tenant.clone(), keep);
        Box::pin(
            async move { self.writer.keep(write.map_err(|error| broken(Box::new(error)))?).await },
        )
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
        self.said_before(tenant, id, u64::MAX, limit, now)
    }

    fn said_before<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        before: u64,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Vec<SaidTurn>> {
        let (tenant, id) = (tenant.clone(), id.clone());
        Box::pin(self.read_settled(move |transaction| {
            if live::<IgnoredAny>(transaction, &tenant, &id, now)?.is_none() {
                return Ok(Vec::new());
            }
            let said = transaction.open_table(tables::SAID)?;
            let key = |number| (tenant.as_str(), id.as_str(), number);
            let rows = said.range(key(0)..key(before))?.rev().take(limit.min(SAID_MAX));
            let newest: Result<Vec<SaidTurn>, redb::Error> =
                rows.map(|row| from_row(row?.1.value())).collect();
            newest.map(oldest_first)
        }))
    }

    fn records<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Vec<TurnRecord>> {
        let (tenant, id) = (tenant.clone(), id.clone());
        Box::pin(self.read_settled(move |transaction| {
            if live::<IgnoredAny>(transaction, &tenant, &id, now)?.is_none() {
                return Ok(Vec::new());
            }
            let records = transaction.open_table(tables::RECORDS)?;
            let key = |token| (tenant.as_str(), id.as_str(), token);
            let rows = records.range(key("")..key(LAST))?.rev().take(limit.min(RECORDS_MAX));
            let newest: Result<Vec<TurnRecord>, redb::Error> =
                rows.map(|row| from_row(row?.1.value())).collect();
            newest.map(oldest_first)
        }))
    }

    fn record<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a TurnId,
        now: Timestamp,
    ) -> Later<'a, Option<TurnRecord>> {
        Box::pin(self.look_up_settled(move |transaction| {
            if live::<IgnoredAny>(transaction, tenant, &id.session, now)?.is_none() {
                return Ok(None);
            }
            let records = transaction.open_table(tables::RECORDS)?;
            let key = (tenant.as_str(), id.session.as_str(), id.token.as_str());
            records.get(key)?.map(|row| from_row(row.value())).transpose()
        }))
    }

    fn forget<'a>(&'a self, tenant: &'a TenantId, id: &'a SessionId) -> Later<'a, bool> {
        let (tenant, id) = (tenant.clone(), id.clone());
        Box::pin(self.writer.write(move |transaction| {
            let row = row_of(transaction, &tenant, &id)?;
            remove(transaction, &tenant, &id, row.as_ref())?;
            Ok(row.is_some())
        }))
    }

    fn sessions<'a>(
        &'a self,
        tenant: &'a TenantId,
        after: Option<String>,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Page<SessionLine>> {
        let tenant = tenant.clone();
        Box::pin(self.read_settled(move |transaction| {
            page(transaction, &tenant, after.as_deref(), limit, now)
        }))
    }

    fn due(&self) -> Later<'_, Vec<(TenantId, SessionId)>> {
        Box::pin(self.read_settled(|transaction| {
            let due = transaction.open_table(tables::SESSIONS_DUE)?;
            due.iter()?.map(|row| names(row?.0.value())).collect()
        }))
    }

    fn forget_expired(&self, now: Timestamp, limit: usize) -> Later<'_, u64> {
        Box::pin(self.writer.write(move |transaction| {
            let mut forgotten = 0;
            // Those that are listed anew do not count, and are not met again.
            while forgotten < limit {
                let listed = listed_until(transaction, now, limit - forgotten)?;
                if listed.is_empty() {
                    break;
                }
                for (tenant, id) in &listed {
                    let row: Option<Row<Indexed>> = row_of(transaction, tenant, id)?;
                    if row.as_ref().is_some_and(|row| now < row.expires_at) {
                        list_anew(transaction, tenant, id)?;
                    } else {
                        remove(transaction, tenant, id, row.as_ref())?;
                        forgotten += 1;
                    }
                }
            }
            Ok(forgotten as u64)
        }))
    }
}

/// The first sessions whose listed expiry has come.
fn listed_until(
    transaction: &WriteTransaction,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<(TenantId, SessionId)>, redb::Error> {
    let expiry = transaction.open_table(tables::SESSIONS_EXPIRY)?;
    // Up to this moment: a session is gone when its time has come.
    let rows = expiry.range((0, "", "")..=(now.0, LAST, LAST))?.take(limit);
    rows.map(|row| {
        let row = row?;
        let (_, tenant, id) = row.0.value();
        names((tenant, id))
    })
    .collect()
}

fn oldest_first<T>(mut newest: Vec<T>) -> Vec<T> {
    newest.reverse();
    newest
}

fn names((tenant, id): (&str, &str)) -> Result<(TenantId, SessionId), redb::Error> {
    let corrupted = || redb::Error::Corrupted("the name of a session".to_owned());
    Ok((tenant.parse().map_err(|_| corrupted())?, id.parse().map_err(|_| corrupted())?))
}

/// The row of a session that has not expired.
fn live<S: DeserializeOwned>(
    transaction: &ReadTransaction,
    tenant: &TenantId,
    id: &SessionId,
    now: Timestamp,
) -> Result<Option<Row<S>>, redb::Error> {
    let row = row_in::<S>(&transaction.open_table(tables::SESSIONS)?, tenant, id)?;
    Ok(row.filter(|row| now < row.expires_at))
}

fn row_in<S: DeserializeOwned>(
    sessions: &impl ReadableTable<(&'static str, &'static str), &'static [u8]>,
    tenant: &TenantId,
    id: &SessionId,
) -> Result<Option<Row<S>>, redb::Error> {
    let row = sessions.get((tenant.as_str(), id.as_str()))?;
    row.map(|row| from_row(row.value())).transpose()
}

/// The row of a session, expired or not.
fn row_of<S: DeserializeOwned>(
    transaction: &WriteTransaction,
    tenant: &TenantId,
    id: &SessionId,
) -> Result<Option<Row<S>>, redb::Error> {
    row_in(&transaction.open_table(tables::SESSIONS)?, tenant, id)
}

/// How often a session was written and when it expires; none if nothing of it is there.
pub(crate) fn revision_of(
    transaction: &ReadTransaction,
    tenant: &TenantId,
    id: &SessionId,
) -> Result<Option<(u64, Timestamp)>, redb::Error> {
    let row = row_in::<IgnoredAny>(&transaction.open_table(tables::SESSIONS)?, tenant, id)?;
    Ok(row.map(|row| (row.revision, row.expires_at)))
}

/// Does writes of one session, of which each was made from the one before, so that only the last of its states counts;
/// false if somebody else has written it since, and nothing is changed.
pub(crate) fn write(
    transaction: &WriteTransaction,
    writes: &[Arc<SessionWrite>],
) -> Result<bool, redb::Error> {
    let (Some(first), Some(last)) = (writes.first(), writes.last()) else { return Ok(false) };
    let SessionWrite { tenant, session, revision, is_due, expires_at, .. } = &**last;
    let before: Option<Row<Indexed>> = row_of(transaction, tenant, &session.id)?;
    let live = before.as_ref().filter(|row| first.now < row.expires_at);
    if live.map_or(0, |row| row.revision) != first.revision {
        return Ok(false);
    }
    if live.is_none() {
        // What is left of an expired session of this name is not the new one's.
        remove(transaction, tenant, &session.id, before.as_ref())?;
    }
    add_turns(transaction, last, writes.iter().filter_map(|write| write.turn.as_ref()))?;
    let listed_at = live.map_or(*expires_at, |row| row.listed_for(*expires_at));
    index(transaction, tenant, live, session, listed_at)?;
    let key = (tenant.as_str(), session.id.as_str());
    let mut due = transaction.open_table(tables::SESSIONS_DUE)?;
    if *is_due {
        due.insert(key, ())?;
    } else {
        due.remove(key)?;
    }
    let listed_at = Some(listed_at).filter(|listed_at| listed_at != expires_at);
    let session = &*last.written;
    let row = Row { revision: revision + 1, expires_at: *expires_at, listed_at, session };
    transaction.open_table(tables::SESSIONS)?.insert(key, to_row(&row)?.as_slice())?;
    Ok(true)
}

/// Moves a session to its new place in both indexes.
fn index(
    transaction: &WriteTransaction,
    tenant: &TenantId,
    before: Option<&Row<Indexed>>,
    session: &Session,
    listed_at: Timestamp,
) -> Result<(), redb::Error> {
    let (tenant, id) = (tenant.as_str(), session.id.as_str());
    let mut used = transaction.open_table(tables::SESSIONS_USED)?;
    if let Some(before) = before {
        used.remove((tenant, before.session.used_at.0, id))?;
    }
    used.insert((tenant, session.used_at.0, id), session.title.as_str())?;
    let listed_before = before.map(Row::listed_at);
    if listed_before != Some(listed_at) {
        let mut expiry = transaction.open_table(tables::SESSIONS_EXPIRY)?;
        if let Some(listed_before) = listed_before {
            expiry.remove((listed_before.0, tenant, id))?;
        }
        expiry.insert((listed_at.0, tenant, id), ())?;
    }
    Ok(())
}

/// Lists a session that is used still under the time at which it expires.
fn list_anew(
    transaction: &WriteTransaction,
    tenant: &TenantId,
    id: &SessionId,
) -> Result<(), redb::Error> {
    let Some(row) = row_of::<Session>(transaction, tenant, id)? else { return Ok(()) };
    let mut expiry = transaction.open_table(tables::SESSIONS_EXPIRY)?;
    expiry.remove((row.listed_at().0, tenant.as_str(), id.as_str()))?;
    expiry.insert((row.expires_at.0, tenant.as_str(), id.as_str()), ())?;
    let row = to_row(&Row { listed_at: None, ..row })?;
    let key = (tenant.as_str(), id.as_str());
    transaction.open_table(tables::SESSIONS)?.insert(key, row.as_slice())?;
    Ok(())
}

/// Adds turns to what was said in the session of this write.
fn add_turns<'a>(
    transaction: &WriteTransaction,
    to: &SessionWrite,
    turns: impl Iterator<Item = &'a TurnWrite>,
) -> Result<(), redb::Error> {
    let (tenant, session) = (to.tenant.as_str(), to.session.id.as_str());
    let mut said = transaction.open_table(tables::SAID)?;
    let mut records = transaction.open_table(tables::RECORDS)?;
    let mut surplus_at = None;
    for turn in turns {
        said.insert((tenant, session, turn.number), turn.said.get().as_bytes())?;
        records.insert((tenant, session, turn.token.as_str()), turn.record.get().as_bytes())?;
        surplus_at =
            surplus_at.max(Some(turn.number).filter(|number| number.is_multiple_of(SURPLUS_MAX)));
    }
    if let Some(number) = surplus_at {
        let first_kept = (number + 1).saturating_sub(SAID_MAX as u64);
        said.retain_in((tenant, session, 0)..(tenant, session, first_kept), |_, _| false)?;
        let_go(&mut records, (tenant, session), number)?;
    }
    Ok(())
}

/// The number of a turn, of all that is kept of it.
#[derive(Deserialize)]
struct Numbered {
    number: u64,
}

/// Lets go of the oldest records of a session that has come to the turn of this number. They follow each other without a gap,
/// so the first says how many there are: to count them is to read them.
fn let_go(
    records: &mut Table<'_, (&str, &str, &str), &[u8]>,
    (tenant, session): (&str, &str),
    number: u64,
) -> Result<(), redb::Error> {
    let own = (tenant, session, "")..(tenant, session, LAST);
    let Some(oldest) = records.range(own.clone())?.next() else { return Ok(()) };
    let Numbered { number: oldest } = from_row(oldest?.1.value())?;
    let surplus = (number + 1).saturating_sub(oldest).saturating_sub(RECORDS_MAX as u64);
    let surplus = usize::try_from(surplus).unwrap_or(usize::MAX);
    for gone in records.extract_from_if(own, |_, _| true)?.take(surplus) {
        gone?;
    }
    Ok(())
}

/// Removes all that a session has anywhere.
fn remove(
    transaction: &WriteTransaction,
    tenant: &TenantId,
    id: &SessionId,
    row: Option<&Row<Indexed>>,
) -> Result<(), redb::Error> {
    let Some(row) = row else { return Ok(()) };
    let key = (tenant.as_str(), id.as_str());
    transaction.open_table(tables::SESSIONS)?.remove(key)?;
    transaction.open_table(tables::SESSIONS_DUE)?.remove(key)?;
    let used = (key.0, row.session.used_at.0, key.1);
    transaction.open_table(tables::SESSIONS_USED)?.remove(used)?;
    let expiry = (row.listed_at().0, key.0, key.1);
    transaction.open_table(tables::SESSIONS_EXPIRY)?.remove(expiry)?;
    let said = (key.0, key.1, 0)..=(key.0, key.1, u64::MAX);
    transaction.open_table(tables::SAID)?.retain_in(said, |_, _| false)?;
    let records = (key.0, key.1, "")..(key.0, key.1, LAST);
    transaction.open_table(tables::RECORDS)?.retain_in(records, |_, _| false)?;
    Ok(())
}

/// A page starts behind `after`, which is the last use of the last session of the page before, and its name.
fn page(
    transaction: &ReadTransaction,
    tenant: &TenantId,
    after: Option<&str>,
    limit: usize,
    now: Timestamp,
) -> Result<Page<SessionLine>, redb::Error> {
    let (time, name) = after.and_then(|after| after.split_once('.')).unwrap_or(("", LAST));
    let time = time.parse().unwrap_or(u64::MAX);
    let used = transaction.open_table(tables::SESSIONS_USED)?;
    let tenant_name = tenant.as_str();
    let mut items = Vec::new();
    for row in used.range((tenant_name, 0, "")..(tenant_name, time, name))?.rev() {
        let (key, title) = row?;
        let (_, used_at, id) = key.value();
        let (_, id) = names((tenant_name, id))?;
        if live::<IgnoredAny>(transaction, tenant, &id, now)?.is_none() {
            continue;
        }
        if items.len() == limit {
            let last: Option<&SessionLine> = items.last();
            let next = last.map(|line| format!("{}.{}", line.used_at.0, line.id));
            return Ok(Page { items, next });
        }
        let title = title.value().to_owned();
        items.push(SessionLine { id, title, used_at: Timestamp(used_at) });
    }
    Ok(Page { items, next: None })
}

#[cfg(test)]
mod tests;
