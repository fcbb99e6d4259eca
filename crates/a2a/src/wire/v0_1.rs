//! Version 0.1 to the letter: tasks and sessions named by the client, messages and artifacts without ids.

use serde_json::{Value, json};

use super::objects::ends_stream;
use super::v0_3::{read_part_of, read_push, write_part_as};
use crate::error::{Error, ErrorKind};
use crate::fields::{At, Fields, Notation, Read, Writer};
use crate::ids::{ArtifactId, MessageId, TaskId};
use crate::limits::{
    ARTIFACTS_MAX, DESCRIPTION_BYTES_MAX, HISTORY_MESSAGES_MAX, NAME_BYTES_MAX, NAMES_MAX,
    PARTS_MAX,
};
use crate::model::{
    Answer, Artifact, ArtifactUpdate, Call, Event, Message, Operation, OperationKind, Part,
    PushConfig, Role, Send, SendConfiguration, Sent, StatusUpdate, Task, TaskState, TaskStatus,
};

pub(crate) fn method(kind: OperationKind) -> Option<&'static str> {
    match kind {
        OperationKind::Send => Some("tasks/send"),
        OperationKind::Stream => Some("tasks/sendSubscribe"),
        OperationKind::Get => Some("tasks/get"),
        OperationKind::Cancel => Some("tasks/cancel"),
        OperationKind::Subscribe => Some("tasks/resubscribe"),
        OperationKind::CreatePush => Some("tasks/pushNotification/set"),
        OperationKind::GetPush => Some("tasks/pushNotification/get"),
        OperationKind::List
        | OperationKind::ListPush
        | OperationKind::DeletePush
        | OperationKind::ExtendedCard => None,
    }
}

fn state(name: &str) -> TaskState {
    match name {
        "submitted" => TaskState::Submitted,
        "working" => TaskState::Working,
        "input-required" => TaskState::InputRequired,
        "completed" => TaskState::Completed,
        "canceled" => TaskState::Canceled,
        "failed" => TaskState::Failed,
        _ => TaskState::Unspecified,
    }
}

/// States that came later are told as the nearest that 0.1 has.
fn state_name(state: TaskState) -> &'static str {
    match state {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::InputRequired | TaskState::AuthRequired => "input-required",
        TaskState::Completed => "completed",
        TaskState::Canceled => "canceled",
        TaskState::Failed | TaskState::Rejected => "failed",
    }
}

fn read_part(fields: &Fields<'_>) -> Read<Part> {
    let name = if fields.get("type").is_some() { "type" } else { "kind" };
    let said = fields.required_text(name, NAME_BYTES_MAX)?;
    read_part_of(&said, "type", fields)
}

fn read_parts(fields: &Fields<'_>) -> Read<Vec<Part>> {
    // python-a2a puts the only part into `content`.
    if fields.get("parts").is_none()
        && let Some(part) = fields.nested("content", read_part)?
    {
        return Ok(vec![part]);
    }
    let parts = fields.list("parts", PARTS_MAX, read_part)?;
    if parts.is_empty() {
        return Err(fields.wrong("parts", "has at least one part"));
    }
    Ok(parts)
}

fn read_message(fields: &Fields<'_>, id: MessageId) -> Read<Message> {
    let role = match fields.required_text("role", NAME_BYTES_MAX)?.as_str() {
        "user" => Role::User,
        "agent" => Role::Agent,
        _ => return Err(fields.wrong("role", "is user or agent")),
    };
    Ok(Message {
        id,
        role,
        parts: read_parts(fields)?,
        context: None,
        task: None,
        references: Vec::new(),
        extensions: Vec::new(),
        metadata: fields.object("metadata")?,
    })
}

fn write_message(message: &Message) -> Value {
    Writer::default()
        .put(
            "role",
            match message.role {
                Role::User => "user",
                Role::Agent => "agent",
            },
        )
        .put(
            "parts",
            message.parts.iter().map(|part| write_part_as("type", part)).collect::<Vec<_>>(),
        )
        .some("metadata", message.metadata.clone())
        .done()
}

fn read_status(fields: &Fields<'_>, task: &TaskId) -> Read<TaskStatus> {
    Ok(TaskStatus {
        state: state(&fields.required_text("state", NAME_BYTES_MAX)?),
        message: fields.nested("message", |message| {
            read_message(message, MessageId::within(task, "status"))
        })?,
        timestamp: fields.timestamp("timestamp")?,
    })
}

fn write_status(status: &TaskStatus) -> Value {
    Writer::default()
        .put("state", state_name(status.state))
        .some("message", status.message.as_ref().map(write_message))
        .some("timestamp", status.timestamp.map(|moment| moment.to_string()))
        .done()
}

fn read_artifact(fields: &Fields<'_>) -> Read<(u32, Artifact)> {
    let index = fields.count("index")?.unwrap_or(0);
    let artifact = Artifact {
        id: ArtifactId::numbered(index),
        name: fields.text("name", NAME_BYTES_MAX)?,
        description: fields.text("description", DESCRIPTION_BYTES_MAX)?,
        parts: read_parts(fields)?,
        extensions: Vec::new(),
        metadata: fields.object("metadata")?,
    };
    Ok((index, artifact))
}

