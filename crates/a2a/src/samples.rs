//! Things to test with: a few plain ones, and any that the protocol allows.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::Value;

use crate::ids::{ContextId, MessageId, TaskId};
use crate::model::{
    Artifact, ArtifactUpdate, Content, Event, Message, Object, Part, Role, StatusUpdate, Task,
    TaskState, TaskStatus,
};
use crate::timestamp::Timestamp;

pub(crate) fn fresh() -> MessageId {
    "fresh".parse().unwrap()
}

pub(crate) fn moment(milliseconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(milliseconds).unwrap()
}

pub(crate) fn message(id: &str, role: Role, text: &str) -> Message {
    Message {
        id: id.parse().unwrap(),
        role,
        parts: vec![Part::text(text)],
        context: None,
        task: None,
        references: Vec::new(),
        extensions: Vec::new(),
        metadata: None,
    }
}

pub(crate) fn artifact(id: &str, text: &str) -> Artifact {
    Artifact {
        id: id.parse().unwrap(),
        name: None,
        description: None,
        parts: vec![Part::text(text)],
        extensions: Vec::new(),
        metadata: None,
    }
}

pub(crate) fn task(id: &str, state: TaskState) -> Task {
    Task {
        id: id.parse().unwrap(),
        context: Some("c".parse().unwrap()),
        status: TaskStatus { state, message: None, timestamp: Some(moment(0)) },
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: None,
    }
}

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let names = prop_oneof![
        prop::sample::select(vec![
            "id",
            "kind",
            "type",
            "message",
            "parts",
            "text",
            "status",
            "state",
            "task",
            "taskId",
            "contextId",
            "url",
            "name",
            "version",
            "skills",
            "capabilities",
            "params",
            "method",
            "jsonrpc",
            "role",
            "file",
            "data",
            "metadata",
            "supportedInterfaces",
            "security",
            "securitySchemes",
            "configuration",
            "history",
            "artifacts",
            "message_id",
            "raw",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "text",
            "task",
            "user",
            "ROLE_USER",
            "completed",
            "2.0",
            "1.0",
            "SendMessage"
        ])
        .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(names.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// JSON whose numbers read back as they were.
pub(crate) fn any_whole_json() -> impl Strategy<Value = Value> {
    any_object().prop_map(Value::Object)
}

fn any_object() -> impl Strategy<Value = Object> {
    prop::collection::btree_map("[a-z]{1,5}", any_json(), 0..3)
        .prop_map(|map| map.into_iter().filter(|(_, value)| finite(value)).collect())
}

/// Not every floating-point number reads back as the same bits; whole ones do.
fn finite(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_i64() || number.is_u64(),
        Value::Array(values) => values.iter().all(finite),
        Value::Object(map) => map.values().all(finite),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn any_id() -> impl Strategy<Value = String> {
    "[a-z0-9가-힣/:-]{1,12}"
}

pub(crate) fn any_part() -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        ".{0,20}".prop_map(Content::Text),
        vec(any::<u8>(), 0..20).prop_map(Content::Raw),
        "https://[a-z]{1,9}".prop_map(Content::Url),
        any_object().prop_map(|object| Content::Data(Value::Object(object))),
    ];
    (content, of("[a-z]{1,9}/[a-z]{1,9}"), of("[a-z가-힣.]{1,9}"), of(any_object())).prop_map(
        |(content, media_type, filename, metadata)| Part {
            content,
            media_type,
            filename,
            metadata,
        },
    )
}

pub(crate) fn any_message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Agent)];
    let ids = (any_id(), of(any_id()), of(any_id()), vec(any_id(), 0..3));
    (ids, role, vec(any_part(), 1..4), vec("[a-z:/]{1,9}", 0..3), of(any_object())).prop_map(
        |((id, context, task, references), role, parts, extensions, metadata)| Message {
            id: id.parse().unwrap(),
            role,
            parts,
            context: context.map(|id| id.parse().unwrap()),
            task: task.map(|id| id.parse().unwrap()),
            references: references.iter().map(|id| id.parse().unwrap()).collect(),
            extensions,
            metadata,
        },
    )
}

fn any_artifact() -> impl Strategy<Value = Artifact> {
    (any_id(), of("[a-z]{1,9}"), of(".{1,9}"), vec(any_part(), 1..3), of(any_object())).prop_map(
        |(id, name, description, parts, metadata)| Artifact {
            id: id.parse().unwrap(),
            name,
            description,
            parts,
            extensions: Vec::new(),
            metadata,
        },
    )
}

pub(crate) fn any_status() -> impl Strategy<Value = TaskStatus> {
    let state = prop::sample::select(TaskState::ALL.to_vec());
    (state, of(any_message()), of(0i64..4_000_000_000_000))
        .prop_map(|(state, message, at)| TaskStatus { state, message, timestamp: at.map(moment) })
}

pub(crate) fn any_task() -> impl Strategy<Value = Task> {
    (
        any_id(),
        any_id(),
        any_status(),
        vec(any_artifact(), 0..3),
        vec(any_message(), 0..3),
        of(any_object()),
    )
        .prop_map(|(id, context, status, artifacts, history, metadata)| Task {
            id: id.parse().unwrap(),
            context: Some(context.parse().unwrap()),
            status,
            artifacts,
            history,
            metadata,
        })
}

pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    let ids = || {
        (any_id(), any_id()).prop_map(|(task, context)| -> (TaskId, Option<ContextId>) {
            (task.parse().unwrap(), Some(context.parse().unwrap()))
        })
    };
    prop_oneof![
        any_task().prop_map(Event::Task),
        any_message().prop_map(Event::Message),
        (ids(), any_status(), of(any_object())).prop_map(|((task, context), status, metadata)| {
            Event::Status(StatusUpdate { task, context, status, metadata })
        }),
        (ids(), any_artifact(), any::<bool>(), any::<bool>(), of(any_object())).prop_map(
            |((task, context), artifact, append, last_chunk, metadata)| {
                let update = ArtifactUpdate {
                    task,
                    context,
                    artifact,
                    append,
                    last_chunk,
                    index: 0,
                    metadata,
                };
                Event::Artifact(update)
            }
        ),
    ]
}
