//! What happened in a run, entry by entry: all that is needed to take it up where it was.

use serde::{Deserialize, Serialize};

use super::call::{CallKey, CallSpent, Outcome};
use super::message::SearchStep;
use crate::identity::Timestamp;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub at: Timestamp,
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A call is about to be made.
    Begun { key: CallKey },
    /// It has been made.
    Ended { key: CallKey, outcome: Outcome, spent: CallSpent },
    /// Somebody wants something of the run.
    Steered { steering: Steering },
    /// The time has come that the run waited for.
    Woke,
    /// Another process goes on with it; what had begun then may have happened or not.
    TakenOver { epoch: u64 },
}

/// What somebody wants of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "want", rename_all = "snake_case")]
pub enum Steering {
    Approve,
    Edit {
        steps: Vec<SearchStep>,
    },
    Refuse,
    Pause,
    Resume,
    /// Ends without an answer.
    Stop,
    /// Writes with what there is.
    FinishNow,
    Instruct {
        text: String,
    },
    /// Answers what is asked about a call: it is made, for the first time or again, or done without.
    Repeat {
        key: CallKey,
        is_wanted: bool,
    },
}
