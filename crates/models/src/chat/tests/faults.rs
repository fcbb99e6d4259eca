//! Checks what every kind of broken server comes to, and when.

use agent::model::{Finish, Limit, Phase};
use testkit::fault_server::{Fault, FaultServer, nobody};
use tokio::time::Instant;

use super::*;

/// What comes of a fault: its text, then the kind of its error or nothing.
#[track_caller]
fn check(heard: &Heard, fault: &Fault, text: &str, expected: Option<&str>) {
    assert_eq!(heard.text(), text, "{fault:?}: {heard:?}");
    assert_eq!(heard.error.as_ref().map(kind), expected, "{fault:?}: {heard:?}");
}

async fn meet(fault: Fault) -> Heard {
    let server = FaultServer::start([fault]).await;
    hear(&model(&server.base_url, settings()), question()).await
}

#[tokio::test]
async fn every_refusal_has_its_kind() {
    let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let long = r#"{"error":{"code":400,"message":"too long","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#;
    let filter = r#"{"error":{"message":"filtered","code":"content_filter"}}"#;
    for (status, body, expected) in [
        ("401 Unauthorized", "", "unauthorized"),
        ("403 Forbidden", "", "unauthorized"),
        ("402 Payment Required", "", "quota"),
        ("404 Not Found", r#"{"error":"model \"llama3.2\" not found"}"#, "unreachable"),
        ("307 Temporary Redirect", "", "unreachable"),
        ("400 Bad Request", r#"{"error":{"message":"what?"}}"#, "bad request"),
        ("400 Bad Request", long, "overflow"),
        ("413 Payload Too Large", "", "overflow"),
        ("400 Bad Request", filter, "refused"),
        ("422 Unprocessable Entity", r#"{"detail":[{"msg":"no"}]}"#, "bad request"),
        ("429 Too Many Requests", "", "transient"),
        ("429 Too Many Requests", quota, "quota"),
        ("500 Internal Server Error", "oops", "transient"),
        ("503 Service Unavailable", "", "transient"),
        ("529 Overloaded", "", "transient"),
    ] {
        let fault = Fault::status(status, body);
        check(&meet(fault.clone()).await, &fault, "", Some(expected));
    }
}

#[tokio::test]
async fn a_refusal_is_told_in_words_that_help() {
    let long = r#"{"error":{"message":"x","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#;
    let error = meet(Fault::status("400 Bad Request", long)).await.error.unwrap().to_string();
    assert!(error.contains("(9000 tokens where 8192 fit): shorten it"), "{error}");
    let unknown = r#"{"error":"model \"llama3.2\" not found, try pulling it first"}"#;
    let error = meet(Fault::status("404 Not Found", unknown)).await.error.unwrap().to_string();
    assert!(error.contains("404: model \"llama3.2\" not found, try pulling it first"), "{error}");
    assert!(error.starts_with("llama3.2 at http://127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn what_is_no_answer_is_not_read_as_one() {
    for fault in [Fault::Html, Fault::GzipBomb] {
        check(&meet(fault.clone()).await, &fault, "", Some("malformed"));
    }
    let json = Fault::Status(
        "200 OK",
        vec![("content-type", "application/json".to_owned())],
        r#"{"status":"ok"}"#.to_owned(),
    );
    check(&meet(json.clone()).await, &json, "", Some("broken"));
    let plain = Fault::Status("200 OK", vec![], "It works!".to_owned());
    check(&meet(plain.clone()).await, &plain, "", Some("malformed"));
    let empty = Fault::status("200 OK", "");
    check(&meet(empty.clone()).await, &empty, "", Some("broken"));
}

#[tokio::test]
async fn the_bomb_is_one_for_whoever_unpacks_it() {
    let server = FaultServer::start([Fault::GzipBomb]).await;
    let address = server.base_url.parse().unwrap();
    let client = crate::http::client("the test", &address, None, |limits| limits).unwrap();
    let mut response = client.get(address).send().await.unwrap();
    let mut bytes = 0;
    while bytes < 10_000_000 {
        bytes += timeout(HANGS, response.chunk()).await.unwrap().unwrap().unwrap().len();
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_never_finished() {
    for (fault, text) in [
        (Fault::Hangup, ""),
        (Fault::CutInCharacter, "샘"),
        (Fault::CutInJson, "샘"),
        (Fault::CutInArguments, ""),
        (Fault::CutWithoutFinish, "샘물"),
        (Fault::CutInTransfer, "샘"),
    ] {
        check(&meet(fault.clone()).await, &fault, text, Some("broken"));
    }
    let fault = Fault::ErrorInStream;
    let heard = meet(fault.clone()).await;
    check(&heard, &fault, "샘", Some("transient"));
    assert!(heard.error.unwrap().to_string().contains("500: the engine died"));
}

#[tokio::test]
async fn what_was_used_before_a_break_is_told() {
    let usage = meet(Fault::CutWithoutFinish).await.usage().unwrap();
    assert!(usage.is_estimated && usage.input > 0 && usage.output > 0, "{usage:?}");
    assert_eq!(meet(Fault::status("500 Oops", "")).await.usage(), None);
}

#[tokio::test]
async fn a_call_with_broken_arguments_is_not_made() {
    let heard = meet(Fault::BrokenArguments).await;
    check(&heard, &Fault::BrokenArguments, "", Some("broken call"));
    let error = heard.error.as_ref().unwrap().to_string();
    assert!(error.contains("the arguments of its call to `search` are no JSON"), "{error}");
    let made = heard.events.iter().any(|event| matches!(event, ModelEvent::ToolCall(_)));
    assert!(!made, "{heard:?}");
}

#[tokio::test]
async fn a_line_of_ten_megabytes_is_an_error() {
    let heard = meet(Fault::LongLine).await;
    let expected = Limit::LineBytes(1024 * 1024);
    assert!(
        matches!(&heard.error, Some(ModelError::LimitReached { which, .. }) if *which == expected),
        "{heard:?}"
    );
}

#[tokio::test]
async fn an_answer_without_an_end_is_stopped_at_the_limit_and_the_server_sees_it() {
    let server = FaultServer::start([Fault::Endless]).await;
    let settings = ChatSettings { output_bytes_max: 10_000, ..settings() };
    let heard = hear(&model(&server.base_url, settings), question()).await;
    let expected = Limit::OutputBytes(10_000);
    assert!(
        matches!(&heard.error, Some(ModelError::LimitReached { which, .. }) if *which == expected),
        "{heard:?}"
    );
    assert!(heard.text().len() > 9_000 && heard.text().len() <= 10_000);
    timeout(HANGS, server.saw_closed(1)).await.unwrap();
}

#[tokio::test]
async fn unusual_clothes_do_not_change_an_answer() {
    for fault in [
        Fault::None,
        Fault::DoubleFinish,
        Fault::CutAfterFinish,
        Fault::MixedLineEnds,
        Fault::ByteOrderMark,
        Fault::Comments,
    ] {
        let heard = meet(fault.clone()).await;
        check(&heard, &fault, "샘물", None);
        let usage = Usage { input: 5, output: 2, ..Usage::default() };
        assert_eq!(heard.usage(), Some(usage), "{fault:?}");
        let done = ModelEvent::Done { finish: Finish::Stop, model: "llama3.2".to_owned() };
        assert_eq!(heard.events.last(), Some(&done), "{fault:?}");
    }
}

#[tokio::test]
async fn missing_usage_is_estimated_and_says_so() {
    let heard = meet(Fault::NoUsage).await;
    check(&heard, &Fault::NoUsage, "샘물", None);
    // "샘이 뭐야?" has 14 bytes and "샘물" 6.
    let usage = Usage { input: 4, output: 2, is_estimated: true, ..Usage::default() };
    assert_eq!(heard.usage(), Some(usage));
}

#[tokio::test]
async fn an_answer_that_is_over_does_not_wait_for_the_goodbye() {
    let server = FaultServer::start([Fault::NoDone]).await;
    let before = Instant::now();
    let heard = hear(&model(&server.base_url, settings()), question()).await;
    check(&heard, &Fault::NoDone, "샘물", None);
    assert!(before.elapsed() < settings().between_tokens_time_max);
    assert_eq!(heard.usage(), Some(Usage { input: 5, output: 2, ..Usage::default() }));
}

/// The phase in which a fault runs out of time, and the text before that.
async fn phase(fault: Fault, settings: ChatSettings) -> (Phase, String) {
    let server = FaultServer::start([fault]).await;
    let before = Instant::now();
    let heard = hear(&model(&server.base_url, settings), question()).await;
    assert!(before.elapsed() < HANGS, "{:?}", before.elapsed());
    // On a busy machine the time may be up before the request is out.
    if server.requests() > 0 {
        timeout(HANGS, server.saw_closed(1)).await.unwrap();
    }
    let text = heard.text();
    match heard.error {
        Some(ModelError::TimedOut { phase, after, .. }) if after == SOON => (phase, text),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_wait_ends_in_its_time_and_closes_the_connection() {
    let first = || ChatSettings { first_token_time_max: SOON, ..settings() };
    let between = || ChatSettings { between_tokens_time_max: SOON, ..settings() };
    let total = || ChatSettings { total_time_max: SOON, ..settings() };
    let nothing = || String::new();
    assert_eq!(phase(Fault::Silence, first()).await, (Phase::FirstToken, nothing()));
    assert_eq!(phase(Fault::SlowHeaders, first()).await, (Phase::FirstToken, nothing()));
    assert_eq!(phase(Fault::SlowBody, between()).await, (Phase::BetweenTokens, "샘".to_owned()));
    assert_eq!(phase(Fault::Stall, between()).await, (Phase::BetweenTokens, "샘".to_owned()));
    assert_eq!(phase(Fault::Silence, total()).await, (Phase::Total, nothing()));
    let unlimited = ChatSettings { output_bytes_max: usize::MAX, ..total() };
    assert_eq!(phase(Fault::Endless, unlimited).await.0, Phase::Total);
}

#[tokio::test]
async fn nobody_at_the_address_is_told_as_such() {
    let heard = hear(&model(&nobody().await, settings()), question()).await;
    assert_eq!(heard.error.as_ref().map(kind), Some("unreachable"), "{heard:?}");
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = FaultServer::start([Fault::Stall, Fault::Silence]).await;
    let model = model(&server.base_url, settings());
    let mut stream = model.stream(question());
    let first = timeout(HANGS, stream.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(first, ModelEvent::Text("샘".to_owned()));
    drop(stream);
    timeout(HANGS, server.saw_closed(1)).await.unwrap();

    // Also before there is a first token.
    let mut stream = model.stream(question());
    tokio::select! {
        event = stream.next() => panic!("{event:?}"),
        () = server.saw_requests(2) => {}
    }
    drop(stream);
    timeout(HANGS, server.saw_closed(2)).await.unwrap();
}
