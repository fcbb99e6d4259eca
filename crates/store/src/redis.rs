//! Conversations and research runs in Redis: several processes share them, and Redis lets conversations go when their time has come.
//!
//! A session's parts lie under five keys of one slot, change in one script and expire together. Lists across sessions
//! lie on other slots: they are written before the session, and an entry without a session is taken out when it is met.

mod durability;
mod failures;
mod journal;
mod keys;
mod link;
mod pages;
mod record;
mod settings;
mod tasks;

use agent::identity::Timestamp;
use agent::memory::{SaidTurn, SessionId};
use agent::names::TenantId;
use agent::ports::{
    KeepSession, KeptSession, Later, Page, PortError, RECORDS_MAX, SAID_MAX, SessionLine, Sessions,
};
use agent::turn::{TurnId, TurnRecord};
use futures_util::{StreamExt, TryStreamExt, stream};
use redis::Cmd;
use serde::de::DeserializeOwned;

use self::keys::{DUE, EXPIRING, index_key, names, pair, session_keys};
use self::link::{AT_ONCE_MAX, Link};
use self::record::{from_json, keep_command, lifetime, read_command, record_command};

pub use self::durability::{Durability, Finding, ServerDurability};
pub use self::journal::RedisJournals;
pub use self::settings::{RETRIES_MAX, RedisSettings};
pub use self::tasks::RedisTasks;

const REMOVE_UP_TO: &str = include_str!("redis/remove_up_to.lua");

/// Expired sessions that are taken out of the lists at once, at most: the others follow at the next time.
const SWEPT_MAX: usize = 10_000;

/// Most sessions named as due at once: those beyond follow when these are done.
const DUE_MAX: usize = 10_000;

/// Conversations in Redis.
pub struct RedisSessions {
    link: Link,
}

impl RedisSessions {
    /// Connects to Redis, and fails if nobody answers there.
    pub async fn connect(settings: RedisSettings) -> Result<Self, PortError> {
        Ok(Self { link: Link::open(settings).await? })
    }

    /// What Redis promises to what it has acknowledged.
    pub async fn durability(&self) -> Result<Durability, PortError> {
        self.link.within(Durability::of(&self.link)).await
    }
}

