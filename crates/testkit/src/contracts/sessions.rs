//! The promise of `Sessions`.

use std::sync::Arc;

use agent::identity::Timestamp;
use agent::ledger::{Component, Day};
use agent::memory::{MemoryLimits, Session, SessionId};
use agent::names::TenantId;
use agent::ports::{KeepSession, Ledger, RECORDS_MAX, Sessions};
use futures_util::future::join_all;

use super::ledger::booking;
use crate::samples::{tenant, turn};

/// A moment; stores that keep time themselves only see how far apart two moments are.
const NOW: Timestamp = Timestamp(1_000_000);

const HOUR: u64 = 3_600_000;

/// Runs every part on a fresh store.
pub async fn keeps_its_promise(sessions: &dyn Sessions) {
    a_turn_and_its_session_become_visible_together(sessions).await;
    a_session_that_changed_meanwhile_is_not_overwritten(sessions).await;
    of_many_writers_at_once_one_wins_each_time(sessions).await;
    tenants_do_not_see_each_other(sessions).await;
    an_expired_session_is_gone_with_all_that_it_had(sessions).await;
    a_forgotten_session_leaves_nothing(sessions).await;
    the_session_used_last_is_listed_first(sessions).await;
    a_session_is_due_until_it_is_kept_without(sessions).await;
    old_records_give_way(sessions).await;
}

/// What a turn cost is booked if the turn is kept, and only then, where sessions and ledger are one.
pub async fn books_what_a_turn_cost(sessions: &dyn Sessions, ledger: &dyn Ledger) {
    assert!(sessions.books());
    let (mine, day) = (tenant("booked"), Day(7));
    let mut session = Session::new(name("s1"), NOW);
    let cost = booking(7, "s1", Component::Answer, 10, Some(7));
    for (revision, is_kept) in [(0, true), (1, true), (1, false)] {
        let keep = next(&mut session, revision, "how much?");
        let keep = KeepSession { bookings: vec![cost.clone()], ..keep };
        assert_eq!(sessions.keep(&mine, keep).await.unwrap(), is_kept, "over {revision}");
    }
    let booked = ledger.booked(&mine, day, day).await.unwrap();
    let calls: Vec<u64> = booked.iter().map(|booking| booking.spent.calls).collect();
    assert_eq!(calls, [2]);
}

/// A session in use outlives its first expiry, moved a little or much, and is gone at its last. Only for a store that goes
/// by the time it is told, not by a clock of its own.
pub async fn expires_when_it_is_told(sessions: &dyn Sessions) {
    for (number, moved) in [(1, 1), (2, HOUR)] {
        let (mine, id) = (tenant("in-use"), name(&format!("s{number}")));
        let mut session = Session::new(id.clone(), NOW);
        let first = next(&mut session, 0, "first");
        let expiry = first.expires_at;
        assert!(sessions.keep(&mine, first).await.unwrap());
        let mut second = next(&mut session, 1, "second");
        let end = Timestamp(expiry.0 + moved);
        second.expires_at = end;
        assert!(sessions.keep(&mine, second).await.unwrap());
        for now in [expiry, Timestamp(end.0 - 1)] {
            sessions.forget_expired(now, 1_000).await.unwrap();
            assert!(sessions.session(&mine, &id, now).await.unwrap().is_some(), "{moved}");
        }
        assert_eq!(sessions.forget_expired(end, 1_000).await.unwrap(), 1, "{moved}");
        assert_eq!(sessions.session(&mine, &id, NOW).await.unwrap(), None, "{moved}");
    }
    a_session_in_use_takes_no_place_of_one_that_has_expired(sessions).await;
}

