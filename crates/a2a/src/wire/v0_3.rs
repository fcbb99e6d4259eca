//! Version 0.3 to the letter, as JSON-RPC carries it.

use serde_json::{Value, json};

use super::objects::{Spelling, base64, bytes, kind};
use crate::fields::{At, Fields, Notation, Read, Writer};
use crate::ids::TaskId;
use crate::limits::{
    CARD_ITEMS_MAX, FILE_BYTES_MAX, NAME_BYTES_MAX, NAMES_MAX, PUSH_CONFIGS_MAX, SECRET_BYTES_MAX,
    TEXT_BYTES_MAX, URL_BYTES_MAX,
};
use crate::model::{
    Answer, Call, Content, Operation, OperationKind, Part, PushAuthentication, PushConfig,
    PushPage, Returns, Send, SendConfiguration, Sent, TaskState,
};

pub(crate) const SPELLING: Spelling = Spelling {
    notation: Notation::Plain,
    kinds: true,
    parts: "parts",
    user: "user",
    agent: "agent",
    states: [
        (TaskState::Unspecified, "unknown"),
        (TaskState::Submitted, "submitted"),
        (TaskState::Working, "working"),
        (TaskState::Completed, "completed"),
        (TaskState::Failed, "failed"),
        (TaskState::Canceled, "canceled"),
        (TaskState::InputRequired, "input-required"),
        (TaskState::Rejected, "rejected"),
        (TaskState::AuthRequired, "auth-required"),
    ],
    read_part,
    write_part,
    says_final: true,
    references: true,
};

pub(crate) fn method(kind: OperationKind) -> Option<&'static str> {
    match kind {
        OperationKind::Send => Some("message/send"),
        OperationKind::Stream => Some("message/stream"),
        OperationKind::Get => Some("tasks/get"),
        OperationKind::List => None,
        OperationKind::Cancel => Some("tasks/cancel"),
        OperationKind::Subscribe => Some("tasks/resubscribe"),
        OperationKind::CreatePush => Some("tasks/pushNotificationConfig/set"),
        OperationKind::GetPush => Some("tasks/pushNotificationConfig/get"),
        OperationKind::ListPush => Some("tasks/pushNotificationConfig/list"),
        OperationKind::DeletePush => Some("tasks/pushNotificationConfig/delete"),
        OperationKind::ExtendedCard => Some("agent/getAuthenticatedExtendedCard"),
    }
}

fn read_part(fields: &Fields<'_>) -> Read<Part> {
    // The schema gives `kind` a default, so some writers leave it out.
    let said = match fields.get("kind") {
        Some(_) => kind(fields)?,
        None => ["text", "file", "data"]
            .into_iter()
            .find(|name| fields.get(name).is_some())
            .unwrap_or_default(),
    };
    read_part_of(said, "kind", fields)
}

/// Parts of 0.1 differ only in the name of the field that says what they are.
pub(super) fn read_part_of(said: &str, name: &str, fields: &Fields<'_>) -> Read<Part> {
    let metadata = fields.object("metadata")?;
    match said {
        "text" => {
            let text = fields.required_text("text", TEXT_BYTES_MAX)?;
            Ok(Part { metadata, ..Part::text(text) })
        }
        "file" => Ok(Part { metadata, ..fields.required("file", read_file)? }),
        "data" => {
            let data = fields.object("data")?;
            let data = Value::Object(fields.require("data", data)?);
            Ok(Part { metadata, ..Part::new(Content::Data(data)) })
        }
        _ => Err(fields.wrong(name, "is text, file or data")),
    }
}

fn read_file(fields: &Fields<'_>) -> Read<Part> {
    let inline = match fields.get("bytes") {
        None => None,
        Some(value) => {
            let file = value.as_str().and_then(bytes).filter(|bytes| bytes.len() <= FILE_BYTES_MAX);
            let rule = || format!("is base64 of at most {FILE_BYTES_MAX} bytes");
            Some(file.ok_or_else(|| fields.wrong("bytes", rule()))?)
        }
    };
    let content = match (inline, fields.text("uri", URL_BYTES_MAX)?) {
        (Some(bytes), None) => Content::Raw(bytes),
        (None, Some(url)) => Content::Url(url),
        _ => return Err(fields.at.wrong("has exactly one of bytes and uri")),
    };
    Ok(Part {
        content,
        media_type: fields.text("mimeType", NAME_BYTES_MAX)?,
        filename: fields.text("name", NAME_BYTES_MAX)?,
        metadata: None,
    })
}