impl Sessions for RedisSessions {
    fn session<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        _now: Timestamp,
    ) -> Later<'a, Option<KeptSession>> {
        let command = record::session_command(tenant.as_str(), id.as_str());
        Box::pin(self.link.within(async move {
            let parts: Option<record::Parts> = self.link.ask(&command).await?;
            parts.map(|parts| record::session(id, parts)).transpose()
        }))
    }

    fn keep<'a>(&'a self, tenant: &'a TenantId, keep: KeepSession) -> Later<'a, bool> {
        Box::pin(self.link.within(self.write(tenant, keep)))
    }

    fn said<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        limit: usize,
        _now: Timestamp,
    ) -> Later<'a, Vec<SaidTurn>> {
        Box::pin(self.link.within(self.newest(tenant, id, "said", limit.min(SAID_MAX))))
    }

    fn said_before<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        before: u64,
        limit: usize,
        _now: Timestamp,
    ) -> Later<'a, Vec<SaidTurn>> {
        Box::pin(self.link.within(async move {
            let limit = limit.min(SAID_MAX);
            if limit == 0 {
                return Ok(Vec::new());
            }
            let mut command = read_command(tenant.as_str(), id.as_str(), "said_before");
            command.arg(limit).arg(before);
            let rows: Option<Vec<String>> = self.link.ask(&command).await?;
            rows.unwrap_or_default().iter().map(|row| from_json(row)).collect()
        }))
    }

    fn records<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SessionId,
        limit: usize,
        _now: Timestamp,
    ) -> Later<'a, Vec<TurnRecord>> {
        Box::pin(self.link.within(self.newest(tenant, id, "records", limit.min(RECORDS_MAX))))
    }

    fn record<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a TurnId,
        _now: Timestamp,
    ) -> Later<'a, Option<TurnRecord>> {
        let command = record_command(tenant.as_str(), id);
        Box::pin(self.link.within(async move {
            let found: Option<String> = self.link.ask(&command).await?;
            found.map(|record| from_json(&record)).transpose()
        }))
    }

    fn forget<'a>(&'a self, tenant: &'a TenantId, id: &'a SessionId) -> Later<'a, bool> {
        Box::pin(self.link.within(async move {
            // Asked before: deleting may be repeated, and would then say that nothing was there.
            let was_there = self.lifetime_left(tenant, id).await?.is_some();
            let mut delete = redis::cmd("DEL");
            delete.arg(&session_keys(tenant.as_str(), id.as_str()));
            self.link.ask::<u64>(&delete).await?;
            self.leave(tenant, id).await?;
            Ok(was_there)
        }))
    }

    fn sessions<'a>(
        &'a self,
        tenant: &'a TenantId,
        after: Option<String>,
        limit: usize,
        now: Timestamp,
    ) -> Later<'a, Page<SessionLine>> {
        Box::pin(self.link.within(async move {
            pages::page(&self.link, tenant, after.as_deref(), limit, now).await
        }))
    }

    fn due(&self) -> Later<'_, Vec<(TenantId, SessionId)>> {
        let mut command = redis::cmd("ZRANGE");
        command.arg(DUE).arg(0).arg(DUE_MAX - 1);
        Box::pin(self.link.within(async move {
            let pairs: Vec<String> = self.link.ask(&command).await?;
            Ok(pairs.iter().filter_map(|pair| names(pair)).collect())
        }))
    }

    fn forget_expired(&self, now: Timestamp, limit: usize) -> Later<'_, u64> {
        Box::pin(self.link.within(self.sweep(now, limit)))
    }
}

impl RedisSessions {
    async fn write(&self, tenant: &TenantId, keep: KeepSession) -> Result<bool, PortError> {
        let command = keep_command(tenant.as_str(), &keep)?;
        let lives = lifetime(&keep) > 0;
        if lives {
            self.enter(tenant, &keep).await?;
        }
        let is_kept: bool = self.link.ask(&command).await?;
        if is_kept {
            let settled = if lives {
                self.settle(tenant, &keep).await
            } else {
                self.leave(tenant, &keep.session.id).await
            };
            if let Err(error) = settled {
                // The session is kept; a list says too much, which its readers bear.
                tracing::debug!(%error, "a list in Redis keeps an entry too long");
            }
        }
        Ok(is_kept)
    }

    /// Enters a session into the lists before it is there: without it, an entry says nothing.
    async fn enter(&self, tenant: &TenantId, keep: &KeepSession) -> Result<(), PortError> {
        let id = keep.session.id.as_str();
        let pair = pair(tenant.as_str(), id);
        let mut used = redis::cmd("ZADD");
        // The writer who comes too late does not move a session back in the list.
        used.arg(index_key(tenant.as_str())).arg("GT").arg(keep.session.used_at.0).arg(id);
        let mut expiring = redis::cmd("ZADD");
        expiring.arg(EXPIRING).arg(keep.expires_at.0).arg(&pair);
        let mut commands = vec![used, expiring];
        if keep.is_due {
            let mut due = redis::cmd("ZADD");
            due.arg(DUE);
            if keep.revision > 0 {
                due.arg("GT");
            }
            due.arg(keep.revision + 1).arg(&pair);
            commands.push(due);
        }
        self.link.ask_many::<u64>(commands).await?;
        Ok(())
    }

