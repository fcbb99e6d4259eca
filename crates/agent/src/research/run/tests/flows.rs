//! Whole runs, and the message logs that they leave.

use serde_json::{Value, json};

use super::world::*;
use crate::research::call::{Call, Failure, Outcome, Purpose};
use crate::research::message::{AgentMessage, Content, ErrorType, Party};
use crate::research::order::{Chooser, Class, Order, RunBudget, RunLimits};
use crate::research::report::EndReason;

/// Compares all messages with a file; what differs is written beside the system's other temporary files.
#[track_caller]
fn check_golden(name: &str, golden: &str, played: &Played) {
    let log: Vec<Value> = played.run.messages().iter().map(AgentMessage::to_value).collect();
    for value in &log {
        AgentMessage::read(value).unwrap();
    }
    let expected: Value = serde_json::from_str(golden).unwrap();
    if expected != json!(log) {
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, format!("{:#}\n", json!(log))).unwrap();
        panic!("the messages differ from golden/{name}; they are in {}", path.display());
    }
}

#[test]
fn the_normal_flow_of_the_protocol() {
    let mut played = Played::new(order());
    played.tick = 500;
    let played = played.play(&mut well);
    use Party::{Content, Planning, Reflect, Research};
    assert_eq!(
        played.run.turns(),
        [Planning, Research, Reflect, Research, Reflect, Content, Reflect, Content]
    );
    check_golden(
        "research-normal.json",
        include_str!("../../../../golden/research-normal.json"),
        &played,
    );
    let markdown = played.markdown();
    assert!(!markdown.contains("invented.example") && !markdown.contains("[9]"), "{markdown}");
    assert!(markdown.contains("[1]") && markdown.contains("costs.md"), "{markdown}");
    assert_eq!(played.run.report().unwrap().unsupported(), 0);
    assert_eq!(played.run.end_reason(), Some(EndReason::Enough));
}

#[test]
fn the_error_flow_of_the_protocol() {
    let mut played = Played::new(order());
    played.tick = 500;
    let mut world = |key: &crate::research::call::CallKey, call: &Call| {
        let is_first = key.as_str().starts_with("search.1.0.local.1");
        if is_first {
            let message = "the search took too long".to_owned();
            let failure = Failure::new(ErrorType::Timeout, message);
            let retry_after = Some(60);
            return Outcome::Failed(Failure { retry_after, is_passing: true, ..failure });
        }
        well(key, call)
    };
    played = played.play(&mut world);
    check_golden(
        "research-errors.json",
        include_str!("../../../../golden/research-errors.json"),
        &played,
    );
    let kinds = played.kinds();
    let error = kinds.iter().position(|kind| *kind == "AgentError").unwrap();
    let rest = &kinds[error..];
    let resumed = rest.iter().position(|kind| *kind == "SearchProgress").unwrap();
    assert!(rest[resumed..].contains(&"SearchResults"), "{kinds:?}");
}

#[test]
fn without_a_model_the_report_is_made_of_sentences_of_the_sources() {
    let played = Played::new(offline()).play(&mut well);
    let report = played.run.report().unwrap();
    assert!(report.claims().count() >= 2);
    assert_eq!(report.unsupported(), 0);
    for claim in report.claims() {
        assert!(ALERTS.contains(&claim.text) || COSTS.contains(&claim.text), "{}", claim.text);
    }
    assert!(played.made.iter().all(|key| key.as_str().starts_with("search")));
}

#[test]
fn a_question_that_no_source_answers_ends_in_a_report_that_says_so() {
    let mut nothing = |_: &_, _: &Call| Outcome::Found { hits: vec![] };
    let played = Played::new(offline()).play(&mut nothing);
    let markdown = played.markdown();
    assert!(markdown.contains("Nothing was found"), "{markdown}");
    assert!(markdown.contains("What was not found"), "{markdown}");
}

