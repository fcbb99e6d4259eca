//! Why a model gave no answer, or no whole one; variants by what can be done about it.

use std::fmt;
use std::time::Duration;

/// Why a call to a model failed. Every message says what happened, why, and what to do; none holds a key.
///
/// `model` is the model and where it is, such as `gpt-5-nano at https://api.openai.com/v1`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Time: the same request may succeed later.
    #[error("{model} cannot answer just now ({why}): try again {}", later(*.retry_after))]
    Transient { model: String, why: String, retry_after: Option<Duration> },
    /// The caller: shorten what is sent.
    #[error("the conversation is too long for {model}{}: shorten it and ask again", sizes(*.tokens, *.tokens_max))]
    ContextOverflow { model: String, tokens: Option<u64>, tokens_max: Option<u64> },
    /// The asker: the model, or a filter before it, will not answer this.
    #[error("{model} declines to answer ({why}): ask in another way")]
    Refused { model: String, why: String },
    /// The operator: the key is wrong or may not do this.
    #[error("{model} refuses the key ({why}): check the key in the settings")]
    Unauthorized { model: String, why: String },
    /// The operator: there is no money left.
    #[error("{model} has no quota left ({why}): add credit or choose another model")]
    QuotaSpent { model: String, why: String },
    /// Us, or the operator: the server does not take what is sent to it.
    #[error("{model} does not take the request ({why}): check the model's settings")]
    BadRequest { model: String, why: String },
    /// Time, or the operator: allow more of it.
    #[error(
        "{model} took too long {phase} (more than {after:?}): try again, or allow it more time in the settings"
    )]
    TimedOut { model: String, phase: Phase, after: Duration },
    /// The operator: nothing answers at the address, or something else does.
    #[error(
        "{model} cannot be reached ({why}): check that it runs and that its address and name are right"
    )]
    Unreachable { model: String, why: String },
    /// Time: the answer broke off. What has been given of it is not the whole.
    #[error("the answer of {model} broke off ({why}): ask again")]
    BrokenStream { model: String, why: String },
    /// The operator: what came is not what such a server says.
    #[error(
        "{model} gave an answer that cannot be read ({why}): check its address, or update the server"
    )]
    Malformed { model: String, why: String },
    /// The model: told what is wrong, it may call the tool again. The call was not made.
    #[error("{model} calls a tool in a way that cannot be read ({why}): ask again")]
    BrokenCall { model: String, why: String },
    /// The caller or the operator: one of our own limits.
    #[error("{model} was stopped at {which}: ask for less, or raise the limit in the settings")]
    LimitReached { model: String, which: Limit },
}

/// What was waited for when the time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Connect,
    FirstToken,
    BetweenTokens,
    Total,
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Connect => "to accept a connection",
            Self::FirstToken => "to begin its answer",
            Self::BetweenTokens => "to go on with its answer",
            Self::Total => "for the whole answer",
        })
    }
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// One line of the stream, in bytes.
    LineBytes(usize),
    /// The answer, in bytes of text.
    OutputBytes(usize),
    /// All that came over the wire, in bytes.
    BodyBytes(usize),
    /// Calls of tools in one answer.
    ToolCalls(usize),
    /// Requests that wait for their turn.
    Waiting(usize),
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineBytes(max) => write!(formatter, "{max} bytes in one line"),
            Self::OutputBytes(max) => write!(formatter, "{max} bytes of answer"),
            Self::BodyBytes(max) => write!(formatter, "{max} bytes over the wire"),
            Self::ToolCalls(max) => write!(formatter, "{max} calls of tools"),
            Self::Waiting(max) => write!(formatter, "{max} waiting requests"),
        }
    }
}

fn later(retry_after: Option<Duration>) -> String {
    match retry_after.map(|wait| wait.as_secs_f64().ceil()) {
        Some(seconds) if seconds >= 1.0 => format!("in {seconds} s"),
        _ => "in a moment".to_owned(),
    }
}

fn sizes(tokens: Option<u64>, tokens_max: Option<u64>) -> String {
    match (tokens, tokens_max) {
        (Some(tokens), Some(max)) => format!(" ({tokens} tokens where {max} fit)"),
        (None, Some(max)) => format!(" ({max} tokens fit)"),
        (_, None) => String::new(),
    }
}
