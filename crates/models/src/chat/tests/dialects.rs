//! Checks what each kind of server is sent, and how its complaints are learnt from.

use agent::model::schema::Schema;
use agent::model::{Finish, Output, ToolCall, ToolChoice, ToolSpec, complete};
use serde_json::{Value, json};
use testkit::model_server::{Answer, ModelServer};

use super::super::{Capabilities, SchemaMode, SystemMessages};
use super::*;

fn full() -> ModelRequest {
    let call =
        ToolCall { id: "c1".to_owned(), name: "find".to_owned(), arguments: json!({"q": 1}) };
    ModelRequest {
        messages: Arc::new(vec![
            Message::system("Be brief."),
            Message::system("Speak Korean."),
            Message::user("hi"),
            Message::Assistant { text: String::new(), tool_calls: vec![call] },
            Message::Tool { call_id: "c1".to_owned(), text: "found".to_owned() },
        ]),
        tools: vec![ToolSpec {
            name: "find".to_owned(),
            description: "Finds.".to_owned(),
            parameters: json!({"type": "object"}),
        }],
        tool_choice: ToolChoice::Required,
        output: Output::Text,
        tokens_max: Some(50),
        temperature: Some(0.2),
        stop: vec!["END".to_owned()],
    }
}

fn in_json() -> ModelRequest {
    let schema =
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let (name, schema) = ("the verdict".to_owned(), Schema::shared(schema));
    ModelRequest { output: Output::Json { name, schema }, ..question() }
}

/// What a server hears of this request to a model of this name.
async fn asked(name: &str, request: ModelRequest, change: impl Fn(&mut Capabilities)) -> Value {
    let server = ModelServer::answering(Duration::ZERO, |_| Answer::text("ok")).await;
    let mut settings = ChatSettings { tries_max: 1, ..ChatSettings::new(name) };
    change(&mut settings.capabilities);
    assert_eq!(hear(&model(&server.base_url, settings), request).await.text(), "ok");
    server.requests().remove(0)
}

#[tokio::test]
async fn a_server_that_takes_no_tools_gets_them_as_text() {
    let server = ModelServer::answering(Duration::ZERO, |request| match request.get("tools") {
        Some(_) => {
            Answer::status("400 Bad Request", json!({"error": "llama3.2 does not support tools"}))
        }
        None => Answer::text("ok"),
    })
    .await;
    let settings = ChatSettings { tries_max: 1, ..ChatSettings::new("llama3.2") };
    let request = ModelRequest { tool_choice: ToolChoice::Auto, ..full() };
    assert_eq!(hear(&model(&server.base_url, settings), request).await.text(), "ok");
    let messages = server.requests().remove(1)["messages"].clone();
    let system = messages[0]["content"].as_str().unwrap();
    assert!(system.contains("- find: Finds.") && system.contains("```json"), "{system}");
    let call = "```json\n{\"arguments\":{\"q\":1},\"name\":\"find\"}\n```";
    assert_eq!(messages[2], json!({"role": "assistant", "content": call}));
    assert_eq!(messages[3], json!({"role": "user", "content": "found"}));
}

