//! Tasks of other agents in Redis, and what their webhooks are to be told: they outlive the machine that worked on them.
//!
//! A task and what its webhooks are to be told lie under three keys of one slot and change in one script. Lists across tasks lie on
//! other slots: they are written before the task, and an entry without a task is taken out when it is met. Whoever works on a task,
//! or tells a webhook, is the server that it was given to: those lists are each server's own.

use std::sync::atomic::{AtomicU64, Ordering};

use agent::identity::Timestamp;
use agent::names::TenantId;
use agent::ports::{
    AgentTasks, HookKey, KeepTask, KeptTask, Later, Notice, Outbox, PortError, TaskKey, TaskList,
    TaskRows,
};
use redis::Cmd;
use sha2::{Digest, Sha256};

use super::failures::unavailable;
use super::keys::{read, written};
use super::link::Link;
use super::{RedisSettings, removal, removal_up_to};

const KEEP: &str = include_str!("tasks_keep.lua");
const OUTBOX: &str = include_str!("tasks_outbox.lua");
const FORGET: &str = include_str!("tasks_forget.lua");

/// The parts of a task, in the order in which the scripts expect their keys.
const PARTS: [&str; 3] = ["task", "order", "letters"];

/// Tasks of all tenants, by the moment at which they expire.
const EXPIRING: &str = "a2a:expiring";

/// How long Redis keeps what has expired, in milliseconds: whether a task has expired is decided by our clock, and this is for what
/// nobody sweeps up.
const EXPIRY_GRACE: u64 = 24 * 3_600_000;

/// Longest lifetime that Redis is told, in milliseconds: a hundred years; it refuses what does not fit its clock.
const LIFETIME_MAX: u64 = 100 * 365 * 24 * 3_600_000;

/// Writes whose names a task remembers: one whose answer was lost is recognised until so many came after it.
const WRITES_MAX: usize = 8;

/// Digits of a write's name: too many to meet by chance.
const WRITE_DIGITS: usize = 32;

/// Tasks of one owner that are looked at for a list, the latest first.
const LISTED_MAX: usize = 10_000;

/// Entries of a list that are looked up at a time.
const BATCH: usize = 100;

/// Entries of a server's own lists that are read at once.
const ENTRIES_MAX: usize = 100_000;

/// Tasks of other agents in Redis.
pub struct RedisTasks {
    link: Link,
    /// The name of this server, which it keeps over restarts.
    server: String,
    writes: AtomicU64,
}

/// What a list needs of a task.
type Head = (Option<String>, Option<String>, Option<u64>, Option<u64>);

impl RedisTasks {
    /// Connects to Redis, and fails if nobody answers there. `server` is this server's name: of two that run, each has another.
    pub async fn connect(settings: RedisSettings, server: &str) -> Result<Self, PortError> {
        let link = Link::open(settings).await?;
        Ok(Self { link, server: written(server), writes: AtomicU64::new(0) })
    }

    /// Tasks that this server works on, by the revision that says so.
    fn running_key(&self) -> String {
        format!("a2a:running:{}", self.server)
    }

    /// Webhooks that this server has something to tell, by when it last had.
    fn waiting_key(&self) -> String {
        format!("a2a:waiting:{}", self.server)
    }

    async fn write(&self, keep: KeepTask) -> Result<bool, PortError> {
        let (key, lives) = (name(&keep.key), keep.now < keep.expires_at);
        self.enter(&keep, &key).await?;
        let is_kept: bool = self.link.ask(&self.keep_command(&keep)).await?;
        if is_kept && !(keep.is_running && lives) {
            let settled = removal_up_to(&self.running_key(), &key, keep.revision + 1);
            if let Err(error) = self.link.ask::<u64>(&settled).await {
                // The task is kept; a list says too much, which its readers bear.
                tracing::debug!(%error, "a list in Redis keeps an entry too long");
            }
        }
        Ok(is_kept)
    }

