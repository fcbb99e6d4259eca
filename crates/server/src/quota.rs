//! How often and how much at once: token buckets for callers and addresses, and requests in flight.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::identity::Principal;
use http::StatusCode;
use tokio::time::Instant;

use crate::limits::{Limits, Rate};
use crate::problem::Problem;

/// Most callers or addresses remembered at once; beyond, whoever has waited longest is forgotten first.
const BUCKETS_MAX: usize = 10_000;

/// Bits of an IPv6 address that name a customer: the rest is theirs to vary.
const IPV6_CUSTOMER_BITS: u32 = 56;

type Name = (String, String);

/// The quotas of one server.
pub(crate) struct Quota {
    callers: Buckets<Name>,
    addresses: Buckets<IpAddr>,
    in_flight: Arc<Counts<Name>>,
    caller_requests_max: usize,
}

/// A caller's request in flight; it counts until this is dropped.
pub(crate) type Permit = Held<Name>;

impl Quota {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            callers: Buckets::new(limits.caller_rate),
            addresses: Buckets::new(limits.address_rate),
            in_flight: Arc::default(),
            caller_requests_max: limits.caller_requests_max,
        }
    }

    /// Lets a request of this caller in, or says when to come back.
    pub(crate) fn caller(&self, principal: &Principal) -> Result<Permit, Problem> {
        let name = (principal.tenant.to_string(), principal.name.clone());
        self.callers.take(name.clone(), Instant::now()).map_err(|wait| too_often(wait, "you"))?;
        self.in_flight.take(name, self.caller_requests_max).ok_or_else(|| {
            Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_at_once",
                "too many requests at once",
                format!("At most {} of your requests run at a time.", self.caller_requests_max),
                "Wait for some of them to end.",
            )
            .retry_after(1)
        })
    }

    /// Counts a request that nobody answers for.
    pub(crate) fn address(&self, address: IpAddr) -> Result<(), Problem> {
        let taken = self.addresses.take(neighbourhood(address), Instant::now());
        taken.map_err(|wait| too_often(wait, "your address"))
    }
}

/// The addresses that one customer can take on at will, as one.
pub(crate) fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let mask = u128::MAX << (128 - IPV6_CUSTOMER_BITS);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
        address @ IpAddr::V4(_) => address,
    }
}

fn too_often(wait: Duration, whose: &str) -> Problem {
    Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too_often",
        "too many requests",
        format!("The requests of {whose} came faster than the quota fills up."),
        "Wait as long as Retry-After says, and then go more slowly.",
    )
    .retry_after(wait.as_secs().saturating_add(1))
}

/// Token buckets in the form of one moment each: when the bucket will be full again.
pub(crate) struct Buckets<K> {
    full_at: Mutex<HashMap<K, Instant>>,
    every: Duration,
    depth: Duration,
}

impl<K: Hash + Eq> Buckets<K> {
    pub(crate) fn new(rate: Rate) -> Self {
        let every = Duration::try_from_secs_f64(1.0 / rate.per_second).unwrap_or(Duration::MAX);
        let depth = every.saturating_mul(rate.burst.max(1));
        Self { full_at: Mutex::default(), every, depth }
    }

    /// Takes a token, or says how long until there is one.
    pub(crate) fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let before = buckets.get(&key).copied().unwrap_or(now).max(now);
        let after = before.checked_add(self.every).unwrap_or(before);
        let owed = after.saturating_duration_since(now);
        if owed > self.depth {
            return Err(owed.saturating_sub(self.depth));
        }
        if buckets.len() >= BUCKETS_MAX && !buckets.contains_key(&key) {
            make_room(&mut buckets, now);
        }
        buckets.insert(key, after);
        Ok(())
    }
}

/// Forgets whoever has a full bucket; if nobody has, those nearest to it, many at once so that it is rarely done.
fn make_room<K: Hash + Eq>(buckets: &mut HashMap<K, Instant>, now: Instant) {
    buckets.retain(|_, full_at| *full_at > now);
    if buckets.len() < BUCKETS_MAX {
        return;
    }
    let mut moments: Vec<Instant> = buckets.values().copied().collect();
    let (_, limit, _) = moments.select_nth_unstable(BUCKETS_MAX / 8);
    let limit = *limit;
    buckets.retain(|_, full_at| *full_at > limit);
}

/// How many of something each key has at the moment.
pub(crate) struct Counts<K>(Mutex<HashMap<K, usize>>);

/// One of a key's count; given back when it is dropped.
pub(crate) struct Held<K: Hash + Eq> {
    counts: Arc<Counts<K>>,
    key: K,
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone> Counts<K> {
    pub(crate) fn take(self: &Arc<Self>, key: K, max: usize) -> Option<Held<K>> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(&key).copied().unwrap_or(0);
        if count >= max {
            return None;
        }
        counts.insert(key.clone(), count.saturating_add(1));
        Some(Held { counts: Arc::clone(self), key })
    }
}

impl<K: Hash + Eq> Drop for Held<K> {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(&self.key) else { return };
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { per_second: 2.0, burst: 3 };

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let (buckets, start) = (Buckets::new(RATE), Instant::now());
        assert!((0..3).all(|_| buckets.take("a", start).is_ok()));
        assert_eq!(buckets.take("a", start), Err(Duration::from_millis(500)));
        assert!(buckets.take("b", start).is_ok(), "each has its own");
        let later = start + Duration::from_millis(500);
        assert!(buckets.take("a", later).is_ok());
        assert!(buckets.take("a", later).is_err());
        let much_later = start + Duration::from_secs(3600);
        assert!((0..3).all(|_| buckets.take("a", much_later).is_ok()), "it fills to the burst");
        assert!(buckets.take("a", much_later).is_err(), "and not beyond");
    }

    #[test]
    fn ever_new_names_take_no_more_memory() {
        let (buckets, now) = (Buckets::new(RATE), Instant::now());
        for name in 0..BUCKETS_MAX * 2 {
            assert!(buckets.take(name, now).is_ok());
        }
        assert!(buckets.full_at.lock().unwrap().len() <= BUCKETS_MAX);
    }

    #[test]
    fn a_place_is_given_back_when_it_is_dropped() {
        let counts: Arc<Counts<&str>> = Arc::default();
        let (first, second) = (counts.take("a", 2), counts.take("a", 2));
        assert!(first.is_some() && second.is_some());
        assert!(counts.take("a", 2).is_none());
        assert!(counts.take("b", 2).is_some());
        drop(first);
        assert!(counts.take("a", 2).is_some());
        drop(second);
        assert!(counts.0.lock().unwrap().is_empty(), "nothing is left of who is gone");
    }

    #[test]
    fn one_customer_is_one_address() {
        let same = |a: &str, b: &str| {
            neighbourhood(a.parse().unwrap()) == neighbourhood(b.parse().unwrap())
        };
        assert!(same("2001:db8:0:1200::1", "2001:db8:0:12ff:ffff::9"));
        assert!(!same("2001:db8:0:1200::1", "2001:db8:0:1300::1"));
        assert!(same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(!same("10.0.0.1", "10.0.0.2"));
    }
}
