//! Checks the messages against the protocol's own examples, its schema and its six rules.

use serde_json::{Value, json};

use super::*;

/// One message of each kind that the protocol's first version has, as its text shows them.
const EXAMPLES: &str = include_str!("../../../golden/agent-messages.json");

/// The schema as it is given to others.
const COMMITTED: &str = include_str!("../../../../../schemas/agent-message.json");

fn examples() -> Vec<Value> {
    serde_json::from_str(EXAMPLES).unwrap()
}

fn example(kind: Kind) -> Value {
    let is_it = |value: &&Value| AgentMessage::read(value).unwrap().content.kind() == kind;
    examples().iter().find(is_it).unwrap().clone()
}

fn id(number: u64) -> Uuid {
    Uuid::from_random([1; 16]).derived("test", number)
}

/// Messages that came to the protocol later.
fn later() -> Vec<Content> {
    let step = SearchStep {
        step_number: 1,
        description: "Overview".to_owned(),
        sources: vec![ProviderId::local(), "mcp:github".parse().unwrap()],
        keywords: vec!["budget".to_owned()],
    };
    let question = PlanQuestion {
        strategy: "from wide to narrow".to_owned(),
        search_steps: vec![step.clone()],
        estimated_time: 10,
        goes_on_after: Some(30),
        stands_on: Some(StandsOn {
            run: id(7),
            question: "예산?".to_owned(),
            sources: 3,
            known_steps: vec![1],
            again_step: Some(2),
        }),
    };
    let call = ToolQuestion {
        call: "search/1".to_owned(),
        provider: "mcp:github".parse().unwrap(),
        arguments: json!({"Some_Key": 1}),
        reason: "it may have been made".to_owned(),
    };
    let part = BudgetPart { name: "calls".to_owned(), used: 3, allowed: Some(9) };
    vec![
        SubmitQuery { query: "예산?".to_owned(), sources: vec![] }.into(),
        PlanApproval { request: Some(question), ..PlanApproval::default() }.into(),
        PlanApproval {
            decision: Some(Decision::Edit),
            edited_plan: Some(vec![step]),
            ..PlanApproval::default()
        }
        .into(),
        SourceRead {
            source_id: id(1),
            provider: ProviderId::arxiv(),
            title: "A paper".to_owned(),
            address: Some("https://example.org/paper".to_owned()),
            characters: 100,
        }
        .into(),
        CitationCheck {
            claim_id: "1.2".to_owned(),
            source_id: id(1),
            quote: "word for word".to_owned(),
            verdict: CheckVerdict::Verified,
        }
        .into(),
        DraftApproval {
            answer_id: id(2),
            approved: true,
            supported_share: Share::WHOLE,
            feedback: String::new(),
        }
        .into(),
        FinalApproval { answer_id: id(2), approved: true, unsupported_claims: 0 }.into(),
        BudgetUpdate { parts: vec![part], exceeded: None }.into(),
        RunControl { control: Control::FinishNow, instruction: None }.into(),
        ToolApproval { request: Some(call), decision: None }.into(),
        ToolApproval {
            request: None,
            decision: Some(ToolDecision { call: "search/1".to_owned(), approved: false }),
        }
        .into(),
        AnswerReady { answer_id: None, stop_reason: "stopped".to_owned() }.into(),
    ]
}

/// As the way of its kind has it; an answer to a question of an agent comes from the user.
fn sent(content: Content) -> AgentMessage {
    let kind = content.kind();
    let is_answer = match &content {
        Content::PlanApproval(approval) => approval.decision.is_some(),
        Content::ToolApproval(approval) => approval.decision.is_some(),
        _ => false,
    };
    let sender = if is_answer { Party::User } else { kind.routes()[0].senders[0] };
    let (message_type, recipient) = kind.way_from(sender).unwrap();
    let more = More {
        seq: Some(4),
        in_reply_to: Some(id(8)),
        run_epoch: Some(1),
        schema_version: Some(SCHEMA_VERSION.to_owned()),
        usage: Some(Usage::about(100, 10)),
    };
    let timestamp = "2026-11-15T10:30:00.250Z".parse().unwrap();
    let (id, query_id) = (id(9), id(10));
    AgentMessage { id, query_id, sender, recipient, message_type, content, timestamp, more }
}

#[test]
fn the_examples_of_the_protocol_read_and_write_back_to_the_letter() {
    let mut kinds = Vec::new();
    for value in examples() {
        let message = AgentMessage::read(&value).unwrap();
        message.check().unwrap();
        assert_eq!(message.to_value(), value);
        kinds.push(message.content.kind());
    }
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), 10);
}

