//! What a run is asked to do, and within which limits. It is kept whole, so that another process can take the run up.

use serde::{Deserialize, Serialize};

use super::message::{ProviderId, Uuid};

/// An order for a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub id: Uuid,
    pub question: String,
    /// Where it may search, the preferred first.
    pub providers: Vec<Provider>,
    pub approval: Approval,
    pub thinking: Thinking,
    pub chooser: Chooser,
    pub limits: RunLimits,
    pub budget: RunBudget,
    /// Seconds after which a question about a call counts as answered with no; none for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_seconds: Option<u64>,
    /// Agents that what leads to the run has come through.
    #[serde(default)]
    pub hops: u32,
    /// The finished run that it stands on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The conversation of another protocol that it belongs to: what is asked there next follows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
}

/// A finished run that another one stands on, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Basis {
    /// Its report and its sources are known, and what is missing for another question is searched.
    Follows { run: Uuid },
    /// All that it has found is kept, but for one step, which is searched anew.
    Again { run: Uuid, step: u32 },
}

impl Basis {
    #[must_use]
    pub fn run(self) -> Uuid {
        match self {
            Self::Follows { run } | Self::Again { run, .. } => run,
        }
    }

    /// The step that is searched anew.
    #[must_use]
    pub fn step_again(self) -> Option<u32> {
        match self {
            Self::Follows { .. } => None,
            Self::Again { step, .. } => Some(step),
        }
    }
}

/// A place that can be searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    pub id: ProviderId,
    pub class: Class,
    /// The same search may be made again without harm, if nobody knows whether it was made.
    pub is_repeatable: bool,
}

/// What a provider searches: one that fails is stood in for by another of its class, unless it is like no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Saem's own documents and memories.
    Own,
    Web,
    Scholarly,
    /// A tool or an agent of somebody. Nobody stands in for it.
    Tool,
}

/// What happens with a plan before anything is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// It is followed at once.
    Given,
    /// It is followed when nobody has objected for so long.
    After { seconds: u64 },
    /// It waits for a person.
    Asked,
}

/// Who plans, judges and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    Model,
    /// The words of question and texts.
    Offline,
}

/// Who says which agent speaks next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chooser {
    /// The order of the work.
    Rules,
    /// A model, among those who have something to do.
    Manager,
}

/// The numbers of a run; the defaults are the product's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Steps of a plan.
    pub steps_max: usize,
    /// Times that it is searched, the first included.
    pub rounds_max: u32,
    /// Rounds in a row that may find nothing new; then there is another plan.
    pub stalls_max: u32,
    pub replans_max: u32,
    /// Calls that are under way at a time.
    pub parallel_max: usize,
    pub results_per_search_max: u32,
    /// Pages that are read in a round.
    pub pages_per_round_max: usize,
    pub sources_max: usize,
    /// How often one thing is tried.
    pub tries_max: u32,
    pub sections_max: usize,
    /// How often an answer is written.
    pub drafts_max: u32,
    pub instructions_max: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            steps_max: 6,
            rounds_max: 4,
            stalls_max: 3,
            replans_max: 1,
            parallel_max: 4,
            results_per_search_max: 8,
            pages_per_round_max: 8,
            sources_max: 60,
            tries_max: 3,
            sections_max: 6,
            drafts_max: 2,
            instructions_max: 8,
        }
    }
}

/// What a run may use; none for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunBudget {
    pub seconds: Option<u64>,
    pub tokens: Option<u64>,
    pub microdollars: Option<u64>,
    pub calls: Option<u64>,
    pub pages: Option<u64>,
}
