//! Checks every edge of the turn.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::knowledge::Excerpt;
use crate::samples::{self, document};
use crate::tools::activity::Ending;

fn passage(digit: char, chunk: u32) -> Passage {
    let document = document(digit);
    let section = SectionId { document: document.clone(), ordinal: chunk };
    let text = format!("text {digit} {chunk}");
    let mut passage = samples::passage("guide", "Budgets", &text);
    *passage.edit() = Excerpt { document, chunk, section, ..(*passage.excerpt).clone() };
    passage
}

fn section(digit: char, ordinal: u32, text: &str) -> Section {
    Section {
        id: SectionId { document: document(digit), ordinal },
        parent: None,
        level: 1,
        heading: String::new(),
        heading_path: vec![],
        text: text.to_owned(),
        range: 0..text.len(),
        is_cut: false,
    }
}

fn verdict(value: serde_json::Value) -> Verdict {
    serde_json::from_value(value).unwrap()
}

/// A verdict that is all for answering from the first passage.
fn enough() -> Verdict {
    Verdict { ranked_indices: vec![0], is_sufficient: true, confidence: 0.9, ..Verdict::default() }
}

fn wants(action: NextAction, query: Option<&str>) -> Verdict {
    Verdict {
        is_sufficient: false,
        next_action: Some(action),
        refined_query: query.map(str::to_owned),
        ..enough()
    }
}

/// A turn that has found two passages and waits for the judge.
fn found() -> Turn {
    let mut turn = Turn::new("예산 알림".to_owned(), false, TurnLimits::default());
    assert_eq!(*turn.next(), Step::Call(Call::SearchAll { query: "예산 알림".to_owned() }));
    turn.found(Ok(vec![passage('a', 0), passage('b', 1)]));
    assert_eq!(*turn.next(), Step::Judge);
    turn
}

#[track_caller]
fn check(verdict: Verdict, expected: &Step) {
    let mut turn = found();
    turn.judged(Ok(verdict), Verdict::default());
    assert_eq!(turn.next(), expected);
}

fn answer(ranked: &[usize], is_partial: bool) -> Step {
    Step::Answer { ranked: ranked.to_vec(), is_partial }
}

#[test]
fn enough_is_answered_whatever_else_the_verdict_wants() {
    check(enough(), &answer(&[0], false));
    let both = Verdict { is_sufficient: true, ..wants(NextAction::SearchAgain, Some("x")) };
    check(both, &answer(&[0], false));
}

#[test]
fn what_the_conversation_answers_needs_no_passage() {
    let of_the_talk = Verdict { ranked_indices: vec![], ..enough() };
    let mut turn = Turn::new("내 예산".to_owned(), true, TurnLimits::default());
    turn.found(Ok(vec![]));
    assert_eq!(*turn.next(), Step::Judge);
    turn.judged(Ok(of_the_talk.clone()), Verdict::default());
    assert_eq!(*turn.next(), answer(&[], false));
    let unsure = Verdict { confidence: 0.4, ..of_the_talk.clone() };
    let mut turn = Turn::new("내 예산".to_owned(), true, TurnLimits::default());
    turn.found(Ok(vec![passage('a', 0)]));
    turn.judged(Ok(unsure), Verdict::default());
    assert_eq!(*turn.next(), Step::FallBack(Fallback::InPreparation));
    // Where nothing was said, the same verdict contradicts itself.
    check(of_the_talk, &Step::FallBack(Fallback::InPreparation));
}

#[test]
fn the_fallbacks_follow_the_rules() {
    let none = Verdict { ranked_indices: vec![], ..enough() };
    check(none, &Step::FallBack(Fallback::InPreparation));
    let unsure = Verdict { confidence: 0.49, ..enough() };
    check(unsure, &Step::FallBack(Fallback::NotFound));
    check(Verdict { confidence: 0.5, ..enough() }, &answer(&[0], false));
    let mut nothing = Turn::new("x".to_owned(), false, TurnLimits::default());
    nothing.found(Ok(vec![]));
    assert_eq!(*nothing.next(), Step::FallBack(Fallback::InPreparation));
    let mut broken = Turn::new("x".to_owned(), false, TurnLimits::default());
    broken.found(Err("the index is away".to_owned()));
    assert_eq!(*broken.next(), Step::FallBack(Fallback::InPreparation));
}

#[test]
fn numbers_of_no_passage_and_repeats_are_left_out() {
    let wild = verdict(json!({
        "ranked_indices": [2, 0, -3, 2, 99, 1], "is_sufficient": true, "missing": [],
        "next_action": null, "refined_query": null, "confidence": 7.5
    }));
    check(wild, &answer(&[1, 0], false));
    let all_wild = Verdict { ranked_indices: vec![7, 8], ..enough() };
    check(all_wild, &Step::FallBack(Fallback::InPreparation));
    check(Verdict { confidence: f32::NAN, ..enough() }, &Step::FallBack(Fallback::NotFound));
}

