//! Checks that records which are too many are let go of, the oldest first, and none that is still to be shown.

use std::sync::Arc;

use agent::memory::MemoryLimits;
use testkit::samples::{tenant, turn};

use super::*;
use crate::Options;

const NOW: Timestamp = Timestamp(1_000_000);

/// The numbers of the turns whose records there are.
async fn recorded(store: &Store) -> Vec<u64> {
    let read = store.read_settled(|transaction| {
        let records = transaction.open_table(tables::RECORDS)?;
        let number = |row: &[u8]| from_row(row).map(|Numbered { number }| number);
        records.iter()?.map(|row| number(row?.1.value())).collect()
    });
    read.await.unwrap()
}

/// A session whose first turns were told by its caller, and are not recorded.
async fn check(told: u64) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("saem.redb"), Options::default()).unwrap();
    let mut session = Session::new("s1".parse().unwrap(), NOW);
    let record = |number| turn("s1", number, "a question", "an answer");
    for number in 1..=told {
        session.add(record(number).said(), &MemoryLimits::default());
    }
    for revision in 0..460 {
        let record = record(session.next_number());
        session.add(record.said(), &MemoryLimits::default());
        let keep = KeepSession {
            session: session.clone(),
            revision,
            turn: Some(Arc::new(record)),
            bookings: Vec::new(),
            is_due: false,
            now: NOW,
            expires_at: Timestamp(NOW.0 + 1000),
        };
        assert!(store.keep(&tenant("mine"), keep).await.unwrap());
        // Some commits of the tables are of one turn, and some of many, among them over two looks at what is too much.
        if revision % 130 > 20 {
            continue;
        }
        let (numbers, last) = (recorded(&store).await, session.turns_said);
        assert!(numbers.len() <= RECORDS_MAX + SURPLUS_MAX as usize, "{}", numbers.len());
        let first = last + 1 - numbers.len() as u64;
        assert_eq!(numbers, (first..=last).collect::<Vec<_>>());
        assert!(first <= told + 1 || numbers.len() >= RECORDS_MAX, "{}", numbers.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_gather_to_a_few_more_than_are_shown_and_the_oldest_go() {
    check(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_that_were_never_recorded_do_not_count() {
    check(70).await;
}
