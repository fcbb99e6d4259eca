//! The embedded index keeps the promise of its port, also over a restart.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::ports::{Failpoints, Find, Index, Lane};
use index::{LocalIndex, Settings};
use testkit::contracts;
use testkit::samples::{chunks, id, tenant};
use tokio::sync::Semaphore;

#[tokio::test]
async fn the_embedded_index_keeps_its_contract() {
    let folder = tempfile::tempdir().unwrap();
    let index = LocalIndex::new(Settings::at(folder.path().to_owned()));
    contracts::index::keeps_its_promise(&index).await;
}

#[tokio::test]
async fn what_was_applied_is_there_after_a_new_start() {
    let folder = tempfile::tempdir().unwrap();
    let mine = tenant("mine");
    let index = LocalIndex::new(Settings::at(folder.path().to_owned()));
    index.begin(&mine, "test", 4, "recipe").await.unwrap();
    let of = chunks(&id('a'), "guide", &[("샘은 솟는다", vec![1.0, 0.0, 0.0, 0.0])]);
    index.apply(&mine, Lane::Serving, vec![of], 3).await.unwrap();
    drop(index);
    let index = LocalIndex::new(Settings::at(folder.path().to_owned()));
    assert_eq!(index.state(&mine, Lane::Serving).await.unwrap().unwrap().applied, 3);
    let find = Find {
        text: Some("샘".to_owned()),
        vector: Some(vec![1.0, 0.0, 0.0, 0.0]),
        count: 5,
        ..Find::default()
    };
    let finding = index.find(&mine, &find).await.unwrap();
    assert_eq!((finding.keyword().len(), finding.vector().len()), (1, 1));
}

#[tokio::test]
async fn a_damaged_index_counts_as_none_so_that_it_is_built_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mine = tenant("mine");
    let index = LocalIndex::new(Settings::at(folder.path().to_owned()));
    index.begin(&mine, "test", 4, "recipe").await.unwrap();
    drop(index);
    std::fs::write(folder.path().join("mine/1/meta.json"), b"{").unwrap();
    let index = LocalIndex::new(Settings::at(folder.path().to_owned()));
    assert_eq!(index.state(&mine, Lane::Serving).await.unwrap(), None);
    index.begin(&mine, "test", 4, "recipe").await.unwrap();
    assert!(index.state(&mine, Lane::Serving).await.unwrap().is_some());
}

/// Holds whoever is about to commit, until they may go on.
struct Door {
    arrived: Semaphore,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Door {
    fn is_open(&self) -> MutexGuard<'_, bool> {
        self.is_open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, is_open: bool) {
        *self.is_open() = is_open;
        self.opened.notify_all();
    }
}

impl Failpoints for Door {
    fn reached(&self, point: &'static str) {
        if point == "index.before_commit" {
            self.arrived.add_permits(1);
            drop(self.opened.wait_while(self.is_open(), |is_open| !*is_open));
        }
    }
}

#[test]
fn searches_find_a_thread_while_many_indexes_are_written() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let door = Arc::new(Door {
        arrived: Semaphore::new(0),
        is_open: Mutex::new(true),
        opened: Condvar::new(),
    });
    let failpoints = Arc::clone(&door) as Arc<dyn Failpoints>;
    let settings =
        Settings { failpoints, writers_max: 1, ..Settings::at(folder.path().to_owned()) };
    let index = LocalIndex::new(settings);
    let tenants = ["one", "two", "three"].map(tenant);
    let (found, written) = runtime.block_on(async {
        for tenant in &tenants {
            index.begin(tenant, "test", 4, "recipe").await.unwrap();
        }
        door.arrived.forget_permits(usize::MAX);
        door.set(false);
        let writing =
            tenants.iter().map(|tenant| index.apply(tenant, Lane::Serving, Vec::new(), 1));
        let searching = async {
            drop(door.arrived.acquire().await.unwrap());
            let searching = index.known_tags(&tenants[2]);
            let found = tokio::time::timeout(Duration::from_secs(10), searching).await;
            door.set(true);
            found
        };
        futures_util::future::join(searching, futures_util::future::join_all(writing)).await
    });
    assert!(found.is_ok_and(|found| found.is_ok()), "no thread was left");
    assert!(written.into_iter().all(|written| written.is_ok()));
}
