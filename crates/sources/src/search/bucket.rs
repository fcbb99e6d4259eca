//! Keeps requests to a provider apart, as its terms want it.

use std::time::Duration;

use agent::identity::Timestamp;

/// One token in each interval; it holds one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bucket {
    interval: u64,
    /// When the next token is there.
    free_at: Timestamp,
}

impl Bucket {
    /// With a token in it; the interval is in milliseconds.
    pub(super) fn new(interval: u64) -> Self {
        Self { interval, free_at: Timestamp(0) }
    }

    /// Whoever asked before, in a process that has ended, counts too.
    pub(super) fn not_before(&mut self, at: Timestamp) {
        self.free_at = self.free_at.max(at);
    }

    pub(super) fn free_at(&self) -> Timestamp {
        self.free_at
    }

    /// Takes the next token and says how long it is until it is there. Those who come later wait behind.
    pub(super) fn reserve(&mut self, now: Timestamp) -> Duration {
        let at = self.free_at.max(now);
        self.free_at = Timestamp(at.0.saturating_add(self.interval));
        Duration::from_millis(at.0 - now.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_stand_in_line_an_interval_apart() {
        let mut bucket = Bucket::new(3_000);
        let mut waits = |now: u64| bucket.reserve(Timestamp(now)).as_millis();
        assert_eq!((waits(10_000), waits(10_000), waits(11_000)), (0, 3_000, 5_000));
        assert_eq!((waits(60_000), waits(62_000)), (0, 1_000));
    }
}