#[tokio::test]
async fn a_request_reads_as_the_wire_has_it() {
    let body = asked("llama3.2", full(), |_| {}).await;
    let function = json!({"name": "find", "arguments": "{\"q\":1}"});
    let expected = json!({
        "model": "llama3.2",
        "messages": [
            {"role": "system", "content": "Be brief.\n\nSpeak Korean."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 50,
        "temperature": 0.2,
        "stop": ["END"],
        "tools": [{"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}}],
        "tool_choice": "required",
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_model_that_reasons_is_asked_in_its_own_manner() {
    let body = asked("gpt-5-nano", full(), |_| {}).await;
    assert_eq!(body["max_completion_tokens"], 50);
    for absent in ["max_tokens", "temperature", "stop"] {
        assert_eq!(body[absent], Value::Null, "{absent}");
    }
    assert_eq!(body["messages"][1], json!({"role": "system", "content": "Speak Korean."}));
}

#[tokio::test]
async fn a_model_without_system_messages_hears_them_as_a_users() {
    let body = asked("o1-mini", full(), |_| {}).await;
    let first = json!({"role": "user", "content": "Be brief.\n\nSpeak Korean.\n\nhi"});
    assert_eq!(body["messages"][0], first);
    let none = ModelRequest::new(vec![Message::system("Be brief.")]);
    let body = asked("x", none, |can| can.system = SystemMessages::No).await;
    assert_eq!(body["messages"], json!([{"role": "user", "content": "Be brief."}]));
}

#[tokio::test]
async fn tools_can_be_forbidden_and_not_everyone_can_be_forced() {
    let never = ModelRequest { tool_choice: ToolChoice::Never, ..full() };
    assert_eq!(asked("llama3.2", never, |_| {}).await["tool_choice"], "none");
    assert_eq!(asked("gpt-oss:20b", full(), |_| {}).await["tool_choice"], Value::Null);
    let bare = ModelRequest { tools: Vec::new(), ..full() };
    assert_eq!(asked("llama3.2", bare, |_| {}).await["tool_choice"], Value::Null);
}

#[tokio::test]
async fn what_the_operator_adds_wins() {
    let server = ModelServer::answering(Duration::ZERO, |_| Answer::text("ok")).await;
    let mut settings = settings();
    settings.extra_body.insert("reasoning_effort".to_owned(), json!("minimal"));
    settings.extra_body.insert("temperature".to_owned(), json!(1));
    hear(&model(&server.base_url, settings), full()).await;
    let body = server.requests().remove(0);
    assert_eq!((&body["reasoning_effort"], &body["temperature"]), (&json!("minimal"), &json!(1)));
}

#[tokio::test]
async fn json_is_asked_for_in_three_ways() {
    let native = asked("llama3.2", in_json(), |_| {}).await;
    let format = &native["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["name"], "the_verdict");
    assert_eq!(format["json_schema"]["strict"], true);
    assert_eq!(format["json_schema"]["schema"]["type"], "object");

    let tool = asked("llama3.2", in_json(), |can| can.schema = SchemaMode::Tool).await;
    assert_eq!(tool["tools"][0]["function"]["name"], "the_verdict");
    assert_eq!(
        (&tool["tool_choice"], &tool["response_format"]),
        (&json!("required"), &Value::Null)
    );

    let prompted = asked("llama3.2", in_json(), |can| can.schema = SchemaMode::Prompted).await;
    let system = prompted["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("Answer with one JSON object"), "{system}");
    assert!(system.contains(r#""additionalProperties":false"#), "{system}");
    assert_eq!((&prompted["tools"], &prompted["response_format"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn a_loose_schema_is_not_called_strict() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let output = Output::Json { name: "map".to_owned(), schema: Schema::shared(schema) };
    let body = asked("llama3.2", ModelRequest { output, ..question() }, |_| {}).await;
    assert_eq!(body["response_format"]["json_schema"]["strict"], false);
}

/// A server that refuses requests which hold one of these, in the words given.
async fn without(refused: &'static [(&'static str, &'static str)]) -> ModelServer {
    ModelServer::answering(Duration::ZERO, move |body| {
        let wrong = refused.iter().find(|(field, _)| !body[*field].is_null());
        match wrong {
            Some((_, words)) => {
                Answer::status("400 Bad Request", json!({"error": {"message": words}}))
            }
            None if body["tools"][0]["function"]["name"] == "the_verdict" => {
                Answer::call("the_verdict", "{\"a\": 1}")
            }
            None => Answer::text("{\"a\": 1}"),
        }
    })
    .await
}

#[tokio::test]
async fn a_server_that_takes_no_schema_is_asked_in_a_plainer_way_and_remembered() {
    for (refused, requests) in [
        (&[][..], [1, 1]),
        (&[("response_format", "This response_format type is unavailable now")][..], [2, 1]),
        (&[("response_format", "no"), ("tools", "llama3.2 does not support tools")][..], [3, 1]),
    ] {
        let server = without(refused).await;
        let model = model(&server.base_url, settings());
        let mut before = 0;
        for expected in requests {
            let heard = hear(&model, in_json()).await;
            assert_eq!(heard.text(), "{\"a\": 1}", "{heard:?}");
            let done = ModelEvent::Done { finish: Finish::Stop, model: "llama3.2".to_owned() };
            assert_eq!(heard.events.last(), Some(&done));
            assert_eq!(server.requests().len() - before, expected, "{refused:?}");
            before = server.requests().len();
        }
    }
}

#[tokio::test]
async fn one_schema_that_is_refused_says_nothing_about_another() {
    let server = ModelServer::answering(Duration::ZERO, |body| {
        if body["response_format"]["json_schema"]["name"] == "the_verdict" {
            return Answer::status("400 Bad Request", json!({"error": {"message": "bad schema"}}));
        }
        Answer::text("{}")
    })
    .await;
    let model = model(&server.base_url, settings());
    hear(&model, in_json()).await;
    let Output::Json { schema, .. } = in_json().output else { panic!() };
    let other = Output::Json { name: "other".to_owned(), schema };
    hear(&model, ModelRequest { output: other, ..question() }).await;
    assert_eq!(server.requests()[2]["response_format"]["json_schema"]["name"], "other");
}

#[tokio::test]
async fn what_a_server_complains_of_is_left_out_and_stays_out() {
    let server = without(&[
        ("stream_options", "Extra inputs are not permitted: stream_options"),
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        ("temperature", "'temperature' does not support 0.2 with this model"),
        ("tool_choice", "tool_choice is not supported"),
    ])
    .await;
    let model = model(&server.base_url, settings());
    assert_eq!(hear(&model, full()).await.text(), "{\"a\": 1}");
    assert_eq!(server.requests().len(), 5);
    assert_eq!(hear(&model, full()).await.text(), "{\"a\": 1}");
    assert_eq!(server.requests().len(), 6);
    assert_eq!(server.requests()[5]["max_completion_tokens"], 50);
}

#[tokio::test]
async fn a_request_that_is_wrong_anyway_is_given_up() {
    let server = ModelServer::answering(Duration::ZERO, |_| {
        Answer::status(
            "400 Bad Request",
            json!({"error": {"message": "messages: max_tokens, temperature"}}),
        )
    })
    .await;
    let model = model(&server.base_url, settings());
    let heard = hear(&model, ModelRequest { output: in_json().output, ..full() }).await;
    assert_eq!(heard.error.as_ref().map(kind), Some("bad request"));
    assert!(server.requests().len() <= 6, "{}", server.requests().len());
    // Nothing was learned from it.
    let before = server.requests().len();
    hear(&model, full()).await;
    assert_eq!(server.requests()[before]["temperature"], 0.2);
}

#[tokio::test]
async fn calls_and_thinking_are_the_same_whole_or_in_pieces() {
    for streams in [true, false] {
        let server = ModelServer::answering(Duration::ZERO, |_| {
            Answer::text("<think>흠 흠</think> 샘물 ")
                .thinking("먼저 생각 ")
                .and_call("find", r#"{"query": "샘 물"}"#)
                .and_call("find", "{}")
                .using(7, 3)
        })
        .await;
        let mut settings = settings();
        settings.capabilities.streams = streams;
        let answer = complete(&model(&server.base_url, settings), full()).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.reasoning.as_str()), ("샘물 ", "먼저 생각 흠 흠"));
        let calls: Vec<(&str, &Value)> =
            answer.tool_calls.iter().map(|call| (call.id.as_str(), &call.arguments)).collect();
        assert_eq!(calls, [("call_0", &json!({"query": "샘 물"})), ("call_1", &json!({}))]);
        assert_eq!(answer.finish, Finish::ToolCalls);
        assert_eq!(answer.usage, Usage { input: 7, output: 3, ..Usage::default() });
    }
}

#[tokio::test]
async fn a_model_of_openai_may_write_tags_as_text() {
    let server = ModelServer::start().await;
    server.will_say(Answer::text("<think>a</think>"));
    let settings = ChatSettings::new("gpt-4o");
    let heard = hear(&model(&server.base_url, settings), question()).await;
    assert_eq!(heard.text(), "<think>a</think>");
}

#[tokio::test]
async fn an_answer_cut_off_at_the_cap_says_so() {
    let server = ModelServer::start().await;
    server.will_say(Answer::text("").finish("length"));
    let answer = complete(&model(&server.base_url, settings()), question()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("", Finish::Length));
}
