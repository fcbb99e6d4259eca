//! Why an agent gave nothing.

use a2a::error::{Error, ErrorKind};
use agent::text::clip;
use agent::tools::suspicion::clean;

use super::outside::OutsideError;

/// Bytes of a stranger's words in a message: a paragraph.
const WORDS_BYTES_MAX: usize = 500;

/// Variants by who can do something about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// The caller: there is no such agent.
    #[error("{0}")]
    Absent(String),
    /// The caller: it cannot be sent like this.
    #[error("{0}")]
    Unusable(String),
    /// The owner: the card cannot be used, or not be believed.
    #[error("{0}")]
    Card(String),
    /// The owner: credentials are missing or not enough.
    #[error("{0}")]
    Closed(String),
    /// The caller: the agent says why.
    #[error("the agent says: {words}")]
    Refused { kind: ErrorKind, words: String },
    /// Nobody: agents ask each other in a circle.
    #[error(
        "the message has come through {hops} agents already, and {hops_max} are the most: agents ask each other in a circle"
    )]
    Circle { hops: u32, hops_max: u32 },
    /// Time, or whoever runs the agent; nothing has happened.
    #[error("{0}")]
    Down(String),
    /// Time.
    #[error("the agent gave no answer in time")]
    TimedOut,
    /// Nobody: it may have happened.
    #[error("{0}")]
    Lost(String),
    /// Us.
    #[error("{0}")]
    Broken(String),
}

impl From<OutsideError> for PeerError {
    fn from(error: OutsideError) -> Self {
        match error {
            OutsideError::Down(why) => Self::Down(why),
            OutsideError::Slow => Self::TimedOut,
            OutsideError::Lost(why) => Self::Lost(why),
        }
    }
}

impl From<Error> for PeerError {
    fn from(error: Error) -> Self {
        let mut words = error.message;
        for violation in &error.violations {
            words = format!("{words}; {} {}", violation.field, violation.description);
        }
        Self::Refused { kind: error.kind, words: shown(&words) }
    }
}

/// A stranger's words as they may stand in a message: what can be seen, in one paragraph.
pub(crate) fn shown(words: &str) -> String {
    let words = clean(words).replace(['\n', '\r', '\t'], " ");
    clip(&words, WORDS_BYTES_MAX).to_owned()
}
