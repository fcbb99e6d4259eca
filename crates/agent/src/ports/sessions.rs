//! Keeping conversations, and what they cost.

use std::sync::Arc;

use super::{Later, Page};
use crate::identity::Timestamp;
use crate::ledger::{Booking, Day};
use crate::memory::{SaidTurn, Session, SessionId};
use crate::names::TenantId;
use crate::turn::{TurnId, TurnRecord};

/// Turns of a session that are kept word for word, the newest: ten thousand messages, which are some megabytes.
pub const SAID_MAX: usize = 5_000;

/// Turns of a session of which it is kept how they came about, the newest.
pub const RECORDS_MAX: usize = 200;

/// A session as it is kept, and how often it has been written.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptSession {
    pub session: Session,
    pub revision: u64,
}

/// A session to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KeepSession {
    pub session: Session,
    /// The revision that it was made from; 0 for a session that is not there yet.
    pub revision: u64,
    /// A turn that came to it.
    pub turn: Option<Arc<TurnRecord>>,
    /// What the turn cost. Booked with it by those who [say so](Sessions::books); others leave it to the ledger.
    pub bookings: Vec<Booking>,
    /// Its memory is to be rewritten: [`Sessions::due`] names it until it is kept without this.
    pub is_due: bool,
    pub now: Timestamp,
    pub expires_at: Timestamp,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    pub id: SessionId,
    pub title: String,
    pub used_at: Timestamp,
}

/// Conversations, each gone some time after its last use.
///
/// All of one `keep` becomes visible at once and is durable then, as far as what stands behind it is. Tenants never
/// meet. An expired session is absent, whether it has been deleted or not.
pub trait Sessions: Send + Sync {
    fn session<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        now: Timestamp,
    ) -> Later<'a, Option<KeptSession>>;
    /// Keeps a session if it is still as it was; false if somebody else has written it since, and nothing is changed.
    fn keep<'a>(&'a self, tenant: &'a TenantId, keep: KeepSession) -> Later<'a, bool>;
    /// Whether `keep` books what a turn cost, in the same write: the ledger is here too.
    fn books(&self) -> bool {
        false
    }
    /// The newest turns word for word, at most `limit`, oldest first.
    fn said<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Vec<SaidTurn>>;
    /// The turns before this number word for word, at most `limit` of the newest of them, oldest first.
    fn said_before<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        before: u64,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Vec<SaidTurn>>;
    /// How the newest turns came about, at most `limit`, oldest first.
    fn records<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Vec<TurnRecord>>;
    fn record<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a TurnId,
        now: Timestamp,
    ) -> Later<'a, Option<TurnRecord>>;
    /// Forgets a session and all that was said in it; false if it is not there.
    fn forget<'a>(&'a self, tenant: &'a TenantId, id: &'a SessionId) -> Later<'a, bool>;
    /// The one used last first.
    fn sessions<'a>(
        &'a self,
        tenant: &'a TenantId,
        after: Option<String>,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Page<SessionLine>>;
    /// Sessions of all tenants whose memory is to be rewritten. Some of them may be gone, or have been rewritten.
    fn due(&self) -> Later<'_, Vec<(TenantId, SessionId)>>;
    /// Deletes sessions that have expired, at most `limit`; says how many.
    fn forget_expired(&self, now: Timestamp, limit: usize) -> Later<'_, u64>;
}

/// What was spent, durable.
pub trait Ledger: Send + Sync {
    /// Adds to what is booked under the same accounts.
    fn book<'a>(&'a self, tenant: &'a TenantId, bookings: Vec<Booking>) -> Later<'a, ()>;
    /// All bookings of these days, both included, in the order of their accounts.
    fn booked<'a>(&'a self, tenant: &'a TenantId, first: Day, last: Day)
    -> Later<'a, Vec<Booking>>;
    /// Forgets bookings of days before this one; says how many.
    fn forget_booked(&self, before: Day) -> Later<'_, u64>;
}
