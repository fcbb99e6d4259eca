//! Version 1.0 to the letter: ProtoJSON of `lf.a2a.v1`.

use serde_json::Value;

use super::objects::{Spelling, base64, bytes};
use crate::fields::{At, Fields, Notation, Read, Writer};
use crate::limits::{
    FILE_BYTES_MAX, NAME_BYTES_MAX, NAMES_MAX, PAGE_SIZE_MAX, PAGE_TOKEN_BYTES_MAX,
    PUSH_CONFIGS_MAX, SECRET_BYTES_MAX, TEXT_BYTES_MAX, URL_BYTES_MAX,
};
use crate::model::{
    Answer, Call, Content, ListQuery, Operation, OperationKind, Part, PushAuthentication,
    PushConfig, PushPage, Returns, Send, SendConfiguration, Sent, TaskPage, TaskState,
};

pub(crate) const SPELLING: Spelling = Spelling {
    notation: Notation::Proto,
    kinds: false,
    parts: "parts",
    user: "ROLE_USER",
    agent: "ROLE_AGENT",
    states: [
        (TaskState::Unspecified, "TASK_STATE_UNSPECIFIED"),
        (TaskState::Submitted, "TASK_STATE_SUBMITTED"),
        (TaskState::Working, "TASK_STATE_WORKING"),
        (TaskState::Completed, "TASK_STATE_COMPLETED"),
        (TaskState::Failed, "TASK_STATE_FAILED"),
        (TaskState::Canceled, "TASK_STATE_CANCELED"),
        (TaskState::InputRequired, "TASK_STATE_INPUT_REQUIRED"),
        (TaskState::Rejected, "TASK_STATE_REJECTED"),
        (TaskState::AuthRequired, "TASK_STATE_AUTH_REQUIRED"),
    ],
    read_part,
    write_part,
    says_final: false,
    references: true,
};

pub(crate) fn method(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Send => "SendMessage",
        OperationKind::Stream => "SendStreamingMessage",
        OperationKind::Get => "GetTask",
        OperationKind::List => "ListTasks",
        OperationKind::Cancel => "CancelTask",
        OperationKind::Subscribe => "SubscribeToTask",
        OperationKind::CreatePush => "CreateTaskPushNotificationConfig",
        OperationKind::GetPush => "GetTaskPushNotificationConfig",
        OperationKind::ListPush => "ListTaskPushNotificationConfigs",
        OperationKind::DeletePush => "DeleteTaskPushNotificationConfig",
        OperationKind::ExtendedCard => "GetExtendedAgentCard",
    }
}

fn read_part(fields: &Fields<'_>) -> Read<Part> {
    let mut contents = Vec::new();
    if let Some(value) = fields.get("text") {
        let at = At::Field(&fields.at, "text");
        contents.push(Content::Text(crate::fields::text(value, &at, TEXT_BYTES_MAX)?.to_owned()));
    }
    if let Some(value) = fields.get("raw") {
        let file = value.as_str().and_then(bytes).filter(|bytes| bytes.len() <= FILE_BYTES_MAX);
        let rule = || format!("is base64 of at most {FILE_BYTES_MAX} bytes");
        contents.push(Content::Raw(file.ok_or_else(|| fields.wrong("raw", rule()))?));
    }
    contents.extend(fields.text("url", URL_BYTES_MAX)?.map(Content::Url));
    // Null is data too, but not where another content stands beside it.
    let data = fields.present("data").filter(|data| !data.is_null() || contents.is_empty());
    contents.extend(data.cloned().map(Content::Data));
    let content = match contents.pop() {
        Some(content) if contents.is_empty() => content,
        _ => return Err(fields.at.wrong("has exactly one of text, raw, url and data")),
    };
    Ok(Part {
        content,
        media_type: fields.text("mediaType", NAME_BYTES_MAX)?,
        filename: fields.text("filename", NAME_BYTES_MAX)?,
        metadata: fields.object("metadata")?,
    })
}

fn write_part(part: &Part) -> Value {
    let mut writer = Writer::default();
    match &part.content {
        Content::Text(text) => writer.put("text", text.as_str()),
        Content::Raw(bytes) => writer.put("raw", base64(bytes)),
        Content::Url(url) => writer.put("url", url.as_str()),
        Content::Data(data) => writer.put("data", data.clone()),
    };
    writer
        .some("metadata", part.metadata.clone())
        .some("filename", part.filename.clone())
        .some("mediaType", part.media_type.clone())
        .done()
}

