//! Research over the wire: what is asked for, where a run stands, and what somebody wants of it.

use agent::research::call::CallKey;
use agent::research::journal::Steering;
use agent::research::message::{BudgetPart, ProviderId, SearchStep, Uuid};
use agent::research::order::{Approval, Basis, RunBudget};
use agent::research::run::{Awaiting, Stage, Status};
use engine::research::{Asked, RunView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::problem::Problem;

/// Micro-dollars in a dollar.
const MICRODOLLARS: f64 = 1_000_000.0;

/// Most dollars that a budget may name: a number that counts in micro-dollars without loss.
const DOLLARS_MAX: f64 = 1e9;

/// A question to be researched.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResearchBody {
    pub question: String,
    /// Where to search: `local`, providers, `tool:SERVER__TOOL`, `agent:NAME`; wherever it can be, if left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ProviderId>,
    #[serde(default)]
    pub budget: BudgetBody,
    /// What happens with the plan before anything is searched; the usual wait, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalBody>,
    /// A finished run whose report the question follows: what it has found is used before anything is searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Uuid>,
}

/// What a run may use; what is left out has no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
}

/// What happens with a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalBody {
    /// It is followed at once.
    Given,
    /// It waits for a person.
    Asked,
    /// It is followed when nobody has objected for so many seconds.
    After(u64),
}

impl From<ApprovalBody> for Approval {
    fn from(body: ApprovalBody) -> Self {
        match body {
            ApprovalBody::Given => Self::Given,
            ApprovalBody::Asked => Self::Asked,
            ApprovalBody::After(seconds) => Self::After { seconds },
        }
    }
}

impl ResearchBody {
    pub fn read(self) -> Result<Asked, Problem> {
        let Self { question, sources, budget, approval, follows } = self;
        let (approval, budget) = (approval.map(Into::into), budget.read()?);
        Ok(Asked { question, sources, approval, budget, follows, ..Asked::default() })
    }
}

#[expect(clippy::cast_precision_loss, reason = "micro-dollars up to 2^53 are exact")]
impl From<RunBudget> for BudgetBody {
    fn from(budget: RunBudget) -> Self {
        let RunBudget { seconds, tokens, microdollars, calls, pages } = budget;
        let dollars = microdollars.map(|amount| amount as f64 / MICRODOLLARS);
        Self { seconds, tokens, dollars, calls, pages }
    }
}

impl BudgetBody {
    pub fn read(self) -> Result<RunBudget, Problem> {
        let Self { seconds, tokens, dollars, calls, pages } = self;
        let microdollars = dollars.map(microdollars).transpose()?;
        Ok(RunBudget { seconds, tokens, microdollars, calls, pages })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is below 0 or too large was refused"
)]
fn microdollars(dollars: f64) -> Result<u64, Problem> {
    if !(0.0..=DOLLARS_MAX).contains(&dollars) {
        return Err(Problem::refused("budget.dollars is an amount such as 0.20."));
    }
    Ok((dollars * MICRODOLLARS).round() as u64)
}

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Planning,
    /// Its plan waits for a person.
    Approving,
    Researching,
    Reflecting,
    Writing,
    Paused,
    /// Nobody works on it; watching or steering it takes it up again.
    Interrupted,
    Ended,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunBody {
    pub id: Uuid,
    pub question: String,
    pub state: RunState,
    /// In milliseconds since 1970.
    pub begun_at: u64,
    /// Why it ended: `enough`, `stopped`, `time_spent`, …; left out while it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The run whose report its question follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Uuid>,
    /// The run whose findings it keeps, and the step of it that it does anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<AgainBody>,
    /// Where it stands; left out in lists, of runs that nobody works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressBody>,
}

/// A step that is done anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgainBody {
    pub run: Uuid,
    pub step: u32,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressBody {
    /// Times that it was searched, the present one included.
    pub round: u32,
    pub rounds_max: u32,
    /// Different sources that were found.
    pub sources: usize,
    /// The place of the last message.
    pub last_seq: u64,
    /// What a person is waited for: `plan`, `resume`, `repeat`, `allow`.
    pub awaits: Vec<AwaitsBody>,
    pub budget: Vec<BudgetPart>,
    pub has_report: bool,
}

/// What a person is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AwaitsBody {
    /// A word about the plan.
    Plan,
    /// The end of a pause.
    Resume,
    /// Whether this call, which may have been made, is made again.
    Repeat(String),
    /// A yes to this call, which needs one.
    Allow(String),
}

