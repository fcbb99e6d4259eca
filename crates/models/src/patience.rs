//! How often and after which wait a request is made again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// A wait in milliseconds, as OpenAI's servers ask for it.
const RETRY_AFTER_MS: &str = "retry-after-ms";

/// Whether to ask again, as OpenAI's servers say it: `true` or `false`.
const SHOULD_RETRY: &str = "x-should-retry";

/// A wait without an end, as far as anybody can tell; more cannot be added to a moment on every platform.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Whether the same request may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// After a wait of our choice.
    Soon,
    /// After the wait that the server asked for.
    After(Duration),
}

/// The tries that are left for one request.
#[derive(Debug)]
pub(crate) struct Patience {
    tries_left: u32,
    next_wait: Duration,
    wait_max: Duration,
}

impl Patience {
    /// `tries_max` counts the first one too; the first wait doubles with each failure, up to `wait_max`.
    pub(crate) fn new(tries_max: u32, wait_first: Duration, wait_max: Duration) -> Self {
        Self { tries_left: tries_max.saturating_sub(1), next_wait: wait_first, wait_max }
    }

    /// How long to wait before the next try; none when there is no next try.
    pub(crate) fn wait_before_next(&mut self, again: &Again) -> Option<Duration> {
        let wait = match *again {
            Again::Never => return None,
            Again::Soon => spread(self.next_wait.min(self.wait_max)),
            Again::After(asked) => asked.min(self.wait_max),
        };
        self.tries_left = self.tries_left.checked_sub(1)?;
        self.next_wait = self.next_wait.saturating_mul(2);
        Some(wait)
    }
}

/// Between half and all of it, so that those who failed together do not come back together.
fn spread(wait: Duration) -> Duration {
    // Each new state of the standard library's hasher is seeded anew.
    let random = RandomState::new().hash_one(());
    let half = wait / 2;
    let share = u32::try_from(random % 1000).unwrap_or(0);
    half + half.saturating_mul(share) / 1000
}

/// The moment after this wait.
pub(crate) fn moment_after(wait: Duration) -> Instant {
    Instant::now() + wait.min(FOREVER)
}

/// What the server's headers say about asking again; none where they are silent.
pub(crate) fn advice(headers: &HeaderMap) -> Option<Again> {
    let wait = retry_after(headers).map(Again::After);
    match headers.get(SHOULD_RETRY).and_then(|value| value.to_str().ok()).map(str::trim) {
        Some("false") => Some(Again::Never),
        Some("true") => Some(wait.unwrap_or(Again::Soon)),
        _ => wait,
    }
}

/// The wait that the server asks for, in milliseconds, in seconds or as a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = text(RETRY_AFTER_MS).and_then(number) {
        return Some(seconds(milliseconds / 1000.0));
    }
    let asked = text(RETRY_AFTER.as_str())?;
    if let Some(number) = number(asked) {
        return Some(seconds(number));
    }
    // By the server's own clock, which may differ from ours.
    let then = OffsetDateTime::parse(asked, &Rfc2822).ok()?;
    let now = OffsetDateTime::parse(text(DATE.as_str())?, &Rfc2822).ok()?;
    Some(Duration::try_from(then - now).unwrap_or_default())
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| *number >= 0.0)
}

/// More than a duration can hold is the longest one.
fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX)
}