    /// Enters a task into the lists before it is there: without it, an entry says nothing.
    async fn enter(&self, keep: &KeepTask, key: &str) -> Result<(), PortError> {
        let mut commands = Vec::new();
        let mut add = |set: &str, score: u64, member: &str, only_later: bool| {
            let mut command = redis::cmd("ZADD");
            command.arg(set);
            if only_later {
                command.arg("GT");
            }
            command.arg(score).arg(member);
            commands.push(command);
        };
        add(&list_key(&keep.key.tenant, &keep.key.owner), keep.updated_at.0, &keep.key.id, false);
        add(EXPIRING, keep.expires_at.0, key, true);
        if keep.is_running {
            add(&self.running_key(), keep.revision + 1, key, keep.revision > 0);
        }
        let mut hooks: Vec<&str> = keep.notices.iter().map(|it| it.hook.as_str()).collect();
        hooks.sort_unstable();
        hooks.dedup();
        for hook in hooks {
            add(&self.waiting_key(), keep.now.0, &format!("{key}:{}", written(hook)), true);
        }
        self.link.ask_many::<u64>(commands).await?;
        Ok(())
    }

    fn keep_command(&self, keep: &KeepTask) -> Cmd {
        let lifetime = keep.expires_at.0.saturating_sub(keep.now.0).saturating_add(EXPIRY_GRACE);
        let fields: [(&str, &[u8]); 5] = [
            ("revision", &(keep.revision + 1).to_string().into_bytes()),
            ("body", &keep.body),
            ("context", keep.context.as_bytes()),
            ("state", keep.state.as_bytes()),
            ("updated_at", &keep.updated_at.0.to_string().into_bytes()),
        ];
        let mut command = redis::cmd("EVAL");
        let keys = task_keys(&keep.key);
        command.arg(KEEP).arg(keys.len()).arg(&keys);
        command.arg(keep.revision).arg(self.write_name(keep));
        command
            .arg(WRITES_MAX * (WRITE_DIGITS + 1))
            .arg(keep.now.0)
            .arg(lifetime.min(LIFETIME_MAX));
        command.arg(fields.len() + 1);
        for (field, value) in fields {
            command.arg(field).arg(value);
        }
        command.arg("expires_at").arg(keep.expires_at.0);
        for notice in &keep.notices {
            command.arg(&notice.hook).arg(&notice.body);
        }
        command
    }

    /// Names one write: when Redis is asked for it twice because an answer was lost, the name is the same.
    fn write_name(&self, keep: &KeepTask) -> String {
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        let mut digest = Sha256::new();
        digest.update(format!("{} {number} {} {}\n", self.server, keep.revision, keep.now.0));
        digest.update(&keep.body);
        format!("{:x}", digest.finalize()).chars().take(WRITE_DIGITS).collect()
    }

    async fn page(
        &self,
        tenant: &TenantId,
        owner: &str,
        list: TaskList,
        now: Timestamp,
    ) -> Result<TaskRows, PortError> {
        let mut entries = redis::cmd("ZRANGE");
        entries.arg(list_key(tenant, owner)).arg(0).arg(LISTED_MAX - 1).arg("REV");
        let ids: Vec<String> = self.link.ask(&entries).await?;
        let key = |id: &str| TaskKey {
            tenant: tenant.clone(),
            owner: owner.to_owned(),
            id: id.to_owned(),
        };
        let mut found: Vec<(u64, String)> = Vec::new();
        for batch in ids.chunks(BATCH) {
            let commands = batch.iter().map(|id| {
                fields_command(&key(id), &["context", "state", "updated_at", "expires_at"])
            });
            let heads: Vec<Head> = self.link.ask_many(commands.collect()).await?;
            for (id, head) in batch.iter().zip(heads) {
                let (Some(context), Some(state), Some(updated_at), Some(expires_at)) = head else {
                    continue;
                };
                let fits = now.0 < expires_at
                    && list.context.as_ref().is_none_or(|wanted| *wanted == context)
                    && list.state.as_ref().is_none_or(|wanted| *wanted == state)
                    && list.updated_from.is_none_or(|from| updated_at >= from.0);
                if fits {
                    found.push((u64::MAX - updated_at, id.clone()));
                }
            }
        }
        found.sort_unstable();
        let total = found.len() as u64;
        if let Some((moment, id)) = list.after {
            let after = (u64::MAX - moment.0, id);
            found.retain(|place| *place > after);
        }
        let has_more = found.len() > list.limit;
        found.truncate(list.limit);
        let commands = found.iter().map(|(_, id)| fields_command(&key(id), &["body"])).collect();
        let bodies: Vec<(Option<Vec<u8>>,)> = self.link.ask_many(commands).await?;
        let bodies = bodies.into_iter().filter_map(|(body,)| body).collect();
        Ok(TaskRows { bodies, total, has_more })
    }

