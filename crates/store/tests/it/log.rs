//! Sessions that are in the log before the tables have them: seen at once, there after a crash, in order with all else.

use agent::ledger::{Account, Booking, Component, Day, Spent};
use agent::memory::Session;
use agent::model::Usage;
use agent::ports::{Documents, KeepSession, Ledger, Sessions};
use futures_util::future::join_all;
use store::Store;
use testkit::samples::{id, kept, tenant};

use crate::redis_sessions::{HOUR, NOW, name, next, questions};
use crate::{open, reopened};

/// A folder as a process that is killed now would leave it.
fn killed(folder: &tempfile::TempDir) -> tempfile::TempDir {
    let left = tempfile::tempdir().unwrap();
    for file in ["saem.redb", "saem.log"] {
        std::fs::copy(folder.path().join(file), left.path().join(file)).unwrap();
    }
    left
}

/// A turn that cost something.
fn paid(session: &mut Session, revision: u64, question: &str) -> KeepSession {
    let account = Account {
        day: Day(1),
        session: session.id.to_string(),
        component: Component::Answer,
        model: "m".to_owned(),
    };
    let spent = Spent::call(Usage { input: 1, ..Usage::default() }, None);
    let bookings = vec![Booking { account, spent }];
    KeepSession { bookings, ..next(session, revision, question) }
}

async fn calls(store: &Store) -> u64 {
    let booked = store.booked(&tenant("mine"), Day(1), Day(1)).await.unwrap();
    booked.iter().map(|booking| booking.spent.calls).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_survive_a_kill_at_any_number_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mine) = (open(&folder), tenant("mine"));
    let mut session = Session::new(name("s1"), NOW);
    // More than wait for the tables, so that the log has begun anew in between.
    for revision in 0..300 {
        let question = format!("question {revision}");
        assert!(store.keep(&mine, paid(&mut session, revision, &question)).await.unwrap());
        if revision % 26 > 1 && revision < 298 {
            continue;
        }
        let left = killed(&folder);
        let after = open(&left);
        let kept = after.session(&mine, &session.id, NOW).await.unwrap().unwrap();
        assert_eq!((kept.revision, &kept.session), (revision + 1, &session));
        assert_eq!(calls(&after).await, revision + 1, "each is booked once");
        // It goes on there, and once more after another crash.
        let mut other = session.clone();
        assert!(after.keep(&mine, paid(&mut other, revision + 1, "on")).await.unwrap());
        let again = open(&killed(&left));
        let said = questions(&again, &mine, &session.id).await;
        assert_eq!((said.len() as u64, said.last().unwrap().as_str()), (revision + 2, "on"));
        assert_eq!(calls(&again).await, revision + 2);
    }
    // What is remembered of it besides the tables goes with it.
    assert!(store.session(&mine, &session.id, NOW).await.unwrap().is_some());
    assert!(store.forget(&mine, &session.id).await.unwrap());
    assert_eq!(store.session(&mine, &session.id, NOW).await.unwrap(), None);
    assert!(store.keep(&mine, paid(&mut Session::new(name("s1"), NOW), 0, "anew")).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_the_log_is_seen_by_everybody() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mine) = (open(&folder), tenant("mine"));
    let mut session = Session::new(name("s1"), NOW);
    let keep = paid(&mut session, 0, "one");
    let record = keep.turn.as_deref().cloned().unwrap();
    assert!(store.keep(&mine, keep).await.unwrap());
    assert_eq!(store.record(&mine, &record.id, NOW).await.unwrap(), Some(record));
    assert!(store.keep(&mine, paid(&mut session, 1, "two")).await.unwrap());
    assert_eq!(store.records(&mine, &session.id, 9, NOW).await.unwrap().len(), 2);
    assert!(store.keep(&mine, paid(&mut session, 2, "three")).await.unwrap());
    assert_eq!(questions(&store, &mine, &session.id).await, ["one", "two", "three"]);
    let due = KeepSession { is_due: true, ..paid(&mut session, 3, "four") };
    assert!(store.keep(&mine, due).await.unwrap());
    assert_eq!(store.due().await.unwrap(), [(mine.clone(), session.id.clone())]);
    assert!(store.keep(&mine, paid(&mut session, 4, "five")).await.unwrap());
    assert_eq!(store.sessions(&mine, None, 9, NOW).await.unwrap().items.len(), 1);
    assert!(store.keep(&mine, paid(&mut session, 5, "six")).await.unwrap());
    assert_eq!(calls(&store).await, 6);
    assert!(!store.keep(&mine, paid(&mut session.clone(), 5, "late")).await.unwrap());
    assert_eq!(calls(&store).await, 6);
    let expiry = agent::identity::Timestamp(NOW.0 + HOUR);
    assert_eq!(store.session(&mine, &session.id, expiry).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_after_a_turn_comes_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mine) = (open(&folder), tenant("mine"));
    let mut session = Session::new(name("s1"), NOW);
    assert!(store.keep(&mine, paid(&mut session, 0, "one")).await.unwrap());
    assert!(store.forget(&mine, &session.id).await.unwrap());
    assert_eq!(store.session(&mine, &session.id, NOW).await.unwrap(), None);
    let after = open(&killed(&folder));
    assert_eq!(after.session(&mine, &session.id, NOW).await.unwrap(), None, "it stays forgotten");
    // A document between two turns, and both turns in the log of a moment.
    let mut session = Session::new(name("s2"), NOW);
    assert!(store.keep(&mine, paid(&mut session, 0, "one")).await.unwrap());
    store.put(&mine, kept(&id('a'), "one", "text")).await.unwrap();
    assert!(store.keep(&mine, paid(&mut session, 1, "two")).await.unwrap());
    let after = open(&killed(&folder));
    assert_eq!(after.content(&mine, &id('a')).await.unwrap(), Some(b"text".to_vec()));
    assert_eq!(questions(&after, &mine, &session.id).await, ["one", "two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_shares_the_log_and_nobody_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mine) = (open(&folder), tenant("mine"));
    let talks = (0..40).map(|number| {
        let (store, mine) = (store.clone(), mine.clone());
        async move {
            let mut session = Session::new(name(&format!("s{number}")), NOW);
            for revision in 0..5 {
                let keep = paid(&mut session, revision, "again");
                assert!(store.keep(&mine, keep).await.unwrap());
            }
        }
    });
    join_all(talks).await;
    let after = open(&killed(&folder));
    assert_eq!(calls(&after).await, 200);
    for number in 0..40 {
        let session = name(&format!("s{number}"));
        assert_eq!(questions(&after, &mine, &session).await.len(), 5);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_too_large_for_the_log_goes_to_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mine) = (open(&folder), tenant("mine"));
    let mut session = Session::new(name("s1"), NOW);
    assert!(store.keep(&mine, paid(&mut session, 0, "small")).await.unwrap());
    let large = "a long question ".repeat(100_000);
    for revision in 1..4 {
        assert!(store.keep(&mine, paid(&mut session, revision, &large)).await.unwrap());
    }
    let after = open(&killed(&folder));
    assert_eq!(questions(&after, &mine, &session.id).await.len(), 4);
    assert_eq!(calls(&after).await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_another_store_changes_nothing() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, mine) = (open(&folder), tenant("mine"));
    let mut session = Session::new(name("s1"), NOW);
    assert!(store.keep(&mine, paid(&mut session, 0, "one")).await.unwrap());
    drop(open(&other));
    std::fs::copy(folder.path().join("saem.log"), other.path().join("saem.log")).unwrap();
    let after = reopened(&other).await;
    assert_eq!(after.session(&mine, &session.id, NOW).await.unwrap(), None);
}
