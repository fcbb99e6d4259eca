//! Where a run stands, for whoever looks at it from outside.

use serde::{Deserialize, Serialize};

use super::{Awaiting, Phase, Run};
use crate::research::message::{BudgetPart, Party};
use crate::research::report::EndReason;

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Planning,
    /// A plan waits for a person.
    Approving,
    Researching,
    Reflecting,
    Writing,
    Ended,
}

/// A run at a glance.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub stage: Stage,
    pub is_paused: bool,
    /// Times that it was searched, the present one included.
    pub round: u32,
    pub rounds_max: u32,
    /// Different sources that were found.
    pub sources: usize,
    /// The place of the last message.
    pub last_seq: u64,
    /// What a person is waited for.
    pub awaits: Vec<Awaiting>,
    pub budget: Vec<BudgetPart>,
    /// None while it has not ended.
    pub ended: Option<EndReason>,
    pub has_report: bool,
}

impl Run {
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            stage: self.stage(),
            is_paused: self.is_paused,
            round: self.round,
            rounds_max: self.order.limits.rounds_max,
            sources: self.sources.len(),
            last_seq: self.messages().len() as u64,
            awaits: if self.phase == Phase::Ended { Vec::new() } else { self.awaits() },
            budget: self.budget(),
            ended: self.end_reason(),
            has_report: self.report.is_some(),
        }
    }

    fn stage(&self) -> Stage {
        match self.phase {
            Phase::Planning => Stage::Planning,
            Phase::Approving { .. } => Stage::Approving,
            Phase::Researching => Stage::Researching,
            Phase::Reflecting => Stage::Reflecting,
            Phase::Writing => Stage::Writing,
            Phase::Ended => Stage::Ended,
            Phase::Choosing { by_rule } => match by_rule {
                Party::Planning => Stage::Planning,
                Party::Research => Stage::Researching,
                Party::Reflect => Stage::Reflecting,
                Party::Content | Party::User | Party::System => Stage::Writing,
            },
        }
    }
}
