//! What a run takes over from the finished one that it stands on.

use serde::{Deserialize, Serialize};

use super::message::{ProviderId, SearchStep, Uuid};
use super::source::Source;

/// Longest text of a report that is taken over, in bytes: a report of all its sections.
pub const REPORT_BYTES_MAX: usize = 24_000;

/// Sources that a question which follows a report begins with: half of what a run may have, so that there is room for what
/// is found.
pub const SOURCES_MAX: usize = 30;

/// Bytes of their texts: they are kept a second time, in the journal of the run that follows.
pub const SOURCES_BYTES_MAX: usize = 2 << 20;

/// What is known before a run begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recalled {
    /// The report that the question follows; none if it follows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<Followed>,
    /// As they were found, with the places of their texts.
    pub sources: Vec<Source>,
    /// The plan and what was done for it; none where the run makes a plan of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RecalledPlan>,
}

/// A report that a question follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    pub run: Uuid,
    pub question: String,
    pub report: String,
}

/// A plan of which all steps are done but one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecalledPlan {
    pub strategy: String,
    /// Those of all plans of the run.
    pub steps: Vec<SearchStep>,
    /// What the user wanted besides.
    pub instructions: Vec<String>,
    /// Searches that were made for the other steps: provider, words, step. They are not made again.
    pub asked: Vec<(ProviderId, String, u32)>,
}