#[test]
fn more_is_looked_for_three_calls_long() {
    let mut turn = found();
    turn.judged(Ok(wants(NextAction::SearchAgain, Some("예산 한도"))), Verdict::default());
    assert_eq!(*turn.next(), Step::Call(Call::SearchAll { query: "예산 한도".to_owned() }));
    turn.found(Ok(vec![passage('b', 1), passage('c', 2)]));
    assert_eq!((turn.passages().len(), turn.next()), (3, &Step::Judge));
    turn.judged(Ok(wants(NextAction::GetSection, None)), Verdict::default());
    assert_eq!(*turn.next(), Step::Call(Call::GetSection { section: section('a', 0, "").id }));
    turn.read(Ok(section('a', 0, "the whole section, which is longer")));
    assert_eq!(turn.passages()[0].text, "the whole section, which is longer");
    turn.judged(Ok(wants(NextAction::SearchAgain, Some("yet another"))), Verdict::default());
    assert_eq!(*turn.next(), answer(&[0], true), "three calls are all");
    assert_eq!(turn.done().len(), 6);
}

#[test]
fn what_was_done_is_not_done_again() {
    check(wants(NextAction::SearchAgain, Some(" 예산  알림 ")), &answer(&[0], true));
    check(wants(NextAction::SearchAgain, None), &answer(&[0], true));
    let mut turn = found();
    turn.judged(Ok(wants(NextAction::GetSection, None)), Verdict::default());
    turn.read(Ok(section('a', 0, "short")));
    assert_eq!(*turn.next(), answer(&[0], true), "it told nothing new");
    let mut turn = found();
    turn.judged(Ok(wants(NextAction::GetSection, None)), Verdict::default());
    turn.read(Err("it is gone".to_owned()));
    assert_eq!(*turn.next(), answer(&[0], true));
    let no_action = Verdict { is_sufficient: false, ..enough() };
    check(no_action, &answer(&[0], true));
}

#[test]
fn what_is_missing_and_tagged_is_searched_by_its_tag() {
    let steps = Verdict {
        missing: vec!["Steps".to_owned()],
        ..wants(NextAction::SearchAgain, Some("예산 만들기"))
    };
    let mut turn = found();
    turn.judged(Ok(steps), Verdict::default());
    let Step::Call(call) = turn.next().clone() else { panic!("{:?}", turn.next()) };
    assert_eq!(
        call,
        Call::SearchByMetadata {
            query: "예산 만들기".to_owned(), tag: "has_steps".to_owned()
        }
    );
    assert_eq!(call.filter().conditions[0].tag, "has_steps");
    turn.found(Ok(vec![]));
    assert_eq!(*turn.next(), answer(&[0], true));
}

#[test]
fn without_a_judge_the_evidence_stands_in() {
    let mut turn = found();
    let stand_in = Verdict { ranked_indices: vec![1], ..enough() };
    turn.judged(Err("broken JSON".to_owned()), stand_in);
    assert_eq!(*turn.next(), answer(&[1], false));
    let told = serde_json::to_value(turn.done()).unwrap();
    assert_eq!(told[1]["without_judge"], "broken JSON");
    assert_eq!(told[1]["verdict"]["ranked_indices"], json!([2]));
    assert_eq!(told[0]["tool"], "search_all");
}

fn call(name: &str) -> ToolCall {
    ToolCall { id: format!("id-{name}"), name: name.to_owned(), arguments: json!({}) }
}

fn used(name: &str, ending: Ending) -> ToolUse {
    let (name, arguments) = (name.to_owned(), json!({}));
    ToolUse { name, server: None, arguments, ending, milliseconds: 1 }
}

#[test]
fn the_model_may_have_tools_called_before_it_answers_for_so_many_rounds() {
    let mut turn = found().with_tools(2);
    turn.judged(Ok(enough()), Verdict::default());
    for round in 0..2 {
        assert_eq!(*turn.next(), answer(&[0], false), "{round}");
        turn.wants(vec![call("a"), call("b")]);
        assert_eq!(*turn.next(), Step::CallTools { calls: vec![call("a"), call("b")] });
        turn.tools_called(vec![used("a", Ending::TimedOut), used("b", Ending::TimedOut)]);
    }
    assert!(!turn.has_tool_results());
    turn.wants(vec![call("a")]);
    assert_eq!(*turn.next(), answer(&[0], false), "two rounds are all");
    let told = serde_json::to_value(turn.done()).unwrap();
    assert_eq!((&told[2]["did"], &told[2]["name"]), (&json!("used"), &json!("a")));
    let read: Vec<Done> = serde_json::from_value(told).unwrap();
    assert_eq!(read.as_slice().get(2..), turn.done().get(2..));
}