impl From<Awaiting> for AwaitsBody {
    fn from(awaiting: Awaiting) -> Self {
        match awaiting {
            Awaiting::Plan => Self::Plan,
            Awaiting::Resume => Self::Resume,
            Awaiting::Repeat(key) => Self::Repeat(key.to_string()),
            Awaiting::Allow(key) => Self::Allow(key.to_string()),
        }
    }
}

impl From<Status> for ProgressBody {
    fn from(status: Status) -> Self {
        Self {
            round: status.round,
            rounds_max: status.rounds_max,
            sources: status.sources,
            last_seq: status.last_seq,
            awaits: status.awaits.into_iter().map(Into::into).collect(),
            budget: status.budget,
            has_report: status.has_report,
        }
    }
}

impl From<RunView> for RunBody {
    fn from(view: RunView) -> Self {
        let RunView { line, status, is_on_its_way } = view;
        let stage = status.as_ref().map(|status| (status.stage, status.is_paused));
        let state = match stage {
            _ if line.ended.is_some() => RunState::Ended,
            Some((Stage::Ended, _)) => RunState::Ended,
            _ if !is_on_its_way => RunState::Interrupted,
            Some((_, true)) => RunState::Paused,
            Some((Stage::Planning, _)) | None => RunState::Planning,
            Some((Stage::Approving, _)) => RunState::Approving,
            Some((Stage::Researching, _)) => RunState::Researching,
            Some((Stage::Reflecting, _)) => RunState::Reflecting,
            Some((Stage::Writing, _)) => RunState::Writing,
        };
        Self {
            id: line.id,
            question: line.question,
            state,
            begun_at: line.begun_at.0,
            ended: line.ended.map(|reason| reason.as_str().to_owned()),
            follows: match line.basis {
                Some(Basis::Follows { run }) => Some(run),
                Some(Basis::Again { .. }) | None => None,
            },
            again: match line.basis {
                Some(Basis::Again { run, step }) => Some(AgainBody { run, step }),
                Some(Basis::Follows { .. }) | None => None,
            },
            progress: status.map(Into::into),
        }
    }
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunsBody {
    pub runs: Vec<RunBody>,
    /// Pass it as `after` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Messages of a run, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessagesBody {
    /// As schemas/agent-message.json describes them.
    pub messages: Vec<Value>,
    pub run: RunBody,
}

/// What somebody wants of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControlBody {
    pub control: ControlKind,
    /// What else to look for; with `instruct`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// The call that is asked about; with `repeat`, `allow` and `do_without`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlKind {
    Pause,
    Resume,
    /// Ends without an answer.
    #[serde(alias = "cancel")]
    Stop,
    /// Writes with what there is.
    FinishNow,
    Instruct,
    /// Makes a call again of which nobody knows whether it was made.
    Repeat,
    /// Says yes to a call that needs it.
    Allow,
    /// Goes on without a call that is asked about.
    DoWithout,
}

impl ControlBody {
    pub fn read(self) -> Result<Steering, Problem> {
        let Self { control, instruction, call } = self;
        let call = || {
            let named = call.clone().map(CallKey::from);
            named.ok_or_else(|| Problem::refused("call names the call that is asked about."))
        };
        Ok(match control {
            ControlKind::Pause => Steering::Pause,
            ControlKind::Resume => Steering::Resume,
            ControlKind::Stop => Steering::Stop,
            ControlKind::FinishNow => Steering::FinishNow,
            ControlKind::Instruct => Steering::Instruct { text: instruction.unwrap_or_default() },
            ControlKind::Repeat | ControlKind::Allow => {
                Steering::Repeat { key: call()?, is_wanted: true }
            }
            ControlKind::DoWithout => Steering::Repeat { key: call()?, is_wanted: false },
        })
    }
}

/// A word about a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanBody {
    pub decision: PlanDecision,
    /// The plan as it should be; with `edit`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<SearchStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanDecision {
    Approve,
    Edit,
    Refuse,
}

impl PlanBody {
    #[must_use]
    pub fn read(self) -> Steering {
        match self.decision {
            PlanDecision::Approve => Steering::Approve,
            PlanDecision::Edit => Steering::Edit { steps: self.steps },
            PlanDecision::Refuse => Steering::Refuse,
        }
    }
}