#[test]
fn a_provider_that_refuses_is_out_and_another_of_its_class_stands_in() {
    let providers = vec![provider("brave", Class::Web), provider("tavily", Class::Web)];
    let order = Order { providers, ..order() };
    let mut world = |key: &_, call: &Call| match call {
        Call::Ask { purpose: Purpose::Plan, .. } => said(&json!({
            "strategy": "the web", "estimated_seconds": 1, "steps": [
                {"description": "budget alerts", "sources": ["google"], "keywords": ["budget alert"]},
                {"description": "budget costs", "sources": ["google"], "keywords": ["budget cost"]},
            ],
        })),
        other if of_provider(other, "brave") => failure(433, false, None),
        other => well(key, other),
    };
    let mut played = Played::new(order).play(&mut world);
    let asked_brave = played.made.iter().filter(|key| key.as_str().contains("brave")).count();
    assert_eq!(asked_brave, 2, "those that were wanted before it refused: {:?}", played.made);
    let told = played.run.messages().iter().find_map(|message| match &message.content {
        Content::AgentError(error) => Some(error.clone()),
        _ => None,
    });
    let told = told.unwrap();
    assert!(!told.recoverable);
    assert_eq!(told.suggested_action.as_deref(), Some("goes on with tavily"));
    assert_eq!(told.details.unwrap()["status_code"], 433);
    assert!(played.markdown().contains("tavily was asked instead"));
    assert!(!played.pass());
}

#[test]
fn pages_behind_summaries_are_read_and_quoted() {
    let order = Order { providers: vec![provider("brave", Class::Web)], ..offline() };
    let mut world = |key: &_, call: &Call| match call {
        Call::Search { .. } => {
            let mut hit = hit("https://a.example/1", "Budget alerts work like this");
            hit.address = Some("https://a.example/1".to_owned());
            hit.is_summary = true;
            Outcome::Found { hits: vec![hit] }
        }
        other => well(key, other),
    };
    let played = Played::new(order).play(&mut world);
    assert!(played.made.iter().any(|key| key.as_str().starts_with("read.1.0.1")));
    let markdown = played.markdown();
    assert!(
        markdown.contains("<https://a.example/1>") && markdown.contains("80 percent"),
        "{markdown}"
    );
}

#[test]
fn a_model_that_writes_nonsense_is_asked_again_and_then_done_without() {
    let mut world = |key: &_, call: &Call| match call {
        Call::Ask { .. } => Outcome::Said { text: "I would rather not.".to_owned() },
        other => well(key, other),
    };
    let played = Played::new(order()).play(&mut world);
    let plans = played.made.iter().filter(|key| key.as_str().starts_with("plan.")).count();
    assert_eq!(plans, 2, "{:?}", played.made);
    let report = played.run.report().unwrap();
    assert!(report.claims().count() > 0 && report.unsupported() == 0);
    assert!(report.notes.iter().any(|note| note.contains("without a model")), "{:?}", report.notes);
}

#[test]
fn a_model_whose_key_is_refused_is_asked_once() {
    let mut world = |key: &_, call: &Call| match call {
        Call::Ask { .. } => failure(401, false, None),
        other => well(key, other),
    };
    let played = Played::new(order()).play(&mut world);
    let asked = played.made.iter().filter(|key| !key.as_str().starts_with("search")).count();
    assert_eq!(asked, 1, "{:?}", played.made);
    assert!(played.run.report().unwrap().claims().count() > 0);
}

#[test]
fn invented_quotes_are_marked_after_another_draft() {
    let mut world = |key: &_, call: &Call| match call {
        Call::Ask { purpose: Purpose::Write, .. } => said(&json!({
            "claims": [
                {"text": "Alerts cost 99 dollars.", "citations": [{"source": 1, "quote": "Alerts cost 99 dollars each"}]},
                {"text": "Cited from nowhere.", "citations": [{"source": 77, "quote": "nowhere"}]},
            ],
            "not_found": ["who invented alerts"],
        })),
        other => well(key, other),
    };
    let played = Played::new(order()).play(&mut world);
    let report = played.run.report().unwrap();
    assert!(report.claims().all(|claim| !claim.is_supported));
    assert!(report.sources.is_empty());
    let markdown = played.markdown();
    assert!(markdown.contains("not supported by a source"), "{markdown}");
    assert!(markdown.contains("who invented alerts"), "{markdown}");
    assert!(played.made.iter().any(|key| key.as_str().starts_with("write.2.")));
    assert!(!played.made.iter().any(|key| key.as_str().starts_with("write.3.")));
}

