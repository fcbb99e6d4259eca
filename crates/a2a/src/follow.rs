//! What a caller makes of a stranger's events: late, repeated and missing ones included.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::{ArtifactId, TaskId};
use crate::limits::HISTORY_MESSAGES_MAX;
use crate::machine::assemble;
use crate::model::{ArtifactUpdate, Event, Message, StatusUpdate, Task, TaskState, TaskStatus};

/// What is known of a task of another agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Follower {
    task: Option<Task>,
    /// The answer, if it came without a task.
    message: Option<Message>,
    /// Artifacts that had their last chunk.
    complete: BTreeSet<ArtifactId>,
}

/// How an event came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// In order, each once.
    Stream,
    /// At least once, perhaps after another.
    Push,
}

/// What an event changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    Changed,
    /// It says what is known.
    Repeated,
    /// Something newer is known.
    Late,
    /// Something was missed: the task has to be asked for.
    Gap,
    /// It is about another task.
    Foreign,
}

impl Follower {
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// Nothing more comes unless the caller does something.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        let state = self.task.as_ref().map(|task| task.status.state);
        match state {
            None => self.message.is_some(),
            Some(state) => state.is_terminal() || state.is_interrupted(),
        }
    }

    /// Takes an event. A whole task replaces what is known, unless it is older.
    pub fn observe(&mut self, event: Event, delivery: Delivery) -> Followed {
        match event {
            Event::Task(task) => self.observe_task(task),
            Event::Message(message) => self.observe_message(message),
            Event::Status(update) => self.observe_status(update),
            Event::Artifact(update) => self.observe_artifact(update, delivery),
        }
    }

    fn is_foreign(&self, task: &TaskId) -> bool {
        self.task.as_ref().is_some_and(|known| known.id != *task)
    }

    fn observe_task(&mut self, task: Task) -> Followed {
        if self.is_foreign(&task.id) {
            return Followed::Foreign;
        }
        match &self.task {
            Some(known) if *known == task => return Followed::Repeated,
            Some(known) if is_older(&task.status, &known.status) => return Followed::Late,
            Some(_) | None => {}
        }
        self.complete.clear();
        self.task = Some(task);
        Followed::Changed
    }

    fn observe_message(&mut self, message: Message) -> Followed {
        let Some(task) = &mut self.task else {
            let known = self.message.as_ref().is_some_and(|known| known.id == message.id);
            self.message = Some(message);
            return if known { Followed::Repeated } else { Followed::Changed };
        };
        if message.task.as_ref().is_some_and(|id| *id != task.id) {
            return Followed::Foreign;
        }
        if task.history.iter().any(|known| known.id == message.id) {
            return Followed::Repeated;
        }
        remember(task, message);
        Followed::Changed
    }

    fn observe_status(&mut self, update: StatusUpdate) -> Followed {
        if self.is_foreign(&update.task) {
            return Followed::Foreign;
        }
        // A stream of 0.1 begins with a status, not with the task.
        let task = self.task.get_or_insert_with(|| Task {
            id: update.task.clone(),
            context: update.context.clone(),
            status: TaskStatus { state: TaskState::Unspecified, message: None, timestamp: None },
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        });
        if task.status == update.status {
            return Followed::Repeated;
        }
        if is_older(&update.status, &task.status) {
            return Followed::Late;
        }
        let said = std::mem::replace(&mut task.status, update.status).message;
        if let Some(said) = said {
            remember(task, said);
        }
        Followed::Changed
    }

    fn observe_artifact(&mut self, update: ArtifactUpdate, delivery: Delivery) -> Followed {
        if self.is_foreign(&update.task) {
            return Followed::Foreign;
        }
        let Some(task) = &mut self.task else { return Followed::Gap };
        let is_known = !update.append && task.artifacts.contains(&update.artifact);
        if is_known && task.status.state.is_terminal() {
            return Followed::Repeated;
        }
        // A piece that may have come twice, or before another, cannot be put in its place.
        let is_doubtful = update.append && delivery == Delivery::Push;
        if task.status.state.is_terminal() || is_doubtful {
            return Followed::Gap;
        }
        let id = update.artifact.id.clone();
        if update.append && self.complete.contains(&id) {
            return Followed::Late;
        }
        if assemble(&mut task.artifacts, update.artifact, update.append).is_err() {
            return Followed::Gap;
        }
        if update.last_chunk {
            self.complete.insert(id);
        } else {
            self.complete.remove(&id);
        }
        if is_known { Followed::Repeated } else { Followed::Changed }
    }
}

/// What has ended does not begin again, and what has a moment does not come before it.
fn is_older(status: &TaskStatus, known: &TaskStatus) -> bool {
    if known.state.is_terminal() && !status.state.is_terminal() {
        return true;
    }
    match (status.timestamp, known.timestamp) {
        (Some(moment), Some(known)) => moment < known,
        (None, _) | (_, None) => false,
    }
}

fn remember(task: &mut Task, message: Message) {
    task.history.push(message);
    let excess = task.history.len().saturating_sub(HISTORY_MESSAGES_MAX);
    task.history.drain(..excess);
}

#[cfg(test)]
mod tests;
