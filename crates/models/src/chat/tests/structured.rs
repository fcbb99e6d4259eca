//! Checks answers in the form of a type, and their repair.

use agent::model::{LanguageModel, Message, ModelError, ModelEvent, ModelRequest, Output, Usage};
use schemars::JsonSchema;
use serde::Deserialize;
use testkit::fault_server::{Fault, FaultServer};
use testkit::model_server::{Answer, ModelServer};
use testkit::scripted_model::{Script, ScriptedModel, USAGE};

use crate::chat::{ChatModel, ChatSettings, Endpoint, EndpointSettings};
use agent::model::schema::shape;
use agent::model::structured::{
    Structured, StructuredError, StructuredSettings, ask, ask_checked, value_in,
};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Verdict {
    ranked: Vec<u32>,
    next: Option<Next>,
    confidence: f64,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Next {
    SearchAgain,
    GetSection,
}

const RIGHT: &str = r#"{"ranked": [2, 0], "next": "search_again", "confidence": 0.5}"#;

fn verdict() -> Verdict {
    Verdict { ranked: vec![2, 0], next: Some(Next::SearchAgain), confidence: 0.5 }
}

#[track_caller]
fn check(text: &str) {
    assert_eq!(value_in::<Verdict>(text, &shape::<Verdict>()), Ok(verdict()), "{text}");
}

#[track_caller]
fn check_fault(text: &str, expected: &str) {
    let fault = value_in::<Verdict>(text, &shape::<Verdict>()).unwrap_err();
    assert_eq!(fault, expected, "{text}");
}

#[test]
fn json_is_found_wherever_a_model_puts_it() {
    check(RIGHT);
    check(&format!("\u{feff}\n{RIGHT}\n"));
    check(&format!("```json\n{RIGHT}\n```"));
    check(&format!("Sure! Here {{it}} is [as asked]:\n```\n{RIGHT}\n```\nAnything else?"));
    check(&format!("<think>{{\"ranked\": [9], \"next\": null, \"confidence\": 1}}</think>{RIGHT}"));
    check(&format!("thinking without a beginning {{\"a\": 1}} </think>\n\n{RIGHT}"));
    check(&format!("{{\"ranked\": [], \"next\": null, \"confidence\": 0}}\nNo, better: {RIGHT}"));
    check(&format!("{RIGHT} {{\"note\": \"that was all\"}}"));
    check(&format!("{{\"name\": \"verdict\", \"arguments\": {RIGHT}}}"));
    check(&format!("{{\"name\": \"verdict\", \"parameters\": {RIGHT}}}"));
    check(&format!("답: {RIGHT}입니다"));
}

#[test]
fn a_fault_says_where_it_is() {
    check_fault("", "it is empty");
    check_fault(" \n", "it is empty");
    check_fault("I'd rather not.", "it holds no JSON object");
    check_fault(r#"{"ranked": [1"#, "it holds no complete JSON object");
    check_fault(
        r#"{"ranked": [1, "two"], "next": null, "confidence": 1}"#,
        "`ranked[1]`: invalid type: string \"two\", expected u32",
    );
    check_fault(
        r#"{"ranked": [], "next": "stop", "confidence": 1}"#,
        "`next`: unknown variant `stop`, expected `search_again` or `get_section`",
    );
    check_fault(r#"{"ranked": [], "next": null}"#, "missing field `confidence`");
}

#[test]
fn many_braces_do_not_take_forever() {
    let start = tokio::time::Instant::now();
    let text = "{[".repeat(500_000);
    assert!(value_in::<Verdict>(&text, &shape::<Verdict>()).is_err());
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn a_list_comes_wrapped_or_plain() {
    let shape = shape::<Vec<u32>>();
    assert_eq!(value_in::<Vec<u32>>(r#"{"value": [1, 2]}"#, &shape), Ok(vec![1, 2]));
    assert_eq!(value_in::<Vec<u32>>("[1, 2]", &shape), Ok(vec![1, 2]));
}

fn question() -> ModelRequest {
    ModelRequest::new(vec![Message::user("Judge.")])
}

async fn asked(model: &dyn LanguageModel) -> Result<Structured<Verdict>, StructuredError> {
    ask(model, question(), &StructuredSettings::default()).await
}

#[tokio::test]
async fn a_right_answer_takes_one_attempt() {
    let model = ScriptedModel::new("m").says(RIGHT);
    let found = asked(&model).await.unwrap();
    let expected =
        Structured { value: verdict(), usage: USAGE, attempts: 1, model: "m".to_owned() };
    assert_eq!(found, expected);
    let Output::Json { name, schema } = &model.requests()[0].output else { panic!() };
    assert_eq!(
        (name.as_str(), &schema.value()["additionalProperties"]),
        ("Verdict", &false.into())
    );
}

#[tokio::test]
async fn the_fault_goes_back_to_the_model() {
    let model = ScriptedModel::new("m").says(r#"{"ranked": 1}"#).says(RIGHT);
    let found = asked(&model).await.unwrap();
    assert_eq!((found.value, found.attempts), (verdict(), 2));
    assert_eq!((found.usage.input, found.usage.output), (USAGE.input * 2, USAGE.output * 2));
    let messages = &model.requests()[1].messages;
    assert_eq!(messages[..2], [Message::user("Judge."), Message::assistant(r#"{"ranked": 1}"#)]);
    let Message::User { text } = &messages[2] else { panic!("{messages:?}") };
    let expected =
        "Your answer cannot be used: `ranked`: invalid type: integer `1`, expected a sequence\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains(r#""search_again""#), "{text}");
}

#[tokio::test]
async fn attempts_are_bounded_and_their_cost_is_told() {
    let model = ScriptedModel::new("m").says("no").says("").says(RIGHT);
    let error = asked(&model).await.unwrap_err();
    assert_eq!(error.usage().input, USAGE.input * 2);
    assert_eq!(
        error.to_string(),
        "m gave nothing usable in 2 attempts (it is empty): use a larger model for this"
    );
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn a_value_that_breaks_a_rule_of_ours_is_sent_back_too() {
    let low = r#"{"ranked": [], "next": null, "confidence": 7}"#;
    let model = ScriptedModel::new("m").says(low).says(RIGHT);
    let check = |verdict: &Verdict| {
        let fits = (0.0..=1.0).contains(&verdict.confidence);
        if fits { Ok(()) } else { Err("`confidence`: must be between 0 and 1".to_owned()) }
    };
    let settings = StructuredSettings::default();
    let found = ask_checked(&model, question(), &settings, check).await.unwrap();
    assert_eq!((found.value, found.attempts), (verdict(), 2));
    let Some(Message::User { text }) = model.requests()[1].messages.last().cloned() else {
        panic!()
    };
    assert!(text.contains("must be between 0 and 1"), "{text}");
}

#[tokio::test]
async fn an_empty_wrong_answer_can_be_sent_back() {
    let model = ScriptedModel::new("m").says("").says(RIGHT);
    assert!(asked(&model).await.is_ok());
    assert_eq!(model.requests()[1].messages[1], Message::assistant("{}"));
}

#[tokio::test]
async fn an_error_of_the_model_ends_it_and_what_it_used_is_told() {
    let error = ModelError::BrokenStream { model: "m".to_owned(), why: "cut".to_owned() };
    let events = vec![Ok(ModelEvent::Usage(USAGE)), Err(error.clone())];
    let model = ScriptedModel::new("m").says("no").plays(Script { events, hangs: false });
    let mut usage = USAGE;
    usage += USAGE;
    let expected = StructuredError::Model { error, usage, attempts: 2 };
    assert_eq!(asked(&model).await, Err(expected));
}

fn chat(base_url: &str) -> ChatModel {
    let endpoint = Endpoint::new(EndpointSettings::new(base_url)).unwrap();
    ChatModel::new(endpoint, ChatSettings::new("llama3.2"))
}

#[tokio::test]
async fn a_server_that_ignores_the_schema_is_told_it() {
    let server = FaultServer::start([Fault::WrongSchema, Fault::WrongSchema]).await;
    let error = asked(&chat(&server.base_url)).await.unwrap_err();
    let StructuredError::Invalid { fault, attempts, .. } = error else { panic!("{error:?}") };
    assert_eq!((fault.as_str(), attempts), ("missing field `ranked`", 2));
}

#[tokio::test]
async fn the_three_ways_to_json_give_the_same_value() {
    for refused in [&[][..], &["response_format"], &["response_format", "tools"]] {
        let refused: Vec<&str> = refused.to_vec();
        let server = ModelServer::answering(std::time::Duration::ZERO, move |body| {
            if refused.iter().any(|field| !body[*field].is_null()) {
                return Answer::status("400 Bad Request", serde_json::json!({"error": "no"}));
            }
            match body["tools"][0]["function"]["name"].as_str() {
                Some(tool) => Answer::call(tool, RIGHT),
                None => Answer::text(format!("```json\n{RIGHT}\n```")),
            }
        })
        .await;
        let found = asked(&chat(&server.base_url)).await.unwrap();
        assert_eq!((found.value, found.attempts), (verdict(), 1));
        assert_eq!(found.usage, Usage { input: 100, output: 10, ..Usage::default() });
    }
}
