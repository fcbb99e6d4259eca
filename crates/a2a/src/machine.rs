//! What may happen to a task of ours, as a value: every change is asked for here, and every change that happens is an
//! event with a number.
//!
//! Whoever works on a task numbers its steps from [`TaskMachine::next_step`] on. So a step that is told twice, after a
//! crash or by two processes, counts once, and one that comes before its turn waits for its turn.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::ids::{ArtifactId, ContextId, TaskId};
use crate::limits::{ARTIFACT_PARTS_MAX, ARTIFACTS_MAX, HISTORY_MESSAGES_MAX};
use crate::model::{
    Artifact, ArtifactUpdate, Content, Event, Message, Object, Part, StatusUpdate, Task, TaskState,
    TaskStatus,
};
use crate::timestamp::Timestamp;
use crate::version::Version;

/// A task, how it got there, and what may come next. It is kept as it is between two steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskMachine {
    task: Task,
    /// The version whose client made it: its webhooks and its oldest methods speak it.
    origin: Version,
    /// The number of the last event.
    sequence: u64,
    /// The number of the event that told the status.
    status_at: u64,
    /// The number of the last step that was taken.
    step: u64,
    /// Artifacts that had their last chunk.
    complete: BTreeSet<ArtifactId>,
}

/// An event with its number: all who watch a task are told the same events in the same order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    pub sequence: u64,
    pub event: Event,
}

/// What somebody who works on a task wants to change.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    Status { state: TaskState, message: Option<Message>, metadata: Option<Object> },
    Artifact { artifact: Artifact, append: bool, last_chunk: bool, metadata: Option<Object> },
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Applied {
    Told(Box<Told>),
    /// It has been taken already.
    Repeated,
    /// Steps before it are missing; it changes nothing until they are there.
    Early {
        expected: u64,
    },
    /// The task has ended; nothing changes any more.
    Late,
    /// It makes no sense in this task. Its number is used up.
    Refused(Refusal),
}

/// Why a step makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a task does not become that from the state it is in")]
    Transition,
    #[error("an artifact has at least one part")]
    NoParts,
    #[error("there is no such artifact to append to")]
    NoArtifact,
    #[error("the artifact had its last chunk")]
    Complete,
    #[error("a task has at most {ARTIFACTS_MAX} artifacts")]
    ManyArtifacts,
    #[error("an artifact has at most {ARTIFACT_PARTS_MAX} parts")]
    ManyParts,
}

/// What became of a message to a task that is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    pub kind: AcceptedKind,
    /// Set if the message changed the status.
    pub told: Option<Told>,
    /// A blocking send asks [`TaskMachine::is_at_rest_since`] with it.
    pub since: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptedKind {
    /// The same message came before: the caller is answered, and nothing is done twice.
    Repeated,
    /// The task waited for input: it goes on with it.
    Resumes,
    /// The task is being worked on, or waits for credentials: the message is there for whoever works on it.
    Joins,
    /// The task had ended; clients of 0.1 may begin it again.
    Restarts,
}

/// Whether somebody wants to see a task's artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Artifacts {
    With,
    Without,
}

impl TaskMachine {
    /// Makes a task of the message that asks for it.
    #[must_use]
    pub fn create(
        id: TaskId,
        context: ContextId,
        origin: Version,
        message: Message,
        now: Timestamp,
    ) -> (Self, Told) {
        let status =
            TaskStatus { state: TaskState::Submitted, message: None, timestamp: Some(now) };
        let task = Task {
            id,
            context: Some(context),
            status,
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        };
        let complete = BTreeSet::new();
        let mut machine = Self { task, origin, sequence: 1, status_at: 1, step: 0, complete };
        machine.remember(message);
        let told = Told { sequence: 1, event: Event::Task(machine.task.clone()) };
        (machine, told)
    }

    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    #[must_use]
    pub fn state(&self) -> TaskState {
        self.task.status.state
    }

    #[must_use]
    pub fn origin(&self) -> Version {
        self.origin
    }

    /// The number of the last event: who has seen it has seen all.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The number that the next step has to have.
    #[must_use]
    pub fn next_step(&self) -> u64 {
        self.step + 1
    }

