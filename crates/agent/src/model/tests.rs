//! Checks messages, usage and errors of models.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::stream;
use serde_json::json;

use super::{
    Finish, LanguageModel, Limit, Message, ModelError, ModelEvent, ModelRequest, ModelStream,
    Phase, ToolCall, ToolSpec, Usage, answer_in_json, complete, repair_json,
};

struct Says(Vec<Result<ModelEvent, ModelError>>);

impl LanguageModel for Says {
    fn name(&self) -> &str {
        "says"
    }

    fn stream(&self, _request: ModelRequest) -> ModelStream {
        Box::pin(stream::iter(self.0.clone()))
    }
}

fn ask(events: Vec<Result<ModelEvent, ModelError>>) -> Result<super::Completion, ModelError> {
    complete(&Says(events), ModelRequest::default()).now_or_never().unwrap()
}

fn call() -> ToolCall {
    ToolCall { id: "1".to_owned(), name: "search".to_owned(), arguments: json!({"q": "샘"}) }
}

#[test]
fn a_completion_holds_all_that_was_streamed() {
    let usage = Usage { input: 7, output: 3, ..Usage::default() };
    let completion = ask(vec![
        Ok(ModelEvent::Reasoning("hm".to_owned())),
        Ok(ModelEvent::Text("샘".to_owned())),
        Ok(ModelEvent::Text("물".to_owned())),
        Ok(ModelEvent::ToolCall(call())),
        Ok(ModelEvent::Usage(usage)),
        Ok(ModelEvent::Done { finish: Finish::ToolCalls, model: "m".to_owned() }),
    ])
    .unwrap();
    assert_eq!((completion.text.as_str(), completion.reasoning.as_str()), ("샘물", "hm"));
    assert_eq!((completion.tool_calls, completion.usage), (vec![call()], usage));
    assert_eq!((completion.finish, completion.model.as_str()), (Finish::ToolCalls, "m"));
}

#[test]
fn a_stream_that_ends_without_saying_so_gives_no_completion() {
    let broken = ask(vec![Ok(ModelEvent::Text("half".to_owned()))]).unwrap_err();
    assert!(matches!(broken, ModelError::BrokenStream { .. }), "{broken}");
    let refused = ModelError::Refused { model: "m".to_owned(), why: "no".to_owned() };
    assert_eq!(ask(vec![Err(refused.clone())]), Err(refused));
}

#[test]
fn usage_adds_up_and_stays_estimated() {
    let mut sum = Usage { input: u64::MAX, cached: 1, output: 2, reasoning: 1, is_estimated: true };
    sum += Usage { input: 1, cached: 1, output: 1, reasoning: 0, is_estimated: false };
    let expected =
        Usage { input: u64::MAX, cached: 2, output: 3, reasoning: 1, is_estimated: true };
    assert_eq!(sum, expected);
}

#[test]
fn a_message_reads_back_as_it_was_written() {
    let messages = [
        Message::system("s"),
        Message::user("u"),
        Message::Assistant { text: String::new(), tool_calls: vec![call()] },
        Message::Tool { call_id: "1".to_owned(), text: "found".to_owned() },
    ];
    for message in messages {
        let written = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&written).unwrap(), message, "{written}");
    }
}

#[test]
fn the_length_of_a_request_counts_messages_calls_and_tools() {
    let mut request = ModelRequest::new(vec![Message::user("샘"), Message::assistant("abc")]);
    assert_eq!(request.text_bytes(), 6);
    request.tools =
        vec![ToolSpec { name: "n".to_owned(), description: "d".to_owned(), parameters: json!({}) }];
    assert_eq!(request.text_bytes(), 10);
    let asked = Message::Assistant { text: String::new(), tool_calls: vec![call()] };
    request.messages = std::sync::Arc::new(vec![asked]);
    assert_eq!(request.text_bytes(), "search".len() + r#"{"q":"샘"}"#.len() + 4);
}

#[track_caller]
fn check(error: &ModelError, expected: &str) {
    assert_eq!(error.to_string(), expected);
}

#[test]
fn every_error_says_what_why_and_what_to_do() {
    let model = || "m at http://x/v1".to_owned();
    let why = || "why".to_owned();
    check(
        &ModelError::Transient {
            model: model(),
            why: "429".to_owned(),
            retry_after: Some(Duration::from_millis(1500)),
        },
        "m at http://x/v1 cannot answer just now (429): try again in 2 s",
    );
    check(
        &ModelError::ContextOverflow { model: model(), tokens: Some(9000), tokens_max: Some(8192) },
        "the conversation is too long for m at http://x/v1 (9000 tokens where 8192 fit): shorten it and ask again",
    );
    check(
        &ModelError::TimedOut {
            model: model(),
            phase: Phase::FirstToken,
            after: Duration::from_secs(5),
        },
        "m at http://x/v1 took too long to begin its answer (more than 5s): try again, or allow it more time in the settings",
    );
    check(
        &ModelError::LimitReached { model: model(), which: Limit::LineBytes(10) },
        "m at http://x/v1 was stopped at 10 bytes in one line: ask for less, or raise the limit in the settings",
    );
    check(
        &ModelError::BrokenStream { model: model(), why: why() },
        "the answer of m at http://x/v1 broke off (why): ask again",
    );
}

#[test]
fn the_instructions_name_the_schema_and_the_fault() {
    let schema = json!({"type": "object"});
    assert_eq!(
        answer_in_json(&schema),
        "Answer with one JSON object and nothing else: no explanation, no code fence. It must match this JSON \
         schema:\n{\"type\":\"object\"}"
    );
    assert_eq!(
        repair_json("`a`: missing {{schema}}", &schema),
        "Your answer cannot be used: `a`: missing {{schema}}\nAnswer again with one corrected JSON object and \
         nothing else. It must match this JSON schema:\n{\"type\":\"object\"}"
    );
    assert!(repair_json(&"가".repeat(5_000), &schema).len() < 2_300);
}
