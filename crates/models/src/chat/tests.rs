//! What the tests of the client share.

mod assembly;
mod dialects;
mod faults;
mod retries;
mod sharing;
mod structured;

use std::sync::Arc;
use std::time::Duration;

use agent::model::{LanguageModel as _, Message, ModelError, ModelEvent, ModelRequest, Usage};
use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::{ChatModel, ChatSettings, Endpoint, EndpointSettings};

/// Far more than anything here takes: whoever waits for it hangs.
const HANGS: Duration = Duration::from_secs(30);

/// Short enough to be waited for in a test.
const SOON: Duration = Duration::from_millis(80);

fn endpoint(base_url: &str) -> Arc<Endpoint> {
    Endpoint::new(EndpointSettings::new(base_url)).unwrap()
}

/// One try, and time enough.
fn settings() -> ChatSettings {
    ChatSettings {
        tries_max: 1,
        retry_wait_first: Duration::from_millis(1),
        retry_wait_max: Duration::from_millis(2),
        ..ChatSettings::new("llama3.2")
    }
}

fn model(base_url: &str, settings: ChatSettings) -> ChatModel {
    ChatModel::new(endpoint(base_url), settings)
}

fn question() -> ModelRequest {
    ModelRequest::new(vec![Message::user("샘이 뭐야?")])
}

/// All that was given, and the error if that was the end.
#[derive(Debug)]
struct Heard {
    events: Vec<ModelEvent>,
    error: Option<ModelError>,
}

impl Heard {
    fn text(&self) -> String {
        let texts = self.events.iter().filter_map(|event| match event {
            ModelEvent::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    fn usage(&self) -> Option<Usage> {
        let mut usages = self.events.iter().filter_map(|event| match event {
            ModelEvent::Usage(usage) => Some(*usage),
            _ => None,
        });
        let usage = usages.next();
        assert_eq!(usages.next(), None, "usage comes once");
        usage
    }

    fn is_done(&self) -> bool {
        matches!(self.events.last(), Some(ModelEvent::Done { .. }))
    }
}

async fn hear(model: &ChatModel, request: ModelRequest) -> Heard {
    let mut stream = model.stream(request);
    let mut heard = Heard { events: Vec::new(), error: None };
    while let Some(event) = timeout(HANGS, stream.next()).await.expect("it hangs") {
        assert!(heard.error.is_none() && !heard.is_done(), "something after the end: {event:?}");
        match event {
            Ok(event) => heard.events.push(event),
            Err(error) => heard.error = Some(error),
        }
    }
    assert_ne!(heard.is_done(), heard.error.is_some(), "an end or an error: {heard:?}");
    heard
}

/// The kind of an error, in short.
fn kind(error: &ModelError) -> &'static str {
    match error {
        ModelError::Transient { .. } => "transient",
        ModelError::ContextOverflow { .. } => "overflow",
        ModelError::Refused { .. } => "refused",
        ModelError::Unauthorized { .. } => "unauthorized",
        ModelError::QuotaSpent { .. } => "quota",
        ModelError::BadRequest { .. } => "bad request",
        ModelError::TimedOut { .. } => "timed out",
        ModelError::Unreachable { .. } => "unreachable",
        ModelError::BrokenStream { .. } => "broken",
        ModelError::BrokenCall { .. } => "broken call",
        ModelError::Malformed { .. } => "malformed",
        ModelError::LimitReached { .. } => "limit",
    }
}
