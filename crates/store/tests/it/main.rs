//! The store keeps the promises of its ports, and survives what happens to files.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that meets something unexpected should end there"
)]

mod log;
mod redis_cluster;
mod redis_faults;
mod redis_journals;
mod redis_sessions;
mod redis_tasks;

use std::sync::Arc;

use agent::ports::{Audit, DocumentList, Documents, Put};
use redb::ReadableTable;
use store::{Options, Store};
use testkit::contracts;
use testkit::samples::{id, kept, tenant};

fn open(folder: &tempfile::TempDir) -> Store {
    Store::open(&folder.path().join("saem.redb"), Options::default()).unwrap()
}

#[tokio::test]
async fn the_redb_store_keeps_every_contract() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    contracts::documents::keeps_its_promise(&store).await;
    contracts::jobs::keeps_its_promise(&store).await;
    contracts::keys::keeps_its_promise(&store).await;
    contracts::audit::keeps_its_promise(&store, &store).await;
    contracts::sessions::keeps_its_promise(&store).await;
    contracts::ledger::keeps_its_promise(&store).await;
    contracts::sessions::books_what_a_turn_cost(&store, &store).await;
    contracts::tools::keeps_its_promise(&store).await;
    contracts::tasks::keeps_its_promise(&store).await;
    contracts::research::keeps_its_promise(&store).await;
    contracts::entries::keeps_its_promise(&store, &store).await;
}

#[tokio::test]
async fn a_session_expires_when_its_last_use_says() {
    let folder = tempfile::tempdir().unwrap();
    contracts::sessions::expires_when_it_is_told(&open(&folder)).await;
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_new_start() {
    let folder = tempfile::tempdir().unwrap();
    let mine = tenant("mine");
    let store = open(&folder);
    store.put(&mine, kept(&id('a'), "one", "text")).await.unwrap();
    drop(store);
    let store = reopened(&folder).await;
    assert_eq!(store.content(&mine, &id('a')).await.unwrap(), Some(b"text".to_vec()));
    assert_eq!(store.first_forged(&mine).await.unwrap(), None);
}

/// The writer's thread lets the file go a moment after the last handle is dropped.
async fn reopened(folder: &tempfile::TempDir) -> Store {
    loop {
        match Store::open(&folder.path().join("saem.redb"), Options::default()) {
            Ok(store) => return store,
            Err(store::OpenError::InUse { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_second_process_is_told_who_has_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let _first = open(&folder);
    let second = Store::open(&folder.path().join("saem.redb"), Options::default());
    let error = second.err().unwrap().to_string();
    assert!(error.contains("another saem is using") && error.contains("--data"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_store_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saem.redb");
    std::fs::write(&path, b"this is not a database").unwrap();
    assert!(Store::open(&path, Options::default()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"this is not a database");
}

/// The version that a store's file says it has.
const META: redb::TableDefinition<&str, u64> = redb::TableDefinition::new("meta");

/// A store's file as a Saem of a later schema would leave it.
async fn of_a_later_schema(folder: &tempfile::TempDir) -> (std::path::PathBuf, u64) {
    let store = open(folder);
    store.put(&tenant("mine"), kept(&id('a'), "one", "text")).await.unwrap();
    drop(store);
    drop(reopened(folder).await);
    let path = folder.path().join("saem.redb");
    let database = loop {
        match redb::Database::create(&path) {
            Ok(database) => break database,
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    let write = database.begin_write().unwrap();
    let later = {
        let mut meta = write.open_table(META).unwrap();
        let known = meta.get("schema").unwrap().unwrap().value();
        meta.insert("schema", known + 1).unwrap();
        known + 1
    };
    write.commit().unwrap();
    (path, later)
}

#[tokio::test]
async fn a_file_of_a_later_schema_is_refused_with_both_versions_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, later) = of_a_later_schema(&folder).await;
    let before = std::fs::read(&path).unwrap();
    let changed = std::fs::metadata(&path).unwrap().modified().unwrap();
    let refused = Store::open(&path, Options::default()).err().unwrap();
    let text = refused.to_string();
    assert!(text.contains("newer saem") && text.contains("use that version"), "{text}");
    match refused {
        store::OpenError::Newer { found, known, .. } => {
            assert_eq!((found, known + 1), (later, later))
        }
        other => panic!("{other}"),
    }
    assert!(std::fs::read(&path).unwrap() == before, "not a byte of it was changed");
    assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), changed);
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_reading_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mine = tenant("mine");
    let path = folder.path().join("saem.redb");
    let store = Store::open(&path, Options::default()).unwrap();
    store.put(&mine, kept(&id('a'), "one", "text")).await.unwrap();
    drop(store);
    let store = loop {
        match Store::open(&path, Options { disk_reserve_bytes: u64::MAX, ..Options::default() }) {
            Ok(store) => break store,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let refused = store.put(&mine, kept(&id('b'), "two", "text")).await.unwrap_err();
    assert!(matches!(refused, agent::ports::PortError::Full), "{refused}");
    assert!(store.get(&mine, &id('a')).await.unwrap().is_some());
}

#[tokio::test]
async fn many_writers_at_once_all_come_through() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&folder));
    let mine = tenant("mine");
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..200u32 {
        let (store, mine) = (Arc::clone(&store), mine.clone());
        let id = format!("{number:032x}").parse().unwrap();
        tasks.spawn(async move {
            match store.put(&mine, kept(&id, "x", "y")).await.unwrap() {
                Put::Kept { sequence } => sequence,
                Put::Superseded => panic!("nothing came before it"),
            }
        });
    }
    let mut sequences = tasks.join_all().await;
    sequences.sort_unstable();
    assert_eq!(sequences, (1..=200).collect::<Vec<u64>>());
    let list = DocumentList { limit: 1000, ..DocumentList::default() };
    assert_eq!(store.list(&mine, list).await.unwrap().items.len(), 200);
    assert_eq!(store.first_forged(&mine).await.unwrap(), None);
}
