//! What a person wants of a run while it goes on.

use super::{Awaiting, Phase, Run};
use crate::research::journal::Steering;
use crate::research::message::{
    AgentError, AnswerReady, Control, Decision, ErrorType, Party, RunControl,
};
use crate::research::report::EndReason;
use crate::text::clip;

/// Why a call is done without that a person does not want made.
const NOT_WANTED: &str = "the user did not want it";

/// Longest instruction, in bytes.
const INSTRUCTION_BYTES_MAX: usize = 2_000;

impl Run {
    /// Whether this can be done now, or why not.
    pub(super) fn may(&self, steering: &Steering) -> Result<(), String> {
        let is_approving = matches!(self.phase, Phase::Approving { .. });
        let refused = |why: &str| Err(why.to_owned());
        if self.phase == Phase::Ended {
            return refused("the run has ended");
        }
        match steering {
            Steering::Approve | Steering::Refuse if !is_approving => {
                refused("no plan waits for a word")
            }
            Steering::Edit { .. } if !is_approving => refused("no plan waits for a word"),
            Steering::Edit { steps } => self.may_edit(steps),
            Steering::Pause if self.is_paused => refused("the run is paused already"),
            Steering::Resume if !self.is_paused => refused("the run is not paused"),
            Steering::FinishNow if self.phase == Phase::Writing => {
                refused("the answer is being written already")
            }
            Steering::Instruct { text } if text.trim().is_empty() => {
                refused("the instruction is empty")
            }
            Steering::Instruct { .. }
                if self.instructions.len() >= self.order.limits.instructions_max =>
            {
                Err(format!("a run takes {} instructions", self.order.limits.instructions_max))
            }
            Steering::Repeat { key, .. } => {
                let is_asked = self.awaits().iter().any(|awaiting| match awaiting {
                    Awaiting::Repeat(asked) | Awaiting::Allow(asked) => asked == key,
                    Awaiting::Plan | Awaiting::Resume => false,
                });
                is_asked.then_some(()).ok_or_else(|| format!("{key} is not asked about"))
            }
            Steering::Approve
            | Steering::Refuse
            | Steering::Pause
            | Steering::Resume
            | Steering::Stop
            | Steering::FinishNow
            | Steering::Instruct { .. } => Ok(()),
        }
    }

    pub(super) fn steered(&mut self, steering: Steering) {
        match steering {
            Steering::Approve => self.decide(Decision::Approve, None),
            Steering::Edit { steps } => self.decide(Decision::Edit, Some(steps)),
            Steering::Refuse => self.decide(Decision::Refuse, None),
            Steering::Pause => {
                self.control(Control::Pause, None);
                self.is_paused = true;
            }
            Steering::Resume => {
                self.control(Control::Resume, None);
                self.is_paused = false;
            }
            Steering::Stop => {
                self.control(Control::Cancel, None);
                self.end_without_answer(EndReason::Stopped);
            }
            Steering::FinishNow => {
                self.control(Control::FinishNow, None);
                self.finish_early(EndReason::FinishedEarly);
            }
            Steering::Instruct { text } => {
                let text = clip(text.trim(), INSTRUCTION_BYTES_MAX).to_owned();
                self.control(Control::Instruct, Some(text.clone()));
                if self.is_before_writing() {
                    self.add_step(&text);
                }
                self.instructions.push(text);
            }
            Steering::Repeat { key, is_wanted: true } => self.permit(&key),
            Steering::Repeat { key, is_wanted: false } => self.forbid(&key, NOT_WANTED),
        }
    }

    fn control(&mut self, control: Control, instruction: Option<String>) {
        self.say(Party::User, RunControl { control, instruction });
    }

    /// Writes with what there is.
    pub(super) fn finish_early(&mut self, reason: EndReason) {
        self.abandon();
        if self.phase == Phase::Researching {
            self.put_together();
        }
        self.is_paused = false;
        self.ended = Some(reason);
        self.turns.push(Party::Content);
        self.start_writing();
    }

    pub(super) fn give_up(&mut self, why: String) {
        let error = AgentError {
            error_type: ErrorType::InternalError,
            error_message: why,
            details: None,
            recoverable: false,
            suggested_action: Some("start it anew".to_owned()),
        };
        self.say(Party::System, error);
        self.end_without_answer(EndReason::Failed);
    }

    pub(super) fn end_without_answer(&mut self, reason: EndReason) {
        self.abandon();
        self.phase = Phase::Ended;
        self.ended = Some(reason);
        self.tell_budget();
        let stop_reason = reason.as_str().to_owned();
        self.say(Party::System, AnswerReady { answer_id: None, stop_reason });
    }
}
