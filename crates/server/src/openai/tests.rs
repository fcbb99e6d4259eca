//! Checks what is taken from a client's request, and the form of what it gets.

use std::sync::Arc;

use agent::identity::Timestamp;
use agent::knowledge::{Excerpt, Found, Passage};
use agent::retrieval::Marks;
use agent::turn::{Citation, Outcome, TurnId, TurnRecord};
use engine::chat::Talk;
use http::HeaderValue;
use serde_json::{Value, json};

use super::answer::Answering;
use super::request::ChatRequest;

#[track_caller]
fn refused(body: &Value, why: &str) {
    let read = ChatRequest::read(body.to_string().as_bytes());
    let problem = read.and_then(|request| request.question(None).map(|_| ())).unwrap_err();
    assert!(problem.detail.contains(why), "{}", problem.detail);
}

#[test]
fn a_request_is_read_with_patience_and_its_last_words_are_the_question() {
    let body = json!({
        "model": "gpt-4o", "temperature": 0.3, "tools": [], "logit_bias": {}, "x": 1,
        "messages": [
            {"role": "system", "content": "You are a pirate."},
            {"role": "user", "content": "11월 분석해줘"},
            {"role": "assistant", "content": "네.", "tool_calls": null},
            {"role": "user", "content": [{"type": "text", "text": "1월은?"}]},
        ],
    });
    let request = ChatRequest::read(body.to_string().as_bytes()).unwrap();
    let question = request.question(None).unwrap();
    assert_eq!((question.text.as_str(), question.conversation), ("1월은?", Talk::Unkept));
    assert_eq!(question.told.len(), 1);
    assert_eq!(question.told[0].question, "11월 분석해줘");
    assert!(!request.stream && !request.wants_usage());
}

#[test]
fn a_session_comes_from_the_header_or_the_user() {
    let session = |user: Value, header: Option<&'static str>| {
        let body = json!({"messages": [{"role": "user", "content": "x"}], "user": user});
        let request = ChatRequest::read(body.to_string().as_bytes()).unwrap();
        let header = header.map(HeaderValue::from_static);
        request.question(header.as_ref()).map(|question| question.conversation)
    };
    let known = |name: &str| Talk::Known(name.parse().unwrap());
    assert_eq!(session(json!("mina"), Some("s-1")).unwrap(), known("s-1"));
    assert_eq!(session(json!("mina@example.com"), None).unwrap(), known("mina@example.com"));
    assert_eq!(session(json!(null), None).unwrap(), Talk::Unkept);
    let korean = session(json!("홍길동"), None).unwrap();
    assert_eq!(korean, session(json!("홍길동"), None).unwrap());
    assert_ne!(korean, session(json!("홍길순"), None).unwrap());
    assert!(session(json!(null), Some("a b")).is_err());
}

#[test]
fn what_cannot_be_answered_is_refused_with_the_reason() {
    let ask = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    refused(&json!({"messages": []}), "must be the user's");
    refused(&json!({}), "messages");
    refused(&ask(json!([{"type": "image_url", "image_url": {"url": "x"}}])), "Saem reads text");
    refused(&json!({"messages": [{"role": "wizard", "content": "x"}]}), "wizard");
    refused(&json!({"n": 2, "messages": []}), "one answer");
    let last = json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]);
    refused(&json!({ "messages": last }), "must be the user's");
}

fn record() -> TurnRecord {
    let excerpt = Excerpt {
        document: "0".repeat(32).parse().unwrap(),
        chunk: 0,
        section: format!("{}.3", "0".repeat(32)).parse().unwrap(),
        title: "예산".to_owned(),
        source: "guides/budgets.md".to_owned(),
        heading_path: vec!["예산".to_owned(), "알림".to_owned()],
        text: "text".to_owned(),
        range: 0..4,
        tags: agent::filter::Tags::new(),
        marks: Marks::default(),
    };
    let passage = Passage { excerpt: Arc::new(excerpt), score: 1.0, found: Found::default() };
    TurnRecord {
        id: TurnId::new("s1".parse().unwrap(), Timestamp(1_700_000_000_123), 7),
        number: 1,
        at: Timestamp(1_700_000_000_123),
        question: "q".to_owned(),
        answer: "예산을 넘으면 [1] 알립니다. [1]".to_owned(),
        outcome: Outcome::Answered,
        query: "q".to_owned(),
        citations: vec![Citation::new(1, &passage)],
        menu: vec![],
        done: vec![],
        passages: vec![],
        context: vec![],
        calls: vec![],
        took_milliseconds: 1,
        notes: vec!["no model".to_owned()],
        persisted: true,
    }
}

fn answering(record: &TurnRecord) -> Answering {
    Answering::new(&record.id, "http://127.0.0.1:7777".to_owned(), true)
}

#[test]
fn a_whole_answer_has_its_citations_by_character() {
    let record = record();
    let whole = answering(&record).whole(&record).unwrap();
    let whole = serde_json::to_value(whole).unwrap();
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["content"], "예산을 넘으면 [1] 알립니다. [1]\n\n> no model");
    assert_eq!(whole["created"], 1_700_000_000_u64);
    let annotations = message["annotations"].as_array().unwrap();
    assert_eq!(annotations.len(), 2);
    let content: Vec<char> = message["content"].as_str().unwrap().chars().collect();
    for annotation in annotations {
        let cited = &annotation["url_citation"];
        let range = |name: &str| cited[name].as_u64().unwrap() as usize;
        let text: String = content[range("start_index")..range("end_index")].iter().collect();
        assert_eq!(text, "[1]");
        assert_eq!(cited["title"], "예산 › 알림");
        let url = format!("http://127.0.0.1:7777/api/sections/{}.3", "0".repeat(32));
        assert_eq!(cited["url"], url);
    }
}

#[test]
fn a_stream_ends_with_its_annotations_a_reason_and_usage() {
    let record = record();
    let mut answering = answering(&record);
    let told = answering.piece("예산을 ") + &answering.end(&record);
    let data: Vec<&str> =
        told.split("\n\n").filter_map(|part| part.strip_prefix("data: ")).collect();
    assert_eq!(data.last(), Some(&"[DONE]"));
    let chunks: Vec<Value> =
        data[..data.len() - 1].iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    assert_eq!(
        chunks[0]["choices"][0]["delta"],
        json!({"role": "assistant", "content": "예산을 "})
    );
    assert_eq!(chunks[1]["choices"][0]["delta"]["content"], "\n\n> no model");
    assert_eq!(chunks[2]["choices"][0]["delta"]["annotations"].as_array().unwrap().len(), 2);
    assert_eq!(chunks[3]["choices"][0]["finish_reason"], "stop");
    assert_eq!(chunks[3]["saem"]["session"], "s1");
    assert_eq!(
        (&chunks[4]["choices"], &chunks[4]["usage"]["total_tokens"]),
        (&json!([]), &json!(0))
    );
}

#[test]
fn an_answer_that_broke_off_never_looks_finished() {
    let record = TurnRecord { outcome: Outcome::Incomplete, ..record() };
    let mut answering = answering(&record);
    let told = answering.end(&record);
    assert!(told.contains("\"error\"") && !told.contains("[DONE]"), "{told}");
    let problem = answering.whole(&record).err().unwrap();
    assert_eq!((problem.status.as_u16(), problem.code), (502, "incomplete_answer"));
    let long = TurnRecord { outcome: Outcome::Long, ..record };
    let whole = serde_json::to_value(answering.whole(&long).unwrap()).unwrap();
    assert_eq!(whole["choices"][0]["finish_reason"], "length");
}
