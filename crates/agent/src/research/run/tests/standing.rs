//! Runs that stand on a finished one: what they take over, what they still search, and what they do anew.

use std::collections::BTreeSet;

use serde_json::json;

use super::world::*;
use crate::research::call::{Call, CallKey, Freshness, Outcome, Purpose};
use crate::research::journal::Steering;
use crate::research::message::{CheckVerdict, Content, StandsOn, Uuid};
use crate::research::order::{Approval, Basis, Class, Order, RunBudget};
use crate::research::recalled::SOURCES_MAX;
use crate::research::report::EndReason;
use crate::research::run::Run;

const TEA: &str = "Barley tea is served cold in summer. The barley is roasted before.";

/// A world in which this run has ended.
fn knowing(before: &Run) -> impl FnMut(&CallKey, &Call) -> Outcome {
    move |key, call| match call {
        Call::Recall { basis } => {
            assert_eq!(basis.run(), before.order().id);
            Outcome::Recalled { recalled: Box::new(before.recalled(*basis)) }
        }
        Call::Search { query, .. } if query.contains("tea") => {
            Outcome::Found { hits: vec![hit("tea.md", TEA)] }
        }
        other => well(key, other),
    }
}

fn follows(before: &Run, question: &str) -> Order {
    Order {
        id: Uuid::from_random([6; 16]),
        question: question.to_owned(),
        basis: Some(Basis::Follows { run: before.order().id }),
        ..before.order().clone()
    }
}

fn again(before: &Run, step: u32) -> Order {
    Order {
        id: Uuid::from_random([7; 16]),
        basis: Some(Basis::Again { run: before.order().id, step }),
        ..before.order().clone()
    }
}

fn names<'a>(played: &'a Played, beginning: &str) -> Vec<&'a str> {
    let names = played.made.iter().map(CallKey::as_str);
    names.filter(|name| name.starts_with(beginning)).collect()
}

fn stands_on(played: &Played) -> StandsOn {
    let said = played.run.messages().iter().find_map(|message| match &message.content {
        Content::PlanningRequest(plan) => plan.stands_on.clone(),
        _ => None,
    });
    said.unwrap()
}

#[test]
fn what_the_report_knows_is_cited_without_a_search_and_with_the_same_places() {
    let before = Played::new(offline()).play(&mut well).run;
    let order = follows(&before, "Do budget alerts go to the owner by mail?");
    let played = Played::new(order).play(&mut knowing(&before));
    assert_eq!(names(&played, "search"), [""; 0]);
    let on = stands_on(&played);
    assert_eq!((on.run, on.sources, on.again_step), (before.order().id, 2, None));
    assert_eq!(on.question, before.order().question);
    assert!(!on.known_steps.is_empty());
    let report = played.run.report().unwrap();
    assert!(report.claims().count() > 0 && report.unsupported() == 0);
    for citation in report.claims().flat_map(|claim| &claim.citations) {
        let source = before.sources().iter().find(|it| it.id == citation.source_id).unwrap();
        let range =
            usize::try_from(citation.start).unwrap()..usize::try_from(citation.end).unwrap();
        assert_eq!(source.words(&range).as_deref(), Some(citation.quote.as_str()));
        assert_eq!(citation.verdict, CheckVerdict::Verified);
    }
    assert!(report.notes.iter().any(|note| note.contains("follows the report on")));
}

#[test]
fn only_what_the_report_does_not_know_is_searched() {
    let before = Played::new(offline()).play(&mut well).run;
    let question = "Do budget alerts go to the owner by mail, and how is barley tea served?";
    let played = Played::new(follows(&before, question)).play(&mut knowing(&before));
    let steps = played.run.steps();
    let known = stands_on(&played).known_steps;
    let mail = steps.iter().find(|step| step.description.starts_with("Do budget")).unwrap();
    let tea = steps.iter().find(|step| step.description.ends_with("tea served")).unwrap();
    assert!(known.contains(&mail.step_number) || mail.description == question, "{known:?}");
    assert!(!known.contains(&tea.step_number), "{known:?}");
    assert!(!names(&played, "search").is_empty());
    let markdown = played.markdown();
    assert!(markdown.contains("cold in summer") && markdown.contains("by mail"), "{markdown}");
}