fn write_part(part: &Part) -> Value {
    write_part_as("kind", part)
}

pub(super) fn write_part_as(name: &str, part: &Part) -> Value {
    let mut writer = Writer::default();
    let file = |field: &str, value: &str| {
        Writer::default()
            .some("name", part.filename.clone())
            .some("mimeType", part.media_type.clone())
            .put(field, value)
            .done()
    };
    match &part.content {
        Content::Text(text) => writer.put(name, "text").put("text", text.as_str()),
        Content::Raw(bytes) => writer.put(name, "file").put("file", file("bytes", &base64(bytes))),
        Content::Url(url) => writer.put(name, "file").put("file", file("uri", url)),
        Content::Data(data) => writer.put(name, "data").put("data", as_object(data)),
    };
    writer.some("metadata", part.metadata.clone()).done()
}

/// Before 1.0 data is an object; anything else goes in as one with a single value.
pub(super) fn as_object(data: &Value) -> Value {
    if data.is_object() { data.clone() } else { json!({ "value": data }) }
}

pub(crate) fn read_call(kind: OperationKind, params: &Value) -> Read<Call> {
    if kind == OperationKind::ExtendedCard {
        return Ok(Call { tenant: None, operation: Operation::ExtendedCard });
    }
    let fields = Fields::of(params, At::Root, Notation::Plain)?;
    let metadata = fields.object("metadata")?;
    let operation = match kind {
        OperationKind::Send => Operation::Send(read_send(&fields)?),
        OperationKind::Stream => Operation::Stream(read_send(&fields)?),
        OperationKind::Get => Operation::Get {
            task: fields.required_id("id")?,
            history_length: fields.count("historyLength")?,
            metadata,
        },
        OperationKind::Cancel => Operation::Cancel { task: fields.required_id("id")?, metadata },
        OperationKind::Subscribe => {
            Operation::Subscribe { task: fields.required_id("id")?, metadata }
        }
        OperationKind::CreatePush => Operation::CreatePush(read_task_push(&fields)?),
        OperationKind::GetPush => Operation::GetPush {
            task: fields.required_id("id")?,
            config: fields.id("pushNotificationConfigId")?,
            metadata,
        },
        OperationKind::ListPush => Operation::ListPush {
            task: fields.required_id("id")?,
            page_size: None,
            page_token: None,
            metadata,
        },
        OperationKind::DeletePush => Operation::DeletePush {
            task: fields.required_id("id")?,
            config: fields.required_id("pushNotificationConfigId")?,
            metadata,
        },
        OperationKind::List | OperationKind::ExtendedCard => {
            return Err(crate::error::Error::of(crate::error::ErrorKind::MethodNotFound));
        }
    };
    Ok(Call { tenant: None, operation })
}

pub(super) fn read_send(fields: &Fields<'_>) -> Read<Send> {
    Ok(Send {
        message: fields.required("message", |message| SPELLING.read_message(message))?,
        configuration: fields.nested("configuration", read_configuration)?.unwrap_or_default(),
        metadata: fields.object("metadata")?,
    })
}

fn read_configuration(fields: &Fields<'_>) -> Read<SendConfiguration> {
    Ok(SendConfiguration {
        accepted_output_modes: fields.texts("acceptedOutputModes", NAMES_MAX, NAME_BYTES_MAX)?,
        push: fields.nested("pushNotificationConfig", read_push)?,
        history_length: fields.count("historyLength")?,
        returns: match fields.boolean("blocking")? {
            None => Returns::Unsaid,
            Some(true) => Returns::AtRest,
            Some(false) => Returns::Immediately,
        },
    })
}

pub(super) fn read_push(fields: &Fields<'_>) -> Read<PushConfig> {
    Ok(PushConfig {
        id: fields.id("id")?,
        task: None,
        tenant: None,
        url: fields.required_text("url", URL_BYTES_MAX)?,
        token: fields.text("token", SECRET_BYTES_MAX)?,
        authentication: fields.nested("authentication", |fields| {
            Ok(PushAuthentication {
                schemes: fields.texts("schemes", CARD_ITEMS_MAX, NAME_BYTES_MAX)?,
                credentials: fields.text("credentials", SECRET_BYTES_MAX)?,
            })
        })?,
    })
}

