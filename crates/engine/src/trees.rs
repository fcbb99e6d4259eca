//! Documents as trees of sections, those that were read lately: whoever reads on asks for the same one again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::knowledge::Document;
use agent::names::{DocumentId, TenantId};
use agent::recent::Recent;
use extract::{Extracted, Split};

/// Bytes of texts that are kept at most: some hundred guides of usual length.
const BYTES_MAX: usize = 16 << 20;

/// A document, its text, and how it is split.
pub(crate) struct Tree {
    pub(crate) document: Document,
    pub(crate) split: Split,
    pub(crate) extracted: Extracted,
}

/// Whose document in which state: a change of it is another key, so that nothing has to be taken out.
type Key = (TenantId, DocumentId, u64);

pub(crate) struct Trees(Mutex<Recent<Key, Arc<Tree>>>);

impl Default for Trees {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(BYTES_MAX)))
    }
}

impl Trees {
    pub(crate) fn get(&self, tenant: &TenantId, document: &Document) -> Option<Arc<Tree>> {
        self.kept().get(&key(tenant, document))
    }

    pub(crate) fn put(&self, tenant: &TenantId, tree: &Arc<Tree>) {
        // The text is there twice, as it is and in chunks; headings, ranges and tags are some words for each.
        let bytes = tree.extracted.text.len() * 3;
        self.kept().put(key(tenant, &tree.document), Arc::clone(tree), bytes);
    }

    fn kept(&self) -> MutexGuard<'_, Recent<Key, Arc<Tree>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(tenant: &TenantId, document: &Document) -> Key {
    (tenant.clone(), document.id.clone(), document.sequence)
}
