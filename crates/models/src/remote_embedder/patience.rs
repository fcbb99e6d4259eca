//! How often and after which wait a request is made again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use super::RemoteSettings;

/// Whether the same request may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Never,
    /// After a wait of our choice.
    Soon,
    /// After the wait that the server asked for.
    After(Duration),
}

/// The tries that are left for one request.
#[derive(Debug)]
pub(super) struct Patience {
    tries_left: u32,
    next_wait: Duration,
    wait_max: Duration,
}

impl Patience {
    pub(super) fn new(settings: &RemoteSettings) -> Self {
        Self {
            tries_left: settings.tries_max.saturating_sub(1),
            next_wait: settings.retry_wait_first,
            wait_max: settings.retry_wait_max,
        }
    }

    /// How long to wait before the next try; none when there is no next try.
    pub(super) fn wait_before_next(&mut self, again: &Again) -> Option<Duration> {
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

/// The wait that the server asks for, in seconds or as a date.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    // By the server's own clock, which may differ from ours.
    let then = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    let now = OffsetDateTime::parse(headers.get(DATE)?.to_str().ok()?, &Rfc2822).ok()?;
    Some(Duration::try_from(then - now).unwrap_or_default())
}
