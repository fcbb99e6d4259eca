//! The messages of `lf.a2a.v1`, version 1.0.

use super::schema::{
    EMPTY, EXTENSION, PROVIDER, REQUIREMENT, SCHEME, SIGNATURE, Shape, any, bytes, choice, count,
    flag, keyed, many, moment, object, one, text, texts,
};
use crate::model::OperationKind;

/// What a method takes and what it gives.
pub(super) fn messages(kind: OperationKind) -> (&'static Shape, &'static Shape) {
    match kind {
        OperationKind::Send => (&SEND, &SENT),
        OperationKind::Stream => (&SEND, &STREAMED),
        OperationKind::Get => (&GET, &TASK),
        OperationKind::List => (&LIST, &LISTED),
        OperationKind::Cancel => (&CANCEL, &TASK),
        OperationKind::Subscribe => (&SUBSCRIBE, &STREAMED),
        OperationKind::CreatePush => (&PUSH, &PUSH),
        OperationKind::GetPush => (&PUSH_NAMED, &PUSH),
        OperationKind::ListPush => (&LIST_PUSH, &LISTED_PUSH),
        OperationKind::DeletePush => (&PUSH_NAMED, &EMPTY),
        OperationKind::ExtendedCard => (&GET_CARD, &CARD),
    }
}

const STATES: &[&str] = &[
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];

const ROLES: &[&str] = &["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"];

static SEND: Shape = Shape(&[
    text(1, "tenant"),
    one(2, "message", &MESSAGE),
    one(3, "configuration", &CONFIGURATION),
    object(4, "metadata"),
]);

static CONFIGURATION: Shape = Shape(&[
    texts(1, "acceptedOutputModes"),
    one(2, "taskPushNotificationConfig", &PUSH),
    count(3, "historyLength"),
    flag(4, "returnImmediately"),
]);

static GET: Shape = Shape(&[text(1, "tenant"), text(2, "id"), count(3, "historyLength")]);

static LIST: Shape = Shape(&[
    text(1, "tenant"),
    text(2, "contextId"),
    choice(3, "status", STATES),
    count(4, "pageSize"),
    text(5, "pageToken"),
    count(6, "historyLength"),
    moment(7, "statusTimestampAfter"),
    flag(8, "includeArtifacts"),
]);

static CANCEL: Shape = Shape(&[text(1, "tenant"), text(2, "id"), object(3, "metadata")]);

static SUBSCRIBE: Shape = Shape(&[text(1, "tenant"), text(2, "id")]);

static PUSH_NAMED: Shape = Shape(&[text(1, "tenant"), text(2, "taskId"), text(3, "id")]);

static LIST_PUSH: Shape =
    Shape(&[text(1, "taskId"), count(2, "pageSize"), text(3, "pageToken"), text(4, "tenant")]);

static GET_CARD: Shape = Shape(&[text(1, "tenant")]);

static SENT: Shape = Shape(&[one(1, "task", &TASK).either(), one(2, "message", &MESSAGE).either()]);

static STREAMED: Shape = Shape(&[
    one(1, "task", &TASK).either(),
    one(2, "message", &MESSAGE).either(),
    one(3, "statusUpdate", &STATUS_UPDATE).either(),
    one(4, "artifactUpdate", &ARTIFACT_UPDATE).either(),
]);

static LISTED: Shape = Shape(&[
    many(1, "tasks", &TASK),
    text(2, "nextPageToken"),
    count(3, "pageSize"),
    count(4, "totalSize"),
]);

static LISTED_PUSH: Shape = Shape(&[many(1, "configs", &PUSH), text(2, "nextPageToken")]);

static TASK: Shape = Shape(&[
    text(1, "id"),
    text(2, "contextId"),
    one(3, "status", &STATUS),
    many(4, "artifacts", &ARTIFACT),
    many(5, "history", &MESSAGE),
    object(6, "metadata"),
]);

static STATUS: Shape =
    Shape(&[choice(1, "state", STATES), one(2, "message", &MESSAGE), moment(3, "timestamp")]);

static MESSAGE: Shape = Shape(&[
    text(1, "messageId"),
    text(2, "contextId"),
    text(3, "taskId"),
    choice(4, "role", ROLES),
    many(5, "parts", &PART),
    object(6, "metadata"),
    texts(7, "extensions"),
    texts(8, "referenceTaskIds"),
]);

static PART: Shape = Shape(&[
    text(1, "text").either(),
    bytes(2, "raw").either(),
    text(3, "url").either(),
    any(4, "data").either(),
    object(5, "metadata"),
    text(6, "filename"),
    text(7, "mediaType"),
]);

static ARTIFACT: Shape = Shape(&[
    text(1, "artifactId"),
    text(2, "name"),
    text(3, "description"),
    many(4, "parts", &PART),
    object(5, "metadata"),
    texts(6, "extensions"),
]);

static STATUS_UPDATE: Shape = Shape(&[
    text(1, "taskId"),
    text(2, "contextId"),
    one(3, "status", &STATUS),
    object(4, "metadata"),
]);

static ARTIFACT_UPDATE: Shape = Shape(&[
    text(1, "taskId"),
    text(2, "contextId"),
    one(3, "artifact", &ARTIFACT),
    flag(4, "append"),
    flag(5, "lastChunk"),
    object(6, "metadata"),
]);

static PUSH: Shape = Shape(&[
    text(1, "tenant"),
    text(2, "id"),
    text(3, "taskId"),
    text(4, "url"),
    text(5, "token"),
    one(6, "authentication", &AUTHENTICATION),
]);

static AUTHENTICATION: Shape = Shape(&[text(1, "scheme"), text(2, "credentials")]);

static CARD: Shape = Shape(&[
    text(1, "name"),
    text(2, "description"),
    many(3, "supportedInterfaces", &INTERFACE),
    one(4, "provider", &PROVIDER),
    text(5, "version"),
    text(6, "documentationUrl"),
    one(7, "capabilities", &CAPABILITIES),
    keyed(8, "securitySchemes", &SCHEME),
    many(9, "securityRequirements", &REQUIREMENT),
    texts(10, "defaultInputModes"),
    texts(11, "defaultOutputModes"),
    many(12, "skills", &SKILL),
    many(13, "signatures", &SIGNATURE),
    text(14, "iconUrl"),
]);

static INTERFACE: Shape = Shape(&[
    text(1, "url"),
    text(2, "protocolBinding"),
    text(3, "tenant"),
    text(4, "protocolVersion"),
]);

static CAPABILITIES: Shape = Shape(&[
    flag(1, "streaming"),
    flag(2, "pushNotifications"),
    many(3, "extensions", &EXTENSION),
    flag(4, "extendedAgentCard"),
]);

static SKILL: Shape = Shape(&[
    text(1, "id"),
    text(2, "name"),
    text(3, "description"),
    texts(4, "tags"),
    texts(5, "examples"),
    texts(6, "inputModes"),
    texts(7, "outputModes"),
    many(8, "securityRequirements", &REQUIREMENT),
]);
