//! Keeps what was loaded last: the passages that one question finds, many others find too.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::knowledge::Excerpt;

/// Most memory that texts may take, by estimate: some two thousand passages, for each generation that is searched.
const BYTES_MAX: usize = 8 << 20;

/// What an excerpt takes besides its longest texts, by estimate; more than half of it is what it is told apart by.
const SMALL_PARTS_BYTES: usize = 2560;

/// Excerpts by their chunk's key. A key is given to one chunk of a generation and to no other, so what is kept stays
/// true; whether the chunk is still there is for the caller to know.
#[derive(Default)]
pub(crate) struct Excerpts {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_key: HashMap<u64, Slot>,
    /// The keys that are there, in the order in which they may have to go.
    order: VecDeque<u64>,
    bytes: usize,
}

struct Slot {
    excerpt: Arc<Excerpt>,
    /// Asked for since its turn to go came last.
    is_used: bool,
}

impl Excerpts {
    /// What is known of each of these chunks.
    pub(crate) fn find(&self, keys: impl Iterator<Item = u64>) -> Vec<Option<Arc<Excerpt>>> {
        let mut kept = self.kept();
        let mut find = |key| {
            let slot = kept.by_key.get_mut(&key)?;
            slot.is_used = true;
            Some(Arc::clone(&slot.excerpt))
        };
        keys.map(&mut find).collect()
    }

    /// Keeps an excerpt; those that nobody has asked for go first.
    pub(crate) fn keep(&self, key: u64, excerpt: &Arc<Excerpt>) {
        let mut kept = self.kept();
        let slot = Slot { excerpt: Arc::clone(excerpt), is_used: false };
        if kept.by_key.insert(key, slot).is_some() {
            return;
        }
        kept.order.push_back(key);
        kept.bytes += bytes(excerpt);
        while kept.bytes > BYTES_MAX {
            let Some(oldest) = kept.order.pop_front() else { break };
            match kept.by_key.get_mut(&oldest) {
                Some(slot) if slot.is_used => {
                    slot.is_used = false;
                    kept.order.push_back(oldest);
                }
                _ => {
                    let gone = kept.by_key.remove(&oldest);
                    kept.bytes -= gone.map_or(0, |gone| bytes(&gone.excerpt));
                }
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing that can panic happens between two changes that belong together.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes(excerpt: &Excerpt) -> usize {
    excerpt.text.len() + excerpt.source.len() + excerpt.title.len() + SMALL_PARTS_BYTES
}

#[cfg(test)]
mod tests {
    use agent::filter::Tags;
    use agent::names::{DocumentId, SectionId};
    use agent::retrieval::Shingles;

    use super::*;

    fn excerpt(bytes: usize) -> Arc<Excerpt> {
        let document: DocumentId = "0".repeat(32).parse().unwrap();
        Arc::new(Excerpt {
            section: SectionId { document: document.clone(), ordinal: 0 },
            document,
            chunk: 0,
            title: String::new(),
            source: String::new(),
            heading_path: Vec::new(),
            text: "x".repeat(bytes),
            range: 0..bytes,
            tags: Tags::new(),
            shingles: Shingles::default(),
        })
    }

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let excerpts = Excerpts::default();
        let asked = 3;
        for key in 0..100 {
            excerpts.keep(key, &excerpt(BYTES_MAX / 10));
            let _used = excerpts.find([asked].into_iter());
        }
        let there: Vec<u64> =
            (0..100).filter(|key| excerpts.find([*key].into_iter())[0].is_some()).collect();
        assert!(there.contains(&asked) && there.contains(&99), "{there:?}");
        assert!((5..=10).contains(&there.len()), "{there:?}");
        assert!(excerpts.kept().bytes <= BYTES_MAX);
        assert_eq!(excerpts.kept().order.len(), there.len());
    }

    #[test]
    fn what_is_too_large_for_it_is_not_kept() {
        let excerpts = Excerpts::default();
        excerpts.keep(1, &excerpt(BYTES_MAX + 1));
        assert_eq!(excerpts.find([1].into_iter()), [None]);
        assert_eq!(excerpts.kept().bytes, 0);
    }
}