    /// Deletes what has expired, and takes it out of the lists.
    async fn sweep(&self, now: Timestamp, limit: usize) -> Result<u64, PortError> {
        let mut command = redis::cmd("ZRANGE");
        command.arg(EXPIRING).arg("-inf").arg(now.0).arg("BYSCORE").arg("LIMIT").arg(0).arg(limit);
        let expired: Vec<String> = self.link.ask(&command).await?;
        let mut gone = 0;
        for member in expired {
            let Some(key) = named(&member) else {
                self.link.ask::<u64>(&removal(EXPIRING, &member)).await?;
                continue;
            };
            let mut forget = redis::cmd("EVAL");
            let keys = task_keys(&key);
            forget.arg(FORGET).arg(keys.len()).arg(&keys).arg(now.0);
            if self.link.ask::<u64>(&forget).await? == 0 {
                // Kept since: its own entry was written before this one was read, or is about to be.
                continue;
            }
            gone += 1;
            let lists = vec![
                removal(&list_key(&key.tenant, &key.owner), &key.id),
                removal(&self.running_key(), &member),
            ];
            self.link.ask_many::<u64>(lists).await?;
            // Last: while it is there, a sweep that was cut short is taken up again.
            self.link.ask::<u64>(&removal_up_to(EXPIRING, &member, now.0)).await?;
        }
        Ok(gone)
    }

    /// Webhooks of this server that something waits for. Entries of those that have been told everything go.
    async fn waiting(&self) -> Result<Vec<HookKey>, PortError> {
        let members = self.members(&self.waiting_key()).await?;
        let mut waiting = Vec::new();
        for (member, score) in members {
            let hook = member
                .rsplit_once(':')
                .and_then(|(task, hook)| Some(HookKey { task: named(task)?, hook: read(hook) }));
            match hook {
                Some(hook) if self.first(&hook).await?.is_some() => waiting.push(hook),
                _ => {
                    _ = self
                        .link
                        .ask::<u64>(&removal_up_to(&self.waiting_key(), &member, score))
                        .await?
                }
            }
        }
        Ok(waiting)
    }

    async fn members(&self, set: &str) -> Result<Vec<(String, u64)>, PortError> {
        let mut command = redis::cmd("ZRANGE");
        command.arg(set).arg(0).arg(ENTRIES_MAX - 1).arg("WITHSCORES");
        self.link.ask(&command).await
    }

    async fn first(&self, hook: &HookKey) -> Result<Option<Notice>, PortError> {
        let found: Option<(u64, Vec<u8>)> = self.link.ask(&outbox_command(hook, "next")).await?;
        found.map(|(number, letter)| notice(number, &letter)).transpose()
    }
}

impl AgentTasks for RedisTasks {
    fn task<'a>(&'a self, key: &'a TaskKey, now: Timestamp) -> Later<'a, Option<KeptTask>> {
        Box::pin(self.link.within(async move {
            let command = fields_command(key, &["body", "revision", "expires_at"]);
            let found: (Option<Vec<u8>>, Option<u64>, Option<u64>) =
                self.link.ask(&command).await?;
            let (Some(body), Some(revision), Some(expires_at)) = found else { return Ok(None) };
            Ok(Some(KeptTask { body, revision }).filter(|_| now.0 < expires_at))
        }))
    }

