//! Tasks, messages, artifacts and events as 0.2, 0.3 and 1.0 write them: alike, but for what a [`Spelling`] says.

use serde_json::Value;

use crate::fields::{At, Fields, Notation, Read, Writer};
use crate::limits::{
    ARTIFACTS_MAX, DESCRIPTION_BYTES_MAX, HISTORY_MESSAGES_MAX, NAME_BYTES_MAX, NAMES_MAX,
    PARTS_MAX, URL_BYTES_MAX,
};
use crate::model::{
    Artifact, ArtifactUpdate, Event, Message, Part, Role, StatusUpdate, Task, TaskState, TaskStatus,
};

/// What differs between the versions' ways of writing the same objects.
pub(crate) struct Spelling {
    pub(crate) notation: Notation,
    /// Objects say what they are in a field `kind`; otherwise a field of that name wraps them.
    pub(crate) kinds: bool,
    /// The field of a message that holds its parts.
    pub(crate) parts: &'static str,
    pub(crate) user: &'static str,
    pub(crate) agent: &'static str,
    /// The states' names; in ProtoJSON their places are their numbers.
    pub(crate) states: [(TaskState, &'static str); 9],
    pub(crate) read_part: fn(&Fields<'_>) -> Read<Part>,
    pub(crate) write_part: fn(&Part) -> Value,
    /// A status says whether the stream ends with it.
    pub(crate) says_final: bool,
    /// Messages name the tasks that they refer to.
    pub(crate) references: bool,
}

impl Spelling {
    pub(crate) fn state_name(&self, state: TaskState) -> &'static str {
        self.states.iter().find(|(known, _)| *known == state).map_or("", |(_, name)| name)
    }

    /// The state of a name or number; `None` for what no version has.
    pub(crate) fn state(&self, value: &Value) -> Option<TaskState> {
        match value {
            // The two ProtoJSON forms spell it differently; peers mix them up.
            Value::String(name)
                if self.notation == Notation::Proto
                    && (name == "TASK_STATE_CANCELED" || name == "TASK_STATE_CANCELLED") =>
            {
                Some(TaskState::Canceled)
            }
            Value::String(name) => {
                self.states.iter().find(|(_, known)| known == name).map(|(state, _)| *state)
            }
            Value::Number(number) if self.notation == Notation::Proto => {
                let index = usize::try_from(number.as_u64()?).ok()?;
                self.states.get(index).map(|(state, _)| *state)
            }
            _ => None,
        }
    }

    fn role(&self, fields: &Fields<'_>) -> Read<Role> {
        let value = fields.require("role", fields.get("role"))?;
        let number = (self.notation == Notation::Proto).then(|| value.as_u64()).flatten();
        match (value.as_str(), number) {
            (Some(name), _) if name == self.user => Ok(Role::User),
            (Some(name), _) if name == self.agent => Ok(Role::Agent),
            (None, Some(1)) => Ok(Role::User),
            (None, Some(2)) => Ok(Role::Agent),
            _ => Err(fields.wrong("role", format!("is {} or {}", self.user, self.agent))),
        }
    }

    pub(crate) fn read_message(&self, fields: &Fields<'_>) -> Read<Message> {
        Ok(Message {
            id: fields.required_id("messageId")?,
            role: self.role(fields)?,
            parts: self.read_parts(fields, self.parts)?,
            context: fields.id("contextId")?,
            task: fields.id("taskId")?,
            references: fields.items("referenceTaskIds", NAMES_MAX, |value, at| {
                let text = value.as_str().ok_or_else(|| at.wrong("is a string"))?;
                text.parse().map_err(|error: crate::ids::IdError| at.wrong(error.to_string()))
            })?,
            extensions: fields.texts("extensions", NAMES_MAX, URL_BYTES_MAX)?,
            metadata: fields.object("metadata")?,
        })
    }

    fn read_parts(&self, fields: &Fields<'_>, name: &str) -> Read<Vec<Part>> {
        let parts = fields.list(name, PARTS_MAX, self.read_part)?;
        if parts.is_empty() {
            return Err(fields.wrong(name, "has at least one part"));
        }
        Ok(parts)
    }

    pub(crate) fn write_message(&self, message: &Message) -> Value {
        let mut writer = Writer::default();
        let references = if self.references { message.references.as_slice() } else { &[] };
        if self.kinds {
            writer.put("kind", "message");
        }
        writer
            .put("messageId", message.id.as_str())
            .some("contextId", message.context.as_ref())
            .some("taskId", message.task.as_ref())
            .put(
                "role",
                match message.role {
                    Role::User => self.user,
                    Role::Agent => self.agent,
                },
            )
            .put(self.parts, message.parts.iter().map(self.write_part).collect::<Vec<_>>())
            .some("metadata", message.metadata.clone())
            .texts("extensions", &message.extensions)
            .list("referenceTaskIds", references, |id| Value::from(id.as_str()))
            .done()
    }

    fn read_status(&self, fields: &Fields<'_>) -> Read<TaskStatus> {
        let state = fields.require("state", fields.get("state"))?;
        Ok(TaskStatus {
            // A state of a later version is no reason to lose the rest.
            state: self.state(state).unwrap_or(TaskState::Unspecified),
            message: fields.nested("message", |message| self.read_message(message))?,
            timestamp: fields.timestamp("timestamp")?,
        })
    }

    fn write_status(&self, status: &TaskStatus) -> Value {
        Writer::default()
            .put("state", self.state_name(status.state))
            .some("message", status.message.as_ref().map(|message| self.write_message(message)))
            .some("timestamp", status.timestamp.map(|moment| moment.to_string()))
            .done()
    }

    fn read_artifact(&self, fields: &Fields<'_>) -> Read<Artifact> {
        Ok(Artifact {
            id: fields.required_id("artifactId")?,
            name: fields.text("name", NAME_BYTES_MAX)?,
            description: fields.text("description", DESCRIPTION_BYTES_MAX)?,
            parts: self.read_parts(fields, "parts")?,
            extensions: fields.texts("extensions", NAMES_MAX, URL_BYTES_MAX)?,
            metadata: fields.object("metadata")?,
        })
    }

    fn write_artifact(&self, artifact: &Artifact) -> Value {
        Writer::default()
            .put("artifactId", artifact.id.as_str())
            .some("name", artifact.name.clone())
            .some("description", artifact.description.clone())
            .put("parts", artifact.parts.iter().map(self.write_part).collect::<Vec<_>>())
            .some("metadata", artifact.metadata.clone())
            .texts("extensions", &artifact.extensions)
            .done()
    }

    pub(crate) fn read_task(&self, fields: &Fields<'_>) -> Read<Task> {
        Ok(Task {
            id: fields.required_id("id")?,
            context: fields.id("contextId")?,
            status: fields.required("status", |status| self.read_status(status))?,
            artifacts: fields
                .list("artifacts", ARTIFACTS_MAX, |artifact| self.read_artifact(artifact))?,
            history: fields
                .list("history", HISTORY_MESSAGES_MAX, |message| self.read_message(message))?,
            metadata: fields.object("metadata")?,
        })
    }

    pub(crate) fn write_task(&self, task: &Task) -> Value {
        let mut writer = Writer::default();
        if self.kinds {
            writer.put("kind", "task");
        }
        writer
            .put("id", task.id.as_str())
            .some("contextId", task.context.as_ref())
            .put("status", self.write_status(&task.status))
            .list("artifacts", &task.artifacts, |artifact| self.write_artifact(artifact))
            .list("history", &task.history, |message| self.write_message(message))
            .some("metadata", task.metadata.clone())
            .done()
    }

    fn read_status_update(&self, fields: &Fields<'_>) -> Read<StatusUpdate> {
        Ok(StatusUpdate {
            task: fields.required_id("taskId")?,
            context: fields.id("contextId")?,
            status: fields.required("status", |status| self.read_status(status))?,
            metadata: fields.object("metadata")?,
        })
    }

    fn write_status_update(&self, update: &StatusUpdate) -> Value {
        let mut writer = Writer::default();
        if self.kinds {
            writer.put("kind", "status-update");
        }
        writer
            .put("taskId", update.task.as_str())
            .some("contextId", update.context.as_ref())
            .put("status", self.write_status(&update.status))
            .some("metadata", update.metadata.clone());
        let is_final = ends_stream(update.status.state);
        if self.says_final && (is_final || self.notation == Notation::Plain) {
            writer.put("final", is_final);
        }
        writer.done()
    }

    fn read_artifact_update(&self, fields: &Fields<'_>) -> Read<ArtifactUpdate> {
        Ok(ArtifactUpdate {
            task: fields.required_id("taskId")?,
            context: fields.id("contextId")?,
            artifact: fields.required("artifact", |artifact| self.read_artifact(artifact))?,
            append: fields.boolean("append")?.unwrap_or(false),
            last_chunk: fields.boolean("lastChunk")?.unwrap_or(false),
            index: 0,
            metadata: fields.object("metadata")?,
        })
    }

    fn write_artifact_update(&self, update: &ArtifactUpdate) -> Value {
        let mut writer = Writer::default();
        if self.kinds {
            writer.put("kind", "artifact-update");
        }
        writer
            .put("taskId", update.task.as_str())
            .some("contextId", update.context.as_ref())
            .put("artifact", self.write_artifact(&update.artifact))
            .flag("append", update.append)
            .flag("lastChunk", update.last_chunk)
            .some("metadata", update.metadata.clone())
            .done()
    }

    pub(crate) fn read_event(&self, value: &Value) -> Read<Event> {
        let fields = Fields::of(value, At::Root, self.notation)?;
        if self.kinds {
            return match kind(&fields)? {
                "task" => self.read_task(&fields).map(Event::Task),
                "message" => self.read_message(&fields).map(Event::Message),
                "status-update" => self.read_status_update(&fields).map(Event::Status),
                "artifact-update" => self.read_artifact_update(&fields).map(Event::Artifact),
                _ => {
                    Err(fields.wrong("kind", "is task, message, status-update or artifact-update"))
                }
            };
        }
        let wrapped = [
            fields.nested("task", |task| self.read_task(task))?.map(Event::Task),
            fields.nested("message", |message| self.read_message(message))?.map(Event::Message),
            fields
                .nested("statusUpdate", |update| self.read_status_update(update))?
                .map(Event::Status),
            fields
                .nested("artifactUpdate", |update| self.read_artifact_update(update))?
                .map(Event::Artifact),
        ];
        let mut found = wrapped.into_iter().flatten();
        match (found.next(), found.next()) {
            (Some(event), None) => Ok(event),
            _ => Err(fields
                .at
                .wrong("has exactly one of task, message, statusUpdate, artifactUpdate")),
        }
    }

    pub(crate) fn write_event(&self, event: &Event) -> Value {
        let (name, value) = match event {
            Event::Task(task) => ("task", self.write_task(task)),
            Event::Message(message) => ("message", self.write_message(message)),
            Event::Status(update) => ("statusUpdate", self.write_status_update(update)),
            Event::Artifact(update) => ("artifactUpdate", self.write_artifact_update(update)),
        };
        if self.kinds { value } else { Writer::default().put(name, value).done() }
    }
}

/// Streams of 0.x end where the task ends or waits for its caller, and say so.
pub(crate) fn ends_stream(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}

pub(crate) fn kind<'a>(fields: &Fields<'a>) -> Read<&'a str> {
    let kind = fields.require("kind", fields.get("kind"))?;
    kind.as_str().ok_or_else(|| fields.wrong("kind", "is a string"))
}

/// The bytes of a file, in either alphabet of base64, padded or not.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    use base64::Engine;
    use base64::alphabet::{STANDARD, URL_SAFE};
    use base64::engine::DecodePaddingMode;
    use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    GeneralPurpose::new(alphabet, LENIENT).decode(text).ok()
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
