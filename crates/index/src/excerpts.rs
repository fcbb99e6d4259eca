//! Keeps what was loaded last: the passages that one question finds, many others find too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::knowledge::Excerpt;
use agent::recent::Recent;

/// Most memory that texts may take, by estimate: some two thousand passages, for each generation that is searched.
const BYTES_MAX: usize = 8 << 20;

/// What an excerpt takes besides its longest texts, by estimate; more than half of it is what it is told apart by.
const SMALL_PARTS_BYTES: usize = 2560;

/// Excerpts by their chunk's key. A key is given to one chunk of a generation and to no other, so what is kept stays
/// true; whether the chunk is still there is for the caller to know.
pub(crate) struct Excerpts {
    kept: Mutex<Recent<u64, Arc<Excerpt>>>,
}

impl Default for Excerpts {
    fn default() -> Self {
        Self { kept: Mutex::new(Recent::new(BYTES_MAX)) }
    }
}

impl Excerpts {
    /// What is known of each of these chunks.
    pub(crate) fn find(&self, keys: impl Iterator<Item = u64>) -> Vec<Option<Arc<Excerpt>>> {
        let mut kept = self.kept();
        keys.map(|key| kept.get(&key)).collect()
    }

    pub(crate) fn keep(&self, key: u64, excerpt: &Arc<Excerpt>) {
        let texts = excerpt.text.len() + excerpt.source.len() + excerpt.title.len();
        self.kept().put(key, Arc::clone(excerpt), texts + SMALL_PARTS_BYTES);
    }

    fn kept(&self) -> MutexGuard<'_, Recent<u64, Arc<Excerpt>>> {
        // Nothing that can panic happens between two changes that belong together.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
