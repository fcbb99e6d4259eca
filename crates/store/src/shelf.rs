//! Rows that every request asks for, in memory beside the file that they stand in.

use std::sync::{Arc, Mutex, PoisonError};

use agent::ports::PortError;
use agent::recent::Recent;
use redb::ReadTransaction;

use crate::redb_file::Store;

/// What is known of some rows. Cheap to clone.
pub(crate) struct Shelf<T>(Arc<Mutex<Shelved<T>>>);

#[derive(Default)]
struct Shelved<T> {
    /// Counts the beginnings and ends of writes.
    changes: u64,
    known: T,
}

/// When somebody looked and found nothing: what is read after it may be older than a write that has begun since.
struct Moment(u64);

impl<T> Clone for Shelf<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> Default for Shelf<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Default> Shelf<T> {
    fn find<V>(&self, find: impl FnOnce(&mut T) -> Option<V>) -> Result<V, Moment> {
        self.with(|shelved| find(&mut shelved.known).ok_or(Moment(shelved.changes)))
    }

    /// Keeps what was read since then, unless something was written meanwhile.
    fn keep(&self, since: &Moment, put: impl FnOnce(&mut T)) {
        self.with(|shelved| {
            if shelved.changes == since.0 {
                put(&mut shelved.known);
            }
        });
    }

    /// Begins a write of these rows. Its order gives this back, so that it is dropped when the write is over, whether
    /// or not anybody waits for that.
    pub(crate) fn changing(&self) -> Changing<T> {
        self.clear();
        Changing(self.clone())
    }

    fn clear(&self) {
        self.with(|shelved| {
            shelved.changes += 1;
            shelved.known = T::default();
        });
    }

    fn with<V>(&self, work: impl FnOnce(&mut Shelved<T>) -> V) -> V {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A write on its way: until it is over, nothing that is read is kept for longer than it.
pub(crate) struct Changing<T: Default>(Shelf<T>);

impl<T: Default> Drop for Changing<T> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

/// Rows that are kept in memory of each kind: those that are asked for again and again.
const ROWS_MAX: usize = 1024;

/// Rows by their keys, those that were asked for lately.
pub(crate) struct Rows<K, V>(Recent<K, Arc<V>>);

impl<K: Ord + Clone, V> Default for Rows<K, V> {
    fn default() -> Self {
        Self(Recent::new(ROWS_MAX))
    }
}

impl Store {
    /// The row of this key from the shelf; else it is read, and stands there from now on.
    pub(crate) async fn known<K: Ord + Clone, V>(
        &self,
        shelf: &Shelf<Rows<K, V>>,
        key: K,
        read: impl FnOnce(&ReadTransaction) -> Result<Option<V>, redb::Error>,
    ) -> Result<Option<Arc<V>>, PortError> {
        let moment = match shelf.find(|rows| rows.0.get(&key)) {
            Ok(known) => return Ok(Some(known)),
            Err(moment) => moment,
        };
        let found = self.look_up(read).await?.map(Arc::new);
        if let Some(row) = &found {
            shelf.keep(&moment, |rows| rows.0.put(key, Arc::clone(row), 1));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_or_during_a_write_does_not_outlive_it() {
        let shelf: Shelf<Option<u8>> = Shelf::default();
        let before = shelf.find(|known| *known).unwrap_err();
        let changing = shelf.changing();
        shelf.keep(&before, |known| *known = Some(1));
        let during = shelf.find(|known| *known).unwrap_err();
        shelf.keep(&during, |known| *known = Some(1));
        assert!(shelf.find(|known| *known).is_ok());
        drop(changing);
        let after = shelf.find(|known| *known).unwrap_err();
        shelf.keep(&during, |known| *known = Some(1));
        assert!(shelf.find(|known| *known).is_err());
        shelf.keep(&after, |known| *known = Some(2));
        assert_eq!(shelf.find(|known| *known).ok(), Some(2));
    }
}