fn write_artifact(artifact: &Artifact, index: u32, writer: &mut Writer) -> Value {
    writer
        .some("name", artifact.name.clone())
        .some("description", artifact.description.clone())
        .put(
            "parts",
            artifact.parts.iter().map(|part| write_part_as("type", part)).collect::<Vec<_>>(),
        )
        .put("index", index)
        .some("metadata", artifact.metadata.clone())
        .done()
}

fn read_task(fields: &Fields<'_>) -> Read<Task> {
    let id: TaskId = fields.required_id("id")?;
    let mut artifacts = Vec::new();
    for (index, (said, artifact)) in
        fields.list("artifacts", ARTIFACTS_MAX, read_artifact)?.into_iter().enumerate()
    {
        // Some leave the numbers out; then the place says it.
        let place = u32::try_from(index).unwrap_or(said);
        let id = if said == 0 { ArtifactId::numbered(place) } else { artifact.id };
        artifacts.push(Artifact { id, ..artifact });
    }
    let history = fields.items("history", HISTORY_MESSAGES_MAX, |value, at| {
        let place = match at {
            At::Item(_, index) => format!("history/{index}"),
            At::Root | At::Field(..) => "history".to_owned(),
        };
        read_message(&Fields::of(value, at, Notation::Plain)?, MessageId::within(&id, &place))
    })?;
    Ok(Task {
        context: fields.id("sessionId")?,
        status: fields.required("status", |status| read_status(status, &id))?,
        artifacts,
        history,
        metadata: fields.object("metadata")?,
        id,
    })
}

fn write_task(task: &Task) -> Value {
    let artifacts: Vec<Value> = (0u32..)
        .zip(&task.artifacts)
        .map(|(index, artifact)| write_artifact(artifact, index, &mut Writer::default()))
        .collect();
    Writer::default()
        .put("id", task.id.as_str())
        .some("sessionId", task.context.as_ref())
        .put("status", write_status(&task.status))
        .list("artifacts", &artifacts, Clone::clone)
        .list("history", &task.history, write_message)
        .some("metadata", task.metadata.clone())
        .done()
}

pub(crate) fn read_event(value: &Value) -> Read<Event> {
    let fields = Fields::of(value, At::Root, Notation::Plain)?;
    let task: TaskId = fields.required_id("id")?;
    let metadata = fields.object("metadata")?;
    if fields.get("artifact").is_some() {
        return fields.required("artifact", |artifact| {
            let (append, last_chunk) =
                (artifact.boolean("append")?, artifact.boolean("lastChunk")?);
            let (index, artifact) = read_artifact(artifact)?;
            let (append, last_chunk) = (append.unwrap_or(false), last_chunk.unwrap_or(false));
            let update = ArtifactUpdate {
                task,
                context: None,
                artifact,
                append,
                last_chunk,
                index,
                metadata,
            };
            Ok(Event::Artifact(update))
        });
    }
    // An update says whether it is the last; a whole task, as webhooks get it, does not.
    if fields.get("final").is_none() {
        return read_task(&fields).map(Event::Task);
    }
    let status = fields.required("status", |status| read_status(status, &task))?;
    Ok(Event::Status(StatusUpdate { task, context: None, status, metadata }))
}

pub(crate) fn write_event(event: &Event) -> Option<Value> {
    match event {
        // A stream of 0.1 has updates only: where another begins with the task, its status is told.
        Event::Task(task) => {
            let status = &task.status;
            Some(write_status_update(task.id.as_str(), status, None))
        }
        Event::Message(_) => None,
        Event::Status(update) => Some(write_status_update(
            update.task.as_str(),
            &update.status,
            update.metadata.as_ref(),
        )),
        Event::Artifact(update) => {
            let mut writer = Writer::default();
            writer.flag("append", update.append).flag("lastChunk", update.last_chunk);
            let artifact = write_artifact(&update.artifact, update.index, &mut writer);
            let mut writer = Writer::default();
            writer.put("id", update.task.as_str()).put("artifact", artifact);
            Some(writer.some("metadata", update.metadata.clone()).done())
        }
    }
}

fn write_status_update(
    id: &str,
    status: &TaskStatus,
    metadata: Option<&crate::model::Object>,
) -> Value {
    Writer::default()
        .put("id", id)
        .put("status", write_status(status))
        .put("final", ends_stream(status.state))
        .some("metadata", metadata.cloned())
        .done()
}

