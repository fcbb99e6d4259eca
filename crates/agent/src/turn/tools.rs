//! The part of a turn in which the answering model has tools of servers called.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Done, Fallback, Step, Turn};
use crate::model::ToolCall;
use crate::tools::activity::Ending;

/// Calls of one round that are made: who wants more has lost its way.
pub const CALLS_AT_ONCE_MAX: usize = 8;

/// A call of a server's tool, as a turn keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// As the model called it.
    pub name: String,
    /// Our name of the server; none for a tool that is built in or not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Redacted.
    pub arguments: Value,
    pub ending: Ending,
    pub milliseconds: u64,
}

impl Turn {
    /// Rounds in which the model may still have tools called.
    #[must_use]
    pub fn tool_rounds_left(&self) -> usize {
        self.tool_rounds_left
    }

    /// What would have been said if no tool had been wanted; none where documents answer.
    #[must_use]
    pub fn instead(&self) -> Option<Fallback> {
        self.instead
    }

    /// Whether a tool gave something to answer from.
    #[must_use]
    pub fn has_tool_results(&self) -> bool {
        let is_result =
            |done: &Done| matches!(done, Done::Used(used) if used.ending == Ending::Done);
        self.done.iter().any(is_result)
    }

    /// Takes the calls that the model wants made before it answers. Beyond the last round it has to do without.
    pub fn wants(&mut self, mut calls: Vec<ToolCall>) {
        let after = match &self.next {
            Step::Answer { .. } => self.next.clone(),
            Step::SeekTool(_) => Step::Answer { ranked: Vec::new(), is_partial: false },
            Step::Call(_) | Step::Judge | Step::CallTools { .. } | Step::FallBack(_) => return,
        };
        if calls.is_empty() || self.tool_rounds_left == 0 {
            return self.wants_no_tool();
        }
        if let Step::SeekTool(fallback) = self.next {
            self.instead = Some(fallback);
        }
        self.tool_rounds_left -= 1;
        calls.truncate(CALLS_AT_ONCE_MAX);
        self.after_tools = Some(after);
        self.next = Step::CallTools { calls };
    }

    /// Takes that the model wants a tool called and did not say which in a way that can be read: a round is spent.
    pub fn misspoke(&mut self) {
        self.tool_rounds_left = self.tool_rounds_left.saturating_sub(1);
        if self.tool_rounds_left == 0 {
            self.wants_no_tool();
        }
    }

    /// Takes that the model wants no tool, or that there is none.
    pub fn wants_no_tool(&mut self) {
        self.tool_rounds_left = 0;
        if let Step::SeekTool(fallback) = self.next {
            self.next = Step::FallBack(fallback);
        }
    }

    /// Takes what became of the calls.
    pub fn tools_called(&mut self, used: Vec<ToolUse>) {
        if let Some(after) = self.after_tools.take() {
            self.done.extend(used.into_iter().map(Done::Used));
            self.next = after;
        }
    }

    pub(super) fn without_passages(&self, fallback: Fallback) -> Step {
        match self.tool_rounds_left {
            _ if self.has_attachments => Step::Answer { ranked: Vec::new(), is_partial: false },
            0 => Step::FallBack(fallback),
            _ => Step::SeekTool(fallback),
        }
    }
}

/// The calls in the order of the model: those that only read at once, every other one alone.
#[must_use]
pub fn batches(calls: &[ToolCall], only_reads: impl Fn(&str) -> bool) -> Vec<Vec<ToolCall>> {
    let mut batches: Vec<Vec<ToolCall>> = Vec::new();
    let mut can_join = false;
    for call in calls {
        let reads = only_reads(&call.name);
        match batches.last_mut() {
            Some(batch) if can_join && reads => batch.push(call.clone()),
            _ => batches.push(vec![call.clone()]),
        }
        can_join = reads;
    }
    batches
}
