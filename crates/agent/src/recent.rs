//! What was used lately, within a number of bytes: what nobody has asked for goes first.

use std::borrow::Borrow;
use std::collections::{BTreeMap, VecDeque};

/// Values by their keys. A value stays as long as it is asked for between two times that its turn to go has come.
#[derive(Debug)]
pub struct Recent<K, V> {
    bytes_max: usize,
    by_key: BTreeMap<K, Slot<V>>,
    /// The keys that are there, in the order in which they may have to go.
    order: VecDeque<K>,
    bytes: usize,
}

#[derive(Debug)]
struct Slot<V> {
    value: V,
    bytes: usize,
    /// Asked for since its turn to go came last.
    is_used: bool,
}

impl<K: Ord + Clone, V: Clone> Recent<K, V> {
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, by_key: BTreeMap::new(), order: VecDeque::new(), bytes: 0 }
    }

    /// What is known under this key.
    pub fn get<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let slot = self.by_key.get_mut(key)?;
        slot.is_used = true;
        Some(slot.value.clone())
    }

    /// Keeps a value that takes so many bytes; one that is there already stays, and one that is too large is not kept.
    pub fn put(&mut self, key: K, value: V, bytes: usize) {
        if bytes > self.bytes_max || self.by_key.contains_key(&key) {
            return;
        }
        self.by_key.insert(key.clone(), Slot { value, bytes, is_used: false });
        self.order.push_back(key);
        self.bytes += bytes;
        while self.bytes > self.bytes_max {
            let Some(oldest) = self.order.pop_front() else { break };
            match self.by_key.get_mut(&oldest) {
                Some(slot) if slot.is_used => {
                    slot.is_used = false;
                    self.order.push_back(oldest);
                }
                _ => self.bytes -= self.by_key.remove(&oldest).map_or(0, |gone| gone.bytes),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let mut recent = Recent::new(1000);
        for key in 0..100 {
            recent.put(key, key, 100);
            assert_eq!(recent.get(&0), Some(0));
        }
        let there: Vec<i32> = (0..100).filter(|key| recent.get(key).is_some()).collect();
        assert!(there.contains(&0) && there.contains(&99), "{there:?}");
        assert_eq!((there.len(), recent.bytes, recent.order.len()), (10, 1000, 10));
    }

    #[test]
    fn what_is_too_large_is_not_kept_and_drives_nothing_out() {
        let mut recent = Recent::new(1000);
        recent.put("small", 1, 900);
        recent.put("large", 2, 1001);
        assert_eq!((recent.get("small"), recent.get("large")), (Some(1), None));
    }

    #[test]
    fn what_is_there_is_counted_once() {
        let mut recent = Recent::new(1000);
        recent.put("one", 1, 600);
        recent.put("one", 2, 600);
        assert_eq!((recent.get("one"), recent.bytes), (Some(1), 600));
    }
}
