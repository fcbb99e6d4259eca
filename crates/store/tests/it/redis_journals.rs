//! Research runs in one real Redis: the contract, the lease, and the fence before whoever was away.

use std::time::Duration;

use agent::identity::Timestamp;
use agent::ports::{Journals, NewEntries, PortError};
use agent::research::call::{Call, CallKey, CallSpent, Freshness, Outcome};
use agent::research::journal::{Entry, Event, Steering};
use agent::research::message::{ProviderId, Uuid};
use store::redis::RedisJournals;
use testkit::contracts::research::{keeps_its_promise, order};
use testkit::redis_server::RedisServer;
use testkit::samples::tenant;
use tokio::time::Instant;

use crate::redis_sessions::settings;

/// Short, so that the tests end soon; long enough for a machine that is busy.
const LEASE: Duration = Duration::from_secs(2);

async fn connect(server: &RedisServer, lease: Duration) -> RedisJournals {
    RedisJournals::connect(settings(vec![server.url()]), lease).await.unwrap()
}

fn written(run: Uuid, epoch: u64, after: u64, text: &str) -> NewEntries {
    let call = Call::Search {
        provider: ProviderId::local(),
        query: text.to_owned(),
        results_max: 1,
        is_allowed: false,
        freshness: Freshness::default(),
    };
    let event = Event::Ended {
        key: CallKey::new("search", &call),
        outcome: Outcome::Read { text: text.to_owned() },
        spent: CallSpent::default(),
    };
    NewEntries { run, epoch, after, ended: None, entries: vec![Entry { at: Timestamp(1), event }] }
}

#[tokio::test]
async fn runs_in_redis_keep_the_contract() {
    let server = RedisServer::start().await;
    keeps_its_promise(&connect(&server, LEASE).await).await;
}

#[tokio::test]
async fn a_run_is_adopted_when_its_lease_has_run_out_and_whoever_had_it_is_fenced_out() {
    let server = RedisServer::start().await;
    let (first, second) = (connect(&server, LEASE).await, connect(&server, LEASE).await);
    let (mine, order) = (tenant("mine"), order(1));
    let run = order.id;
    first.begin(&mine, order, "owner".to_owned(), Timestamp(10)).await.unwrap();
    assert!(first.append(&mine, written(run, 0, 0, "one")).await.unwrap());
    let silent_since = Instant::now();
    assert!(second.adopt(&mine, run).await.unwrap().is_none(), "it is worked on");
    let adopted = loop {
        if let Some(adopted) = second.adopt(&mine, run).await.unwrap() {
            break adopted;
        }
        assert!(silent_since.elapsed() < LEASE + Duration::from_secs(1), "nobody gets it");
    };
    assert!(silent_since.elapsed() >= LEASE - Duration::from_millis(100));
    assert_eq!((adopted.epoch, adopted.entries.len()), (1, 1));
    // The first one comes back from wherever it was.
    assert!(first.renew(&mine, run, 0).await.unwrap().is_none());
    assert!(!first.append(&mine, written(run, 0, 1, "of the first")).await.unwrap());
    assert!(second.append(&mine, written(run, 1, 1, "of the second")).await.unwrap());
    let kept = first.run(&mine, run).await.unwrap().unwrap();
    assert_eq!((kept.epoch, kept.entries.len()), (1, 2));
}

#[tokio::test]
async fn a_lease_that_is_renewed_does_not_run_out() {
    let server = RedisServer::start().await;
    let journals = connect(&server, LEASE).await;
    let (mine, order) = (tenant("mine"), order(1));
    let run = order.id;
    journals.begin(&mine, order, "owner".to_owned(), Timestamp(10)).await.unwrap();
    let begun = Instant::now();
    while begun.elapsed() < LEASE * 2 {
        assert!(journals.renew(&mine, run, 0).await.unwrap().is_some());
        assert!(journals.adopt(&mine, run).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_wish_goes_once_to_whoever_has_the_run() {
    let server = RedisServer::start().await;
    let (first, second) = (connect(&server, LEASE).await, connect(&server, LEASE).await);
    let (mine, order) = (tenant("mine"), order(1));
    let run = order.id;
    first.begin(&mine, order, "owner".to_owned(), Timestamp(10)).await.unwrap();
    let instruct = |text: &str| Steering::Instruct { text: text.to_owned() };
    for wish in [Steering::Pause, instruct("물도"), Steering::Pause] {
        second.leave_wish(&mine, run, wish).await.unwrap();
    }
    assert_eq!(second.renew(&mine, run, 7).await.unwrap(), None, "it is not theirs");
    let taken = first.renew(&mine, run, 0).await.unwrap();
    assert_eq!(taken, Some(vec![Steering::Pause, instruct("물도")]));
    assert_eq!(first.renew(&mine, run, 0).await.unwrap(), Some(vec![]));
    for number in 0..16 {
        second.leave_wish(&mine, run, instruct(&number.to_string())).await.unwrap();
    }
    let crowd = second.leave_wish(&mine, run, instruct("more")).await;
    assert!(matches!(crowd, Err(PortError::Busy { .. })), "{crowd:?}");
    assert_eq!(second.length(&mine, run).await.unwrap(), Some(0));
}

#[tokio::test]
async fn long_entries_come_back_and_a_repeated_write_counts_once() {
    let server = RedisServer::start().await;
    let journals = connect(&server, LEASE).await;
    let (mine, order) = (tenant("mine"), order(1));
    let run = order.id;
    journals.begin(&mine, order, "owner".to_owned(), Timestamp(10)).await.unwrap();
    let long = "샘".repeat(50_000);
    for _ in 0..2 {
        assert!(journals.append(&mine, written(run, 0, 0, &long)).await.unwrap());
    }
    assert!(!journals.append(&mine, written(run, 0, 0, "another")).await.unwrap());
    assert!(journals.append(&mine, written(run, 0, 1, "short")).await.unwrap());
    assert_eq!(journals.length(&mine, run).await.unwrap(), Some(2));
    let kept = journals.run(&mine, run).await.unwrap().unwrap();
    let said = |entry: &Entry| match &entry.event {
        Event::Ended { outcome: Outcome::Read { text }, .. } => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kept.entries.iter().map(said).collect::<Vec<_>>(), [long, "short".to_owned()]);
}
