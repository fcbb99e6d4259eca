//! A language model behind an OpenAI-compatible server: OpenAI, Ollama, vLLM, llama.cpp, LM Studio, LiteLLM.

mod assembly;
mod breaker;
mod call;
mod capabilities;
mod complaint;
mod endpoint;
mod failure;
mod reader;
mod refrain;
mod request;
mod response;
mod sse;
#[cfg(test)]
mod tests;
mod thinking;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::model::{LanguageModel, ModelRequest, ModelStream, Output};
use futures_util::stream;
use serde_json::{Map, Value};

use self::call::Call;
use self::capabilities::Manner;
pub use self::capabilities::{Cap, Capabilities, SchemaMode, SystemMessages};
pub use self::endpoint::{Endpoint, EndpointSettings};
pub use crate::http::SecretKey;

/// Schemas for which it is remembered how the model is brought to them: we have a dozen.
const SCHEMAS_MAX: usize = 256;

/// Which model is asked, in which manner and with how much patience.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatSettings {
    pub model: String,
    pub capabilities: Capabilities,
    /// Put into every request as it is: what only this server or model knows, such as `reasoning_effort`.
    pub extra_body: Map<String, Value>,
    /// From the request to the first piece of the answer.
    pub first_token_time_max: Duration,
    /// From one piece to the next.
    pub between_tokens_time_max: Duration,
    /// For the whole answer: with waiting for a turn, all tries, and whoever reads it.
    pub total_time_max: Duration,
    /// Requests for one question, the first included.
    pub tries_max: u32,
    /// The wait after the first failure; it doubles with each.
    pub retry_wait_first: Duration,
    /// The longest wait, also when the server asks for a longer one.
    pub retry_wait_max: Duration,
    /// Longest answer, in bytes of text, thinking and arguments together.
    pub output_bytes_max: usize,
}

impl ChatSettings {
    #[must_use]
    pub fn new(model: impl Into<String>) -> Self {
        let model = model.into();
        Self {
            capabilities: Capabilities::guess(&model),
            model,
            extra_body: Map::new(),
            // A local model may have to be loaded first, and hidden reasoning comes before the first token.
            first_token_time_max: Duration::from_secs(120),
            // No model pauses for longer in the middle of an answer.
            between_tokens_time_max: Duration::from_secs(60),
            total_time_max: Duration::from_secs(600),
            tries_max: 3,
            retry_wait_first: Duration::from_millis(500),
            // Somebody is waiting.
            retry_wait_max: Duration::from_secs(20),
            // The longest answers that models give are 128 k tokens, about half of this.
            output_bytes_max: 1024 * 1024,
        }
    }
}

/// A model of a server.
#[derive(Debug, Clone)]
pub struct ChatModel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: ChatSettings,
    endpoint: Arc<Endpoint>,
    learned: Mutex<Learned>,
}

/// What the server's complaints have taught.
#[derive(Debug)]
struct Learned {
    capabilities: Capabilities,
    /// By the schema's name: one that the server does not take says nothing about the others.
    schemas: BTreeMap<String, SchemaMode>,
}

impl ChatModel {
    #[must_use]
    pub fn new(endpoint: Arc<Endpoint>, settings: ChatSettings) -> Self {
        let capabilities = settings.capabilities.clone();
        let learned = Mutex::new(Learned { capabilities, schemas: BTreeMap::new() });
        Self { shared: Arc::new(Shared { settings, endpoint, learned }) }
    }
}

impl LanguageModel for ChatModel {
    fn name(&self) -> &str {
        &self.shared.settings.model
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let call = Call::new(Arc::clone(&self.shared), request);
        Box::pin(stream::unfold(call, |mut call| async move {
            let event = call.next().await?;
            Some((event, call))
        }))
    }
}

impl Shared {
    /// In which manner this is asked, after all that is known.
    fn manner(&self, request: &ModelRequest) -> Manner {
        let learned = self.learned();
        let schema = match &request.output {
            Output::Text => None,
            Output::Json { name, .. } => learned.schemas.get(name).copied(),
        };
        let schema = schema.unwrap_or(learned.capabilities.schema);
        Manner::new(learned.capabilities.clone(), schema)
    }

    /// Notes the manner in which an answer was got.
    fn learn(&self, request: &ModelRequest, manner: &Manner) {
        let mut learned = self.learned();
        if learned.capabilities != manner.capabilities {
            tracing::info!(model = self.settings.model, "the server's complaints were taken in");
            learned.capabilities = manner.capabilities.clone();
        }
        if let Output::Json { name, .. } = &request.output
            && manner.schema != learned.capabilities.schema
            && learned.schemas.len() < SCHEMAS_MAX
        {
            learned.schemas.insert(name.clone(), manner.schema);
        }
    }

    fn learned(&self) -> MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