pub(crate) fn read_call(kind: OperationKind, params: &Value, fresh: &MessageId) -> Read<Call> {
    let fields = Fields::of(params, At::Root, Notation::Plain)?;
    let task: TaskId = fields.required_id("id")?;
    let metadata = fields.object("metadata")?;
    let operation = match kind {
        OperationKind::Send => Operation::Send(read_send(&fields, task, fresh)?),
        OperationKind::Stream => Operation::Stream(read_send(&fields, task, fresh)?),
        OperationKind::Get => {
            Operation::Get { task, history_length: fields.count("historyLength")?, metadata }
        }
        OperationKind::Cancel => Operation::Cancel { task, metadata },
        OperationKind::Subscribe => Operation::Subscribe { task, metadata },
        OperationKind::CreatePush => {
            let config = fields.required("pushNotificationConfig", read_push)?;
            Operation::CreatePush(PushConfig { task: Some(task), ..config })
        }
        OperationKind::GetPush => Operation::GetPush { task, config: None, metadata },
        OperationKind::List
        | OperationKind::ListPush
        | OperationKind::DeletePush
        | OperationKind::ExtendedCard => return Err(Error::of(ErrorKind::MethodNotFound)),
    };
    Ok(Call { tenant: None, operation })
}

fn read_send(fields: &Fields<'_>, task: TaskId, fresh: &MessageId) -> Read<Send> {
    let message = fields.required("message", |message| read_message(message, fresh.clone()))?;
    Ok(Send {
        message: Message { task: Some(task), context: fields.id("sessionId")?, ..message },
        configuration: SendConfiguration {
            accepted_output_modes: fields.texts(
                "acceptedOutputModes",
                NAMES_MAX,
                NAME_BYTES_MAX,
            )?,
            push: fields.nested("pushNotification", read_push)?,
            history_length: fields.count("historyLength")?,
            ..SendConfiguration::default()
        },
        metadata: fields.object("metadata")?,
    })
}

pub(crate) fn write_call(call: &Call) -> Read<Value> {
    let mut writer = Writer::default();
    match &call.operation {
        Operation::Send(send) | Operation::Stream(send) => {
            let rule = "is required: clients of 0.1 name their tasks";
            let task = send
                .message
                .task
                .as_ref()
                .ok_or_else(|| Error::violation("message.taskId", rule))?;
            let push = send.configuration.push.as_ref();
            writer
                .put("id", task.as_str())
                .some("sessionId", send.message.context.as_ref())
                .put("message", write_message(&send.message))
                .texts("acceptedOutputModes", &send.configuration.accepted_output_modes)
                .some("pushNotification", push.map(write_push))
                .some("historyLength", send.configuration.history_length)
                .some("metadata", send.metadata.clone());
        }
        Operation::Get { task, history_length, metadata } => {
            writer
                .put("id", task.as_str())
                .some("historyLength", *history_length)
                .some("metadata", metadata.clone());
        }
        Operation::Cancel { task, metadata }
        | Operation::Subscribe { task, metadata }
        | Operation::GetPush { task, metadata, .. } => {
            writer.put("id", task.as_str()).some("metadata", metadata.clone());
        }
        Operation::CreatePush(config) => return Ok(write_task_push(config)),
        Operation::List(_)
        | Operation::ListPush { .. }
        | Operation::DeletePush { .. }
        | Operation::ExtendedCard => return Err(Error::of(ErrorKind::UnsupportedOperation)),
    }
    Ok(writer.done())
}

/// A config of 0.1 has no id: a task has one webhook.
fn write_push(config: &PushConfig) -> Value {
    super::v0_3::write_push(&PushConfig { id: None, ..config.clone() })
}

fn write_task_push(config: &PushConfig) -> Value {
    json!({
        "id": config.task.as_ref().map_or("", TaskId::as_str),
        "pushNotificationConfig": write_push(config),
    })
}

pub(crate) fn read_answer(kind: OperationKind, result: &Value) -> Read<Answer> {
    let fields = Fields::of(result, At::Root, Notation::Plain)?;
    Ok(match kind {
        OperationKind::Send | OperationKind::Stream | OperationKind::Subscribe => {
            Answer::Sent(Sent::Task(read_task(&fields)?))
        }
        OperationKind::CreatePush | OperationKind::GetPush => {
            let task = Some(fields.required_id("id")?);
            let config = fields.required("pushNotificationConfig", read_push)?;
            Answer::Push(PushConfig { task, ..config })
        }
        OperationKind::Get
        | OperationKind::Cancel
        | OperationKind::List
        | OperationKind::ListPush
        | OperationKind::DeletePush
        | OperationKind::ExtendedCard => Answer::Task(read_task(&fields)?),
    })
}

pub(crate) fn write_answer(answer: &Answer) -> Value {
    match answer {
        Answer::Sent(Sent::Task(task)) | Answer::Task(task) => write_task(task),
        // 0.1 knows no answer without a task: the message becomes the status of one that is done.
        Answer::Sent(Sent::Message(message)) => {
            let status = TaskStatus {
                state: TaskState::Completed,
                message: Some(message.clone()),
                timestamp: None,
            };
            Writer::default()
                .put("id", message.task.as_ref().map_or(message.id.as_str(), TaskId::as_str))
                .some("sessionId", message.context.as_ref())
                .put("status", write_status(&status))
                .done()
        }
        Answer::Tasks(page) => page.tasks.iter().map(write_task).collect(),
        Answer::Push(config) => write_task_push(config),
        Answer::Pushes(page) => page.configs.iter().map(write_task_push).collect(),
        Answer::Deleted => Value::Null,
        Answer::Card(card) => super::card_v0::write_v0_1(card),
    }
}