#[test]
fn a_model_plans_with_the_report_and_may_plan_one_step() {
    let before = Played::new(order()).play(&mut well).run;
    let mut known = knowing(&before);
    let mut world = |key: &CallKey, call: &Call| match call {
        Call::Ask { purpose: Purpose::Plan, messages } => {
            let shown = format!("{messages:?}");
            assert!(shown.contains("It follows a report on: How do budget alerts"), "{shown}");
            assert!(shown.contains("<<<report") && shown.contains("80 percent"), "{shown}");
            said(&json!({"strategy": "tea", "estimated_seconds": 5, "steps": [
                {"description": "how tea is served", "sources": ["local"], "keywords": ["tea"]},
            ]}))
        }
        other => known(key, other),
    };
    let order = follows(&before, "And how is the tea served?");
    let played = Played::new(order).play(&mut world);
    assert_eq!(played.run.steps().len(), 1);
    assert_eq!(names(&played, "search.1.").len(), 1);
    assert!(played.markdown().contains("tea.md"), "{}", played.markdown());
}

#[test]
fn a_person_is_told_what_a_plan_stands_on_before_it_is_followed() {
    let before = Played::new(offline()).play(&mut well).run;
    let order = follows(&before, "Do budget alerts go to the owner by mail?");
    let played = Played::new(Order { approval: Approval::Asked, ..order });
    let played = played.play(&mut knowing(&before));
    let asked = played.run.messages().iter().find_map(|message| match &message.content {
        Content::PlanApproval(approval) => approval.request.clone(),
        _ => None,
    });
    assert_eq!(asked.unwrap().stands_on, Some(stands_on(&played)));
}

#[test]
fn a_question_whose_report_is_gone_is_researched_by_itself() {
    let before = Played::new(offline()).play(&mut well).run;
    let order = follows(&before, "Do budget alerts go to the owner by mail?");
    let played = Played::new(order).play(&mut well);
    assert!(!names(&played, "search").is_empty());
    let report = played.run.report().unwrap();
    assert!(report.notes.iter().any(|note| note.contains("not at hand")), "{:?}", report.notes);
    let again = Played::new(again(&before, 1)).play(&mut well);
    assert_eq!(again.run.end_reason(), Some(EndReason::Stopped));
    assert_eq!(again.made.len(), 1, "nothing but the finished run was asked for");
}

#[test]
fn a_question_that_follows_begins_with_what_was_cited_and_has_room_for_more() {
    let limits = crate::research::order::RunLimits { results_per_search_max: 60, ..order().limits };
    let mut world = |key: &CallKey, call: &Call| match call {
        Call::Search { .. } => {
            let mut hits: Vec<_> = (0..50).map(|n| hit(&format!("tea-{n}.md"), TEA)).collect();
            hits.push(hit("alerts.md", ALERTS));
            let mut unread = hit("https://a.example/1", "Budget alerts cost");
            unread.is_summary = true;
            hits.push(unread);
            Outcome::Found { hits }
        }
        other => well(key, other),
    };
    let before = Played::new(Order { limits, ..offline() }).play(&mut world).run;
    let recalled = before.recalled(Basis::Follows { run: before.order().id });
    assert_eq!(recalled.sources.len(), SOURCES_MAX);
    assert_eq!(recalled.sources[0].place, "alerts.md");
    assert!(recalled.sources.iter().all(|source| !source.is_summary && source.steps.is_empty()));
}

#[test]
fn a_step_is_done_anew_and_nothing_is_called_for_the_others() {
    let before = Played::new(order()).play(&mut well).run;
    let mut known = knowing(&before);
    let mut world = |key: &CallKey, call: &Call| match call {
        Call::Search { query, freshness, .. } => {
            assert!(query.contains("cost"), "{query} was made for another step");
            assert_eq!(*freshness, Freshness::MustBeFresh);
            let text = "Each further budget costs 5 dollars in a month.";
            Outcome::Found { hits: vec![hit("new-costs.md", text)] }
        }
        Call::Ask { purpose: Purpose::Plan, .. } => panic!("the plan is there"),
        Call::Ask { purpose: Purpose::Assess, .. } => assessment(false),
        other => known(key, other),
    };
    let played = Played::new(again(&before, 2)).play(&mut world);
    assert_eq!(names(&played, "search").len(), 2, "{:?}", played.made);
    let on = stands_on(&played);
    assert_eq!((on.again_step, on.known_steps.as_slice()), (Some(2), &[1][..]));
    let places: BTreeSet<&str> =
        played.run.sources().iter().map(|source| source.place.as_str()).collect();
    let expected = BTreeSet::from(["alerts.md", "new-costs.md"]);
    assert_eq!(places, expected, "what the step alone had found is gone");
    let markdown = played.markdown();
    assert!(markdown.contains("5 dollars") && !markdown.contains("2 dollars"), "{markdown}");
    assert!(markdown.contains("80 percent"), "{markdown}");
}

