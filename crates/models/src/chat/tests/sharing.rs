//! Checks limits on calls at a time, the breaker, and that a dropped call closes its connection.

use agent::model::{Limit, complete};
use testkit::contracts::language_model::keeps_its_promise;
use testkit::fault_server::{Fault, FaultServer};
use testkit::model_server::{Answer, ModelServer};
use tokio::time::Instant;

use super::super::SecretKey;
use super::*;

#[tokio::test]
async fn it_keeps_the_promise_of_its_port() {
    let server =
        ModelServer::answering(Duration::ZERO, |_| Answer::text("샘은 솟는 물입니다.")).await;
    keeps_its_promise(&model(&server.base_url, settings())).await;
    let mut whole = settings();
    whole.capabilities.streams = false;
    keeps_its_promise(&model(&server.base_url, whole)).await;
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = ModelServer::answering(Duration::ZERO, |_| Answer::text("a b c")).await;
    let model = model(&server.base_url, settings());
    for _ in 0..3 {
        assert_eq!(hear(&model, question()).await.text(), "a b c");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn the_key_is_sent_and_never_shown() {
    let server = ModelServer::start().await;
    let repeated = serde_json::json!({"error": {"message": "bad key sk-s3cret given"}});
    for status in ["401 Unauthorized", "400 Bad Request", "500 Oops"] {
        server.will_say(Answer::status(status, repeated.clone()));
    }
    let endpoint = Endpoint::new(EndpointSettings {
        api_key: Some(SecretKey::new("sk-s3cret")),
        ..EndpointSettings::new(&server.base_url)
    })
    .unwrap();
    let model = ChatModel::new(endpoint, settings());
    assert!(!format!("{model:?}").contains("s3cret"));
    for _ in 0..3 {
        let error = hear(&model, question()).await.error.unwrap();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    }
    assert!(server.heads()[0].contains("authorization: bearer sk-s3cret"));
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_before_anything_is_sent() {
    for wrong in ["localhost", "ftp://x/v1", "http://a:s3cret@x/v1", "http://x/v1?k=s3cret"] {
        let error = Endpoint::new(EndpointSettings::new(wrong)).unwrap_err();
        assert!(error.to_string().starts_with("the model server's base URL"), "{error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}

#[tokio::test]
async fn no_more_ask_at_once_than_may() {
    let server = ModelServer::answering(Duration::from_millis(5), |_| Answer::text("a b")).await;
    let endpoint = Endpoint::new(EndpointSettings {
        concurrency_max: 2,
        ..EndpointSettings::new(&server.base_url)
    })
    .unwrap();
    // The cap is the server's, whatever the model.
    let models = [settings(), ChatSettings { model: "other".to_owned(), ..settings() }];
    let models = models.map(|settings| ChatModel::new(Arc::clone(&endpoint), settings));
    let asks = models.iter().cycle().take(8).map(|model| complete(model, question()));
    let answers = timeout(HANGS, futures_util::future::join_all(asks)).await.unwrap();
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.text == "a b")));
    assert_eq!(server.requests_at_once_max(), 2);
}

#[tokio::test]
async fn who_would_wait_too_far_back_is_refused_at_once() {
    let server = FaultServer::start([Fault::Silence]).await;
    let endpoint = Endpoint::new(EndpointSettings {
        concurrency_max: 1,
        waiting_max: 1,
        ..EndpointSettings::new(&server.base_url)
    })
    .unwrap();
    let model = ChatModel::new(endpoint, settings());
    let mut first = model.stream(question());
    let mut second = model.stream(question());
    assert!(timeout(SOON, first.next()).await.is_err());
    assert!(timeout(SOON, second.next()).await.is_err());
    let third = hear(&model, question()).await.error;
    assert!(
        matches!(third, Some(ModelError::LimitReached { which: Limit::Waiting(1), .. })),
        "{third:?}"
    );
    // Whoever goes makes room.
    drop(second);
    let mut fourth = model.stream(question());
    assert!(timeout(SOON, fourth.next()).await.is_err());
}

#[tokio::test]
async fn waiting_for_a_turn_counts_as_time() {
    let server = FaultServer::start([Fault::Silence]).await;
    let endpoint = Endpoint::new(EndpointSettings {
        concurrency_max: 1,
        ..EndpointSettings::new(&server.base_url)
    })
    .unwrap();
    let long = ChatModel::new(Arc::clone(&endpoint), settings());
    let short = ChatModel::new(endpoint, ChatSettings { total_time_max: SOON, ..settings() });
    let mut first = long.stream(question());
    assert!(timeout(SOON, first.next()).await.is_err());
    let error = hear(&short, question()).await.error.unwrap();
    assert_eq!(kind(&error), "timed out");
    assert!(server.requests() <= 1, "only the first was sent");
}

#[tokio::test]
async fn a_server_that_fails_again_and_again_is_left_alone_for_a_while() {
    let down = Fault::status("500 Oops", "");
    let server = FaultServer::start([down.clone(), down, Fault::None]).await;
    let endpoint = Endpoint::new(EndpointSettings {
        failures_max: 2,
        rest: SOON,
        ..EndpointSettings::new(&server.base_url)
    })
    .unwrap();
    let model = ChatModel::new(endpoint, settings());
    for _ in 0..2 {
        assert_eq!(hear(&model, question()).await.error.as_ref().map(kind), Some("transient"));
    }
    let resting = Instant::now();
    loop {
        let heard = hear(&model, question()).await;
        match heard.error {
            Some(error) => {
                assert!(error.to_string().contains("left alone"), "{error}");
                assert_eq!(server.requests(), 2, "nothing is sent meanwhile");
                tokio::task::yield_now().await;
            }
            None => break,
        }
    }
    assert!(resting.elapsed() >= SOON / 2, "{:?}", resting.elapsed());
}

#[tokio::test]
async fn a_refused_key_is_no_outage() {
    let server = FaultServer::start([Fault::status("401 No", "")]).await;
    let endpoint = Endpoint::new(EndpointSettings {
        failures_max: 1,
        ..EndpointSettings::new(&server.base_url)
    })
    .unwrap();
    let model = ChatModel::new(endpoint, settings());
    for _ in 0..3 {
        assert_eq!(hear(&model, question()).await.error.as_ref().map(kind), Some("unauthorized"));
    }
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn many_can_ask_at_once_and_nobody_gets_anothers_answer() {
    let server = ModelServer::answering(Duration::from_millis(2), |request| {
        Answer::text(request["messages"][0]["content"].as_str().unwrap())
    })
    .await;
    let model = model(&server.base_url, settings());
    let asks = (0..100).map(|number| {
        let model = model.clone();
        async move {
            let text = format!("question number {number}");
            let request = ModelRequest::new(vec![Message::user(&*text)]);
            assert_eq!(complete(&model, request).await.unwrap().text, text);
        }
    });
    timeout(HANGS, futures_util::future::join_all(asks)).await.unwrap();
}
