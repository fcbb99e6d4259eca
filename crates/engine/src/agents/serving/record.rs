//! A task as it is written down: its machine, its webhooks, and whether somebody works on it.

use std::sync::Arc;

use a2a::error::Error;
use a2a::ids::{MessageId, PushConfigId};
use a2a::limits::PUSH_CONFIGS_MAX;
use a2a::machine::{Applied, TaskMachine, Told, Update};
use a2a::model::{Event, Message, Part, PushConfig, Role, TaskState};
use a2a::timestamp::Timestamp;
use a2a::version::Version;
use a2a::wire;
use agent::ports::{NewNotice, PortError};
use serde::{Deserialize, Serialize};

/// What is written down of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) machine: TaskMachine,
    #[serde(default)]
    pub(super) hooks: Vec<Hook>,
    pub(super) is_running: bool,
}

/// A webhook of a task, and the version that its receiver speaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Hook {
    pub(super) config: PushConfig,
    pub(super) version: Version,
}

/// What is written down of something that a webhook is to be told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Letter {
    pub(super) media_type: String,
    pub(super) body: String,
}

impl Record {
    /// A task that is about to be worked on.
    pub(super) fn new(machine: TaskMachine) -> Self {
        Self { machine, hooks: Vec::new(), is_running: true }
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, PortError> {
        serde_json::from_slice(bytes).map_err(|error| broken(error.into()))
    }

    pub(super) fn write(&self) -> Result<Vec<u8>, PortError> {
        serde_json::to_vec(self).map_err(|error| broken(error.into()))
    }

    pub(super) fn hook(&self, id: &str) -> Option<&Hook> {
        self.hooks.iter().find(|hook| is_named(hook, id))
    }

    /// Adds a webhook, or puts it in the place of the one with its name.
    pub(super) fn set_hook(&mut self, config: PushConfig, version: Version) -> Result<(), Error> {
        let task = Some(self.machine.task().id.clone());
        let config = PushConfig { task, ..config };
        let id = config.id.clone();
        let count = self.hooks.len();
        match self.hooks.iter_mut().find(|hook| hook.config.id == id) {
            Some(known) => *known = Hook { config, version },
            None if count >= PUSH_CONFIGS_MAX => {
                let words = format!("a task has at most {PUSH_CONFIGS_MAX}");
                return Err(Error::violation("pushNotificationConfig", words));
            }
            None => self.hooks.push(Hook { config, version }),
        }
        Ok(())
    }

    pub(super) fn remove_hook(&mut self, id: &PushConfigId) {
        self.hooks.retain(|hook| hook.config.id.as_ref() != Some(id));
    }

    /// What each webhook is to be told of these events, in the words of its version.
    pub(super) fn notices(&self, told: &[Arc<Told>]) -> Vec<NewNotice> {
        if self.hooks.is_empty() {
            return Vec::new();
        }
        let task = self.machine.task();
        let mut notices = Vec::new();
        for event in told.iter().map(|told| &told.event) {
            for hook in self.hooks.iter().filter(|hook| concerns(event, hook.version)) {
                let (body, media_type) = wire::write_push(hook.version, event, task);
                let (media_type, body) = (media_type.to_owned(), body.to_string());
                let name = hook.config.id.as_ref().map(ToString::to_string).unwrap_or_default();
                // Two texts can always be written.
                let body = serde_json::to_vec(&Letter { media_type, body }).unwrap_or_default();
                notices.push(NewNotice { hook: name, body });
            }
        }
        notices
    }

    /// Ends the task as failed; none if it has ended.
    pub(super) fn fail(&mut self, words: &str, id: MessageId, now: Timestamp) -> Option<Told> {
        let message = Some(said(id, vec![Part::text(words)]));
        let update = Update::Status { state: TaskState::Failed, message, metadata: None };
        match self.machine.apply(self.machine.next_step(), update, now) {
            Applied::Told(told) => Some(*told),
            Applied::Repeated | Applied::Early { .. } | Applied::Late | Applied::Refused(_) => None,
        }
    }
}

fn is_named(hook: &Hook, id: &str) -> bool {
    hook.config.id.as_ref().is_some_and(|own| own.as_str() == id)
}

/// Whether a webhook is told of an event. Whoever made the task knows that it was made. Before 1.0 the whole task is
/// sent each time, so pieces of an artifact wait for its end.
fn concerns(event: &Event, version: Version) -> bool {
    match event {
        Event::Task(_) | Event::Message(_) => false,
        Event::Status(_) => true,
        Event::Artifact(update) => version == Version::V1_0 || update.last_chunk || !update.append,
    }
}

/// Something that the agent says.
pub(super) fn said(id: MessageId, parts: Vec<Part>) -> Message {
    Message {
        id,
        role: Role::Agent,
        parts,
        context: None,
        task: None,
        references: Vec::new(),
        extensions: Vec::new(),
        metadata: None,
    }
}

fn broken(source: Box<dyn std::error::Error + Send + Sync>) -> PortError {
    PortError::Broken { what: "reading a task", source }
}