pub(crate) fn read_call(kind: OperationKind, params: &Value) -> Read<Call> {
    let fields = Fields::of(params, At::Root, Notation::Proto)?;
    let operation = match kind {
        OperationKind::Send => Operation::Send(read_send(&fields)?),
        OperationKind::Stream => Operation::Stream(read_send(&fields)?),
        OperationKind::Get => Operation::Get {
            task: fields.required_id("id")?,
            history_length: fields.count("historyLength")?,
            metadata: None,
        },
        OperationKind::List => Operation::List(read_list(&fields)?),
        OperationKind::Cancel => Operation::Cancel {
            task: fields.required_id("id")?,
            metadata: fields.object("metadata")?,
        },
        OperationKind::Subscribe => {
            Operation::Subscribe { task: fields.required_id("id")?, metadata: None }
        }
        OperationKind::CreatePush => {
            let config = read_push(&fields)?;
            fields.require("taskId", config.task.as_ref())?;
            Operation::CreatePush(config)
        }
        OperationKind::GetPush => Operation::GetPush {
            task: fields.required_id("taskId")?,
            config: Some(fields.required_id("id")?),
            metadata: None,
        },
        OperationKind::ListPush => Operation::ListPush {
            task: fields.required_id("taskId")?,
            page_size: page_size(&fields)?,
            page_token: fields.text("pageToken", PAGE_TOKEN_BYTES_MAX)?,
            metadata: None,
        },
        OperationKind::DeletePush => Operation::DeletePush {
            task: fields.required_id("taskId")?,
            config: fields.required_id("id")?,
            metadata: None,
        },
        OperationKind::ExtendedCard => Operation::ExtendedCard,
    };
    Ok(Call { tenant: fields.text("tenant", NAME_BYTES_MAX)?, operation })
}

fn read_send(fields: &Fields<'_>) -> Read<Send> {
    Ok(Send {
        message: fields.required("message", |message| SPELLING.read_message(message))?,
        configuration: fields.nested("configuration", read_configuration)?.unwrap_or_default(),
        metadata: fields.object("metadata")?,
    })
}

fn read_configuration(fields: &Fields<'_>) -> Read<SendConfiguration> {
    Ok(SendConfiguration {
        accepted_output_modes: fields.texts("acceptedOutputModes", NAMES_MAX, NAME_BYTES_MAX)?,
        push: fields.nested("taskPushNotificationConfig", read_push)?,
        history_length: fields.count("historyLength")?,
        returns: match fields.boolean("returnImmediately")? {
            Some(true) => Returns::Immediately,
            Some(false) | None => Returns::Unsaid,
        },
    })
}

fn read_list(fields: &Fields<'_>) -> Read<ListQuery> {
    let status = match fields.get("status") {
        None => None,
        Some(value) => Some(
            SPELLING.state(value).ok_or_else(|| fields.wrong("status", "is a state of a task"))?,
        ),
    };
    Ok(ListQuery {
        context: fields.id("contextId")?,
        status: status.filter(|state| *state != TaskState::Unspecified),
        page_size: page_size(fields)?,
        page_token: fields.text("pageToken", PAGE_TOKEN_BYTES_MAX)?,
        history_length: fields.count("historyLength")?,
        include_artifacts: fields.boolean("includeArtifacts")?,
        updated_after: fields.timestamp("statusTimestampAfter")?,
    })
}

fn page_size(fields: &Fields<'_>) -> Read<Option<u32>> {
    let size = fields.count("pageSize")?;
    if size.is_some_and(|size| !(1..=PAGE_SIZE_MAX).contains(&size)) {
        return Err(fields.wrong("pageSize", format!("is 1 to {PAGE_SIZE_MAX}")));
    }
    Ok(size)
}

pub(crate) fn read_push(fields: &Fields<'_>) -> Read<PushConfig> {
    Ok(PushConfig {
        id: fields.id("id")?,
        task: fields.id("taskId")?,
        tenant: fields.text("tenant", NAME_BYTES_MAX)?,
        url: fields.required_text("url", URL_BYTES_MAX)?,
        token: fields.text("token", SECRET_BYTES_MAX)?,
        authentication: fields.nested("authentication", |fields| {
            Ok(PushAuthentication {
                schemes: vec![fields.required_text("scheme", NAME_BYTES_MAX)?],
                credentials: fields.text("credentials", SECRET_BYTES_MAX)?,
            })
        })?,
    })
}

pub(crate) fn write_push(config: &PushConfig) -> Value {
    let authentication = |authentication: &PushAuthentication| {
        Writer::default()
            .put("scheme", authentication.schemes.first().map_or("", String::as_str))
            .some("credentials", authentication.credentials.clone())
            .done()
    };
    Writer::default()
        .some("tenant", config.tenant.clone())
        .some("id", config.id.as_ref())
        .some("taskId", config.task.as_ref())
        .put("url", config.url.as_str())
        .some("token", config.token.clone())
        .some("authentication", config.authentication.as_ref().map(authentication))
        .done()
}

