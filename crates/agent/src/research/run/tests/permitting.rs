//! Calls that need a yes, and calls that may have been made: asked about, made, and done without.

use super::world::*;
use crate::research::call::{Call, CallKey, Failure, Outcome};
use crate::research::journal::{Event, Steering};
use crate::research::message::{Content, ErrorType, ToolQuestion};
use crate::research::order::{Class, Order, Provider};
use crate::research::run::Awaiting;

const TOOL: &str = "tool:notes__find";

/// A run that searches a tool and its own documents, without a model.
fn calling() -> Order {
    let providers = vec![provider(TOOL, Class::Tool), provider("local", Class::Own)];
    Order { providers, ..offline() }
}

/// The tool needs a yes, which may hold for the run.
fn guarded(is_lasting: bool) -> impl FnMut(&CallKey, &Call) -> Outcome {
    move |key, call| match call {
        Call::Search { is_allowed: false, .. } if of_provider(call, TOOL) => {
            Outcome::Unallowed { reason: "it sends".to_owned(), is_lasting }
        }
        other => well(key, other),
    }
}

fn questions(played: &Played) -> Vec<ToolQuestion> {
    let asked = played.run.messages().iter().filter_map(|message| match &message.content {
        Content::ToolApproval(approval) => approval.request.clone(),
        _ => None,
    });
    asked.collect()
}

fn errors(played: &Played) -> Vec<String> {
    let told = played.run.messages().iter().filter_map(|message| match &message.content {
        Content::AgentError(error) => Some(error.error_message.clone()),
        _ => None,
    });
    told.collect()
}

/// Plays until a person has to say something.
fn until_asked(mut played: Played, world: &mut dyn FnMut(&CallKey, &Call) -> Outcome) -> Played {
    while let Some((key, call)) = played.run.next().calls.first().cloned() {
        played.begin(&key);
        let outcome = world(&key, &call);
        played.end(&key, &call, outcome);
    }
    played
}

fn of_tool(played: &Played) -> usize {
    played.made.iter().filter(|key| key.as_str().contains(TOOL)).count()
}

#[test]
fn one_yes_is_enough_where_it_may_hold_for_the_run() {
    let played = Played::new(calling()).play(&mut guarded(true));
    assert_eq!(questions(&played).len(), 1);
    let allowed = played.run.sources().iter().any(|source| source.provider.as_str() == TOOL);
    assert!(allowed && errors(&played).is_empty(), "{:?}", errors(&played));
    let each = Played::new(calling()).play(&mut guarded(false));
    assert!(questions(&each).len() > 1);
    assert_eq!(of_tool(&each), 2 * questions(&each).len(), "asked about, and then made");
}

#[test]
fn what_was_only_asked_about_does_not_count_as_a_call() {
    let played = until_asked(Played::new(calling()), &mut guarded(true));
    let calls = played.run.status().budget.iter().find(|part| part.name == "calls").unwrap().used;
    assert_eq!(calls as usize, played.made.len() - of_tool(&played));
}

#[test]
fn a_no_takes_the_tool_out_of_the_run_and_is_told() {
    let mut played = until_asked(Played::new(calling()), &mut guarded(true));
    let before = of_tool(&played);
    let [Awaiting::Allow(key)] = &played.run.next().awaits[..] else {
        panic!("{:?}", played.run.next().awaits)
    };
    played.steer(Steering::Repeat { key: key.clone(), is_wanted: false });
    let played = played.play(&mut guarded(true));
    assert_eq!(of_tool(&played), before, "nothing more is wanted of it");
    assert_eq!(errors(&played).len(), 1);
    assert!(errors(&played)[0].contains("tool:notes__find may not be called"));
    let report = played.run.report().unwrap();
    assert!(report.notes.iter().any(|note| note.contains("tool:notes__find did not answer")));
    assert!(report.claims().count() > 0, "the documents answer");
}

#[test]
fn a_question_that_is_open_too_long_is_answered_with_no_and_a_new_process_asks_it_again() {
    let order = Order { answer_seconds: Some(60), ..calling() };
    let mut played = until_asked(Played::new(order), &mut guarded(true));
    let due = played.run.next().wake_at.unwrap();
    played.tick = 59_000;
    played.add(Event::TakenOver { epoch: 1 });
    played.tick = 0;
    assert_eq!(questions(&played).len(), 2, "whoever follows it now has not seen the first");
    let later = played.run.next().wake_at.unwrap();
    assert_eq!(later.0, due.0 + 59_000);
    assert!(played.pass());
    assert!(errors(&played)[0].contains("nobody answered in time"), "{:?}", errors(&played));
    assert!(played.run.next().awaits.is_empty());
}

#[test]
fn a_call_whose_answer_was_lost_is_made_again_only_on_a_persons_word() {
    let mut lost = 0;
    let mut world = |key: &CallKey, call: &Call| {
        if of_provider(call, TOOL) && lost == 0 {
            lost += 1;
            let failure = Failure::new(ErrorType::Timeout, "no answer".to_owned());
            return Outcome::Failed(Failure { is_unsure: true, is_passing: true, ..failure });
        }
        well(key, call)
    };
    let played = until_asked(Played::new(calling()), &mut world);
    let awaits = played.run.next().awaits;
    let [Awaiting::Repeat(key)] = &awaits[..] else { panic!("{awaits:?}") };
    assert_eq!(played.made.iter().filter(|made| *made == key).count(), 1);
    for (is_wanted, times) in [(true, 2), (false, 1)] {
        let mut on = Played::of(played.run.clone(), played.journal.clone());
        on.made.clone_from(&played.made);
        on.steer(Steering::Repeat { key: key.clone(), is_wanted });
        let on = on.play(&mut well);
        assert_eq!(on.made.iter().filter(|made| *made == key).count(), times);
        assert!(on.run.report().is_some());
    }
}

#[test]
fn what_only_reads_is_asked_again_without_a_question() {
    let reader = Provider { is_repeatable: true, ..provider(TOOL, Class::Tool) };
    let order = Order { providers: vec![reader], ..offline() };
    let mut is_lost = false;
    let mut world = |key: &CallKey, call: &Call| {
        if !std::mem::replace(&mut is_lost, true) {
            let failure = Failure::new(ErrorType::Timeout, "no answer".to_owned());
            return Outcome::Failed(Failure { is_unsure: true, is_passing: true, ..failure });
        }
        well(key, call)
    };
    let played = Played::new(order).play(&mut world);
    assert_eq!((questions(&played).len(), errors(&played).len()), (0, 1));
    assert!(played.run.report().unwrap().claims().count() > 0);
}

#[test]
fn nobody_stands_in_for_a_tool() {
    let other = provider("agent:guide", Class::Tool);
    let providers = vec![provider(TOOL, Class::Tool), other, provider("local", Class::Own)];
    let order = Order { providers, ..offline() };
    let mut world = |key: &CallKey, call: &Call| match call {
        _ if of_provider(call, TOOL) => failure(403, false, None),
        other => well(key, other),
    };
    let played = Played::new(order).play(&mut world);
    assert!(!played.markdown().contains("was asked instead"), "{}", played.markdown());
}