async fn a_session_in_use_takes_no_place_of_one_that_has_expired(sessions: &dyn Sessions) {
    let (mine, used, left) = (tenant("places"), name("a"), name("b"));
    let mut session = Session::new(used.clone(), NOW);
    let first = next(&mut session, 0, "first");
    let expiry = first.expires_at;
    assert!(sessions.keep(&mine, first).await.unwrap());
    let mut second = next(&mut session, 1, "second");
    second.expires_at = Timestamp(expiry.0 + 1);
    assert!(sessions.keep(&mine, second).await.unwrap());
    let mut other = Session::new(left.clone(), NOW);
    assert!(sessions.keep(&mine, next(&mut other, 0, "left")).await.unwrap());
    assert_eq!(sessions.forget_expired(expiry, 1).await.unwrap(), 1);
    assert_eq!(sessions.session(&mine, &left, NOW).await.unwrap(), None);
    assert!(sessions.session(&mine, &used, expiry).await.unwrap().is_some());
}

fn name(text: &str) -> SessionId {
    text.parse().unwrap()
}

/// The session with one more turn, to be kept over `revision`.
fn next(session: &mut Session, revision: u64, question: &str) -> KeepSession {
    let number = session.next_number();
    let record = turn(session.id.as_str(), number, question, &format!("answer to {question}"));
    session.add(record.said(), &MemoryLimits::default());
    KeepSession {
        session: session.clone(),
        revision,
        turn: Some(Arc::new(record)),
        bookings: Vec::new(),
        is_due: false,
        now: NOW,
        expires_at: Timestamp(NOW.0 + HOUR),
    }
}

async fn said(sessions: &dyn Sessions, tenant: &TenantId, id: &SessionId) -> Vec<String> {
    let said = sessions.said(tenant, id, 100, NOW).await.unwrap();
    said.into_iter().map(|turn| turn.question).collect()
}

async fn a_turn_and_its_session_become_visible_together(sessions: &dyn Sessions) {
    let (mine, id) = (tenant("turns"), name("s1"));
    assert_eq!(sessions.session(&mine, &id, NOW).await.unwrap(), None);
    let mut session = Session::new(id.clone(), NOW);
    let first = next(&mut session, 0, "what?");
    let record = first.turn.as_deref().cloned().unwrap();
    assert!(sessions.keep(&mine, first).await.unwrap());
    let kept = sessions.session(&mine, &id, NOW).await.unwrap().unwrap();
    assert_eq!((kept.revision, &kept.session), (1, &session));
    assert!(sessions.keep(&mine, next(&mut session, 1, "and why?")).await.unwrap());
    assert_eq!(said(sessions, &mine, &id).await, ["what?", "and why?"]);
    let newest = sessions.said(&mine, &id, 1, NOW).await.unwrap();
    assert_eq!(newest.first().map(|turn| turn.number), Some(2));
    assert_eq!(sessions.record(&mine, &record.id, NOW).await.unwrap(), Some(record.clone()));
    let records = sessions.records(&mine, &id, 10, NOW).await.unwrap();
    assert_eq!(records.first(), Some(&record));
    let kept = sessions.session(&mine, &id, NOW).await.unwrap().unwrap();
    assert_eq!((kept.revision, kept.session.turns.len()), (2, 2));
}