fn read_task_push(fields: &Fields<'_>) -> Read<PushConfig> {
    let task = Some(fields.required_id("taskId")?);
    Ok(PushConfig { task, ..fields.required("pushNotificationConfig", read_push)? })
}

pub(super) fn write_push(config: &PushConfig) -> Value {
    let authentication = |authentication: &PushAuthentication| {
        Writer::default()
            .put("schemes", authentication.schemes.clone())
            .some("credentials", authentication.credentials.clone())
            .done()
    };
    Writer::default()
        .some("id", config.id.as_ref())
        .put("url", config.url.as_str())
        .some("token", config.token.clone())
        .some("authentication", config.authentication.as_ref().map(authentication))
        .done()
}

fn write_task_push(config: &PushConfig) -> Value {
    Writer::default()
        .put("taskId", config.task.as_ref().map_or("", TaskId::as_str))
        .put("pushNotificationConfig", write_push(config))
        .done()
}

pub(crate) fn write_call(call: &Call) -> Value {
    let mut writer = Writer::default();
    match &call.operation {
        Operation::Send(send) | Operation::Stream(send) => {
            writer
                .put("message", SPELLING.write_message(&send.message))
                .some("configuration", write_configuration(&send.configuration))
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
        | Operation::ListPush { task, metadata, .. } => {
            writer.put("id", task.as_str()).some("metadata", metadata.clone());
        }
        Operation::CreatePush(config) => return write_task_push(config),
        Operation::GetPush { task, config, metadata } => {
            writer
                .put("id", task.as_str())
                .some("pushNotificationConfigId", config.as_ref())
                .some("metadata", metadata.clone());
        }
        Operation::DeletePush { task, config, metadata } => {
            writer
                .put("id", task.as_str())
                .put("pushNotificationConfigId", config.as_str())
                .some("metadata", metadata.clone());
        }
        Operation::ExtendedCard | Operation::List(_) => return Value::Null,
    }
    writer.done()
}

fn write_configuration(configuration: &SendConfiguration) -> Option<Value> {
    let blocking = match configuration.returns {
        Returns::Unsaid => None,
        Returns::AtRest => Some(true),
        Returns::Immediately => Some(false),
    };
    let mut writer = Writer::default();
    writer
        .texts("acceptedOutputModes", &configuration.accepted_output_modes)
        .some("pushNotificationConfig", configuration.push.as_ref().map(write_push))
        .some("historyLength", configuration.history_length)
        .some("blocking", blocking);
    (!writer.is_empty()).then(|| writer.done())
}

pub(crate) fn read_answer(kind: OperationKind, result: &Value) -> Read<Answer> {
    let read = |value| Fields::of(value, At::Root, Notation::Plain);
    Ok(match kind {
        OperationKind::Send | OperationKind::Stream | OperationKind::Subscribe => {
            let fields = read(result)?;
            match super::objects::kind(&fields)? {
                "task" => Answer::Sent(Sent::Task(SPELLING.read_task(&fields)?)),
                "message" => Answer::Sent(Sent::Message(SPELLING.read_message(&fields)?)),
                _ => return Err(fields.wrong("kind", "is task or message")),
            }
        }
        OperationKind::Get | OperationKind::Cancel | OperationKind::List => {
            Answer::Task(SPELLING.read_task(&read(result)?)?)
        }
        OperationKind::CreatePush | OperationKind::GetPush => {
            Answer::Push(read_task_push(&read(result)?)?)
        }
        OperationKind::ListPush => {
            let wrapped = json!({ "configs": result });
            let configs = read(&wrapped)?.list("configs", PUSH_CONFIGS_MAX, read_task_push)?;
            Answer::Pushes(PushPage { configs, next_page_token: None })
        }
        OperationKind::DeletePush => Answer::Deleted,
        OperationKind::ExtendedCard => Answer::Card(Box::new(super::read_card(result)?)),
    })
}

pub(crate) fn write_answer(answer: &Answer) -> Value {
    match answer {
        Answer::Sent(Sent::Task(task)) | Answer::Task(task) => SPELLING.write_task(task),
        Answer::Sent(Sent::Message(message)) => SPELLING.write_message(message),
        Answer::Tasks(page) => page.tasks.iter().map(|task| SPELLING.write_task(task)).collect(),
        Answer::Push(config) => write_task_push(config),
        Answer::Pushes(page) => page.configs.iter().map(write_task_push).collect(),
        Answer::Deleted => Value::Null,
        Answer::Card(card) => super::card_v0::write_v0_3(card),
    }
}
