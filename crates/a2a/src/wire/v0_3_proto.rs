//! Version 0.3 as HTTP+JSON and gRPC carry it: ProtoJSON of `a2a.v1`, with resource names for ids.

use serde_json::Value;

use super::objects::{Spelling, base64, bytes};
use super::v0_3;
use crate::error::{Error, ErrorKind};
use crate::fields::{At, Fields, Notation, Read, Writer};
use crate::ids::{PushConfigId, TaskId};
use crate::limits::{
    FILE_BYTES_MAX, ID_BYTES_MAX, NAME_BYTES_MAX, NAMES_MAX, PAGE_SIZE_MAX, PAGE_TOKEN_BYTES_MAX,
    PUSH_CONFIGS_MAX, TEXT_BYTES_MAX, URL_BYTES_MAX,
};
use crate::model::{
    Answer, Call, Content, Operation, OperationKind, Part, PushConfig, PushPage, Returns, Send,
    SendConfiguration, Sent, TaskState,
};

pub(crate) const SPELLING: Spelling = Spelling {
    notation: Notation::Proto,
    kinds: false,
    parts: "content",
    user: "ROLE_USER",
    agent: "ROLE_AGENT",
    states: [
        (TaskState::Unspecified, "TASK_STATE_UNSPECIFIED"),
        (TaskState::Submitted, "TASK_STATE_SUBMITTED"),
        (TaskState::Working, "TASK_STATE_WORKING"),
        (TaskState::Completed, "TASK_STATE_COMPLETED"),
        (TaskState::Failed, "TASK_STATE_FAILED"),
        (TaskState::Canceled, "TASK_STATE_CANCELLED"),
        (TaskState::InputRequired, "TASK_STATE_INPUT_REQUIRED"),
        (TaskState::Rejected, "TASK_STATE_REJECTED"),
        (TaskState::AuthRequired, "TASK_STATE_AUTH_REQUIRED"),
    ],
    read_part,
    write_part,
    says_final: true,
    references: false,
};

fn read_part(fields: &Fields<'_>) -> Read<Part> {
    let text = match fields.get("text") {
        None => None,
        Some(value) => {
            let at = At::Field(&fields.at, "text");
            Some(Part::text(crate::fields::text(value, &at, TEXT_BYTES_MAX)?))
        }
    };
    let file = fields.nested("file", read_file)?;
    let data = fields.nested("data", |fields| {
        let data = fields.object("data")?.unwrap_or_default();
        Ok(Part::new(Content::Data(Value::Object(data))))
    })?;
    let mut found = [text, file, data].into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(part), None) => Ok(Part { metadata: fields.object("metadata")?, ..part }),
        _ => Err(fields.at.wrong("has exactly one of text, file and data")),
    }
}

/// Fewer bytes that read as base64 are taken as they are.
const ENCODED_TWICE_BYTES_MIN: usize = 24;

fn read_file(fields: &Fields<'_>) -> Read<Part> {
    let inline = match fields.get("fileWithBytes") {
        None => None,
        Some(value) => {
            let file = value.as_str().and_then(bytes).filter(|bytes| bytes.len() <= FILE_BYTES_MAX);
            let rule = || format!("is base64 of at most {FILE_BYTES_MAX} bytes");
            Some(once(file.ok_or_else(|| fields.wrong("fileWithBytes", rule()))?))
        }
    };
    let content = match (inline, fields.text("fileWithUri", URL_BYTES_MAX)?) {
        (Some(bytes), None) => Content::Raw(bytes),
        (None, Some(url)) => Content::Url(url),
        _ => return Err(fields.at.wrong("has exactly one of fileWithBytes and fileWithUri")),
    };
    Ok(Part {
        content,
        media_type: fields.text("mimeType", NAME_BYTES_MAX)?,
        filename: fields.text("name", NAME_BYTES_MAX)?,
        metadata: None,
    })
}

/// The Python SDK of 0.3 encodes files twice. Bytes that are padded base64 themselves are taken for such a file: a
/// file that honestly holds nothing but base64 is rarer than that SDK. A short word or a hash in hexadecimal digits
/// is base64 only by chance.
fn once(file: Vec<u8>) -> Vec<u8> {
    let encoded = std::str::from_utf8(&file).ok().filter(|text| {
        let has = |is_case: fn(&u8) -> bool| text.as_bytes().iter().any(is_case);
        text.len() >= ENCODED_TWICE_BYTES_MIN
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
    });
    match encoded.and_then(bytes) {
        Some(decoded) if base64(&decoded).as_bytes() == file => decoded,
        _ => file,
    }
}

fn write_part(part: &Part) -> Value {
    let mut writer = Writer::default();
    let file = |field: &str, value: &str| {
        Writer::default()
            .put(field, value)
            .some("mimeType", part.media_type.clone())
            .some("name", part.filename.clone())
            .done()
    };
    match &part.content {
        Content::Text(text) => writer.put("text", text.as_str()),
        Content::Raw(bytes) => writer.put("file", file("fileWithBytes", &base64(bytes))),
        Content::Url(url) => writer.put("file", file("fileWithUri", url)),
        Content::Data(data) => {
            let data = Writer::default().put("data", v0_3::as_object(data)).done();
            writer.put("data", data)
        }
    };
    writer.some("metadata", part.metadata.clone()).done()
}

