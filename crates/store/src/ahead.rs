//! Sessions that are in the log and not in the tables yet: a turn is on disk at once, and the tables get many in one commit.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::identity::Timestamp;
use agent::ledger::{Account, Booking, Spent};
use agent::memory::{Session, SessionId};
use agent::names::TenantId;
use agent::ports::{KeepSession, KeptSession};
use agent::turn::TurnRecord;
use redb::{ReadTransaction, WriteTransaction};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::log::{Found, Log};
use crate::tables::{self, LOGGED, add_row, from_row, written};
use crate::{ledger, sessions};

/// Writes that wait for the tables: enough that a commit of them costs each little, and few enough that a start after a
/// crash, which does them first, is not held up. They fit into the log.
pub(crate) const WAITING_MAX: usize = 256;

/// About what an entry takes besides the session and the turn.
const ENTRY_BYTES: usize = 1024;

/// Sessions that are remembered after the tables have them: whoever asked last mostly asks next.
const SETTLED_MAX: usize = 256;

/// A session that is to be kept, written down once: for the log, and for the tables.
pub(crate) struct SessionWrite {
    pub(crate) tenant: TenantId,
    pub(crate) session: Arc<Session>,
    /// The session as it goes into its row.
    pub(crate) written: Box<RawValue>,
    pub(crate) turn: Option<TurnWrite>,
    bookings: Vec<Booking>,
    /// The revision that it was made from.
    pub(crate) revision: u64,
    pub(crate) is_due: bool,
    pub(crate) now: Timestamp,
    pub(crate) expires_at: Timestamp,
}

/// A turn that came to a session.
pub(crate) struct TurnWrite {
    pub(crate) number: u64,
    pub(crate) token: String,
    /// Word for word, and how it came about, as they go into their rows.
    pub(crate) said: Box<RawValue>,
    pub(crate) record: Box<RawValue>,
}

/// A write as it stands in the log.
#[derive(Serialize, Deserialize)]
struct Entry<S, T, B> {
    session: S,
    revision: u64,
    turn: Option<T>,
    bookings: B,
    is_due: bool,
    now: Timestamp,
    expires_at: Timestamp,
}

impl SessionWrite {
    pub(crate) fn new(tenant: TenantId, keep: KeepSession) -> Result<Self, redb::Error> {
        let KeepSession { session, revision, turn, bookings, is_due, now, expires_at } = keep;
        let turn = turn.map(|turn| {
            let (said, record) = (written(&turn.said())?, written(&*turn)?);
            let token = turn.id.token.clone();
            Ok::<_, redb::Error>(TurnWrite { number: turn.number, token, said, record })
        });
        Ok(Self {
            tenant,
            written: written(&session)?,
            session: Arc::new(session),
            turn: turn.transpose()?,
            bookings,
            revision,
            is_due,
            now,
            expires_at,
        })
    }

    /// Writes the session, its turn and what that cost; false if somebody else has written it since.
    pub(crate) fn run(
        self: &Arc<Self>,
        transaction: &WriteTransaction,
    ) -> Result<bool, redb::Error> {
        let is_kept = sessions::write(transaction, std::slice::from_ref(self))?;
        if is_kept && !self.bookings.is_empty() {
            ledger::book(transaction, &self.tenant, &self.bookings)?;
        }
        Ok(is_kept)
    }

    fn key(&self) -> (TenantId, SessionId) {
        (self.tenant.clone(), self.session.id.clone())
    }

    fn to_entry(&self) -> Result<Vec<u8>, redb::Error> {
        let entry = Entry {
            session: &*self.written,
            revision: self.revision,
            turn: self.turn.as_ref().map(|turn| &*turn.record),
            bookings: &self.bookings,
            is_due: self.is_due,
            now: self.now,
            expires_at: self.expires_at,
        };
        let texts = self.turn.as_ref().map_or(0, |turn| turn.record.get().len());
        let mut row = Vec::with_capacity(self.written.get().len() + texts + ENTRY_BYTES);
        add_row(&mut row, &(&self.tenant, entry))?;
        Ok(row)
    }

    /// Reads an entry of the log.
    fn from_entry(entry: &[u8]) -> Result<Self, redb::Error> {
        let (tenant, entry): (TenantId, Entry<Session, TurnRecord, Vec<Booking>>) =
            from_row(entry)?;
        let Entry { session, revision, turn, bookings, is_due, now, expires_at } = entry;
        let turn = turn.map(Arc::new);
        let keep = KeepSession { session, revision, turn, bookings, is_due, now, expires_at };
        Self::new(tenant, keep)
    }
}

