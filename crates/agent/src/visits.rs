//! Visits of browsers: who has shown a credential on the page, how long that counts, and whose visit gives way.

use std::collections::HashMap;

use crate::identity::Timestamp;

/// Longest rest between two requests of a visit: a working day with its lunch.
pub const REST_MILLISECONDS_MAX: u64 = 12 * 60 * 60 * 1000;

/// Longest visit, however busy: after a week a person shows the key again.
pub const VISIT_MILLISECONDS_MAX: u64 = 7 * 24 * 60 * 60 * 1000;

/// Most visits at once: a few megabytes, and more people than one server answers.
pub const VISITS_MAX: usize = 10_000;

/// Most visits of one caller: many browsers, but never all places.
pub const OF_ONE_MAX: usize = 50;

/// What a visit is known by: the digest of a secret that only the browser has.
pub type VisitDigest = [u8; 32];

/// The open visits; `T` is what was found out about the caller.
#[derive(Debug, Clone)]
pub struct Visits<T> {
    open: HashMap<VisitDigest, Visit<T>>,
}

#[derive(Debug, Clone)]
struct Visit<T> {
    name: String,
    caller: T,
    opened_at: Timestamp,
    used_at: Timestamp,
}

impl<T> Default for Visits<T> {
    fn default() -> Self {
        Self { open: HashMap::new() }
    }
}

impl<T: Clone> Visits<T> {
    /// Opens a visit. Where there is no room, the one of the same caller that has rested longest gives way, and of all
    /// callers only when everybody's are too many.
    pub fn open(&mut self, digest: VisitDigest, name: &str, caller: T, now: Timestamp) {
        self.open.retain(|_, visit| visit.is_open(now));
        if self.open.values().filter(|visit| visit.name == name).count() >= OF_ONE_MAX {
            self.give_way(|visit| visit.name == name);
        }
        if self.open.len() >= VISITS_MAX {
            self.give_way(|_| true);
        }
        let visit = Visit { name: name.to_owned(), caller, opened_at: now, used_at: now };
        self.open.insert(digest, visit);
    }

    /// Whose visit this is, if it is still one; being asked for keeps it open.
    pub fn find(&mut self, digest: &VisitDigest, now: Timestamp) -> Option<T> {
        let visit = self.open.get_mut(digest).filter(|visit| visit.is_open(now))?;
        visit.used_at = now;
        Some(visit.caller.clone())
    }

    /// Ends a visit.
    pub fn close(&mut self, digest: &VisitDigest) {
        self.open.remove(digest);
    }

    fn give_way(&mut self, may: impl Fn(&Visit<T>) -> bool) {
        let among = self.open.iter().filter(|(_, visit)| may(visit));
        let rested = among.min_by_key(|(_, visit)| visit.used_at).map(|(digest, _)| *digest);
        if let Some(digest) = rested {
            self.open.remove(&digest);
        }
    }
}

impl<T> Visit<T> {
    fn is_open(&self, now: Timestamp) -> bool {
        now.0.saturating_sub(self.used_at.0) < REST_MILLISECONDS_MAX
            && now.0.saturating_sub(self.opened_at.0) < VISIT_MILLISECONDS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: usize) -> VisitDigest {
        let mut digest = [0; 32];
        for (place, byte) in digest.iter_mut().zip(number.to_le_bytes()) {
            *place = byte;
        }
        digest
    }

    #[test]
    fn a_visit_ends_when_it_rests_too_long_or_lasts_too_long() {
        let mut visits = Visits::default();
        visits.open(digest(1), "a", "a", Timestamp(0));
        let mut now = 0;
        while now + REST_MILLISECONDS_MAX <= VISIT_MILLISECONDS_MAX {
            now += REST_MILLISECONDS_MAX - 1;
            assert_eq!(visits.find(&digest(1), Timestamp(now)), Some("a"), "{now}");
        }
        assert_eq!(visits.find(&digest(1), Timestamp(VISIT_MILLISECONDS_MAX)), None);
        visits.open(digest(2), "a", "a", Timestamp(0));
        assert_eq!(visits.find(&digest(2), Timestamp(REST_MILLISECONDS_MAX)), None);
    }

    #[test]
    fn a_closed_visit_is_nobodys() {
        let mut visits = Visits::default();
        visits.open(digest(1), "a", "a", Timestamp(0));
        visits.close(&digest(1));
        assert_eq!(visits.find(&digest(1), Timestamp(0)), None);
    }

    #[test]
    fn whoever_signs_in_often_loses_their_own_oldest_visit_and_nobody_elses() {
        let mut visits = Visits::default();
        visits.open(digest(0), "other", "other", Timestamp(0));
        for number in 1..=OF_ONE_MAX + 1 {
            visits.open(digest(number), "busy", "busy", Timestamp(number as u64));
        }
        let now = Timestamp(100);
        assert_eq!(visits.find(&digest(0), now), Some("other"));
        assert_eq!(visits.find(&digest(1), now), None);
        assert_eq!(visits.find(&digest(2), now), Some("busy"));
    }

    #[test]
    fn there_are_never_more_visits_than_fit() {
        let mut visits = Visits::default();
        for number in 0..VISITS_MAX + 5 {
            visits.open(digest(number), &(number / 10).to_string(), (), Timestamp(number as u64));
        }
        assert_eq!(visits.open.len(), VISITS_MAX);
        assert_eq!(visits.find(&digest(4), Timestamp(VISITS_MAX as u64)), None);
    }
}