pub(crate) fn read_call(kind: OperationKind, params: &Value) -> Read<Call> {
    let fields = Fields::of(params, At::Root, Notation::Proto)?;
    let operation = match kind {
        OperationKind::Send => Operation::Send(read_send(&fields, params)?),
        OperationKind::Stream => Operation::Stream(read_send(&fields, params)?),
        OperationKind::Get => Operation::Get {
            task: task_of(&fields, "name")?,
            history_length: fields.count("historyLength")?,
            metadata: None,
        },
        OperationKind::Cancel => {
            Operation::Cancel { task: task_of(&fields, "name")?, metadata: None }
        }
        OperationKind::Subscribe => {
            Operation::Subscribe { task: task_of(&fields, "name")?, metadata: None }
        }
        OperationKind::CreatePush => Operation::CreatePush(read_create_push(&fields)?),
        OperationKind::GetPush => {
            let (task, config) = config_of(&fields, "name")?;
            Operation::GetPush { task, config: Some(config), metadata: None }
        }
        OperationKind::ListPush => Operation::ListPush {
            task: task_of(&fields, "parent")?,
            page_size: fields.count("pageSize")?.filter(|size| (1..=PAGE_SIZE_MAX).contains(size)),
            page_token: fields.text("pageToken", PAGE_TOKEN_BYTES_MAX)?,
            metadata: None,
        },
        OperationKind::DeletePush => {
            let (task, config) = config_of(&fields, "name")?;
            Operation::DeletePush { task, config, metadata: None }
        }
        OperationKind::ExtendedCard => Operation::ExtendedCard,
        OperationKind::List => return Err(Error::of(ErrorKind::MethodNotFound)),
    };
    Ok(Call { tenant: None, operation })
}

/// Some clients send the JSON-RPC form over HTTP: parts instead of content.
fn read_send(fields: &Fields<'_>, params: &Value) -> Read<Send> {
    let is_plain =
        |name: &str| params.get("message").is_some_and(|message| message.get(name).is_some());
    if is_plain("parts") || is_plain("kind") {
        return v0_3::read_send(&Fields::of(params, At::Root, Notation::Plain)?);
    }
    let configuration = fields.nested("configuration", |fields| {
        Ok(SendConfiguration {
            accepted_output_modes: fields.texts(
                "acceptedOutputModes",
                NAMES_MAX,
                NAME_BYTES_MAX,
            )?,
            push: fields.nested("pushNotification", v0_3::read_push)?,
            history_length: fields.count("historyLength")?,
            // The flag has no presence: in a configuration, absent is false.
            returns: match fields.boolean("blocking")? {
                Some(true) => Returns::AtRest,
                Some(false) | None => Returns::Immediately,
            },
        })
    })?;
    // The proto calls it `request` and JSON `message`; the Python SDK of 1.0 writes the proto's name.
    let name = if fields.get("message").is_none() && fields.get("request").is_some() {
        "request"
    } else {
        "message"
    };
    Ok(Send {
        message: fields.required(name, |message| SPELLING.read_message(message))?,
        configuration: configuration.unwrap_or_default(),
        metadata: fields.object("metadata")?,
    })
}

/// The config of a task: in a whole request, as its `config`, or bare.
fn read_create_push(fields: &Fields<'_>) -> Read<PushConfig> {
    let task = Some(task_of(fields, "parent")?);
    let inner =
        |fields: &Fields<'_>| match fields.nested("pushNotificationConfig", v0_3::read_push)? {
            Some(config) => Ok(config),
            None => v0_3::read_push(fields),
        };
    let config = match fields.nested("config", inner)? {
        Some(config) => config,
        None => inner(fields)?,
    };
    let id = fields.id("configId")?.or(config.id);
    Ok(PushConfig { task, id, ..config })
}

/// The task in a resource name such as `tasks/{id}` or `tasks/{id}/pushNotificationConfigs`.
fn task_of(fields: &Fields<'_>, name: &str) -> Read<TaskId> {
    let resource = fields.required_text(name, 3 * ID_BYTES_MAX)?;
    let rest = resource.strip_prefix("tasks/").or_else(|| resource.strip_prefix("task/"));
    let task = rest.map(|rest| rest.strip_suffix("/pushNotificationConfigs").unwrap_or(rest));
    let task = task.and_then(|task| task.parse().ok());
    task.ok_or_else(|| fields.wrong(name, "is tasks/{id}"))
}

fn config_of(fields: &Fields<'_>, name: &str) -> Read<(TaskId, PushConfigId)> {
    let resource = fields.required_text(name, 3 * ID_BYTES_MAX)?;
    let rest = resource.strip_prefix("tasks/").or_else(|| resource.strip_prefix("task/"));
    let ids = rest.and_then(|rest| rest.rsplit_once("/pushNotificationConfigs/"));
    let ids = ids.and_then(|(task, config)| Some((task.parse().ok()?, config.parse().ok()?)));
    ids.ok_or_else(|| fields.wrong(name, "is tasks/{id}/pushNotificationConfigs/{id}"))
}