/// The log and what of it is not in the tables. Whoever writes holds it.
pub(crate) struct Ahead {
    /// None where none could be made: then everything goes to the tables at once.
    pub(crate) log: Option<Log>,
    waiting: Vec<Arc<SessionWrite>>,
    /// The number of the last entry.
    last: u64,
    /// Until when the disk counts as having room, without another look at it.
    pub(crate) has_room_until: Option<Instant>,
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
        Self { log: None, waiting: Vec::new(), last: 0, has_room_until: None }
    }

    /// A log as it was opened, with what a process that was killed has left in it.
    pub(crate) fn opened(mut log: Log, found: &Found) -> Result<Self, redb::Error> {
        let write = |entry: &Vec<u8>| SessionWrite::from_entry(entry).map(Arc::new);
        let waiting: Vec<_> = found.entries.iter().map(write).collect::<Result<_, _>>()?;
        if waiting.is_empty() {
            log.begin_anew();
        }
        Ok(Self { log: Some(log), waiting, last: found.last, has_room_until: None })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_MAX
    }

    /// Puts what is in the log into the tables: of each session its turns, the last of its states and the sum of its costs.
    pub(crate) fn put_into_tables(
        &self,
        transaction: &WriteTransaction,
    ) -> Result<(), redb::Error> {
        if self.is_empty() {
            return Ok(());
        }
        let mut by_session: BTreeMap<_, Vec<Arc<SessionWrite>>> = BTreeMap::new();
        for write in &self.waiting {
            by_session
                .entry((&write.tenant, &write.session.id))
                .or_default()
                .push(Arc::clone(write));
        }
        for ((tenant, _), writes) in &by_session {
            if sessions::write(transaction, writes)? {
                ledger::book(transaction, tenant, &summed(writes))?;
            }
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
        let mut known = known.states();
        for write in accepted.writes {
            known.is_ahead = true;
            known.by_session.insert(write.key(), State::of(&write));
            self.waiting.push(write);
        }
    }
}

/// What writes have cost, by account.
fn summed(writes: &[Arc<SessionWrite>]) -> Vec<Booking> {
    let mut sums: BTreeMap<&Account, Spent> = BTreeMap::new();
    for Booking { account, spent } in writes.iter().flat_map(|write| &write.bookings) {
        sums.entry(account).or_default().add(spent);
    }
    let booking = |(account, spent): (&Account, Spent)| Booking { account: account.clone(), spent };
    sums.into_iter().map(booking).collect()
}

/// The last states of sessions, for whoever reads: all that the tables do not have yet, and some that they have.
#[derive(Default)]
pub(crate) struct Known(Mutex<States>);

#[derive(Default)]
struct States {
    by_session: HashMap<(TenantId, SessionId), State>,
    /// Some of them are not in the tables.
    is_ahead: bool,
}

/// A session as it was written last.
#[derive(Clone)]
struct State {
    session: Arc<Session>,
    revision: u64,
    expires_at: Timestamp,
}

/// What a session is at the moment, as far as a write has to know.
enum Standing {
    /// How often it was written; 0 if it is not there.
    Revision(u64),
    /// It has expired, and what is left of it has to go first.
    Expired,
}

impl State {
    fn of(write: &SessionWrite) -> Self {
        let (session, expires_at) = (Arc::clone(&write.session), write.expires_at);
        Self { session, revision: write.revision + 1, expires_at }
    }

    fn standing(&self, now: Timestamp) -> Standing {
        let is_live = now < self.expires_at;
        if is_live { Standing::Revision(self.revision) } else { Standing::Expired }
    }
}

impl Known {
    fn states(&self) -> MutexGuard<'_, States> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something is known that the tables do not have.
    pub(crate) fn is_ahead(&self) -> bool {
        self.states().is_ahead
    }

    /// The tables have what is known.
    pub(crate) fn settled(&self) {
        let mut states = self.states();
        states.is_ahead = false;
        if states.by_session.len() > SETTLED_MAX {
            states.by_session.clear();
        }
    }

    /// The tables have it all, and what is known may have been changed there.
    pub(crate) fn clear(&self) {
        *self.states() = States::default();
    }

    /// The session, if it is known here; the inner none if it has expired.
    pub(crate) fn session(
        &self,
        tenant: &TenantId,
        id: &SessionId,
        now: Timestamp,
    ) -> Option<Option<KeptSession>> {
        let state = self.states().by_session.get(&(tenant.clone(), id.clone())).cloned()?;
        Some(match state.standing(now) {
            Standing::Revision(revision) => {
                Some(KeptSession { session: Session::clone(&state.session), revision })
            }
            Standing::Expired => None,
        })
    }

    /// Which of these writes can go into the log; none if the tables have to be looked after first.
    pub(crate) fn accept(
        &self,
        writes: &[Arc<SessionWrite>],
        tables: impl Fn(&SessionWrite) -> Result<Option<(u64, Timestamp)>, redb::Error>,
    ) -> Result<Option<Accepted>, redb::Error> {
        let mut accepted = Accepted { kept: Vec::new(), writes: Vec::new(), entries: Vec::new() };
        for write in writes {
            let is_same = |other: &&Arc<SessionWrite>| {
                other.tenant == write.tenant && other.session.id == write.session.id
            };
            let before = accepted.writes.iter().rev().find(is_same).map(|write| State::of(write));
            let before = before.or_else(|| self.states().by_session.get(&write.key()).cloned());
            let standing = match before {
                Some(before) => before.standing(write.now),
                None => match tables(write)? {
                    None => Standing::Revision(0),
                    Some((revision, expires_at)) if write.now < expires_at => {
                        Standing::Revision(revision)
                    }
                    Some(_) => Standing::Expired,
                },
            };
            let Standing::Revision(revision) = standing else { return Ok(None) };
            let is_kept = revision == write.revision;
            accepted.kept.push(is_kept);
            if is_kept {
                accepted.entries.push(write.to_entry()?);
                accepted.writes.push(Arc::clone(write));
            }
        }
        Ok(Some(accepted))
    }
}

/// What the tables say of the session of a write.
pub(crate) fn in_tables(
    tables: &ReadTransaction,
    write: &SessionWrite,
) -> Result<Option<(u64, Timestamp)>, redb::Error> {
    sessions::revision_of(tables, &write.tenant, &write.session.id)
}
