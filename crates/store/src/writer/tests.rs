//! Checks who writes when: one alone where it is asked for, several by the thread.

use std::sync::mpsc::{SyncSender, sync_channel};

use futures_util::FutureExt as _;
use futures_util::future::try_join_all;
use tokio::task::JoinHandle;

use super::*;
use crate::{Options, Store};

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("saem.redb"), Options::default()).unwrap();
    (folder, store)
}

/// Counts one more, and says on which thread.
fn count(transaction: &WriteTransaction) -> Result<Option<String>, redb::Error> {
    use redb::ReadableTable as _;
    let mut meta = transaction.open_table(crate::tables::META)?;
    let before = meta.get("count")?.map_or(0, |row| row.value());
    meta.insert("count", before + 1)?;
    Ok(std::thread::current().name().map(str::to_owned))
}

async fn counted(store: &Store) -> u64 {
    let read = store.read(|transaction| {
        let meta = transaction.open_table(crate::tables::META)?;
        Ok(meta.get("count")?.map_or(0, |row| row.value()))
    });
    read.await.unwrap()
}

/// A write that has begun and is held up; it ends when something is sent.
async fn held_up(store: &Store, is_by_itself: bool) -> (SyncSender<()>, JoinHandle<()>) {
    let (begun, has_begun) = sync_channel(1);
    let (go, may_go) = sync_channel::<()>(1);
    let writer = store.writer.clone();
    let held_up = tokio::task::spawn_blocking(move || {
        let work = move |transaction: &WriteTransaction| {
            begun.send(()).unwrap();
            may_go.recv().unwrap();
            count(transaction)
        };
        let runtime = Handle::current();
        let written = if is_by_itself {
            runtime.block_on(writer.write_by_itself(work))
        } else {
            runtime.block_on(writer.write(work))
        };
        written.unwrap();
    });
    tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
    (go, held_up)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_write_is_done_where_it_is_asked_for_and_more_of_them_by_the_thread() {
    let (_folder, store) = store();
    let alone = store.writer.write_by_itself(count).await.unwrap();
    assert_ne!(alone.as_deref(), Some("store-writer"));

    let (go, first) = held_up(&store, true).await;
    let second = store.writer.write_by_itself(count);
    tokio::pin!(second);
    assert!(second.as_mut().now_or_never().is_none());
    go.send(()).unwrap();
    assert_eq!(second.await.unwrap().as_deref(), Some("store-writer"));
    first.await.unwrap();

    let again = store.writer.write_by_itself(count).await.unwrap();
    assert_ne!(again.as_deref(), Some("store-writer"));
    assert_eq!(counted(&store).await, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_crowd_nobody_takes_a_commit_for_one_write() {
    let (_folder, store) = store();
    let (go, first) = held_up(&store, false).await;
    let crowd = try_join_all((0..CROWD).map(|_| store.writer.write(count)));
    tokio::pin!(crowd);
    assert!(crowd.as_mut().now_or_never().is_none());
    go.send(()).unwrap();
    crowd.await.unwrap();
    first.await.unwrap();
    let next = store.writer.write_by_itself(count).await.unwrap();
    assert_eq!(next.as_deref(), Some("store-writer"));
    let after = store.writer.write_by_itself(count).await.unwrap();
    assert_ne!(after.as_deref(), Some("store-writer"));
    assert_eq!(counted(&store).await, CROWD as u64 + 3);
}

#[tokio::test]
async fn a_runtime_of_one_thread_is_not_held_up() {
    let (_folder, store) = store();
    let done = store.writer.write_by_itself(count).await.unwrap();
    assert_eq!(done.as_deref(), Some("store-writer"));
}

/// On which threads the log was written, and the tables.
#[derive(Default)]
struct Threads(Mutex<Vec<(&'static str, Option<String>)>>);

impl Failpoints for Threads {
    fn reached(&self, point: &'static str) {
        let name = std::thread::current().name().map(str::to_owned);
        self.0.lock().unwrap().push((point, name));
    }
}

impl Threads {
    /// Who reached this point, since it was last asked.
    fn took(&self, point: &str) -> Vec<bool> {
        let all = std::mem::take(&mut *self.0.lock().unwrap());
        let here = all.iter().filter(|(reached, _)| *reached == point);
        here.map(|(_, name)| name.as_deref() == Some("store-writer")).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_kept_where_it_ends_if_the_disk_is_quick_and_the_tables_follow_by_the_thread() {
    let folder = tempfile::tempdir().unwrap();
    let threads = Arc::new(Threads::default());
    let options = Options { failpoints: Arc::clone(&threads) as _, ..Options::default() };
    let store = Store::open(&folder.path().join("saem.redb"), options).unwrap();
    let now = agent::identity::Timestamp(1);
    let keep = |revision: u64| {
        let session = agent::memory::Session::new("s1".parse().unwrap(), now);
        let keep = agent::ports::KeepSession {
            session,
            revision,
            turn: None,
            bookings: Vec::new(),
            is_due: false,
            now,
            expires_at: agent::identity::Timestamp(u64::MAX),
        };
        let write = SessionWrite::new("mine".parse().unwrap(), keep).unwrap();
        store.writer.keep(write)
    };
    let pace = |micros| store.writer.desk.log_micros.store(micros, Ordering::Relaxed);
    let mut revision = 0;
    for (micros, is_by_thread) in [(0, true), (1, false), (QUICK_MICROS + 1, true), (1, false)] {
        pace(micros);
        assert!(keep(revision).await.unwrap());
        assert_eq!(threads.took("store.before_log"), [is_by_thread], "{micros}");
        revision += 1;
    }
    // Who has an older state is told here too.
    pace(1);
    assert!(!keep(0).await.unwrap());
    assert_eq!(threads.took("store.before_log"), [false; 0]);
    while revision < crate::ahead::WAITING_MAX as u64 {
        pace(1);
        assert!(keep(revision).await.unwrap());
        revision += 1;
    }
    while store.writer.desk.known.is_ahead() {
        tokio::task::yield_now().await;
    }
    let committed = threads.took("store.after_commit");
    assert_eq!(committed, [true], "by the thread, and once");
    pace(1);
    assert!(keep(revision).await.unwrap(), "what is known is still right");
}
