//! Research runs in Redis: several processes share them, each run is one process's at a time, and goes to another when its
//! process is silent for too long.
//!
//! What happened in a run is a stream of its own; long entries lie beside it. Every take-over raises the run's epoch, and every write
//! names the epoch that it is made under: whoever was frozen and comes back writes nothing more. A lease says by Redis's clock
//! until when nobody else may take the run. The keys of a run lie on one slot and change in one script; lists across runs are
//! written before the run is begun and after it has ended, and an entry too many is borne by their readers.

use std::sync::Arc;
use std::time::Duration;

use agent::identity::Timestamp;
use agent::names::TenantId;
use agent::ports::{
    Failpoints, Journals, KeptRun, Later, NewEntries, NoFailpoints, PortError, RunLine, RunList,
};
use agent::research::journal::Steering;
use agent::research::message::Uuid;
use agent::research::order::Order;
use agent::research::report::EndReason;
use redis::Cmd;

use super::keys::{pair, run_index_key, run_keys, run_names, run_wishes_key};
use super::link::Link;
use super::record::{from_json, json};
use super::settings::RedisSettings;

const BEGIN: &str = include_str!("journal/begin.lua");
const APPEND: &str = include_str!("journal/append.lua");
const TAKE: &str = include_str!("journal/take.lua");
const RENEW: &str = include_str!("journal/renew.lua");
const READ: &str = include_str!("journal/read.lua");
const WISH: &str = include_str!("journal/wish.lua");

/// Runs of all tenants that have not ended, by their beginning.
const UNFINISHED: &str = "research:unfinished";

/// Entries of at least so many bytes lie beside the stream: pages that were read, sections that were written.
const LONG_ENTRY_BYTES: usize = 4_096;

/// Most runs named as unfinished at once: those beyond follow when these have ended.
const UNFINISHED_MAX: usize = 10_000;

/// Wishes that may wait for the process that works on a run.
const WISHES_MAX: usize = 16;

/// Runs that are looked at together for a list.
const PAGE: i64 = 200;

/// Most runs in one list.
const LISTED_MAX: usize = 1_000;

/// Research runs in Redis.
pub struct RedisJournals {
    link: Link,
    /// How long a run stays with a process that says nothing.
    lease: Duration,
    failpoints: Arc<dyn Failpoints>,
}

/// Who may be taken a run from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Anybody,
    /// Whoever has let the lease run out.
    TheSilent,
}

/// What was said to taking a run over, besides its new epoch.
const GONE: i64 = 0;
const HELD: i64 = -1;

impl RedisJournals {
    /// Connects to Redis, and fails if nobody answers there.
    pub async fn connect(settings: RedisSettings, lease: Duration) -> Result<Self, PortError> {
        let failpoints = Arc::new(NoFailpoints);
        Ok(Self { link: Link::open(settings).await?, lease, failpoints })
    }

    /// The same, with points at which tests end the process.
    #[must_use]
    pub fn with_failpoints(self, failpoints: Arc<dyn Failpoints>) -> Self {
        Self { failpoints, ..self }
    }