#[test]
fn every_kind_has_a_message_that_reads_back_and_fits_the_schema() {
    let schema = schema();
    let mut values = examples();
    values.extend(later().into_iter().map(|content| sent(content).to_value()));
    let mut kinds: Vec<Kind> = Vec::new();
    for value in &values {
        let message = AgentMessage::read(value).unwrap();
        assert_eq!(message.to_value(), *value);
        let kind = message.content.kind();
        let definition = &schema["$defs"][kind.name()];
        assert_eq!(fault(definition, value), None, "{value:#}");
        // It is a message of no other kind.
        let fits = |kind: &Kind| fault(&schema["$defs"][kind.name()], value).is_none();
        assert_eq!(Kind::ALL.iter().filter(|kind| fits(kind)).count(), 1, "{value:#}");
        kinds.push(kind);
    }
    assert!(Kind::ALL.iter().all(|kind| kinds.contains(kind)));
}

#[test]
fn the_schema_that_others_have_is_the_one_of_these_types() {
    let committed: Value = serde_json::from_str(COMMITTED).unwrap();
    assert!(
        committed == schema(),
        "cargo run -p agent --example agent_message_schema > schemas/agent-message.json"
    );
}

#[track_caller]
fn check_broken(kind: Kind, change: impl FnOnce(&mut Value), rule: Rule, field: &str) {
    let mut value = example(kind);
    change(&mut value);
    let error = AgentMessage::read(&value).unwrap_err();
    assert_eq!((error.rule, error.field.as_str()), (rule, field), "{error}");
    let told = error.told();
    assert_eq!(told.error_type, ErrorType::ValidationError);
    assert_eq!(told.details.unwrap()["field"], field);
    let definition = &schema()["$defs"][kind.name()];
    assert!(fault(definition, &value).is_some(), "the schema takes what the rules refuse");
}

#[test]
fn what_breaks_the_first_rule_lacks_a_field() {
    for field in ["id", "query_id", "sender", "message_type", "content", "timestamp"] {
        let gone = |value: &mut Value| drop(value.as_object_mut().unwrap().remove(field));
        check_broken(Kind::SearchProgress, gone, Rule::RequiredFields, field);
        let empty = |value: &mut Value| value[field] = Value::Null;
        check_broken(Kind::SearchProgress, empty, Rule::RequiredFields, field);
    }
    assert_eq!(AgentMessage::read(&json!([])).unwrap_err().rule, Rule::RequiredFields);
}

#[test]
fn what_breaks_the_second_rule_has_no_uuid_of_version_4() {
    for field in ["id", "query_id"] {
        let old = |value: &mut Value| value[field] = json!("550e8400-e29b-11d4-a716-446655440001");
        check_broken(Kind::FinalAnswer, old, Rule::UuidFormat, field);
    }
}

#[test]
fn what_breaks_the_third_rule_is_of_no_moment_in_utc() {
    let local = |value: &mut Value| value["timestamp"] = json!("2025-11-14T10:30:05+09:00");
    check_broken(Kind::FinalAnswer, local, Rule::TimestampFormat, "timestamp");
}

#[test]
fn what_breaks_the_fourth_rule_comes_from_a_stranger_or_goes_to_one() {
    let stranger = |value: &mut Value| value["sender"] = json!("stranger");
    check_broken(Kind::FinalAnswer, stranger, Rule::SenderRecipient, "sender");
    let other = |value: &mut Value| value["sender"] = json!("planning");
    check_broken(Kind::FinalAnswer, other, Rule::SenderRecipient, "sender");
    let user = |value: &mut Value| value["sender"] = json!("user");
    check_broken(Kind::AgentError, user, Rule::SenderRecipient, "sender");
    let wrong = |value: &mut Value| value["recipient"] = json!("everybody");
    check_broken(Kind::PlanningRequest, wrong, Rule::SenderRecipient, "recipient");
    let elsewhere = |value: &mut Value| value["recipient"] = json!("content");
    check_broken(Kind::PlanningRequest, elsewhere, Rule::SenderRecipient, "recipient");
}