    /// Takes a session that is not due off the list of those that are, unless a later writer has put it there.
    async fn settle(&self, tenant: &TenantId, keep: &KeepSession) -> Result<(), PortError> {
        if keep.is_due {
            return Ok(());
        }
        let pair = pair(tenant.as_str(), keep.session.id.as_str());
        let command = match keep.revision {
            // What an earlier session of this name has left counts differently.
            0 => removal(DUE, &pair),
            revision => removal_up_to(DUE, &pair, revision + 1),
        };
        self.link.ask::<u64>(&command).await?;
        Ok(())
    }

    /// Takes a session that is gone out of all lists.
    async fn leave(&self, tenant: &TenantId, id: &SessionId) -> Result<(), PortError> {
        let pair = pair(tenant.as_str(), id.as_str());
        let commands = vec![
            removal(&index_key(tenant.as_str()), id.as_str()),
            removal(DUE, &pair),
            removal(EXPIRING, &pair),
        ];
        self.link.ask_many::<u64>(commands).await?;
        Ok(())
    }

    async fn newest<T: DeserializeOwned>(
        &self,
        tenant: &TenantId,
        id: &SessionId,
        what: &str,
        limit: usize,
    ) -> Result<Vec<T>, PortError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let mut command = read_command(tenant.as_str(), id.as_str(), what);
        command.arg(limit);
        let rows: Option<Vec<String>> = self.link.ask(&command).await?;
        rows.unwrap_or_default().iter().map(|row| from_json(row)).collect()
    }

    /// How long a session has to live, in milliseconds; none if it is not there.
    async fn lifetime_left(
        &self,
        tenant: &TenantId,
        id: &SessionId,
    ) -> Result<Option<u64>, PortError> {
        self.link.ask(&read_command(tenant.as_str(), id.as_str(), "lifetime")).await
    }

    /// Redis has deleted what expired; this takes it out of the lists.
    async fn sweep(&self, now: Timestamp, limit: usize) -> Result<u64, PortError> {
        let mut command = redis::cmd("ZRANGE");
        command.arg(EXPIRING).arg("-inf").arg(now.0).arg("BYSCORE");
        command.arg("LIMIT").arg(0).arg(limit.min(SWEPT_MAX)).arg("WITHSCORES");
        let expired: Vec<(String, u64)> = self.link.ask(&command).await?;
        let swept = stream::iter(expired)
            .map(|(pair, expires_at)| async move { self.sweep_one(&pair, expires_at, now).await })
            .buffer_unordered(AT_ONCE_MAX);
        swept.try_fold(0, |count, is_gone| async move { Ok(count + u64::from(is_gone)) }).await
    }

    async fn sweep_one(
        &self,
        pair: &str,
        expires_at: u64,
        now: Timestamp,
    ) -> Result<bool, PortError> {
        let Some((tenant, id)) = names(pair) else {
            self.link.ask::<u64>(&removal(EXPIRING, pair)).await?;
            return Ok(false);
        };
        if let Some(left) = self.lifetime_left(&tenant, &id).await? {
            // By Redis's clock it lives: the entry was of a write that did not come about, or our clock is ahead.
            let mut later = redis::cmd("ZADD");
            later.arg(EXPIRING).arg("XX").arg("GT").arg(now.0.saturating_add(left)).arg(pair);
            self.link.ask::<u64>(&later).await?;
            return Ok(false);
        }
        // A session of the same name that begins now has later times than these.
        let used = removal_up_to(&index_key(tenant.as_str()), id.as_str(), expires_at);
        self.link.ask_many::<u64>(vec![used, removal(DUE, pair)]).await?;
        // Last: while it is there, a sweep that was cut short is taken up again.
        self.link.ask::<u64>(&removal_up_to(EXPIRING, pair, now.0)).await?;
        Ok(true)
    }
}

fn removal(set: &str, member: &str) -> Cmd {
    let mut command = redis::cmd("ZREM");
    command.arg(set).arg(member);
    command
}

fn removal_up_to(set: &str, member: &str, score: u64) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(REMOVE_UP_TO).arg(1).arg(set).arg(member).arg(score);
    command
}
