//! What readiness asks: the store's writer and the indexers, as they are.

use server::health::ReadyCheck;
use store::{Health, Store};

/// The store's writer, as it is.
pub(super) struct StoreReady(pub(super) Store);

impl ReadyCheck for StoreReady {
    fn name(&self) -> &str {
        "store"
    }

    fn check(&self) -> Result<(), String> {
        if !self.0.has_room() {
            return Err("the disk is full: free some space; writes go on by themselves".to_owned());
        }
        match &*self.0.health().borrow() {
            // A full disk that has room again is well; the next write will say so too.
            Health::Well | Health::Full => Ok(()),
            Health::Broken(why) => Err(format!("the store cannot be written: {why}")),
        }
    }
}

/// The indexers, as they are.
pub(super) struct IndexReady(pub(super) engine::Knowledge);

impl ReadyCheck for IndexReady {
    fn name(&self) -> &str {
        "index"
    }

    fn check(&self) -> Result<(), String> {
        self.0.indexing_trouble().map_or(Ok(()), Err)
    }
}
