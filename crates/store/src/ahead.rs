//! Sessions that are in the log and not in the tables yet: a turn is on disk at once, and the tables get many in one commit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::identity::Timestamp;
use agent::memory::SessionId;
use agent::names::TenantId;
use agent::ports::{KeepSession, KeptSession};
use redb::{ReadTransaction, WriteTransaction};

use crate::log::{Found, Log};
use crate::tables::{self, LOGGED, from_row, to_row};
use crate::{ledger, sessions};

/// Writes that wait for the tables: enough that a commit of them costs each little, and few enough that a start after a
/// crash, which does them first, is not held up.
const WAITING_MAX: usize = 64;

/// A session that is to be kept.
pub(crate) struct SessionWrite {
    pub(crate) tenant: TenantId,
    pub(crate) keep: KeepSession,
}

/// What a session is at the moment, as far as a write has to know.
enum Standing {
    /// How often it was written; 0 if it is not there.
    Revision(u64),
    /// It has expired, and what is left of it has to go first.
    Expired,
}

impl SessionWrite {
    /// Writes the session, its turn and what that cost; false if somebody else has written it since.
    pub(crate) fn run(&self, transaction: &WriteTransaction) -> Result<bool, redb::Error> {
        let is_kept = sessions::write(transaction, &self.tenant, &self.keep)?;
        if is_kept && !self.keep.bookings.is_empty() {
            ledger::book(transaction, &self.tenant, &self.keep.bookings)?;
        }
        Ok(is_kept)
    }

    fn key(&self) -> (TenantId, SessionId) {
        (self.tenant.clone(), self.keep.session.id.clone())
    }

    fn to_entry(&self) -> Result<Vec<u8>, redb::Error> {
        to_row(&(&self.tenant, &self.keep))
    }

    /// Reads an entry of the log.
    fn from_entry(entry: &[u8]) -> Result<Self, redb::Error> {
        let (tenant, keep) = from_row(entry)?;
        Ok(Self { tenant, keep })
    }

    fn standing(&self, now: Timestamp) -> Standing {
        if now < self.keep.expires_at {
            Standing::Revision(self.keep.revision + 1)
        } else {
            Standing::Expired
        }
    }
}

/// The log and what of it is not in the tables. Whoever writes holds it.
pub(crate) struct Ahead {
    /// None where none could be made: then everything goes to the tables at once.
    pub(crate) log: Option<Log>,
    waiting: Vec<Arc<SessionWrite>>,
    /// The number of the last entry.
    last: u64,
}

/// What a batch of writes comes to.
pub(crate) struct Accepted {
    /// Of each write, whether its session was still as it had been.
    pub(crate) kept: Vec<bool>,
    writes: Vec<Arc<SessionWrite>>,
    pub(crate) entries: Vec<Vec<u8>>,
}

impl Ahead {
    /// Without a log.
    pub(crate) fn none() -> Self {
        Self { log: None, waiting: Vec::new(), last: 0 }
    }

    /// A log as it was opened, with what a process that was killed has left in it.
    pub(crate) fn opened(mut log: Log, found: &Found) -> Result<Self, redb::Error> {
        let write = |entry: &Vec<u8>| SessionWrite::from_entry(entry).map(Arc::new);
        let waiting: Vec<_> = found.entries.iter().map(write).collect::<Result<_, _>>()?;
        if waiting.is_empty() {
            log.begin_anew();
        }
        Ok(Self { log: Some(log), waiting, last: found.last })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_MAX
    }

    /// Puts what is in the log into the tables.
    pub(crate) fn put_into_tables(
        &self,
        transaction: &WriteTransaction,
    ) -> Result<(), redb::Error> {
        if self.is_empty() {
            return Ok(());
        }
        for write in &self.waiting {
            write.run(transaction)?;
        }
        transaction.open_table(tables::META)?.insert(LOGGED, self.last)?;
        Ok(())
    }

    /// The tables have it all.
    pub(crate) fn done(&mut self) {
        self.waiting.clear();
        if let Some(log) = &mut self.log {
            log.begin_anew();
        }
    }

    /// The log has it, up to this number.
    pub(crate) fn logged(&mut self, accepted: Accepted, last: u64, known: &Known) {
        self.last = last;
        let mut rows = known.rows();
        for write in accepted.writes {
            rows.insert(write.key(), Arc::clone(&write));
            self.waiting.push(write);
        }
    }
}

/// The last write of each session that is in the log and not in the tables, for whoever reads.
#[derive(Default)]
pub(crate) struct Known(Mutex<HashMap<(TenantId, SessionId), Arc<SessionWrite>>>);

impl Known {
    fn rows(&self) -> MutexGuard<'_, HashMap<(TenantId, SessionId), Arc<SessionWrite>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows().is_empty()
    }

    /// The tables have it all.
    pub(crate) fn clear(&self) {
        self.rows().clear();
    }

    /// The session, if it is known here; the inner none if it has expired.
    pub(crate) fn session(
        &self,
        tenant: &TenantId,
        id: &SessionId,
        now: Timestamp,
    ) -> Option<Option<KeptSession>> {
        let write = self.rows().get(&(tenant.clone(), id.clone())).cloned()?;
        Some(match write.standing(now) {
            Standing::Revision(revision) => {
                Some(KeptSession { session: write.keep.session.clone(), revision })
            }
            Standing::Expired => None,
        })
    }

    /// Which of these writes can go into the log; none if the tables have to be looked after first.
    pub(crate) fn accept(
        &self,
        writes: &[Arc<SessionWrite>],
        tables: &ReadTransaction,
    ) -> Result<Option<Accepted>, redb::Error> {
        let mut accepted = Accepted { kept: Vec::new(), writes: Vec::new(), entries: Vec::new() };
        for write in writes {
            let SessionWrite { tenant, keep } = &**write;
            let is_same = |other: &&Arc<SessionWrite>| {
                other.tenant == *tenant && other.keep.session.id == keep.session.id
            };
            let in_log = accepted.writes.iter().rev().find(is_same).cloned();
            let in_log = in_log.or_else(|| self.rows().get(&write.key()).cloned());
            let standing = match in_log {
                Some(before) => before.standing(keep.now),
                None => match sessions::revision_of(tables, tenant, &keep.session.id)? {
                    None => Standing::Revision(0),
                    Some((revision, expires_at)) if keep.now < expires_at => {
                        Standing::Revision(revision)
                    }
                    Some(_) => Standing::Expired,
                },
            };
            let Standing::Revision(revision) = standing else { return Ok(None) };
            let is_kept = revision == keep.revision;
            accepted.kept.push(is_kept);
            if is_kept {
                accepted.entries.push(write.to_entry()?);
                accepted.writes.push(Arc::clone(write));
            }
        }
        Ok(Some(accepted))
    }
}
