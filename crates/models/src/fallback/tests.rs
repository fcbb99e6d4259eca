//! Checks when the next model of a chain is asked.

use std::time::Duration;

use agent::model::{Finish, Limit, Message, complete};
use testkit::contracts::language_model::keeps_its_promise;
use testkit::scripted_model::{Script, ScriptedModel, USAGE};

use super::*;

fn model() -> String {
    "a".to_owned()
}

fn why() -> String {
    "why".to_owned()
}

fn chain(first: &ScriptedModel, second: &ScriptedModel) -> FallbackModel {
    FallbackModel::new(Arc::new(first.clone()), vec![Arc::new(second.clone())])
}

/// What comes of a first model that fails in this way before a second that answers.
async fn after(error: ModelError) -> (Result<String, ModelError>, usize) {
    let first = ScriptedModel::new("a").fails(error);
    let second = ScriptedModel::new("b").says("from b");
    let request = ModelRequest::new(vec![Message::user("hi")]);
    let answer = complete(&chain(&first, &second), request.clone()).await;
    let asked = second.requests();
    assert!(asked.iter().all(|asked| *asked == request));
    (answer.map(|answer| format!("{} {}", answer.model, answer.text)), asked.len())
}

#[tokio::test]
async fn the_next_model_is_asked_when_one_is_not_to_be_had() {
    let timed_out = |phase| ModelError::TimedOut { model: model(), phase, after: Duration::ZERO };
    for error in [
        ModelError::Transient { model: model(), why: why(), retry_after: None },
        ModelError::ContextOverflow { model: model(), tokens: None, tokens_max: None },
        ModelError::Unauthorized { model: model(), why: why() },
        ModelError::QuotaSpent { model: model(), why: why() },
        ModelError::Unreachable { model: model(), why: why() },
        ModelError::BrokenStream { model: model(), why: why() },
        ModelError::Malformed { model: model(), why: why() },
        ModelError::LimitReached { model: model(), which: Limit::Waiting(1) },
        timed_out(Phase::Connect),
        timed_out(Phase::FirstToken),
    ] {
        assert_eq!(after(error.clone()).await, (Ok("b from b".to_owned()), 1), "{error}");
    }
}

#[tokio::test]
async fn it_is_not_asked_where_that_would_be_wrong() {
    for error in [
        ModelError::Refused { model: model(), why: why() },
        ModelError::BadRequest { model: model(), why: why() },
        ModelError::TimedOut { model: model(), phase: Phase::Total, after: Duration::ZERO },
    ] {
        assert_eq!(after(error.clone()).await, (Err(error), 0));
    }
}

#[tokio::test]
async fn nobody_goes_on_after_the_first_piece() {
    let error = ModelError::BrokenStream { model: model(), why: why() };
    let events = vec![
        Ok(ModelEvent::Text("half".to_owned())),
        Ok(ModelEvent::Usage(USAGE)),
        Err(error.clone()),
    ];
    let first = ScriptedModel::new("a").plays(Script { events: events.clone(), hangs: false });
    let second = ScriptedModel::new("b").says("from b");
    let heard: Vec<_> = chain(&first, &second).stream(ModelRequest::default()).collect().await;
    assert_eq!(heard, events);
    assert_eq!(second.requests().len(), 0);
}

#[tokio::test]
async fn when_all_fail_the_first_ones_error_is_given() {
    let error = |why: &str| ModelError::Unreachable { model: model(), why: why.to_owned() };
    let first = ScriptedModel::new("a").fails(error("first"));
    let second = ScriptedModel::new("b").fails(error("second"));
    let heard: Vec<_> = chain(&first, &second).stream(ModelRequest::default()).collect().await;
    assert_eq!(heard, [Err(error("first"))]);
}

#[tokio::test]
async fn a_refusal_after_a_failure_is_what_is_told() {
    let down = ModelError::Unreachable { model: model(), why: why() };
    let refused = ModelError::Refused { model: "b".to_owned(), why: why() };
    let first = ScriptedModel::new("a").fails(down);
    let second = ScriptedModel::new("b").fails(refused.clone());
    let third = ScriptedModel::new("c").says("from c");
    let others: Vec<Arc<dyn LanguageModel>> = vec![Arc::new(second), Arc::new(third.clone())];
    let chain = FallbackModel::new(Arc::new(first), others);
    assert_eq!(complete(&chain, ModelRequest::default()).await, Err(refused));
    assert_eq!(third.requests().len(), 0);
}

#[tokio::test]
async fn what_a_failed_model_used_is_not_booked_to_the_next() {
    let error = ModelError::Malformed { model: model(), why: why() };
    let events = vec![Ok(ModelEvent::Usage(USAGE)), Err(error)];
    let first = ScriptedModel::new("a").plays(Script { events, hangs: false });
    let second = ScriptedModel::new("b").says("from b");
    let answer = complete(&chain(&first, &second), ModelRequest::default()).await.unwrap();
    assert_eq!((answer.usage, answer.model.as_str()), (USAGE, "b"));
}

#[tokio::test]
async fn an_empty_answer_is_an_answer() {
    let first = ScriptedModel::new("a").says("");
    let second = ScriptedModel::new("b").says("from b");
    let answer = complete(&chain(&first, &second), ModelRequest::default()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("", Finish::Stop));
    assert_eq!(answer.usage, USAGE);
    assert_eq!(second.requests().len(), 0);
}

#[tokio::test]
async fn it_keeps_the_promise_of_its_port() {
    let script = ScriptedModel::new("a").script_saying("hello there");
    let first = ScriptedModel::answering("a", move |_| script.clone());
    assert_eq!(chain(&first, &first).name(), "a, then a");
    keeps_its_promise(&first).await;
    keeps_its_promise(&chain(&first, &ScriptedModel::new("b"))).await;
}
