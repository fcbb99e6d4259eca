//! Where Redis is, and how long it is waited for.

use std::fmt;
use std::time::Duration;

/// Most repetitions of one command: more only makes callers wait for an error that they could have had.
pub const RETRIES_MAX: u32 = 10;

/// Where Redis is, and how long it is waited for.
#[derive(Clone)]
pub struct RedisSettings {
    /// `redis://[user]:password@host:port/database`, or `rediss://` for TLS; several only for a cluster.
    pub urls: Vec<String>,
    /// Whether this is a Redis Cluster; then any of its nodes will do.
    pub cluster: bool,
    /// For a connection, greeting included.
    pub connect_time_max: Duration,
    /// For the answer to one command.
    pub reply_time_max: Duration,
    /// How often a command is repeated after a failure that may pass; at most [`RETRIES_MAX`].
    pub retries: u32,
}

impl Default for RedisSettings {
    fn default() -> Self {
        Self {
            urls: vec!["redis://127.0.0.1:6379".to_owned()],
            cluster: false,
            // A server in the same building answers in a millisecond; one that needs seconds is away.
            connect_time_max: Duration::from_secs(2),
            reply_time_max: Duration::from_secs(1),
            // Two see a restart or a failover through that is nearly over.
            retries: 2,
        }
    }
}

impl RedisSettings {
    /// The longest that anything asked of Redis takes, whatever happens to it.
    #[must_use]
    pub fn operation_time_max(&self) -> Duration {
        self.connect_time_max + self.reply_time_max * (self.retries_bound() + 1)
    }

    pub(super) fn retries_bound(&self) -> u32 {
        self.retries.min(RETRIES_MAX)
    }
}

/// Passwords are left out.
impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { urls, cluster, connect_time_max, reply_time_max, retries } = self;
        f.debug_struct("RedisSettings")
            .field("urls", &urls.iter().map(|url| shown(url)).collect::<Vec<_>>())
            .field("cluster", cluster)
            .field("connect_time_max", connect_time_max)
            .field("reply_time_max", reply_time_max)
            .field("retries", retries)
            .finish()
    }
}

/// An address without what is secret in it.
pub(super) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "(an address without redis://)".to_owned();
    };
    let place = rest.rsplit('@').next().unwrap_or_default();
    // What follows a question mark may be a password, too.
    format!("{scheme}://{}", place.split('?').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let urls = [
            "redis://:hunter2@host:6379/1",
            "rediss://saem:hunter2@host:6379",
            "redis://:hun@ter2:hunter2@host",
            "redis://:a?hunter2@host",
            "redis+unix:///run/redis.sock?pass=hunter2",
            "hunter2",
        ];
        let settings =
            RedisSettings { urls: urls.map(str::to_owned).to_vec(), ..RedisSettings::default() };
        let text = format!("{settings:?}");
        assert!(!text.contains("hunter2") && !text.contains("ter2"), "{text}");
        assert!(text.contains("redis://host:6379/1"), "{text}");
    }
}
