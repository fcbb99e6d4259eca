//! A conversation of thousands of messages and a shelf of thousands of documents, written into the folder before it is served.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent::identity::Timestamp;
use agent::knowledge::Status;
use agent::memory::{MemoryLimits, Session};
use agent::names::TenantId;
use agent::ports::{Documents, KeepSession, Sessions};
use futures_util::future::join_all;
use store::{Options, Store};
use testkit::samples;

use crate::world::World;

const DAY: u64 = 24 * 3_600_000;

/// Turns that a conversation has at hand.
const KEPT: usize = 5;

/// Documents that are written at once: the store gathers them into one commit.
const AT_ONCE: usize = 500;

pub(super) async fn fill(world: &World, session: &str, turns: u64, documents: usize) {
    std::fs::create_dir_all(world.data()).unwrap();
    let store = Store::open(&world.data().join("saem.redb"), Options::default()).unwrap();
    talk(&store, session, turns).await;
    let numbers: Vec<usize> = (0..documents).collect();
    for some in numbers.chunks(AT_ONCE) {
        join_all(some.iter().map(|number| shelve(&store, *number))).await;
    }
}

async fn talk(store: &Store, session: &str, turns: u64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let now = Timestamp(u64::try_from(now).unwrap());
    let mut session = Session::new(session.parse().unwrap(), now);
    for number in 1..=turns {
        // Turns of many heights, as people's are.
        let answer = "It is about what it says, and about a little more than that.\n\n";
        let answer = answer.repeat(1 + usize::try_from(number % 7).unwrap());
        let question = format!("Question {number} of many");
        let mut turn = samples::turn(session.id.as_str(), number, &question, answer.trim());
        turn.at = now;
        session.add(turn.said(), &MemoryLimits::default());
        // As if they had been taken into the memory.
        session.turns.drain(..session.turns.len().saturating_sub(KEPT));
        let keep = KeepSession {
            session: session.clone(),
            revision: number - 1,
            turn: Some(Arc::new(turn)),
            bookings: Vec::new(),
            is_due: false,
            now,
            expires_at: Timestamp(now.0 + DAY),
        };
        assert!(store.keep(&TenantId::local(), keep).await.unwrap());
    }
}

async fn shelve(store: &Store, number: usize) {
    let id = format!("{number:032x}").parse().unwrap();
    let mut kept = samples::kept(&id, &format!("Document {number}"), "");
    // Not to be searched, so that nobody waits for an index.
    kept.document.status = Status::Failed { reason: "It was only written down.".to_owned() };
    kept.content = None;
    store.put(&TenantId::local(), kept).await.unwrap();
}
