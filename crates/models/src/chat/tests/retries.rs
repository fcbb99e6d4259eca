//! Checks what is tried again, and how long is waited.

use testkit::fault_server::{Fault, FaultServer};
use testkit::model_server::{Answer, ModelServer};
use tokio::time::Instant;

use super::*;

fn patient() -> ChatSettings {
    ChatSettings { tries_max: 3, ..settings() }
}

/// The text after these faults, and how many requests it took.
async fn after(faults: impl IntoIterator<Item = Fault>, settings: ChatSettings) -> (Heard, usize) {
    let server = FaultServer::start(faults).await;
    let heard = hear(&model(&server.base_url, settings), question()).await;
    (heard, server.requests())
}

#[tokio::test]
async fn what_may_pass_is_asked_again() {
    for fault in [
        Fault::status("500 Internal Server Error", ""),
        Fault::status("503 Service Unavailable", ""),
        Fault::status("429 Too Many Requests", ""),
        Fault::too_many("0"),
        Fault::too_many("Sun, 06 Nov 1994 08:49:37 GMT"),
        Fault::Hangup,
        Fault::ErrorFirst,
        Fault::CutInArguments,
    ] {
        let (heard, requests) = after([fault.clone(), fault.clone(), Fault::None], patient()).await;
        assert_eq!((heard.text().as_str(), requests), ("샘물", 3), "{fault:?}: {heard:?}");
    }
}

#[tokio::test]
async fn tries_come_to_an_end() {
    let (heard, requests) = after([Fault::status("500 Oops", "")], patient()).await;
    assert_eq!((heard.error.as_ref().map(kind), requests), (Some("transient"), 3));
}

#[tokio::test]
async fn what_cannot_pass_is_asked_once() {
    let quota = r#"{"error":{"message":"m","code":"insufficient_quota"}}"#;
    let no = vec![("x-should-retry", "false".to_owned())];
    for fault in [
        Fault::status("401 Unauthorized", ""),
        Fault::status("404 Not Found", ""),
        Fault::status("400 Bad Request", ""),
        Fault::status("429 Too Many Requests", quota),
        Fault::Status("500 Internal Server Error", no, String::new()),
        Fault::Html,
        Fault::LongLine,
        Fault::BrokenArguments,
    ] {
        let (heard, requests) = after([fault.clone(), Fault::None], patient()).await;
        assert!(heard.error.is_some(), "{fault:?}: {heard:?}");
        assert_eq!(requests, 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_server_that_wants_to_be_asked_again_is() {
    let yes = vec![("x-should-retry", "true".to_owned())];
    let fault = Fault::Status("400 Bad Request", yes, String::new());
    let (heard, requests) = after([fault, Fault::None], patient()).await;
    assert_eq!((heard.text().as_str(), requests), ("샘물", 2));
}

#[tokio::test]
async fn nothing_is_asked_again_once_something_was_given() {
    for fault in [Fault::CutWithoutFinish, Fault::CutInTransfer, Fault::ErrorInStream] {
        let (heard, requests) = after([fault.clone(), Fault::None], patient()).await;
        assert!(heard.text().starts_with("샘") && heard.error.is_some(), "{fault:?}: {heard:?}");
        assert_eq!(requests, 1, "{fault:?}");
    }
}

#[tokio::test]
async fn what_failed_tries_used_is_counted() {
    let (heard, _) = after([Fault::CutInArguments, Fault::None], patient()).await;
    let usage = heard.usage().unwrap();
    assert!(usage.is_estimated && usage.input > 5 && usage.output > 2, "{usage:?}");
}

#[tokio::test]
async fn the_wait_that_a_server_asks_for_is_kept_and_capped() {
    for absurd in ["86400", "1e300", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let settings = ChatSettings { retry_wait_max: SOON, ..patient() };
        let before = Instant::now();
        let (heard, requests) = after([Fault::too_many(absurd), Fault::None], settings).await;
        assert_eq!((heard.text().as_str(), requests), ("샘물", 2), "{absurd}");
        let waited = before.elapsed();
        assert!(waited >= SOON && waited < HANGS, "{absurd}: {waited:?}");
    }
}

#[tokio::test]
async fn a_wait_that_outlasts_the_call_is_not_begun() {
    let settings = ChatSettings {
        retry_wait_max: Duration::from_secs(3600),
        total_time_max: Duration::from_secs(600),
        ..patient()
    };
    let before = Instant::now();
    let (heard, requests) = after([Fault::too_many("86400"), Fault::None], settings).await;
    assert_eq!((heard.error.as_ref().map(kind), requests), (Some("transient"), 1));
    assert!(before.elapsed() < HANGS);
    let Some(ModelError::Transient { retry_after, .. }) = heard.error else { panic!() };
    assert_eq!(retry_after, Some(Duration::from_secs(3600)), "an hour is the most that is told");
}

#[tokio::test]
async fn milliseconds_are_understood_too() {
    let server = ModelServer::start().await;
    let busy = serde_json::json!({"error": {"message": "busy"}});
    server.will_say(
        Answer::status("429 Too Many Requests", busy)
            .header("retry-after-ms", "1")
            .header("retry-after", "600"),
    );
    server.will_say(Answer::text("ok"));
    let settings = ChatSettings { retry_wait_max: Duration::from_secs(3600), ..patient() };
    assert_eq!(hear(&model(&server.base_url, settings), question()).await.text(), "ok");
}

/// Answers the first request of each connection, and closes at the second without a word.
async fn forgetful() -> (String, tokio::task::JoinSet<()>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            if stream.read(&mut request).await.unwrap() == 0 {
                continue;
            }
            let body = r#"{"choices":[{"message":{"content":"샘물"},"finish_reason":"stop"}]}"#;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nkeep-alive: timeout=5";
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
            let _second = stream.read(&mut request).await;
        }
    });
    (base_url, serving)
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_costs_no_try() {
    let (base_url, _serving) = forgetful().await;
    let model = model(&base_url, settings());
    for _ in 0..3 {
        let heard = hear(&model, question()).await;
        assert_eq!((heard.text().as_str(), &heard.error), ("샘물", &None));
    }
}
