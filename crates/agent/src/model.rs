//! What is said to a language model and what it says back, in words that no provider owns; and the port to ask one.

mod completion;
mod error;
mod instructions;
pub mod schema;
pub mod structured;
#[cfg(test)]
mod tests;

use std::ops::AddAssign;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::completion::{Completion, complete, gather};
pub use self::error::{Limit, ModelError, Phase};
pub use self::instructions::{
    answer_in_json, answer_tool, call_in_text, repair_json, tools_in_text,
};
use self::schema::Schema;

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// Oldest first. Stable text first too: servers keep what they have read of an unchanged beginning.
    /// Shared: a request is kept for asking again.
    pub messages: Arc<Vec<Message>>,
    pub tools: Vec<ToolSpec>,
    pub tool_choice: ToolChoice,
    pub output: Output,
    /// Most tokens of the answer, hidden reasoning included: too few may leave nothing to read.
    pub tokens_max: Option<u32>,
    /// Left out for models that refuse it.
    pub temperature: Option<f64>,
    /// Texts at which the answer ends. Left out for models that refuse them.
    pub stop: Vec<String>,
}

impl ModelRequest {
    #[must_use]
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages: Arc::new(messages), ..Self::default() }
    }

    /// Bytes of text that the model will read, about: what an estimate of tokens starts from.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let messages = self.messages.iter().map(Message::text_bytes);
        let tools = self.tools.iter().map(|tool| {
            tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
        });
        messages.chain(tools).fold(0, usize::saturating_add)
    }
}

/// One message of a conversation. Runs keep them, hence the serialised form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    System {
        text: String,
    },
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// What a tool gave for the call of this id.
    Tool {
        call_id: String,
        text: String,
    },
}

impl Message {
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), tool_calls: Vec::new() }
    }

    fn text_bytes(&self) -> usize {
        match self {
            Self::System { text } | Self::User { text } | Self::Tool { text, .. } => text.len(),
            Self::Assistant { text, tool_calls } => tool_calls
                .iter()
                .map(|call| call.name.len() + call.arguments.to_string().len())
                .fold(text.len(), usize::saturating_add),
        }
    }
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema whose root is an object.
    pub parameters: Value,
}

/// Whether the model may, must or must not call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    #[default]
    Auto,
    Never,
    /// Some tool; models that cannot be made to are only asked.
    Required,
}

/// A call that the model wants made. Its arguments are whole and an object; what they say is unchecked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

/// What form the answer takes.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Output {
    #[default]
    Text,
    /// JSON of this schema, given as text. How the model is brought to it is the adapter's business, and a model may
    /// still fail: the reader checks.
    Json { name: String, schema: Arc<Schema> },
}

/// What happens while a model answers.
///
/// Pieces come in order. `Usage` comes at most once, before `Done` or before the error that ends the stream. `Done`
/// comes exactly once and last; a stream that ends without it broke.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The next piece of the answer.
    Text(String),
    /// The next piece of what the model thinks aloud; no part of the answer.
    Reasoning(String),
    ToolCall(ToolCall),
    Usage(Usage),
    Done {
        finish: Finish,
        /// Who answered: in a chain of models not known before.
        model: String,
    },
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It is whole.
    Stop,
    /// `tokens_max` or the model's own limit cut it off.
    Length,
    /// It waits for the results of its calls.
    ToolCalls,
}

/// Bytes that are about one token, in tenths: Korean prose has 3.6 of them and English 4.5, code and short words fewer.
const BYTES_PER_TOKEN_TENTHS: u64 = 36;

/// About how many tokens so many bytes of text are.
fn tokens_in_about(bytes: usize) -> u64 {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    bytes.saturating_mul(10).div_ceil(BYTES_PER_TOKEN_TENTHS)
}

/// Tokens of one or more calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// All that was read, the cached part included.
    pub input: u64,
    /// The part of `input` that the server still had.
    pub cached: u64,
    /// All that was written, reasoning included.
    pub output: u64,
    /// The part of `output` that was thought and may not have been shown.
    pub reasoning: u64,
    /// The server did not say, so it was reckoned from the length of the texts.
    pub is_estimated: bool,
}

impl Usage {
    /// What so many bytes of text, read and written, come to, for want of a count.
    #[must_use]
    pub fn about(read_bytes: usize, written_bytes: usize) -> Self {
        let (input, output) = (tokens_in_about(read_bytes), tokens_in_about(written_bytes));
        Self { input, output, is_estimated: true, ..Self::default() }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.is_estimated = self.is_estimated || other.is_estimated;
    }
}

/// A model's answer as it comes. Dropping it closes the connection: the model stops writing.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// Answers messages.
///
/// Nothing happens before the stream is polled, and nothing after an error. No piece is given twice: what fails is
/// repeated only while nothing was given.
pub trait LanguageModel: Send + Sync {
    /// The model's name as the operator knows it; of a chain, the names of all. Who answered is said by `Done`.
    fn name(&self) -> &str;
    fn stream(&self, request: ModelRequest) -> ModelStream;
}

/// Counts tokens as a model would.
pub trait Tokenizer: Send + Sync {
    fn count(&self, text: &str) -> usize;
    /// As much of the beginning of `text` as `tokens_max` tokens hold; it ends between two characters.
    fn clip<'text>(&self, text: &'text str, tokens_max: usize) -> &'text str;
}