fn config_name(task: &TaskId, config: Option<&PushConfigId>) -> String {
    format!("tasks/{task}/pushNotificationConfigs/{}", config.map_or("", PushConfigId::as_str))
}

fn read_task_push(fields: &Fields<'_>) -> Read<PushConfig> {
    let (task, id) = config_of(fields, "name")?;
    let config = fields.required("pushNotificationConfig", v0_3::read_push)?;
    Ok(PushConfig { task: Some(task), id: config.id.or(Some(id)), ..config })
}

fn write_task_push(config: &PushConfig) -> Value {
    let mut writer = Writer::default();
    if let Some(task) = &config.task {
        writer.put("name", config_name(task, config.id.as_ref()));
    }
    writer.put("pushNotificationConfig", v0_3::write_push(config)).done()
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
        Operation::Get { task, history_length, .. } => {
            writer.put("name", format!("tasks/{task}")).some("historyLength", *history_length);
        }
        Operation::Cancel { task, .. } | Operation::Subscribe { task, .. } => {
            writer.put("name", format!("tasks/{task}"));
        }
        Operation::CreatePush(config) => {
            writer
                .some("parent", config.task.as_ref().map(|task| format!("tasks/{task}")))
                .some("configId", config.id.as_ref())
                .put("config", write_task_push(config));
        }
        Operation::GetPush { task, config, .. } => {
            writer.put("name", config_name(task, config.as_ref()));
        }
        Operation::ListPush { task, page_size, page_token, .. } => {
            writer
                .put("parent", format!("tasks/{task}"))
                .some("pageSize", *page_size)
                .some("pageToken", page_token.clone());
        }
        Operation::DeletePush { task, config, .. } => {
            writer.put("name", config_name(task, Some(config)));
        }
        Operation::ExtendedCard | Operation::List(_) => {}
    }
    writer.done()
}

fn write_configuration(configuration: &SendConfiguration) -> Option<Value> {
    let mut writer = Writer::default();
    writer
        .texts("acceptedOutputModes", &configuration.accepted_output_modes)
        .some("pushNotification", configuration.push.as_ref().map(v0_3::write_push))
        .some("historyLength", configuration.history_length);
    match configuration.returns {
        Returns::Unsaid if writer.is_empty() => return None,
        Returns::Unsaid | Returns::AtRest => writer.put("blocking", true),
        Returns::Immediately => &mut writer,
    };
    Some(writer.done())
}

pub(crate) fn read_answer(kind: OperationKind, result: &Value) -> Read<Answer> {
    let fields = Fields::of(result, At::Root, Notation::Proto)?;
    Ok(match kind {
        OperationKind::Send | OperationKind::Stream | OperationKind::Subscribe => {
            let task = fields.nested("task", |task| SPELLING.read_task(task))?.map(Sent::Task);
            let message = fields.nested("message", |message| SPELLING.read_message(message))?;
            match (task, message.map(Sent::Message)) {
                (Some(sent), None) | (None, Some(sent)) => Answer::Sent(sent),
                _ => return Err(fields.at.wrong("has exactly one of task and message")),
            }
        }
        OperationKind::Get | OperationKind::Cancel | OperationKind::List => {
            Answer::Task(SPELLING.read_task(&fields)?)
        }
        OperationKind::CreatePush | OperationKind::GetPush => {
            Answer::Push(read_task_push(&fields)?)
        }
        OperationKind::ListPush => Answer::Pushes(PushPage {
            configs: fields.list("configs", PUSH_CONFIGS_MAX, read_task_push)?,
            next_page_token: fields.text("nextPageToken", PAGE_TOKEN_BYTES_MAX)?,
        }),
        OperationKind::DeletePush => Answer::Deleted,
        OperationKind::ExtendedCard => Answer::Card(Box::new(super::read_card(result)?)),
    })
}

/// The card is in its JSON form here too: that is what the SDKs of 0.3 read at `/v1/card`.
pub(crate) fn write_answer(answer: &Answer) -> Value {
    match answer {
        Answer::Sent(Sent::Task(task)) => {
            Writer::default().put("task", SPELLING.write_task(task)).done()
        }
        Answer::Sent(Sent::Message(message)) => {
            Writer::default().put("message", SPELLING.write_message(message)).done()
        }
        Answer::Task(task) => SPELLING.write_task(task),
        Answer::Tasks(page) => page.tasks.iter().map(|task| SPELLING.write_task(task)).collect(),
        Answer::Push(config) => write_task_push(config),
        Answer::Pushes(page) => Writer::default()
            .list("configs", &page.configs, write_task_push)
            .some("nextPageToken", page.next_page_token.clone())
            .done(),
        Answer::Deleted => Writer::default().done(),
        Answer::Card(card) => super::card_v0::write_v0_3(card),
    }
}