#[test]
fn a_manager_chooses_among_those_who_have_something_to_do() {
    let order = Order { chooser: Chooser::Manager, ..order() };
    let choice = |speaker: &str, terminate: bool| {
        said(&json!({
            "terminate": terminate, "reason": "so", "final_message": null,
            "next_speaker": if terminate { Value::Null } else { json!(speaker) },
        }))
    };
    // It names a stranger first, is told, names one who may speak; then it ends the search.
    let mut asked = 0;
    let mut world = |key: &_, call: &Call| match call {
        Call::Ask { purpose: Purpose::Choose, messages } => {
            asked += 1;
            match asked {
                1 => choice("stranger", false),
                2 => {
                    assert!(format!("{messages:?}").contains("cannot speak now"));
                    choice("reflect", false)
                }
                _ => choice("", true),
            }
        }
        other => well(key, other),
    };
    let played = Played::new(order).play(&mut world);
    use Party::{Content, Planning, Reflect, Research};
    let turns = [Planning, Research, Reflect, Content, Reflect, Content];
    assert_eq!(played.run.turns(), turns);
    assert_eq!(asked, 3);
    assert!(played.run.report().unwrap().claims().count() > 0);
}

#[test]
fn searches_that_find_nothing_new_lead_to_another_plan_and_then_to_an_end() {
    let limits = RunLimits { rounds_max: 20, ..RunLimits::default() };
    let order = Order { limits, ..order() };
    let mut number = 0;
    let mut world = |key: &_, call: &Call| match call {
        Call::Ask { purpose: Purpose::Assess, .. } => {
            number += 1;
            said(&json!({
                "relevance": 0.1, "coverage": 0.1, "needs_more_search": true, "feedback": "more",
                "more_keywords": [format!("word{number}")], "structure": [],
            }))
        }
        other => well(key, other),
    };
    let played = Played::new(order).play(&mut world);
    let plans = played.run.turns().iter().filter(|turn| **turn == Party::Planning).count();
    assert_eq!(plans, 2);
    assert_eq!(played.run.end_reason(), Some(EndReason::Stalled));
    assert!(played.run.report().is_some());
}

#[test]
fn each_budget_alone_ends_the_search_and_names_itself() {
    let cases = [
        (RunBudget { calls: Some(6), ..RunBudget::default() }, EndReason::CallsSpent, "calls"),
        (RunBudget { tokens: Some(140), ..RunBudget::default() }, EndReason::TokensSpent, "tokens"),
        (RunBudget { seconds: Some(12), ..RunBudget::default() }, EndReason::TimeSpent, "seconds"),
        (RunBudget { pages: Some(2), ..RunBudget::default() }, EndReason::PagesSpent, "pages"),
    ];
    for (budget, reason, name) in cases {
        let providers = vec![provider("local", Class::Own), provider("brave", Class::Web)];
        let mut played = Played::new(Order { budget, providers, ..order() });
        played.tick = 1_000;
        let mut world = |key: &_, call: &Call| match call {
            Call::Search { .. } if of_provider(call, "brave") => {
                let mut hit = hit("https://a.example/1", "Budget alerts");
                hit.address = Some(hit.place.clone());
                hit.is_summary = true;
                Outcome::Found { hits: vec![hit] }
            }
            Call::Ask { purpose: Purpose::Plan, .. } => said(&json!({
                "strategy": "s", "estimated_seconds": 1, "steps": [
                    {"description": "budget alerts", "sources": ["local", "google"], "keywords": ["budget alert"]},
                    {"description": "budget costs", "sources": ["local"], "keywords": ["budget cost"]},
                ],
            })),
            other => well(key, other),
        };
        played = played.play(&mut world);
        assert_eq!(played.run.end_reason(), Some(reason));
        let report = played.run.report().unwrap();
        assert!(report.to_markdown().contains("used up"), "{}", report.to_markdown());
        let exceeded = played.run.messages().iter().rev().find_map(|it| match &it.content {
            Content::BudgetUpdate(update) => update.exceeded.clone(),
            _ => None,
        });
        assert_eq!(exceeded.as_deref(), Some(name));
        if let Some(calls) = budget.calls {
            assert!(played.made.len() as u64 <= calls, "{:?}", played.made);
        }
    }
}

#[test]
fn no_more_calls_are_under_way_than_allowed() {
    let limits = RunLimits { parallel_max: 2, ..RunLimits::default() };
    let mut played = Played::new(Order { limits, ..order() });
    let (key, call) = played.run.next().calls.remove(0);
    played.begin(&key);
    played.end(&key, &call, plan());
    let calls = played.run.next().calls;
    assert_eq!(calls.len(), 2);
    played.begin(&calls[0].0);
    assert_eq!(played.run.next().calls.len(), 1);
    played.begin(&calls[1].0);
    assert!(played.run.next().calls.is_empty());
}