    fn lease_millis(&self) -> u64 {
        u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX)
    }

    async fn take(
        &self,
        tenant: &TenantId,
        run: Uuid,
        from: Holder,
    ) -> Result<Option<KeptRun>, PortError> {
        let id = run.to_string();
        let [run_key, ..] = run_keys(tenant.as_str(), &id);
        let mut command = script(TAKE, &[&run_key]);
        command.arg(self.lease_millis()).arg(match from {
            Holder::Anybody => "any",
            Holder::TheSilent => "free",
        });
        match self.link.ask::<i64>(&command).await? {
            HELD => Ok(None),
            GONE => {
                self.leave_unfinished(tenant, &id).await?;
                Ok(None)
            }
            _ => self.read(tenant, run).await,
        }
    }

    async fn read(&self, tenant: &TenantId, run: Uuid) -> Result<Option<KeptRun>, PortError> {
        let keys = run_keys(tenant.as_str(), &run.to_string());
        let command = script(READ, &keys.each_ref().map(String::as_str));
        type Parts = (String, String, u64, u64, String, Vec<String>);
        let Some((order, principal, at, epoch, ended, entries)) =
            self.link.ask::<Option<Parts>>(&command).await?
        else {
            return Ok(None);
        };
        Ok(Some(KeptRun {
            order: from_json(&order)?,
            principal,
            begun_at: Timestamp(at),
            epoch,
            entries: entries.iter().map(|entry| from_json(entry)).collect::<Result<_, _>>()?,
            ended: end(&ended)?,
        }))
    }

    async fn leave_unfinished(&self, tenant: &TenantId, id: &str) -> Result<(), PortError> {
        let mut command = redis::cmd("ZREM");
        command.arg(UNFINISHED).arg(pair(tenant.as_str(), id));
        self.link.ask::<u64>(&command).await.map(drop)
    }

    async fn write(&self, tenant: &TenantId, new: NewEntries) -> Result<bool, PortError> {
        let id = new.run.to_string();
        let keys = run_keys(tenant.as_str(), &id);
        let mut command = script(APPEND, &keys.each_ref().map(String::as_str));
        let ended = new.ended.map(|ended| json(&ended)).transpose()?.unwrap_or_default();
        command.arg(new.epoch).arg(new.after).arg(ended);
        command.arg(self.lease_millis()).arg(LONG_ENTRY_BYTES);
        for entry in &new.entries {
            command.arg(json(entry)?);
        }
        let is_kept: bool = self.link.ask(&command).await?;
        self.failpoints.reached("journal.after_append");
        if is_kept && new.ended.is_some() {
            // It has ended whether the list knows it or not: whoever takes it from the list then finds out.
            if let Err(error) = self.leave_unfinished(tenant, &id).await {
                tracing::debug!(%error, "a list in Redis keeps a run that has ended");
            }
        }
        Ok(is_kept)
    }

    async fn renew_lease(
        &self,
        tenant: &TenantId,
        run: Uuid,
        epoch: u64,
    ) -> Result<Option<Vec<Steering>>, PortError> {
        let id = run.to_string();
        let [run_key, ..] = run_keys(tenant.as_str(), &id);
        let mut command = script(RENEW, &[&run_key, &run_wishes_key(tenant.as_str(), &id)]);
        command.arg(epoch).arg(self.lease_millis());
        let wishes: Option<Vec<String>> = self.link.ask(&command).await?;
        let read = |wishes: Vec<String>| wishes.iter().map(|wish| from_json(wish)).collect();
        wishes.map(read).transpose()
    }

    async fn wish(&self, tenant: &TenantId, run: Uuid, wish: &Steering) -> Result<(), PortError> {
        let key = run_wishes_key(tenant.as_str(), &run.to_string());
        let mut command = script(WISH, &[&key]);
        command.arg(json(wish)?).arg(WISHES_MAX).arg(self.lease_millis());
        match self.link.ask::<bool>(&command).await? {
            true => Ok(()),
            false => Err(PortError::Busy { what: "the run" }),
        }
    }

    async fn start(
        &self,
        tenant: &TenantId,
        order: &Order,
        principal: &str,
        at: Timestamp,
    ) -> Result<(), PortError> {
        let id = order.id.to_string();
        let [run_key, ..] = run_keys(tenant.as_str(), &id);
        let mut known = redis::cmd("EXISTS");
        known.arg(&run_key);
        // Entered into the lists before it is there; one that was there keeps its place.
        let mut index = redis::cmd("ZADD");
        index.arg(run_index_key(tenant.as_str())).arg("NX").arg(at.0).arg(&id);
        let mut unfinished = redis::cmd("ZADD");
        unfinished.arg(UNFINISHED).arg("NX").arg(at.0).arg(pair(tenant.as_str(), &id));
        if !self.link.ask::<bool>(&known).await? {
            self.link.ask_many::<u64>(vec![index, unfinished]).await?;
        }
        let mut begin = script(BEGIN, &[&run_key]);
        begin.arg(json(order)?).arg(principal).arg(at.0).arg(self.lease_millis());
        match self.link.ask::<bool>(&begin).await? {
            true => Ok(()),
            false => Err(PortError::Refused("there is a run of this id already".to_owned())),
        }
    }

    async fn lines(&self, tenant: &TenantId, list: &RunList) -> Result<Vec<RunLine>, PortError> {
        let mut lines = Vec::new();
        let mut before = list.after;
        let wanted = list.limit.min(LISTED_MAX);
        while lines.len() < wanted {
            let page = self.page(tenant, before).await?;
            let Some(last) = page.last() else { break };
            before = Some((last.begun_at, last.id));
            let is_wanted = |line: &RunLine| {
                list.principal.as_ref().is_none_or(|principal| line.principal == *principal)
            };
            lines.extend(page.into_iter().filter(is_wanted));
        }
        lines.truncate(wanted);
        Ok(lines)
    }

    /// Runs begun before this one, the latest first; empty if there are none.
    async fn page(
        &self,
        tenant: &TenantId,
        before: Option<(Timestamp, Uuid)>,
    ) -> Result<Vec<RunLine>, PortError> {
        let index = run_index_key(tenant.as_str());
        let mut place = 0;
        if let Some((_, id)) = before {
            let mut rank = redis::cmd("ZREVRANK");
            rank.arg(&index).arg(id.to_string());
            let Some(rank) = self.link.ask::<Option<i64>>(&rank).await? else {
                return Ok(Vec::new());
            };
            place = rank + 1;
        }
        let mut lines = Vec::new();
        // What is listed and not there, or not yet, does not end the list.
        while lines.is_empty() {
            let mut newest = redis::cmd("ZREVRANGE");
            newest.arg(&index).arg(place).arg(place + PAGE - 1);
            let ids: Vec<String> = self.link.ask(&newest).await?;
            if ids.is_empty() {
                break;
            }
            place += PAGE;
            lines = self.about(tenant, &ids).await?;
        }
        Ok(lines)
    }

    async fn about(&self, tenant: &TenantId, ids: &[String]) -> Result<Vec<RunLine>, PortError> {
        let about = ids.iter().map(|id| {
            let [run_key, ..] = run_keys(tenant.as_str(), id);
            let mut about = redis::cmd("HMGET");
            about.arg(run_key).arg("order").arg("principal").arg("at").arg("ended");
            about
        });
        type About = (Option<String>, Option<String>, Option<u64>, Option<String>);
        let mut lines = Vec::new();
        for (order, principal, at, ended) in self.link.ask_many::<About>(about.collect()).await? {
            let (Some(order), Some(principal), Some(at)) = (order, principal, at) else { continue };
            let order: Order = from_json(&order)?;
            let ended = end(&ended.unwrap_or_default())?;
            lines.push(RunLine::new(&order, principal, Timestamp(at), ended));
        }
        Ok(lines)
    }

    async fn forget(&self, tenant: &TenantId, run: Uuid) -> Result<bool, PortError> {
        let id = run.to_string();
        let keys = run_keys(tenant.as_str(), &id);
        let [run_key, ..] = &keys;
        let mut known = redis::cmd("EXISTS");
        known.arg(run_key);
        // Asked before: deleting may be repeated, and would then say that nothing was there.
        let was_there: bool = self.link.ask(&known).await?;
        let mut delete = redis::cmd("DEL");
        delete.arg(&keys).arg(run_wishes_key(tenant.as_str(), &id));
        self.link.ask::<u64>(&delete).await?;
        let mut index = redis::cmd("ZREM");
        index.arg(run_index_key(tenant.as_str())).arg(&id);
        self.link.ask::<u64>(&index).await?;
        self.leave_unfinished(tenant, &id).await?;
        Ok(was_there)
    }
}