    fn keep(&self, keep: KeepTask) -> Later<'_, bool> {
        Box::pin(self.link.within(self.write(keep)))
    }

    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
        owner: &'a str,
        list: TaskList,
        now: Timestamp,
    ) -> Later<'a, TaskRows> {
        Box::pin(self.link.within(self.page(tenant, owner, list, now)))
    }

    fn running(&self) -> Later<'_, Vec<TaskKey>> {
        Box::pin(self.link.within(async move {
            let members = self.members(&self.running_key()).await?;
            Ok(members.iter().filter_map(|(member, _)| named(member)).collect())
        }))
    }

    fn forget_expired_tasks(&self, now: Timestamp, limit: usize) -> Later<'_, u64> {
        Box::pin(self.link.within(self.sweep(now, limit)))
    }
}

impl Outbox for RedisTasks {
    fn hooks_waiting(&self) -> Later<'_, Vec<HookKey>> {
        Box::pin(self.waiting())
    }

    fn next_notice<'a>(&'a self, hook: &'a HookKey) -> Later<'a, Option<Notice>> {
        Box::pin(self.link.within(self.first(hook)))
    }

    fn put_off<'a>(
        &'a self,
        hook: &'a HookKey,
        number: u64,
        failures: u32,
        not_before: Timestamp,
    ) -> Later<'a, ()> {
        let mut command = outbox_command(hook, "put-off");
        command.arg(number).arg(failures).arg(not_before.0);
        Box::pin(self.link.within(async move {
            self.link.ask::<u64>(&command).await?;
            Ok(())
        }))
    }

    fn told<'a>(&'a self, hook: &'a HookKey, up_to: u64) -> Later<'a, ()> {
        let mut command = outbox_command(hook, "told");
        command.arg(up_to);
        Box::pin(self.link.within(async move {
            // Its entry in the list stays: what is being kept for it just now counts on it. The next start looks.
            self.link.ask::<u64>(&command).await?;
            Ok(())
        }))
    }
}

fn fields_command(key: &TaskKey, fields: &[&str]) -> Cmd {
    let [task, ..] = task_keys(key);
    let mut command = redis::cmd("HMGET");
    command.arg(task).arg(fields);
    command
}

fn outbox_command(hook: &HookKey, what: &str) -> Cmd {
    let keys = task_keys(&hook.task);
    let mut command = redis::cmd("EVAL");
    command.arg(OUTBOX).arg(keys.len()).arg(&keys).arg(what).arg(&hook.hook);
    command
}

/// A letter as it stands in Redis: failures, when it may be tried again, and what it says.
fn notice(number: u64, letter: &[u8]) -> Result<Notice, PortError> {
    let mut parts = letter.splitn(3, |byte| *byte == b':');
    let mut digits = || std::str::from_utf8(parts.next()?).ok()?.parse::<u64>().ok();
    let (failures, not_before) = (digits(), digits());
    match (failures, not_before, parts.next()) {
        (Some(failures), Some(not_before), Some(body)) => Ok(Notice {
            number,
            body: body.to_vec(),
            failures: u32::try_from(failures).unwrap_or(u32::MAX),
            not_before: Timestamp(not_before),
        }),
        _ => Err(unavailable(
            "what a webhook is to be told is not in a form that this version knows",
        )),
    }
}

/// A task as a member of a set that is everybody's.
fn name(key: &TaskKey) -> String {
    format!("{}:{}:{}", written(key.tenant.as_str()), written(&key.owner), written(&key.id))
}

/// The task of such a name; none if nobody can have it.
fn named(name: &str) -> Option<TaskKey> {
    let mut parts = name.split(':');
    let (tenant, owner, id) = (parts.next()?, parts.next()?, parts.next()?);
    let tenant = read(tenant).parse().ok()?;
    parts.next().is_none().then(|| TaskKey { tenant, owner: read(owner), id: read(id) })
}

/// The keys of a task's parts; what stands between the braces decides the slot.
fn task_keys(key: &TaskKey) -> [String; 3] {
    let name = name(key);
    PARTS.map(|part| format!("a2a:{{{name}}}:{part}"))
}

/// The tasks of an owner, by when they got their state.
fn list_key(tenant: &TenantId, owner: &str) -> String {
    format!("a2a:{{{}:{}}}:tasks", written(tenant.as_str()), written(owner))
}