#[test]
fn what_breaks_the_fifth_rule_says_something_else_than_its_kind() {
    let rule = Rule::ContentStructure;
    let unknown = |value: &mut Value| value["content"]["action"] = json!("dance");
    check_broken(Kind::PlanningRequest, unknown, rule, "content.action");
    let gone = |value: &mut Value| {
        value["content"]["search_steps"][1].as_object_mut().unwrap().remove("keywords");
    };
    check_broken(Kind::PlanningRequest, gone, rule, "content.search_steps[1].keywords");
    let more = |value: &mut Value| value["content"]["extra"] = json!(1);
    check_broken(Kind::SearchResults, more, rule, "content.extra");
    let much = |value: &mut Value| value["content"]["progress"] = json!(1.5);
    check_broken(Kind::SearchProgress, much, rule, "content.progress");
    let text = |value: &mut Value| value["content"]["total_results"] = json!("15");
    check_broken(Kind::SearchResults, text, rule, "content.total_results");
    let other = |value: &mut Value| value["message_type"] = json!("response");
    check_broken(Kind::PlanningRequest, other, rule, "message_type");
    let none = |value: &mut Value| value["content"] = json!("text");
    check_broken(Kind::AgentError, none, rule, "content");
}

#[test]
fn what_breaks_the_sixth_rule_is_for_one_where_it_is_for_all_or_the_other_way_round() {
    let one = |value: &mut Value| value["recipient"] = json!("reflect");
    check_broken(Kind::SearchProgress, one, Rule::Broadcast, "recipient");
    let all = |value: &mut Value| value["recipient"] = Value::Null;
    check_broken(Kind::PlanningRequest, all, Rule::Broadcast, "recipient");
}

#[test]
fn a_message_that_goes_the_wrong_way_is_not_sent() {
    let mut message = sent(later().remove(0));
    message.check().unwrap();
    message.sender = Party::Reflect;
    assert_eq!(message.check().unwrap_err().field, "sender");
}

#[test]
fn the_form_for_pages_names_its_fields_otherwise_and_reads_back() {
    let planned = to_camel(&example(Kind::PlanningRequest));
    assert!(planned["queryId"].is_string() && planned["query_id"].is_null());
    assert_eq!(planned["content"]["searchSteps"][0]["stepNumber"], 1);
    for value in examples().into_iter().chain(later().into_iter().map(|it| sent(it).to_value())) {
        assert_eq!(from_camel(&to_camel(&value)), value);
    }
    let failed = to_camel(&example(Kind::AgentError));
    assert_eq!(failed["content"]["details"]["retry_after"], 60, "the provider's own names stay");
}

/// Why a value does not fit a schema; knows the words that these schemas use, and refuses others.
fn fault(schema: &Value, value: &Value) -> Option<String> {
    if *schema == json!(true) {
        return None;
    }
    for (word, rule) in schema.as_object().unwrap() {
        let is_good = match word.as_str() {
            "$schema" | "title" | "description" | "format" | "default" => true,
            "type" => match rule {
                Value::Array(types) => types.iter().any(|name| is_a(name, value)),
                name => is_a(name, value),
            },
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "pattern" => {
                value.as_str().is_none_or(|text| has_pattern(rule.as_str().unwrap(), text))
            }
            "required" => {
                let is_there = |name: &Value| value.get(name.as_str().unwrap()).is_some();
                !value.is_object() || rule.as_array().unwrap().iter().all(is_there)
            }
            "items" => value
                .as_array()
                .is_none_or(|items| items.iter().all(|item| fault(rule, item).is_none())),
            "anyOf" | "oneOf" => {
                rule.as_array().unwrap().iter().any(|other| fault(other, value).is_none())
            }
            "properties" => rule.as_object().unwrap().iter().all(|(name, inner)| {
                value.get(name).is_none_or(|value| fault(inner, value).is_none())
            }),
            "additionalProperties" => value.as_object().is_none_or(|fields| {
                let known = schema["properties"].as_object();
                let mut others = fields
                    .iter()
                    .filter(|(name, _)| !known.is_some_and(|known| known.contains_key(*name)));
                match rule {
                    Value::Bool(are_free) => *are_free || others.next().is_none(),
                    inner => others.all(|(_, value)| fault(inner, value).is_none()),
                }
            }),
            other => panic!("the schema says {other}"),
        };
        if !is_good {
            return Some(format!("{word}: {rule} against {value}"));
        }
    }
    None
}

fn is_a(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("the schema says {other}"),
    }
}

/// The patterns of the schema, by what they stand for.
fn has_pattern(pattern: &str, text: &str) -> bool {
    match pattern {
        "(Z|\\+00:00)$" => text.parse::<Moment>().is_ok(),
        "^[A-Za-z0-9_.:-]{1,262}$" => text.parse::<ProviderId>().is_ok(),
        pattern if pattern.contains("-4[0-9a-fA-F]{3}-") => text.parse::<Uuid>().is_ok(),
        other => panic!("the schema says {other}"),
    }
}