impl Journals for RedisJournals {
    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        order: Order,
        principal: String,
        at: Timestamp,
    ) -> Later<'a, ()> {
        Box::pin(self.link.within(async move { self.start(tenant, &order, &principal, at).await }))
    }

    fn take_over<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<KeptRun>> {
        Box::pin(self.link.within(self.take(tenant, run, Holder::Anybody)))
    }

    fn adopt<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<KeptRun>> {
        Box::pin(self.link.within(self.take(tenant, run, Holder::TheSilent)))
    }

    fn lease(&self) -> Option<Duration> {
        Some(self.lease)
    }

    fn renew<'a>(
        &'a self,
        tenant: &'a TenantId,
        run: Uuid,
        epoch: u64,
    ) -> Later<'a, Option<Vec<Steering>>> {
        Box::pin(self.link.within(self.renew_lease(tenant, run, epoch)))
    }

    fn leave_wish<'a>(&'a self, tenant: &'a TenantId, run: Uuid, wish: Steering) -> Later<'a, ()> {
        Box::pin(self.link.within(async move { self.wish(tenant, run, &wish).await }))
    }

    fn length<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<u64>> {
        let [run_key, ..] = run_keys(tenant.as_str(), &run.to_string());
        let mut command = redis::cmd("HGET");
        command.arg(run_key).arg("length");
        Box::pin(self.link.within(async move { self.link.ask(&command).await }))
    }

    fn append<'a>(&'a self, tenant: &'a TenantId, new: NewEntries) -> Later<'a, bool> {
        Box::pin(self.link.within(self.write(tenant, new)))
    }

    fn run<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<KeptRun>> {
        Box::pin(self.link.within(self.read(tenant, run)))
    }

    fn runs<'a>(&'a self, tenant: &'a TenantId, list: RunList) -> Later<'a, Vec<RunLine>> {
        Box::pin(self.link.within(async move { self.lines(tenant, &list).await }))
    }

    fn unfinished(&self) -> Later<'_, Vec<(TenantId, Uuid)>> {
        let mut command = redis::cmd("ZRANGE");
        command.arg(UNFINISHED).arg(0).arg(UNFINISHED_MAX - 1);
        Box::pin(self.link.within(async move {
            let pairs: Vec<String> = self.link.ask(&command).await?;
            Ok(pairs.iter().filter_map(|pair| run_names(pair)).collect())
        }))
    }

    fn forget_run<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, bool> {
        Box::pin(self.link.within(self.forget(tenant, run)))
    }
}

fn script(text: &str, keys: &[&str]) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(text).arg(keys.len()).arg(keys);
    command
}

/// How a run ended, as it is kept; nothing while it has not.
fn end(text: &str) -> Result<Option<EndReason>, PortError> {
    if text.is_empty() { Ok(None) } else { from_json(text).map(Some) }
}