async fn a_session_that_changed_meanwhile_is_not_overwritten(sessions: &dyn Sessions) {
    let (mine, id) = (tenant("races"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    assert!(sessions.keep(&mine, next(&mut session, 0, "one")).await.unwrap());
    let mut late = Session::new(id.clone(), NOW);
    assert!(!sessions.keep(&mine, next(&mut late, 0, "late")).await.unwrap());
    assert!(!sessions.keep(&mine, next(&mut late.clone(), 2, "early")).await.unwrap());
    assert_eq!(said(sessions, &mine, &id).await, ["one"]);
    let elsewhere = name("never-kept");
    let mut absent = Session::new(elsewhere.clone(), NOW);
    assert!(!sessions.keep(&mine, next(&mut absent, 3, "x")).await.unwrap());
    assert_eq!(sessions.session(&mine, &elsewhere, NOW).await.unwrap(), None);
}

async fn of_many_writers_at_once_one_wins_each_time(sessions: &dyn Sessions) {
    const WRITERS: usize = 8;
    let (mine, id) = (tenant("crowd"), name("s1"));
    let writers = (0..WRITERS).map(|writer| {
        let (mine, id) = (mine.clone(), id.clone());
        async move {
            loop {
                let kept = sessions.session(&mine, &id, NOW).await.unwrap();
                let (mut session, revision) = kept
                    .map_or((Session::new(id.clone(), NOW), 0), |kept| {
                        (kept.session, kept.revision)
                    });
                let keep = next(&mut session, revision, &format!("writer {writer}"));
                if sessions.keep(&mine, keep).await.unwrap() {
                    return;
                }
            }
        }
    });
    join_all(writers).await;
    let mut questions = said(sessions, &mine, &id).await;
    questions.sort();
    let expected: Vec<String> = (0..WRITERS).map(|writer| format!("writer {writer}")).collect();
    assert_eq!(questions, expected);
    let kept = sessions.session(&mine, &id, NOW).await.unwrap().unwrap();
    assert_eq!((kept.revision, kept.session.turns_said), (WRITERS as u64, WRITERS as u64));
}

async fn tenants_do_not_see_each_other(sessions: &dyn Sessions) {
    let (mine, other, id) = (tenant("mine"), tenant("other"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    let keep = next(&mut session, 0, "a secret");
    let record = keep.turn.as_deref().cloned().unwrap();
    assert!(sessions.keep(&mine, keep).await.unwrap());
    assert_eq!(sessions.session(&other, &id, NOW).await.unwrap(), None);
    assert_eq!(sessions.record(&other, &record.id, NOW).await.unwrap(), None);
    assert!(said(sessions, &other, &id).await.is_empty());
    assert!(sessions.records(&other, &id, 9, NOW).await.unwrap().is_empty());
    assert!(sessions.sessions(&other, None, 9, NOW).await.unwrap().items.is_empty());
    assert!(!sessions.forget(&other, &id).await.unwrap());
    assert!(sessions.session(&mine, &id, NOW).await.unwrap().is_some());
    // Names that would run together if they were put side by side without care.
    let (left, right) = (tenant("a"), tenant("a-b"));
    let mut session = Session::new(name("b-c"), NOW);
    assert!(sessions.keep(&left, next(&mut session, 0, "left")).await.unwrap());
    assert_eq!(sessions.session(&right, &name("c"), NOW).await.unwrap(), None);
}

async fn an_expired_session_is_gone_with_all_that_it_had(sessions: &dyn Sessions) {
    let (mine, id) = (tenant("expiry"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    let mut keep = next(&mut session, 0, "old");
    let record = keep.turn.as_deref().cloned().unwrap();
    keep.expires_at = NOW;
    assert!(sessions.keep(&mine, keep).await.unwrap());
    assert_eq!(sessions.session(&mine, &id, NOW).await.unwrap(), None);
    assert_eq!(sessions.record(&mine, &record.id, NOW).await.unwrap(), None);
    assert!(said(sessions, &mine, &id).await.is_empty());
    assert!(sessions.records(&mine, &id, 9, NOW).await.unwrap().is_empty());
    assert!(sessions.sessions(&mine, None, 9, NOW).await.unwrap().items.is_empty());
    // The name is free again, and nothing of before comes back with it.
    let mut again = Session::new(id.clone(), NOW);
    assert!(sessions.keep(&mine, next(&mut again, 0, "new")).await.unwrap());
    assert_eq!(said(sessions, &mine, &id).await, ["new"]);
    sessions.forget_expired(NOW, 1_000).await.unwrap();
    assert!(sessions.session(&mine, &id, NOW).await.unwrap().is_some());
}

async fn a_forgotten_session_leaves_nothing(sessions: &dyn Sessions) {
    let (mine, id) = (tenant("forget"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    let mut keep = next(&mut session, 0, "hush");
    keep.is_due = true;
    let record = keep.turn.as_deref().cloned().unwrap();
    assert!(sessions.keep(&mine, keep).await.unwrap());
    assert!(sessions.forget(&mine, &id).await.unwrap());
    assert!(!sessions.forget(&mine, &id).await.unwrap());
    assert_eq!(sessions.session(&mine, &id, NOW).await.unwrap(), None);
    assert_eq!(sessions.record(&mine, &record.id, NOW).await.unwrap(), None);
    assert!(sessions.sessions(&mine, None, 9, NOW).await.unwrap().items.is_empty());
    assert!(!sessions.due().await.unwrap().contains(&(mine.clone(), id.clone())));
    let mut again = Session::new(id.clone(), NOW);
    assert!(sessions.keep(&mine, next(&mut again, 0, "anew")).await.unwrap());
    assert_eq!(said(sessions, &mine, &id).await, ["anew"]);
}

async fn the_session_used_last_is_listed_first(sessions: &dyn Sessions) {
    let mine = tenant("list");
    let mut used_first = Session::new(name("first"), NOW);
    assert!(sessions.keep(&mine, next(&mut used_first, 0, "첫 질문")).await.unwrap());
    for place in 2..=5_u64 {
        let mut session = Session::new(name(&format!("s{place}")), Timestamp(NOW.0 + place));
        assert!(sessions.keep(&mine, next(&mut session, 0, "later")).await.unwrap());
    }
    used_first.used_at = Timestamp(NOW.0 + 9);
    assert!(sessions.keep(&mine, next(&mut used_first, 1, "again")).await.unwrap());
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let page = sessions.sessions(&mine, after, 2, NOW).await.unwrap();
        assert!(page.items.len() <= 2);
        names.extend(page.items.iter().map(|line| line.id.to_string()));
        if let Some(first) = page.items.iter().find(|line| line.id == name("first")) {
            assert_eq!((first.title.as_str(), first.used_at.0), ("첫 질문", NOW.0 + 9));
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(names, ["first", "s5", "s4", "s3", "s2"]);
}

async fn a_session_is_due_until_it_is_kept_without(sessions: &dyn Sessions) {
    let (mine, id) = (tenant("due"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    let mut keep = next(&mut session, 0, "one");
    keep.is_due = true;
    assert!(sessions.keep(&mine, keep).await.unwrap());
    assert!(sessions.due().await.unwrap().contains(&(mine.clone(), id.clone())));
    assert!(sessions.keep(&mine, next(&mut session, 1, "two")).await.unwrap());
    assert!(!sessions.due().await.unwrap().contains(&(mine, id)));
}

async fn old_records_give_way(sessions: &dyn Sessions) {
    let (mine, id) = (tenant("many"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    // Far enough for a store that only looks now and then.
    for revision in 0..RECORDS_MAX as u64 + 50 {
        let keep = next(&mut session, revision, "again");
        assert!(sessions.keep(&mine, keep).await.unwrap());
    }
    let records = sessions.records(&mine, &id, usize::MAX, NOW).await.unwrap();
    assert_eq!(records.len(), RECORDS_MAX);
    assert_eq!(records.last().map(|record| record.number), Some(session.turns_said));
    assert_eq!(sessions.said(&mine, &id, 10_000, NOW).await.unwrap().len(), RECORDS_MAX + 50);
    for (before, limit, numbers) in [
        (4, 10, vec![1, 2, 3]),
        (4, 2, vec![2, 3]),
        (1, 5, vec![]),
        (2, 0, vec![]),
        (u64::MAX, 1, vec![250]),
    ] {
        let said = sessions.said_before(&mine, &id, before, limit, NOW).await.unwrap();
        let found: Vec<u64> = said.iter().map(|turn| turn.number).collect();
        assert_eq!(found, numbers, "before {before}");
    }
}
