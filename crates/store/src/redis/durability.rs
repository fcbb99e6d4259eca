//! What the Redis behind us promises to what it has acknowledged, for `saem doctor`.

use std::collections::HashMap;

use agent::ports::PortError;
use redis::{FromRedisValue, Value};

use super::link::Link;

/// What each server that keeps sessions promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durability {
    pub is_cluster: bool,
    /// The primaries; one unless it is a cluster.
    pub servers: Vec<ServerDurability>,
}

/// What one server promises; none where it does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerDurability {
    pub address: String,
    pub version: Option<String>,
    /// Whether each write goes to a log.
    pub append_only: Option<bool>,
    /// When that log goes to disk: `always`, `everysec`, `no`.
    pub append_fsync: Option<String>,
    /// When a snapshot is written, in Redis's words; empty for never.
    pub save: Option<String>,
    /// What goes when memory is full.
    pub eviction: Option<String>,
}

/// One line about the durability of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub is_warning: bool,
    pub text: String,
}

impl Durability {
    pub(super) async fn of(link: &Link) -> Result<Self, PortError> {
        let about = link.ask_each(redis::cmd("INFO")).await?;
        let mut settings = redis::cmd("CONFIG");
        settings.arg("GET").arg(&["appendonly", "appendfsync", "save", "maxmemory-policy"]);
        // A server that is run by others may keep its settings to itself; not knowing them is a finding, not a failure.
        let mut settings: HashMap<String, Value> =
            link.ask_each(settings).await.unwrap_or_default().into_iter().collect();
        let servers = about.into_iter().map(|(address, about)| {
            let settings = settings.remove(&address).and_then(told).unwrap_or_default();
            server(address, &told::<String>(about).unwrap_or_default(), settings)
        });
        Ok(Self { is_cluster: link.settings().cluster, servers: servers.collect() })
    }

    /// What an operator should know, a line each.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let kind = if self.is_cluster { ", a node of a cluster" } else { ", one server" };
        self.servers.iter().flat_map(|server| server.findings(kind)).collect()
    }
}

fn told<T: FromRedisValue>(answer: Value) -> Option<T> {
    redis::from_redis_value(answer.extract_error().ok()?).ok()
}

fn server(address: String, about: &str, mut settings: HashMap<String, String>) -> ServerDurability {
    let line = |name: &str| {
        let found = about.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found.map(|value| value.trim().to_owned())
    };
    let append_only = settings.remove("appendonly").map(|value| value == "yes");
    ServerDurability {
        version: line("redis_version"),
        append_only: append_only.or_else(|| line("aof_enabled").map(|value| value == "1")),
        append_fsync: settings.remove("appendfsync"),
        save: settings.remove("save"),
        eviction: settings.remove("maxmemory-policy").or_else(|| line("maxmemory_policy")),
        address,
    }
}

impl ServerDurability {
    fn findings(&self, kind: &str) -> Vec<Finding> {
        let address = &self.address;
        let note = |is_warning, text: String| Finding {
            is_warning,
            text: format!("Redis at {address}: {text}"),
        };
        let version = self.version.as_deref().unwrap_or("of an unknown version");
        vec![
            note(false, format!("{version}{kind}")),
            self.log_finding(note),
            self.eviction_finding(note),
        ]
    }

    fn log_finding(&self, note: impl Fn(bool, String) -> Finding) -> Finding {
        let snapshots = match self.save.as_deref() {
            Some("") => "there are no snapshots either",
            Some(_) => "only what the last snapshot holds comes back",
            None => "whether there are snapshots it does not say",
        };
        match (self.append_only, self.append_fsync.as_deref()) {
            (Some(true), Some("always")) => {
                note(false, "each write is on disk before it is acknowledged (appendfsync always)".to_owned())
            }
            (Some(true), Some("everysec")) => note(
                false,
                "a crash of Redis or a power cut loses up to two seconds of turns (appendfsync everysec)".to_owned(),
            ),
            (Some(true), Some("no")) => note(
                true,
                "the system decides when writes reach the disk: set appendfsync to everysec or always".to_owned(),
            ),
            (Some(true), _) => note(true, "writes are logged, but how often to disk it does not say".to_owned()),
            (Some(false), _) => note(
                true,
                format!("a restart loses turns, and {snapshots}: set appendonly to yes"),
            ),
            (None, _) => note(true, "it does not say whether writes survive a restart".to_owned()),
        }
    }

    fn eviction_finding(&self, note: impl Fn(bool, String) -> Finding) -> Finding {
        match self.eviction.as_deref() {
            Some("noeviction") => note(
                false,
                "when memory is full, new turns are refused and nothing is lost (noeviction)"
                    .to_owned(),
            ),
            Some(policy) if policy.starts_with("volatile-") => note(
                false,
                format!("when memory is full, sessions go before their time ({policy})"),
            ),
            Some(policy) => note(
                true,
                format!(
                    "when memory is full, anything may go, the lists of sessions too ({policy}): set \
                     maxmemory-policy to noeviction"
                ),
            ),
            None => note(true, "it does not say what goes when memory is full".to_owned()),
        }
    }
}
