//! A language model that says what a test has written down for it, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use agent::model::{
    Finish, LanguageModel, ModelError, ModelEvent, ModelRequest, ModelStream, ToolCall, Usage,
};
use futures_util::stream::{self, StreamExt as _};
use serde_json::Value;

/// What happens when the model is asked once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    pub events: Vec<Result<ModelEvent, ModelError>>,
    /// After the events nothing happens any more, not even an end.
    pub hangs: bool,
}

type Answering = dyn Fn(&ModelRequest) -> Script + Send + Sync;

/// Plays one script for each question. Clones share scripts and memory.
#[derive(Clone)]
pub struct ScriptedModel {
    name: String,
    shared: Arc<Shared>,
}

struct Shared {
    scripts: Mutex<VecDeque<Script>>,
    answering: Option<Box<Answering>>,
    requests: Mutex<Vec<ModelRequest>>,
}

/// What a scripted answer is said to have used.
pub const USAGE: Usage =
    Usage { input: 100, cached: 0, output: 10, reasoning: 0, is_estimated: false };

impl ScriptedModel {
    /// A model without scripts: give it some with [`Self::says`] and the others.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::with(name, None)
    }

    /// A model that makes up its mind when it is asked.
    #[must_use]
    pub fn answering(
        name: &str,
        answering: impl Fn(&ModelRequest) -> Script + Send + Sync + 'static,
    ) -> Self {
        Self::with(name, Some(Box::new(answering)))
    }

    fn with(name: &str, answering: Option<Box<Answering>>) -> Self {
        let (scripts, requests) = (Mutex::default(), Mutex::default());
        Self { name: name.to_owned(), shared: Arc::new(Shared { scripts, answering, requests }) }
    }

    /// To the next question it says this, word by word.
    #[must_use]
    pub fn says(self, text: &str) -> Self {
        let script = self.script_saying(text);
        self.plays(script)
    }

    /// To the next question it wants this tool called.
    #[must_use]
    pub fn calls(self, tool: &str, arguments: Value) -> Self {
        let call = ToolCall { id: "call_0".to_owned(), name: tool.to_owned(), arguments };
        let finish = Finish::ToolCalls;
        let done = ModelEvent::Done { finish, model: self.name.clone() };
        let events = vec![ModelEvent::ToolCall(call), ModelEvent::Usage(USAGE), done];
        self.plays(Script { events: events.into_iter().map(Ok).collect(), hangs: false })
    }

    /// The next question fails.
    #[must_use]
    pub fn fails(self, error: ModelError) -> Self {
        self.plays(Script { events: vec![Err(error)], hangs: false })
    }

    /// It begins to answer the next question, and never goes on.
    #[must_use]
    pub fn hangs_after(self, text: &str) -> Self {
        let events = vec![Ok(ModelEvent::Text(text.to_owned()))];
        self.plays(Script { events, hangs: true })
    }

    #[must_use]
    pub fn plays(self, script: Script) -> Self {
        self.shared.scripts.lock().unwrap_or_else(PoisonError::into_inner).push_back(script);
        self
    }

    /// What it would say for [`Self::says`].
    #[must_use]
    pub fn script_saying(&self, text: &str) -> Script {
        let words = text.split_inclusive(' ').map(|word| ModelEvent::Text(word.to_owned()));
        let done = ModelEvent::Done { finish: Finish::Stop, model: self.name.clone() };
        let end = [ModelEvent::Usage(USAGE), done];
        Script { events: words.chain(end).map(Ok).collect(), hangs: false }
    }

    /// All that it was asked, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl LanguageModel for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let queued =
            || self.shared.scripts.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let script = match &self.shared.answering {
            Some(answering) => Some(answering(&request)),
            None => queued(),
        };
        let Some(script) = script else {
            panic!("{} has no script for another question: {request:#?}", self.name);
        };
        let mut requests = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(request);
        let events = stream::iter(script.events);
        if script.hangs { Box::pin(events.chain(stream::pending())) } else { Box::pin(events) }
    }
}
