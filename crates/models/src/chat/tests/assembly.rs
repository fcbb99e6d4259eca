//! Checks how a streamed answer is put together.

use agent::model::{Finish, Limit, ModelEvent, ToolCall};
use serde_json::{Value, json};

use super::super::assembly::{Assembly, Fault, Progress};

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

#[expect(clippy::needless_pass_by_value, reason = "read better where it is called")]
fn part(index: Value, id: Option<&str>, name: Option<&str>, arguments: Value) -> Value {
    let mut part = json!({"function": {"arguments": arguments}});
    if !index.is_null() {
        part["index"] = index;
    }
    if let Some(id) = id {
        part["id"] = json!(id);
    }
    if let Some(name) = name {
        part["function"]["name"] = json!(name);
    }
    delta(&json!({"tool_calls": [part]}))
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// The events of these pieces, and how it ended.
fn assemble(mut assembly: Assembly, pieces: &[Value]) -> (Vec<ModelEvent>, Result<Finish, Fault>) {
    let mut events = Vec::new();
    for piece in pieces {
        match assembly.take(&piece.to_string(), &mut events) {
            Ok(progress) => assert_eq!(progress, Progress::More),
            Err(fault) => return (events, Err(fault)),
        }
    }
    let end = assembly.finish(0, &mut events);
    (events, end)
}

fn plain() -> Assembly {
    Assembly::new(true, None, 10_000)
}

/// The calls of these pieces as `id name arguments`.
#[track_caller]
fn check_calls(pieces: &[Value], expected: &[&str]) {
    let pieces = [pieces, &[finish("tool_calls")]].concat();
    let (events, end) = assemble(plain(), &pieces);
    let calls: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolCall(ToolCall { id, name, arguments }) => {
                Some(format!("{id} {name} {arguments}"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(calls, expected);
    assert_eq!(end, Ok(Finish::ToolCalls));
}

#[test]
fn arguments_come_in_pieces_and_calls_may_be_mixed() {
    check_calls(
        &[
            part(json!(0), Some("a"), Some("search"), json!("")),
            part(json!(1), Some("b"), Some("read"), json!("{\"id\"")),
            part(json!(0), None, None, json!("{\"q\":")),
            part(json!(1), None, None, json!(":1}")),
            part(json!(0), None, None, json!("\"샘\"}")),
        ],
        &[r#"a search {"q":"샘"}"#, r#"b read {"id":1}"#],
    );
}

#[test]
fn servers_that_number_calls_carelessly_are_understood() {
    // No index at all.
    check_calls(
        &[
            part(Value::Null, Some("a"), Some("x"), json!("{\"n\"")),
            part(Value::Null, None, None, json!(":1}")),
            part(Value::Null, Some("b"), Some("x"), json!("{}")),
        ],
        &[r#"a x {"n":1}"#, "b x {}"],
    );
    // All are number 0.
    check_calls(
        &[
            part(json!(0), Some("a"), Some("x"), json!("{}")),
            part(json!(0), Some("b"), Some("y"), json!("{}")),
        ],
        &["a x {}", "b y {}"],
    );
    // The name and the id come again with every piece.
    check_calls(
        &[
            part(json!(0), Some("a"), Some("x"), json!("{\"n\":")),
            part(json!(0), Some("a"), Some("x"), json!("1}")),
        ],
        &[r#"a x {"n":1}"#],
    );
}

#[test]
fn arguments_may_be_missing_an_object_or_without_an_id() {
    check_calls(&[part(json!(0), Some("a"), Some("x"), json!(""))], &["a x {}"]);
    check_calls(&[part(json!(0), Some("a"), Some("x"), json!("null"))], &["a x {}"]);
    check_calls(&[part(json!(2), None, Some("x"), json!({"n": 1}))], &[r#"call_2 x {"n":1}"#]);
}

#[track_caller]
fn check_fault(pieces: &[Value], expected: &str) {
    let (events, end) = assemble(plain(), pieces);
    assert!(!events.iter().any(|event| matches!(event, ModelEvent::ToolCall(_))), "{events:?}");
    let fault = format!("{:?}", end.unwrap_err());
    assert!(fault.contains(expected), "{fault}");
}

#[test]
fn a_call_that_is_not_whole_is_never_made() {
    let call = |arguments: &str| part(json!(0), Some("a"), Some("x"), json!(arguments));
    check_fault(
        &[call("{\"n\":"), finish("tool_calls")],
        "Call(\"the arguments of its call to `x` are no JSON",
    );
    check_fault(&[call("[1]"), finish("tool_calls")], "are no object");
    check_fault(
        &[call("{\"n\":"), finish("length")],
        "was cut off at the largest number of tokens",
    );
    check_fault(&[call("{}")], "Broken");
    let nameless = part(json!(0), Some("a"), None, json!("{}"));
    check_fault(&[nameless, finish("tool_calls")], "without a name");
}

#[test]
fn more_calls_than_allowed_are_stopped() {
    let calls: Vec<Value> =
        (0..65).map(|index| part(json!(index), Some("a"), Some("x"), json!("{}"))).collect();
    let (_, end) = assemble(plain(), &calls);
    assert_eq!(end, Err(Fault::Limit(Limit::ToolCalls(64))));
}

#[test]
fn text_thinking_and_arguments_count_together() {
    for piece in [
        delta(&json!({"content": "aaaaaaaaaa"})),
        delta(&json!({"reasoning": "aaaaaaaaaa"})),
        delta(&json!({"refusal": "aaaaaaaaaa"})),
        part(json!(0), None, None, json!("aaaaaaaaaa")),
    ] {
        let assembly = Assembly::new(true, None, 15);
        let (_, end) = assemble(assembly, &[piece.clone(), piece]);
        assert_eq!(end, Err(Fault::Limit(Limit::OutputBytes(15))));
    }
}

#[test]
fn the_first_reason_to_end_counts() {
    let (_, end) = assemble(plain(), &[finish("length"), finish("stop")]);
    assert_eq!(end, Ok(Finish::Length));
    let (_, end) = assemble(plain(), &[finish(""), finish("eos")]);
    assert_eq!(end, Ok(Finish::Stop));
    // Some say "stop" after calls, and "tool_calls" without any.
    let call = part(json!(0), Some("a"), Some("x"), json!("{}"));
    assert_eq!(assemble(plain(), &[call, finish("stop")]).1, Ok(Finish::ToolCalls));
    assert_eq!(assemble(plain(), &[finish("tool_calls")]).1, Ok(Finish::Stop));
}

#[test]
fn a_filter_and_a_refusal_are_no_answer() {
    let text = delta(&json!({"content": "a"}));
    let (events, end) = assemble(plain(), &[text, finish("content_filter")]);
    assert_eq!(events, [ModelEvent::Text("a".to_owned())]);
    assert!(matches!(end, Err(Fault::Refused(_))), "{end:?}");
    let refusal = |piece: &str| delta(&json!({"refusal": piece}));
    let (_, end) = assemble(plain(), &[refusal("I "), refusal("can't."), finish("stop")]);
    assert_eq!(end, Err(Fault::Refused("I can't.".to_owned())));
    let (_, end) = assemble(plain(), &[finish("abort")]);
    assert!(matches!(end, Err(Fault::Broken(_))), "{end:?}");
}

#[test]
fn the_arguments_of_the_output_tool_are_the_answer() {
    let assembly = Assembly::new(true, Some("verdict".to_owned()), 10_000);
    let pieces = [
        part(json!(0), Some("a"), Some("verdict"), json!("{\"ok\":")),
        part(json!(0), None, None, json!("true}")),
        part(json!(1), Some("b"), Some("search"), json!("{}")),
        finish("tool_calls"),
    ];
    let (events, end) = assemble(assembly, &pieces);
    let names: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
    assert_eq!(names[0], r#"Text("{\"ok\":true}")"#);
    assert!(names[1].starts_with("ToolCall(ToolCall { id: \"b\", name: \"search\""), "{names:?}");
    assert_eq!((names.len(), end), (3, Ok(Finish::ToolCalls)));
}

#[test]
fn words_that_come_together_are_one_event_and_thoughts_stand_apart() {
    let pieces = [
        delta(&json!({"content": "spring "})),
        delta(&json!({"content": "water"})),
        delta(&json!({"reasoning_content": "hm"})),
        delta(&json!({"content": " is"})),
        delta(&json!({"content": " cold"})),
        delta(&json!({"content": ""})),
        finish("stop"),
    ];
    for assembly in [plain(), Assembly::new(false, None, 10_000)] {
        let (mut events, _) = assemble(assembly, &pieces);
        events.truncate(3);
        let expected = [
            ModelEvent::Text("spring water".to_owned()),
            ModelEvent::Reasoning("hm".to_owned()),
            ModelEvent::Text(" is cold".to_owned()),
        ];
        assert_eq!(events, expected);
    }
}

#[test]
fn pieces_that_say_nothing_make_no_events() {
    let pieces = [
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"content": null})),
        json!({"choices": []}),
        json!({"choices": null}),
        json!({"choices": [{"index": 1, "delta": {"content": "another choice"}}]}),
        json!({}),
    ];
    let (events, _) = assemble(plain(), &pieces);
    assert_eq!(events, []);
}

#[test]
fn what_is_no_piece_of_an_answer_is_malformed() {
    let mut events = Vec::new();
    for wrong in ["<html>", "{\"choices\": 1}", "[1]"] {
        let fault = plain().take(wrong, &mut events).unwrap_err();
        assert!(matches!(fault, Fault::Malformed(_)), "{fault:?}");
    }
    assert_eq!(plain().take(" [DONE] ", &mut events), Ok(Progress::Done));
    assert_eq!(plain().take("", &mut events), Ok(Progress::More));
    let complaint = plain().take(r#"{"error":{"message":"m"}}"#, &mut events);
    assert_eq!(complaint, Err(Fault::Complaint(json!({"message": "m"}))));
}
