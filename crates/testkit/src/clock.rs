//! A clock that stands still until a test moves it.

use std::sync::atomic::{AtomicU64, Ordering};

use agent::identity::Timestamp;
use agent::ports::Clock;

/// Starts at a given moment.
#[derive(Debug)]
pub struct HandClock(AtomicU64);

impl HandClock {
    #[must_use]
    pub fn at(millis: u64) -> Self {
        Self(AtomicU64::new(millis))
    }

    /// Moves the time on.
    pub fn advance(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}