pub(crate) fn write_call(call: &Call) -> Value {
    let mut writer = Writer::default();
    match &call.operation {
        Operation::Send(send) | Operation::Stream(send) => {
            let configuration = write_configuration(&send.configuration);
            writer
                .put("message", SPELLING.write_message(&send.message))
                .some("configuration", configuration)
                .some("metadata", send.metadata.clone());
        }
        Operation::Get { task, history_length, .. } => {
            writer.put("id", task.as_str()).some("historyLength", *history_length);
        }
        Operation::List(query) => write_list(query, &mut writer),
        Operation::Cancel { task, metadata } => {
            writer.put("id", task.as_str()).some("metadata", metadata.clone());
        }
        Operation::Subscribe { task, .. } => {
            writer.put("id", task.as_str());
        }
        Operation::CreatePush(config) => {
            if let Value::Object(fields) = write_push(config) {
                for (name, value) in fields {
                    writer.put(&name, value);
                }
            }
        }
        Operation::GetPush { task, config, .. } => {
            writer.put("taskId", task.as_str()).some("id", config.as_ref());
        }
        Operation::ListPush { task, page_size, page_token, .. } => {
            writer
                .put("taskId", task.as_str())
                .some("pageSize", *page_size)
                .some("pageToken", page_token.clone());
        }
        Operation::DeletePush { task, config, .. } => {
            writer.put("taskId", task.as_str()).put("id", config.as_str());
        }
        Operation::ExtendedCard => {}
    }
    writer.some("tenant", call.tenant.clone()).done()
}

fn write_configuration(configuration: &SendConfiguration) -> Option<Value> {
    let mut writer = Writer::default();
    writer
        .texts("acceptedOutputModes", &configuration.accepted_output_modes)
        .some("taskPushNotificationConfig", configuration.push.as_ref().map(write_push))
        .some("historyLength", configuration.history_length)
        .flag("returnImmediately", configuration.returns == Returns::Immediately);
    (!writer.is_empty()).then(|| writer.done())
}

fn write_list(query: &ListQuery, writer: &mut Writer) {
    writer
        .some("contextId", query.context.as_ref())
        .some("status", query.status.map(|state| SPELLING.state_name(state)))
        .some("pageSize", query.page_size)
        .some("pageToken", query.page_token.clone())
        .some("historyLength", query.history_length)
        .some("statusTimestampAfter", query.updated_after.map(|moment| moment.to_string()))
        .some("includeArtifacts", query.include_artifacts);
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
        OperationKind::Get | OperationKind::Cancel => Answer::Task(SPELLING.read_task(&fields)?),
        OperationKind::List => Answer::Tasks(TaskPage {
            tasks: fields.list("tasks", PAGE_SIZE_MAX as usize, |task| SPELLING.read_task(task))?,
            next_page_token: fields.text("nextPageToken", PAGE_TOKEN_BYTES_MAX)?,
            page_size: fields.count("pageSize")?.unwrap_or_default(),
            total_size: fields.count("totalSize")?.unwrap_or_default(),
        }),
        OperationKind::CreatePush | OperationKind::GetPush => Answer::Push(read_push(&fields)?),
        OperationKind::ListPush => Answer::Pushes(PushPage {
            configs: fields.list(
                "configs",
                PUSH_CONFIGS_MAX.max(PAGE_SIZE_MAX as usize),
                read_push,
            )?,
            next_page_token: fields.text("nextPageToken", PAGE_TOKEN_BYTES_MAX)?,
        }),
        OperationKind::DeletePush => Answer::Deleted,
        OperationKind::ExtendedCard => Answer::Card(Box::new(super::card_v1_0::read(&fields)?)),
    })
}

pub(crate) fn write_answer(answer: &Answer) -> Value {
    match answer {
        Answer::Sent(Sent::Task(task)) => {
            Writer::default().put("task", SPELLING.write_task(task)).done()
        }
        Answer::Sent(Sent::Message(message)) => {
            Writer::default().put("message", SPELLING.write_message(message)).done()
        }
        Answer::Task(task) => SPELLING.write_task(task),
        Answer::Tasks(page) => Writer::default()
            .put(
                "tasks",
                page.tasks.iter().map(|task| SPELLING.write_task(task)).collect::<Vec<_>>(),
            )
            .put("nextPageToken", page.next_page_token.as_deref().unwrap_or_default())
            .put("pageSize", page.page_size)
            .put("totalSize", page.total_size)
            .done(),
        Answer::Push(config) => write_push(config),
        Answer::Pushes(page) => Writer::default()
            .list("configs", &page.configs, write_push)
            .some("nextPageToken", page.next_page_token.clone())
            .done(),
        Answer::Deleted => Writer::default().done(),
        Answer::Card(card) => super::card_v1_0::write(card),
    }
}
