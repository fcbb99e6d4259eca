//! Whether an agent is there, by what its checks found, and when the catalogue gives it up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

/// Checks after which old ones count half: uptime is about lately.
const CHECKS_MAX: u32 = 1000;

/// What the checks of an agent found. Time is always passed in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Health {
    pub checks: u32,
    pub successes: u32,
    /// Failures since the last success.
    pub failures_in_a_row: u32,
    pub last_check: Option<Timestamp>,
    pub last_success: Option<Timestamp>,
    /// Since when every check has failed.
    pub failing_since: Option<Timestamp>,
}

/// How patient the catalogue is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub check_every: Duration,
    /// An agent that fails is asked less and less often, at most this seldom.
    pub check_at_least_every: Duration,
    /// So many failures in a row, and the agent is down.
    pub failures_until_down: u32,
    /// So long without a success, and the agent is dropped; `None` keeps it for ever.
    pub evict_after: Option<Duration>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            check_every: Duration::from_secs(30 * 60),
            check_at_least_every: Duration::from_secs(24 * 3600),
            failures_until_down: 3,
            evict_after: Some(Duration::from_secs(30 * 24 * 3600)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    Unknown,
    Up,
    /// It failed lately, but not yet often enough.
    Failing,
    Down,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Answered,
    Failed,
}

impl Health {
    /// Takes the outcome of a check. One that is older than the last changes nothing.
    pub fn observe(&mut self, outcome: Outcome, now: Timestamp) {
        if self.last_check.is_some_and(|last| now < last) {
            return;
        }
        if self.checks >= CHECKS_MAX {
            self.checks /= 2;
            self.successes /= 2;
        }
        self.checks += 1;
        self.last_check = Some(now);
        match outcome {
            Outcome::Answered => {
                self.successes += 1;
                self.failures_in_a_row = 0;
                self.last_success = Some(now);
                self.failing_since = None;
            }
            Outcome::Failed => {
                self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
                self.failing_since = self.failing_since.or(Some(now));
            }
        }
    }

    #[must_use]
    pub fn condition(&self, policy: &Policy) -> Condition {
        match (self.checks, self.failures_in_a_row) {
            (0, _) => Condition::Unknown,
            (_, 0) => Condition::Up,
            (_, failures) if failures < policy.failures_until_down => Condition::Failing,
            _ => Condition::Down,
        }
    }

    /// The share of checks that succeeded, in thousandths; `None` before the first.
    #[must_use]
    pub fn uptime_thousandths(&self) -> Option<u32> {
        self.successes.saturating_mul(1000).checked_div(self.checks)
    }

    /// When the agent is to be checked next.
    #[must_use]
    pub fn next_check(&self, policy: &Policy) -> Option<Timestamp> {
        let last = self.last_check?;
        let doublings = self.failures_in_a_row.min(16);
        let wait = policy.check_every.saturating_mul(1 << doublings);
        let wait = wait.min(policy.check_at_least_every.max(policy.check_every));
        later(last, wait)
    }

    /// Whether the agent is to be dropped.
    #[must_use]
    pub fn is_given_up(&self, policy: &Policy, now: Timestamp) -> bool {
        let (Some(patience), Some(since)) = (policy.evict_after, self.failing_since) else {
            return false;
        };
        self.condition(policy) == Condition::Down
            && later(since, patience).is_some_and(|end| now >= end)
    }
}

fn later(moment: Timestamp, wait: Duration) -> Option<Timestamp> {
    let wait = i64::try_from(wait.as_millis()).ok()?;
    Timestamp::from_milliseconds(moment.milliseconds().checked_add(wait)?).ok()
}