    /// Takes a further message to the task.
    ///
    /// # Errors
    /// If the task has ended, the message is of another context, or its id stands for another message already.
    pub fn accept(&mut self, message: Message, now: Timestamp) -> Result<Accepted, Error> {
        if message.context.is_some() && message.context != self.task.context {
            return Err(Error::violation("message.contextId", "is the context of the task"));
        }
        if let Some(known) = self.known(&message) {
            if known.parts != message.parts || known.role != message.role {
                return Err(Error::violation("message.messageId", "names another message already"));
            }
            return Ok(Accepted { kind: AcceptedKind::Repeated, told: None, since: 0 });
        }
        let (kind, state) = match self.state() {
            state if state.is_terminal() && self.origin.client_names_tasks() => {
                (AcceptedKind::Restarts, Some(TaskState::Submitted))
            }
            state if state.is_terminal() => {
                let words = "The task has ended: a message to it is not supported";
                return Err(Error::new(ErrorKind::UnsupportedOperation, words));
            }
            TaskState::InputRequired => (AcceptedKind::Resumes, Some(TaskState::Working)),
            _ => (AcceptedKind::Joins, None),
        };
        // What the agent asked was said before this. While the status stays, so does what explains it.
        if state.is_some()
            && let Some(asked) = self.task.status.message.take()
        {
            self.remember(asked);
        }
        self.remember(message);
        let told = state.map(|state| self.set_status(state, None, None, now));
        Ok(Accepted { kind, told, since: self.sequence })
    }

    /// Takes a step of whoever works on the task.
    pub fn apply(&mut self, step: u64, update: Update, now: Timestamp) -> Applied {
        if step <= self.step {
            return Applied::Repeated;
        }
        if self.state().is_terminal() {
            return Applied::Late;
        }
        if step > self.next_step() {
            return Applied::Early { expected: self.next_step() };
        }
        self.step = step;
        let told = match update {
            Update::Status { state, message, metadata } if may_become(self.state(), state) => {
                Ok(self.set_status(state, message, metadata, now))
            }
            Update::Status { .. } => Err(Refusal::Transition),
            Update::Artifact { artifact, append, last_chunk, metadata } => {
                self.take_artifact(artifact, append, last_chunk, metadata)
            }
        };
        told.map_or_else(Applied::Refused, |told| Applied::Told(Box::new(told)))
    }

    /// Ends the task on its caller's wish; steps that still come are late.
    ///
    /// # Errors
    /// If the task has ended already. A second cancel changes nothing.
    pub fn cancel(&mut self, now: Timestamp) -> Result<Told, Error> {
        if self.state().is_terminal() {
            return Err(Error::of(ErrorKind::TaskNotCancelable));
        }
        Ok(self.set_status(TaskState::Canceled, None, None, now))
    }

    /// What somebody who begins to watch, or comes back, is told first: the task as it is. Events with a higher number
    /// follow, from whatever keeps them.
    ///
    /// # Errors
    /// If the task has ended: there is nothing to watch.
    pub fn subscribe(&self) -> Result<Told, Error> {
        if self.state().is_terminal() {
            let words = "The task has ended: there is nothing to subscribe to";
            return Err(Error::new(ErrorKind::UnsupportedOperation, words));
        }
        Ok(Told { sequence: self.sequence, event: Event::Task(self.task.clone()) })
    }

    /// Whether a blocking send that was taken at `since` is answered: the task has ended, or waits for its caller
    /// because of something that came after.
    #[must_use]
    pub fn is_at_rest_since(&self, since: u64) -> bool {
        let state = self.state();
        state.is_terminal() || (state.is_interrupted() && self.status_at > since)
    }

    /// Whether a stream ends with the present status.
    #[must_use]
    pub fn ends_stream(&self, version: Version) -> bool {
        ends_stream(self.state(), version)
    }

    /// The task with as much of its history as was asked for.
    #[must_use]
    pub fn view(&self, history_length: Option<u32>, artifacts: Artifacts) -> Task {
        view(&self.task, history_length, artifacts)
    }

    fn set_status(
        &mut self,
        state: TaskState,
        message: Option<Message>,
        metadata: Option<Object>,
        now: Timestamp,
    ) -> Told {
        if let Some(said) = self.task.status.message.take() {
            self.remember(said);
        }
        let message = message.map(|message| self.placed(message));
        // A clock that was set back must not put a task behind its own past.
        let timestamp = self.task.status.timestamp.max(Some(now));
        self.task.status = TaskStatus { state, message, timestamp };
        self.sequence += 1;
        self.status_at = self.sequence;
        let event = Event::Status(StatusUpdate {
            task: self.task.id.clone(),
            context: self.task.context.clone(),
            status: self.task.status.clone(),
            metadata,
        });
        Told { sequence: self.sequence, event }
    }

    fn take_artifact(
        &mut self,
        artifact: Artifact,
        append: bool,
        last_chunk: bool,
        metadata: Option<Object>,
    ) -> Result<Told, Refusal> {
        let id = artifact.id.clone();
        if append && self.complete.contains(&id) {
            return Err(Refusal::Complete);
        }
        let index = assemble(&mut self.task.artifacts, artifact.clone(), append)?;
        if last_chunk {
            self.complete.insert(id);
        } else {
            self.complete.remove(&id);
        }
        self.sequence += 1;
        let event = Event::Artifact(ArtifactUpdate {
            task: self.task.id.clone(),
            context: self.task.context.clone(),
            artifact,
            append,
            last_chunk,
            index: u32::try_from(index).unwrap_or(u32::MAX),
            metadata,
        });
        Ok(Told { sequence: self.sequence, event })
    }

