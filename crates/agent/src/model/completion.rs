//! The whole answer of a model at once, for callers that show nothing in between.

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};

use super::{
    Finish, LanguageModel, ModelError, ModelEvent, ModelRequest, ModelStream, ToolCall, Usage,
};

/// A whole answer. Runs keep it so as not to pay for it twice, hence the serialised form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    pub text: String,
    pub reasoning: String,
    pub tool_calls: Vec<ToolCall>,
    pub usage: Usage,
    pub finish: Finish,
    /// Who answered.
    pub model: String,
}

/// Asks and waits for the end. Dropping the future drops the stream, so the model stops.
pub async fn complete(
    model: &dyn LanguageModel,
    request: ModelRequest,
) -> Result<Completion, ModelError> {
    gather(model.name(), model.stream(request)).await.1
}

/// Waits for the end of a stream of the model of this name. The first part is what was used, also by an answer that
/// broke off: it has to be paid for.
pub async fn gather(
    name: &str,
    mut stream: ModelStream,
) -> (Usage, Result<Completion, ModelError>) {
    let (mut text, mut reasoning) = (String::new(), String::new());
    let (mut tool_calls, mut usage) = (Vec::new(), Usage::default());
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::Text(piece)) => text.push_str(&piece),
            Ok(ModelEvent::Reasoning(piece)) => reasoning.push_str(&piece),
            Ok(ModelEvent::ToolCall(call)) => tool_calls.push(call),
            Ok(ModelEvent::Usage(tokens)) => usage += tokens,
            Ok(ModelEvent::Done { finish, model }) => {
                let whole = Completion { text, reasoning, tool_calls, usage, finish, model };
                return (usage, Ok(whole));
            }
            Err(error) => return (usage, Err(error)),
        }
    }
    let why = "it ended without saying so".to_owned();
    (usage, Err(ModelError::BrokenStream { model: name.to_owned(), why }))
}
