//! What one search found, with the moment of the index that it was found in.

use std::sync::Arc;

use agent::knowledge::Passage;
use agent::ports::{ChunkKey, Finding, Hit, Later};

use crate::local::{blocking, broken};
use crate::snapshot::{Lists, Snapshot};

pub(crate) struct LocalFinding {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) lists: Lists,
}

impl Finding for LocalFinding {
    fn keyword(&self) -> &[Hit] {
        &self.lists.keyword
    }

    fn vector(&self) -> &[Hit] {
        &self.lists.vector
    }

    fn coverage(&self) -> f32 {
        self.lists.coverage
    }

    fn listed(&self) -> &[Hit] {
        &self.lists.listed
    }

    fn load<'a>(&'a self, keys: &'a [ChunkKey]) -> Later<'a, Vec<Passage>> {
        if let Some(passages) = self.snapshot.load_known(keys) {
            return Box::pin(std::future::ready(Ok(passages)));
        }
        if self.snapshot.is_small() {
            let loaded = self.snapshot.load(keys).map_err(broken("loading passages"));
            return Box::pin(std::future::ready(loaded));
        }
        let (snapshot, keys) = (Arc::clone(&self.snapshot), keys.to_vec());
        blocking(move || snapshot.load(&keys).map_err(broken("loading passages")))
    }
}

/// What a tenant without an index finds.
pub(crate) struct Nothing;

impl Finding for Nothing {
    fn keyword(&self) -> &[Hit] {
        &[]
    }

    fn vector(&self) -> &[Hit] {
        &[]
    }

    fn coverage(&self) -> f32 {
        0.0
    }

    fn listed(&self) -> &[Hit] {
        &[]
    }

    fn load<'a>(&'a self, _keys: &'a [ChunkKey]) -> Later<'a, Vec<Passage>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