    fn known(&self, message: &Message) -> Option<&Message> {
        let said = self.task.history.iter().chain(&self.task.status.message);
        said.into_iter().find(|said| said.id == message.id)
    }

    fn remember(&mut self, message: Message) {
        let message = self.placed(message);
        let history = &mut self.task.history;
        history.push(message);
        let excess = history.len().saturating_sub(HISTORY_MESSAGES_MAX);
        history.drain(..excess);
    }

    fn placed(&self, message: Message) -> Message {
        Message { task: Some(self.task.id.clone()), context: self.task.context.clone(), ..message }
    }
}

/// A task begins as submitted, once; whatever has not ended may become anything else, and again what it is.
fn may_become(from: TaskState, to: TaskState) -> bool {
    match to {
        TaskState::Unspecified | TaskState::Submitted => false,
        TaskState::Working
        | TaskState::Completed
        | TaskState::Failed
        | TaskState::Canceled
        | TaskState::InputRequired
        | TaskState::Rejected
        | TaskState::AuthRequired => !from.is_terminal(),
    }
}

/// Whether a stream ends with a status. 0.x ends it when the task waits, too; 1.0 keeps it open.
#[must_use]
pub fn ends_stream(state: TaskState, version: Version) -> bool {
    state.is_terminal() || (version != Version::V1_0 && state.is_interrupted())
}

/// The task with as much of its history as was asked for: `None` is all that there is, 0 is none.
#[must_use]
pub fn view(task: &Task, history_length: Option<u32>, artifacts: Artifacts) -> Task {
    let length =
        history_length.and_then(|length| usize::try_from(length).ok()).unwrap_or(usize::MAX);
    let skipped = task.history.len().saturating_sub(length);
    Task {
        id: task.id.clone(),
        context: task.context.clone(),
        status: task.status.clone(),
        artifacts: match artifacts {
            Artifacts::With => task.artifacts.clone(),
            Artifacts::Without => Vec::new(),
        },
        history: task.history.iter().skip(skipped).cloned().collect(),
        metadata: task.metadata.clone(),
    }
}

/// Puts an artifact, or a further piece of one, among those of a task, and returns its place.
pub(crate) fn assemble(
    artifacts: &mut Vec<Artifact>,
    artifact: Artifact,
    append: bool,
) -> Result<usize, Refusal> {
    if artifact.parts.is_empty() {
        return Err(Refusal::NoParts);
    }
    let Some(index) = artifacts.iter().position(|known| known.id == artifact.id) else {
        if append {
            return Err(Refusal::NoArtifact);
        }
        if artifacts.len() >= ARTIFACTS_MAX {
            return Err(Refusal::ManyArtifacts);
        }
        artifacts.push(artifact);
        return Ok(artifacts.len().saturating_sub(1));
    };
    let known = artifacts.get_mut(index).ok_or(Refusal::NoArtifact)?;
    if !append {
        *known = artifact;
        return Ok(index);
    }
    let mut parts = known.parts.clone();
    // Words of a stream are one text, wherever its pieces end.
    let mut more = artifact.parts.into_iter();
    more.by_ref().take(1).for_each(|part| join(&mut parts, part));
    parts.extend(more);
    if parts.len() > ARTIFACT_PARTS_MAX {
        parts = joined(parts);
    }
    if parts.len() > ARTIFACT_PARTS_MAX {
        return Err(Refusal::ManyParts);
    }
    known.parts = parts;
    known.name = artifact.name.or(known.name.take());
    known.description = artifact.description.or(known.description.take());
    if let Some(metadata) = artifact.metadata {
        known.metadata.get_or_insert_default().extend(metadata);
    }
    let new = artifact.extensions.into_iter().filter(|uri| !known.extensions.contains(uri));
    let new: Vec<String> = new.collect();
    known.extensions.extend(new);
    Ok(index)
}

/// Neighbouring texts that differ in nothing but their words, as one.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut all = Vec::new();
    parts.into_iter().for_each(|part| join(&mut all, part));
    all
}

/// Adds a part; a text goes on with the one before it where they differ in nothing but their words.
fn join(all: &mut Vec<Part>, part: Part) {
    match (all.last_mut(), &part) {
        (
            Some(Part { content: Content::Text(text), media_type, filename: None, metadata: None }),
            Part { content: Content::Text(more), media_type: same, filename: None, metadata: None },
        ) if media_type == same => text.push_str(more),
        _ => all.push(part),
    }
}

#[cfg(test)]
mod tests;
