//! The promise of a language model, for one that answers any question with some text.

use agent::model::{LanguageModel, Message, ModelEvent, ModelRequest, complete};
use futures_util::StreamExt as _;

pub async fn keeps_its_promise(model: &dyn LanguageModel) {
    let request = || ModelRequest::new(vec![Message::user("Say something.")]);
    let mut stream = model.stream(request());
    let (mut text, mut events) = (String::new(), Vec::new());
    while let Some(event) = stream.next().await {
        let event = event.unwrap();
        if let ModelEvent::Text(piece) = &event {
            assert!(!piece.is_empty(), "an empty piece says nothing");
            text.push_str(piece);
        }
        events.push(event);
    }
    assert!(!text.is_empty(), "it says something");
    let place = |wanted: fn(&ModelEvent) -> bool| -> Vec<usize> {
        (0..).zip(&events).filter(|(_, event)| wanted(event)).map(|(place, _)| place).collect()
    };
    let last = events.len() - 1;
    assert_eq!(place(|event| matches!(event, ModelEvent::Done { .. })), [last], "once and last");
    assert_eq!(place(|event| matches!(event, ModelEvent::Usage(_))), [last - 1], "before the end");

    let whole = complete(model, request()).await.unwrap();
    assert_eq!(whole.text, text, "whole or in pieces, it is the same");

    let mut dropped = model.stream(request());
    assert!(dropped.next().await.unwrap().is_ok());
    drop(dropped);
    assert_eq!(
        complete(model, request()).await.unwrap().text,
        text,
        "a dropped answer harms no other"
    );
}
