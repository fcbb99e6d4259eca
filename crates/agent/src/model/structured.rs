//! Asks a model for a value of a Rust type: schema, answer, check, and the fault told back until it is right.

mod extract;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::schema::{Shape, known_shape};
use super::{
    Finish, LanguageModel, Message, ModelError, ModelRequest, Output, Usage, gather, repair_json,
};
use crate::text::clip;

pub use self::extract::value as value_in;

/// Longest wrong answer that is shown to the model again, in bytes: it should see its fault, not pay for a book.
const WRONG_BYTES_MAX: usize = 16_000;

/// Longest fault that goes into an error's message, in bytes.
const FAULT_BYTES_MAX: usize = 300;

/// How much is done for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructuredSettings {
    /// Questions to the model, the first included.
    pub attempts_max: u32,
}

impl Default for StructuredSettings {
    fn default() -> Self {
        // A model that fails twice with its fault before it mostly goes on failing.
        Self { attempts_max: 2 }
    }
}

/// A value that a model gave, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Structured<T> {
    pub value: T,
    /// Of all attempts.
    pub usage: Usage,
    pub attempts: u32,
    /// Who answered.
    pub model: String,
}

/// Why there is no value. Both kinds say what was used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StructuredError {
    /// As the model's error says.
    #[error("{error}")]
    Model { error: ModelError, usage: Usage, attempts: u32 },
    /// The operator: another model; or the caller, who goes on without.
    #[error(
        "{model} gave nothing usable in {attempts} attempts ({fault}): use a larger model for this"
    )]
    Invalid { model: String, fault: String, usage: Usage, attempts: u32 },
}

impl StructuredError {
    #[must_use]
    pub fn usage(&self) -> Usage {
        match self {
            Self::Model { usage, .. } | Self::Invalid { usage, .. } => *usage,
        }
    }

    #[must_use]
    pub fn attempts(&self) -> u32 {
        match self {
            Self::Model { attempts, .. } | Self::Invalid { attempts, .. } => *attempts,
        }
    }
}

/// Asks for a value of `T`.
pub async fn ask<T: DeserializeOwned + JsonSchema + 'static>(
    model: &dyn LanguageModel,
    request: ModelRequest,
    settings: &StructuredSettings,
) -> Result<Structured<T>, StructuredError> {
    ask_checked(model, request, settings, |_: &T| Ok(())).await
}

/// Asks for a value of `T` that passes `check`, whose complaint the model reads.
pub async fn ask_checked<T, C>(
    model: &dyn LanguageModel,
    mut request: ModelRequest,
    settings: &StructuredSettings,
    check: C,
) -> Result<Structured<T>, StructuredError>
where
    T: DeserializeOwned + JsonSchema + 'static,
    C: Fn(&T) -> Result<(), String> + Send,
{
    let shape = known_shape::<T>();
    request.output = Output::Json { name: shape.name.clone(), schema: Arc::clone(&shape.schema) };
    let mut usage = Usage::default();
    let mut attempts = 0;
    loop {
        attempts += 1;
        let (used, answer) = gather(model.name(), model.stream(request.clone())).await;
        usage += used;
        let answer = answer.map_err(|error| StructuredError::Model { error, usage, attempts })?;
        let value = value_in::<T>(&answer.text, &shape);
        let fault = match value.and_then(|value| check(&value).map(|()| value)) {
            Ok(value) => return Ok(Structured { value, usage, attempts, model: answer.model }),
            Err(fault) => explained(fault, answer.finish),
        };
        if attempts >= settings.attempts_max {
            let fault = clip(&fault, FAULT_BYTES_MAX).to_owned();
            return Err(StructuredError::Invalid { model: answer.model, fault, usage, attempts });
        }
        tell(&mut request, &answer.text, &fault, &shape);
    }
}

fn explained(fault: String, finish: Finish) -> String {
    match finish {
        Finish::Length => format!("it was cut off at the largest length, so be shorter; {fault}"),
        Finish::Stop | Finish::ToolCalls => fault,
    }
}

fn tell(request: &mut ModelRequest, answer: &str, fault: &str, shape: &Shape) {
    // Servers refuse an empty message of the model.
    let answer = if answer.trim().is_empty() { "{}" } else { clip(answer, WRONG_BYTES_MAX) };
    let messages = Arc::make_mut(&mut request.messages);
    messages.push(Message::assistant(answer));
    messages.push(Message::user(repair_json(fault, shape.schema.value())));
}
