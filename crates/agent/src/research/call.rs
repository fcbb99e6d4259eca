//! Calls that a run wants made, by names that stay the same, and what came of them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::{ErrorType, ProviderId, Uuid};
use super::order::Basis;
use super::recalled::Recalled;
use super::source::Hit;
use super::thought::{AssessThought, Choice, PlanThought, SectionThought};
use crate::model::schema::{Shape, known_shape};
use crate::model::{Message, Usage};
use crate::price::Cost;

/// Names a call within its run: what it is for, which attempt it is, and a digest of what is asked. It is the same
/// in every process that comes to this call, and another if the call is another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallKey(String);

impl CallKey {
    #[must_use]
    pub fn new(name: &str, call: &Call) -> Self {
        let text = serde_json::to_string(call).unwrap_or_default();
        Self(format!("{name}:{:016x}", digest(text.as_bytes())))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name that somebody gave; whether there is such a call, its run knows.
impl From<String> for CallKey {
    fn from(name: String) -> Self {
        Self(name)
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// FNV-1a: the names before it tell calls apart, this one only shows that a call has changed.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Something outside that a run needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// Have a model answer in the shape of this purpose.
    Ask { purpose: Purpose, messages: Vec<Message> },
    Search {
        provider: ProviderId,
        query: String,
        results_max: u32,
        /// A person has said yes to it. Left out where nobody was asked, so that such calls keep their keys.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_allowed: bool,
        #[serde(default, skip_serializing_if = "Freshness::is_usual")]
        freshness: Freshness,
    },
    /// Read what stands at the address of a source.
    Read {
        source: Uuid,
        address: String,
        #[serde(default, skip_serializing_if = "Freshness::is_usual")]
        freshness: Freshness,
    },
    /// Take over what a finished run knows. Nobody outside is asked for it.
    Recall { basis: Basis },
}

/// Whether what somebody remembers of the same call will do. It is left out where it will: calls keep the names that
/// they had before this could be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    #[default]
    MayBeRemembered,
    MustBeFresh,
}

impl Freshness {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Plan,
    Choose,
    Assess,
    Write,
}

impl Purpose {
    /// The shape that the answer is held to.
    #[must_use]
    pub fn shape(self) -> Arc<Shape> {
        match self {
            Self::Plan => known_shape::<PlanThought>(),
            Self::Choose => known_shape::<Choice>(),
            Self::Assess => known_shape::<AssessThought>(),
            Self::Write => known_shape::<SectionThought>(),
        }
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Said {
        text: String,
    },
    Found {
        hits: Vec<Hit>,
    },
    Read {
        text: String,
    },
    Recalled {
        recalled: Box<Recalled>,
    },
    /// Nothing was sent: it needs a person's yes.
    Unallowed {
        /// What there is to know for whoever is asked.
        reason: String,
        /// A yes may hold for all that the run asks there.
        is_lasting: bool,
    },
    Failed(Failure),
}

/// Why a call gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub error_type: ErrorType,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Seconds that the other side wants to be left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The same call may succeed later.
    pub is_passing: bool,
    /// Whoever was called will not answer in this run at all, whatever it was called with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_final: bool,
    /// What was wanted may have happened all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unsure: bool,
}

/// What an answer of this status says about the next call: the key is wrong, or there is no money.
const REFUSALS: [u16; 5] = [401, 402, 403, 432, 433];

impl Failure {
    /// A failure of which nothing more is known: it happened, and time does not mend it.
    #[must_use]
    pub fn new(error_type: ErrorType, message: String) -> Self {
        Self {
            error_type,
            message,
            status: None,
            retry_after: None,
            is_passing: false,
            is_final: false,
            is_unsure: false,
        }
    }

    /// Whether the provider will not answer in this run at all.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.is_final || self.status.is_some_and(|status| REFUSALS.contains(&status))
    }
}

/// What a call took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CallSpent {
    #[serde(default)]
    pub usage: Usage,
    #[serde(default)]
    pub cost: Cost,
}