#[test]
fn a_judge_who_wants_more_does_not_have_a_search_of_another_step_made_again() {
    let before = Played::new(order()).play(&mut well).run;
    let mut known = knowing(&before);
    let mut world = |key: &CallKey, call: &Call| match call {
        Call::Ask { purpose: Purpose::Assess, .. } => said(&json!({
            "relevance": 0.1, "coverage": 0.1, "needs_more_search": true, "feedback": "more",
            "more_keywords": ["budget alert"], "structure": [],
        })),
        other => known(key, other),
    };
    let played = Played::new(again(&before, 2)).play(&mut world);
    // The first run asked arxiv for the second step alone, so that this one is new there.
    let second: Vec<&str> = names(&played, "search.2.");
    assert!(second.iter().all(|name| name.contains("arxiv")), "{second:?}");
}

#[test]
fn pages_of_the_step_are_read_anew_and_those_of_the_others_are_not() {
    let providers = vec![provider("brave", Class::Web)];
    let page = |place: &str, call: &Call| {
        let Call::Search { .. } = call else { panic!("{call:?}") };
        let mut hit = hit(place, "Budget alerts work and cost like this");
        hit.address = Some(place.to_owned());
        hit.is_summary = true;
        Outcome::Found { hits: vec![hit] }
    };
    let mut searches = 0;
    let mut first = |key: &CallKey, call: &Call| match call {
        Call::Search { .. } => {
            searches += 1;
            page(&format!("https://a.example/{searches}"), call)
        }
        Call::Read { freshness, .. } => {
            assert_eq!(*freshness, Freshness::MayBeRemembered);
            well(key, call)
        }
        other => well(key, other),
    };
    let before = Played::new(Order { providers, ..offline() }).play(&mut first).run;
    assert!(before.steps().len() > 1);
    let mut known = knowing(&before);
    let mut read = Vec::new();
    let mut world = |key: &CallKey, call: &Call| match call {
        Call::Search { .. } => page("https://a.example/new", call),
        Call::Read { address, freshness, .. } => {
            read.push((address.clone(), *freshness));
            well(key, call)
        }
        other => known(key, other),
    };
    let played = Played::new(again(&before, 1)).play(&mut world);
    assert!(played.run.report().is_some());
    assert_eq!(read, [("https://a.example/new".to_owned(), Freshness::MustBeFresh)]);
}

#[test]
fn what_is_wanted_besides_while_the_finished_run_is_read_becomes_a_step() {
    let before = Played::new(order()).play(&mut well).run;
    let mut played = Played::new(again(&before, 1));
    played.steer(Steering::Instruct { text: "how is tea served?".to_owned() });
    let played = played.play(&mut knowing(&before));
    let steps = played.run.steps();
    assert_eq!(steps.last().unwrap().description, "how is tea served?");
    assert!(played.markdown().contains("tea.md"), "{}", played.markdown());
}

#[test]
fn what_is_taken_over_counts_as_no_call() {
    let before = Played::new(offline()).play(&mut well).run;
    let order = follows(&before, "Do budget alerts go to the owner by mail?");
    let budget = RunBudget { calls: Some(2), ..RunBudget::default() };
    let played = Played::new(Order { budget, ..order }).play(&mut knowing(&before));
    assert_eq!(played.run.end_reason(), Some(EndReason::Enough));
}

#[test]
fn a_step_of_a_run_that_itself_stands_on_another_can_be_done_anew() {
    let first = Played::new(order()).play(&mut well).run;
    let second = Played::new(follows(&first, "And how is the tea served?"));
    let second = second.play(&mut knowing(&first)).run;
    let third = Order { id: Uuid::from_random([9; 16]), ..again(&second, 1) };
    let third = Played::new(third).play(&mut knowing(&second));
    assert_eq!(third.run.order().question, "And how is the tea served?");
    let writes = third.journal.iter().map(|entry| format!("{entry:?}"));
    assert!(writes.count() > 0 && third.run.report().is_some());
    let fourth = Order { id: Uuid::from_random([10; 16]), ..again(&third.run, 2) };
    let fourth = Played::new(fourth).play(&mut knowing(&third.run));
    assert!(fourth.run.report().is_some());
    assert_eq!(fourth.run.steps(), third.run.steps());
}
