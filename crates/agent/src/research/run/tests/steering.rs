//! What a person can do with a run, and what a process that takes it over does.

use super::world::*;
use crate::research::call::{Call, CallKey, Freshness, Outcome};
use crate::research::journal::{Entry, Event, Steering};
use crate::research::message::{Content, Decision, ProviderId, SearchStep};
use crate::research::order::{Approval, Class, Order};
use crate::research::report::EndReason;
use crate::research::run::{Awaiting, Run, RunError};

fn refused(played: &mut Played, steering: Steering) -> String {
    let event = Event::Steered { steering };
    let before = played.run.clone();
    let error = played.run.apply(&Entry { at: START, event }).unwrap_err();
    assert_eq!(played.run, before);
    error.to_string()
}

/// A run whose plan waits for a person.
fn asked(approval: Approval) -> Played {
    let mut played = Played::new(Order { approval, ..order() });
    let (key, call) = played.run.next().calls.remove(0);
    played.begin(&key);
    played.end(&key, &call, plan());
    assert_eq!(played.run.next().awaits, [Awaiting::Plan]);
    assert!(played.run.next().calls.is_empty());
    played
}

/// A run with its first searches under way.
fn searching() -> (Played, Vec<(CallKey, Call)>) {
    let mut played = Played::new(order());
    let (key, call) = played.run.next().calls.remove(0);
    played.begin(&key);
    played.end(&key, &call, plan());
    let calls = played.run.next().calls;
    for (key, _) in &calls {
        played.begin(key);
    }
    (played, calls)
}

#[test]
fn a_plan_waits_for_a_person_and_goes_on_when_it_is_approved() {
    let mut played = asked(Approval::Asked);
    assert_eq!(played.run.next().wake_at, None);
    played.steer(Steering::Approve);
    assert!(!played.run.next().calls.is_empty());
    assert!(played.play(&mut well).run.report().is_some());
}

#[test]
fn a_plan_goes_on_by_itself_after_its_wait() {
    let mut played = asked(Approval::After { seconds: 30 });
    assert_eq!(played.run.next().wake_at.unwrap().0, START.0 + 30_000);
    assert!(played.pass());
    let decided = played.run.messages().iter().find_map(|message| match &message.content {
        Content::PlanApproval(approval) => approval.decision,
        _ => None,
    });
    assert_eq!(decided, Some(Decision::WentOn));
    assert!(!played.run.next().calls.is_empty());
}

#[test]
fn a_plan_that_a_person_has_edited_is_the_one_that_is_followed() {
    let mut played = asked(Approval::Asked);
    let step = |number: u32, source: &str| SearchStep {
        step_number: number,
        description: "only the costs".to_owned(),
        sources: vec![source.parse::<ProviderId>().unwrap()],
        keywords: vec!["budget cost".to_owned()],
    };
    let edit = |steps: Vec<SearchStep>| Steering::Edit { steps };
    assert!(refused(&mut played, edit(vec![])).contains("1 to 6 steps"));
    assert!(refused(&mut played, edit(vec![step(2, "local")])).contains("number 2"));
    assert!(refused(&mut played, edit(vec![step(1, "bing")])).contains("bing"));
    played.steer(edit(vec![step(1, "local")]));
    let calls = played.run.next().calls;
    let expected = Call::Search {
        provider: ProviderId::local(),
        query: "budget cost".to_owned(),
        results_max: 8,
        is_allowed: false,
        freshness: Freshness::default(),
    };
    assert_eq!(calls.iter().map(|(_, call)| call).collect::<Vec<_>>(), [&expected]);
}

#[test]
fn a_refused_plan_is_the_end() {
    let mut played = asked(Approval::Asked);
    played.steer(Steering::Refuse);
    assert!(played.run.next().is_ended);
    assert_eq!(played.run.end_reason(), Some(EndReason::Refused));
    assert!(played.run.report().is_none());
}

#[test]
fn a_paused_run_begins_nothing_and_its_time_stands_still() {
    let (mut played, calls) = searching();
    played.steer(Steering::Pause);
    let (key, call) = &calls[0];
    played.end(key, call, well(key, call));
    let next = played.run.next();
    assert!(next.calls.is_empty() && next.wake_at.is_none());
    assert_eq!(next.awaits, [Awaiting::Resume]);
    assert!(refused(&mut played, Steering::Pause).contains("paused already"));
    played.tick = 3_600_000;
    played.steer(Steering::Resume);
    played.tick = 0;
    for (key, call) in &calls[1..] {
        played.end(key, call, well(key, call));
    }
    let played = played.play(&mut well);
    let seconds = played.run.messages().iter().rev().find_map(|message| match &message.content {
        Content::BudgetUpdate(update) => Some(update.parts[0].used),
        _ => None,
    });
    assert_eq!(seconds, Some(0));
}