#[test]
fn where_no_document_answers_a_tool_may() {
    let mut turn = Turn::new("x".to_owned(), false, TurnLimits::default()).with_tools(1);
    turn.found(Ok(vec![]));
    assert_eq!(*turn.next(), Step::SeekTool(Fallback::InPreparation));
    let mut unwanted = turn.clone();
    unwanted.wants(vec![]);
    assert_eq!(*unwanted.next(), Step::FallBack(Fallback::InPreparation));
    turn.wants((0..20).map(|_| call("a")).collect());
    let Step::CallTools { calls } = turn.next() else { panic!("{:?}", turn.next()) };
    assert_eq!(calls.len(), CALLS_AT_ONCE_MAX);
    turn.tools_called(vec![used("a", Ending::Done)]);
    assert_eq!(*turn.next(), answer(&[], false));
    assert!(turn.has_tool_results() && turn.instead() == Some(Fallback::InPreparation));
}

#[test]
fn calls_that_only_read_are_made_at_once_and_every_other_alone() {
    let calls = [call("r1"), call("r2"), call("w1"), call("w2"), call("r3")];
    let batches = batches(&calls, |name| name.starts_with('r'));
    let names: Vec<Vec<&str>> =
        batches.iter().map(|batch| batch.iter().map(|call| call.name.as_str()).collect()).collect();
    assert_eq!(names, [vec!["r1", "r2"], vec!["w1"], vec!["w2"], vec!["r3"]]);
}

prop_compose! {
    fn any_verdict()(
        ranked_indices in prop::collection::vec(0usize..30, 0..6),
        is_sufficient in any::<bool>(),
        missing in prop::collection::vec("(steps|table|price|)", 0..3),
        next_action in prop::option::of(prop_oneof![Just(NextAction::GetSection), Just(NextAction::SearchAgain)]),
        refined_query in prop::option::of("[a-c ]{0,4}"),
        confidence in prop_oneof![Just(f32::NAN), -1.0f32..2.0],
    ) -> Verdict {
        Verdict { ranked_indices, is_sufficient, missing, next_action, refined_query, confidence }
    }
}

proptest! {
    /// Whatever the judge says, a turn ends, within its calls, with something that can be done.
    #[test]
    fn every_turn_ends(
        verdicts in prop::collection::vec(any_verdict(), 8),
        finds in 0usize..4,
        has_conversation in any::<bool>(),
        rounds in 0usize..4,
        wanted in prop::collection::vec(0usize..12, 8),
    ) {
        let turn = Turn::new("q".to_owned(), has_conversation, TurnLimits::default());
        let mut turn = turn.with_tools(rounds);
        let (mut calls, mut judged, mut wanted) = (0, verdicts.into_iter(), wanted.into_iter());
        let mut rounds_made = 0;
        loop {
            match turn.next().clone() {
                Step::Call(Call::GetSection { section: id }) => {
                    calls += 1;
                    turn.read(Ok(Section { id, ..section('a', 0, "a longer text of a section") }));
                }
                Step::Call(_) => {
                    calls += 1;
                    turn.found(Ok((0..finds).map(|n| passage('a', (calls * 4 + n) as u32)).collect()));
                }
                Step::Judge => turn.judged(Ok(judged.next().unwrap()), Verdict::default()),
                Step::Answer { ranked, .. } => {
                    let has_reason = has_conversation || turn.instead().is_some();
                    prop_assert!(has_reason || !ranked.is_empty());
                    prop_assert!(ranked.iter().all(|index| *index < turn.passages().len()));
                    let count = wanted.next().unwrap();
                    if count == 0 || turn.tool_rounds_left() == 0 {
                        break;
                    }
                    turn.wants((0..count).map(|_| call("t")).collect());
                }
                Step::SeekTool(_) => {
                    prop_assert!(turn.tool_rounds_left() > 0);
                    turn.wants((0..wanted.next().unwrap()).map(|_| call("t")).collect());
                }
                Step::CallTools { calls } => {
                    rounds_made += 1;
                    prop_assert!(calls.len() <= CALLS_AT_ONCE_MAX && rounds_made <= rounds);
                    turn.tools_called(vec![used("t", Ending::TimedOut)]);
                }
                Step::FallBack(_) => break,
            }
            prop_assert!(calls <= 3);
        }
    }
}
