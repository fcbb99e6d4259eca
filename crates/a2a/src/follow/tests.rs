//! Events of strangers: in order, twice, late, early, of another task, and arbitrary.

use proptest::prelude::*;

use super::*;
use crate::model::{Part, Role};
use crate::samples::{any_event, artifact, message, moment, task};

fn status(state: TaskState, at: i64) -> Event {
    let status = TaskStatus { state, message: None, timestamp: Some(moment(at)) };
    Event::Status(StatusUpdate {
        task: "t".parse().unwrap(),
        context: None,
        status,
        metadata: None,
    })
}

fn piece(text: &str, append: bool, last_chunk: bool) -> Event {
    Event::Artifact(ArtifactUpdate {
        task: "t".parse().unwrap(),
        context: None,
        artifact: artifact("a", text),
        append,
        last_chunk,
        index: 0,
        metadata: None,
    })
}

#[track_caller]
fn check(events: &[(Event, Followed)]) -> Follower {
    let mut follower = Follower::default();
    for (event, expected) in events {
        assert_eq!(follower.observe(event.clone(), Delivery::Stream), *expected, "{event:?}");
    }
    follower
}

#[test]
fn late_and_repeated_statuses_change_nothing() {
    let follower = check(&[
        (Event::Task(task("t", TaskState::Submitted)), Followed::Changed),
        (Event::Task(task("t", TaskState::Submitted)), Followed::Repeated),
        (status(TaskState::Working, 20), Followed::Changed),
        (status(TaskState::Working, 20), Followed::Repeated),
        (status(TaskState::InputRequired, 10), Followed::Late),
        // A fast agent does several things in a millisecond.
        (status(TaskState::InputRequired, 20), Followed::Changed),
        (status(TaskState::Working, 20), Followed::Changed),
        (status(TaskState::Completed, 30), Followed::Changed),
        (status(TaskState::Working, 40), Followed::Late),
        (Event::Task(task("t", TaskState::Working)), Followed::Late),
        (Event::Task(task("other", TaskState::Working)), Followed::Foreign),
        (piece("x", false, true), Followed::Gap),
    ]);
    assert_eq!(follower.task().unwrap().status.state, TaskState::Completed);
    assert!(follower.is_at_rest());
}

#[test]
fn a_piece_without_its_beginning_says_that_something_was_missed() {
    let follower = check(&[
        (piece("x", false, true), Followed::Gap),
        (status(TaskState::Working, 1), Followed::Changed),
        (piece("x", true, false), Followed::Gap),
        (piece("a", false, false), Followed::Changed),
        (piece("a", true, false), Followed::Changed),
        (piece("b", true, true), Followed::Changed),
        (piece("b", true, true), Followed::Late),
    ]);
    assert_eq!(follower.task().unwrap().artifacts[0].parts, [Part::text("aab")]);
    let mut pushed = follower;
    assert_eq!(pushed.observe(piece("anew", false, false), Delivery::Push), Followed::Changed);
    assert_eq!(pushed.observe(piece("c", true, false), Delivery::Push), Followed::Gap);
}

#[test]
fn an_answer_without_a_task_is_an_answer() {
    let follower = check(&[
        (Event::Message(message("m", Role::Agent, "hi")), Followed::Changed),
        (Event::Message(message("m", Role::Agent, "hi")), Followed::Repeated),
    ]);
    assert!(follower.is_at_rest() && follower.task().is_none());
}

proptest! {
    #[test]
    fn whatever_comes_what_has_ended_stays_ended(events in prop::collection::vec(any_event(), 0..20)) {
        let mut follower = Follower::default();
        let mut ended = false;
        for event in events {
            follower.observe(event, Delivery::Push);
            let state = follower.task().map(|task| task.status.state);
            prop_assert!(!ended || state.is_some_and(TaskState::is_terminal));
            ended |= state.is_some_and(TaskState::is_terminal);
        }
    }
}