#[test]
fn a_stopped_run_wants_nothing_more_and_has_no_answer() {
    let (mut played, calls) = searching();
    played.steer(Steering::Stop);
    assert!(played.run.next().is_ended);
    // What was under way may still come in.
    let (key, call) = &calls[0];
    played.end(key, call, well(key, call));
    assert!(played.run.report().is_none());
    assert_eq!(played.run.end_reason(), Some(EndReason::Stopped));
    assert!(refused(&mut played, Steering::Stop).contains("has ended"));
}

#[test]
fn finish_now_writes_with_what_there_is() {
    let (mut played, calls) = searching();
    let (key, call) = &calls[0];
    played.end(key, call, well(key, call));
    played.steer(Steering::FinishNow);
    let played = played.play(&mut well);
    let report = played.run.report().unwrap();
    assert_eq!(report.ended, EndReason::FinishedEarly);
    assert!(report.claims().count() > 0);
    assert!(report.to_markdown().contains("written early"));
}

#[test]
fn an_instruction_is_searched_for_and_told_to_the_model() {
    let (mut played, calls) = searching();
    played.steer(Steering::Instruct { text: "also say who pays".to_owned() });
    for (key, call) in &calls {
        played.end(key, call, well(key, call));
    }
    let mut told = false;
    let mut world = |key: &CallKey, call: &Call| {
        told |= matches!(call, Call::Ask { .. }) && format!("{call:?}").contains("who pays");
        well(key, call)
    };
    let played = played.play(&mut world);
    assert!(told);
    let searched = played.run.messages().iter().any(|message| match &message.content {
        Content::AdditionalSearchRequest(more) => {
            more.keywords.contains(&"also say who pays".to_owned())
        }
        _ => false,
    });
    assert!(searched);
}

#[test]
fn a_call_that_may_have_been_made_and_must_not_be_twice_is_asked_about() {
    let providers = vec![provider("mcp:shop", Class::Tool)];
    let order = Order { providers, ..offline() };
    let mut played = Played::new(order);
    let (key, _) = played.run.next().calls.remove(0);
    played.begin(&key);
    played.add(Event::TakenOver { epoch: 1 });
    let next = played.run.next();
    assert_eq!(next.awaits, [Awaiting::Repeat(key.clone())]);
    assert!(!next.calls.iter().any(|(other, _)| *other == key));
    let mut without = Played::of(played.run.clone(), played.journal.clone());
    without.steer(Steering::Repeat { key: key.clone(), is_wanted: false });
    let without = without.play(&mut well);
    assert!(!without.made.contains(&key));
    assert!(without.run.report().is_some());
    played.steer(Steering::Repeat { key: key.clone(), is_wanted: true });
    let played = played.play(&mut well);
    assert_eq!(played.made.iter().filter(|made| **made == key).count(), 2);
}

#[test]
fn a_journal_of_another_version_is_refused() {
    let played = Played::new(order()).play(&mut well);
    let other = Order { question: "Something else entirely?".to_owned(), ..order() };
    let resumed = Run::resumed(other, START, &played.journal);
    assert!(matches!(resumed, Err(RunError::Unknown { .. })), "{resumed:?}");
}

#[test]
fn an_outcome_of_the_wrong_kind_is_an_error_that_ends_nothing() {
    let mut odd = |_: &CallKey, call: &Call| match call {
        Call::Search { .. } => Outcome::Said { text: "hello".to_owned() },
        Call::Ask { .. } | Call::Read { .. } | Call::Recall { .. } => {
            Outcome::Found { hits: vec![] }
        }
    };
    let played = Played::new(order()).play(&mut odd);
    assert!(played.run.report().is_some());
}

#[test]
fn a_run_that_cannot_be_replayed_ends_where_its_journal_cannot_be_followed_and_says_so() {
    let (played, calls) = searching();
    let mut entries = played.journal.clone();
    let (_, call) = &calls[0];
    let key = CallKey::new("of-another-version", call);
    entries.push(Entry { at: START, event: Event::Begun { key: key.clone() } });
    assert!(matches!(Run::resumed(order(), START, &entries), Err(RunError::Unknown { .. })));
    let run = Run::given_up(order(), START, &entries);
    assert_eq!((run.end_reason(), run.report()), (Some(EndReason::Failed), None));
    assert!(run.next().is_ended);
    let known = played.run.messages().len();
    assert_eq!(run.messages()[..known], *played.run.messages());
    let why = run.messages().iter().find_map(|message| match &message.content {
        Content::AgentError(error) => Some(error.error_message.clone()),
        _ => None,
    });
    assert!(why.unwrap().contains(&key.to_string()));
}
