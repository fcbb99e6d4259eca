//! The messages of `a2a.v1`, version 0.3.

use super::schema::{
    EMPTY, EXTENSION, PROVIDER, REQUIREMENT, SCHEME, SIGNATURE, Shape, base64, choice, count, flag,
    keyed, many, moment, object, one, text, texts,
};
use crate::model::OperationKind;

/// What a method takes and what it gives; `None` for what 0.3 does not have.
pub(super) fn messages(kind: OperationKind) -> Option<(&'static Shape, &'static Shape)> {
    Some(match kind {
        OperationKind::Send => (&SEND, &SENT),
        OperationKind::Stream => (&SEND, &STREAMED),
        OperationKind::Get => (&GET, &TASK),
        OperationKind::Cancel => (&NAMED, &TASK),
        OperationKind::Subscribe => (&NAMED, &STREAMED),
        OperationKind::CreatePush => (&CREATE_PUSH, &TASK_PUSH),
        OperationKind::GetPush => (&NAMED, &TASK_PUSH),
        OperationKind::ListPush => (&LIST_PUSH, &LISTED_PUSH),
        OperationKind::DeletePush => (&NAMED, &EMPTY),
        OperationKind::ExtendedCard => (&EMPTY, &CARD),
        OperationKind::List => return None,
    })
}

const STATES: &[&str] = &[
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELLED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];

const ROLES: &[&str] = &["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"];

static SEND: Shape = Shape(&[
    one(1, "message", &MESSAGE),
    one(2, "configuration", &CONFIGURATION),
    object(3, "metadata"),
]);

static CONFIGURATION: Shape = Shape(&[
    texts(1, "acceptedOutputModes"),
    one(2, "pushNotification", &PUSH),
    count(3, "historyLength"),
    flag(4, "blocking"),
]);

static GET: Shape = Shape(&[text(1, "name"), count(2, "historyLength")]);

/// A request that names a resource and nothing else.
static NAMED: Shape = Shape(&[text(1, "name")]);

static CREATE_PUSH: Shape =
    Shape(&[text(1, "parent"), text(2, "configId"), one(3, "config", &TASK_PUSH)]);

static LIST_PUSH: Shape = Shape(&[text(1, "parent"), count(2, "pageSize"), text(3, "pageToken")]);

static SENT: Shape = Shape(&[one(1, "task", &TASK).either(), one(2, "message", &MESSAGE).either()]);

static STREAMED: Shape = Shape(&[
    one(1, "task", &TASK).either(),
    one(2, "message", &MESSAGE).either(),
    one(3, "statusUpdate", &STATUS_UPDATE).either(),
    one(4, "artifactUpdate", &ARTIFACT_UPDATE).either(),
]);

static LISTED_PUSH: Shape = Shape(&[many(1, "configs", &TASK_PUSH), text(2, "nextPageToken")]);

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
    many(5, "content", &PART),
    object(6, "metadata"),
    texts(7, "extensions"),
]);

static PART: Shape = Shape(&[
    text(1, "text").either(),
    one(2, "file", &FILE).either(),
    one(3, "data", &DATA).either(),
    object(4, "metadata"),
]);

static FILE: Shape = Shape(&[
    text(1, "fileWithUri").either(),
    base64(2, "fileWithBytes").either(),
    text(3, "mimeType"),
    text(4, "name"),
]);

static DATA: Shape = Shape(&[object(1, "data")]);

static ARTIFACT: Shape = Shape(&[
    text(1, "artifactId"),
    text(3, "name"),
    text(4, "description"),
    many(5, "parts", &PART),
    object(6, "metadata"),
    texts(7, "extensions"),
]);

static STATUS_UPDATE: Shape = Shape(&[
    text(1, "taskId"),
    text(2, "contextId"),
    one(3, "status", &STATUS),
    flag(4, "final"),
    object(5, "metadata"),
]);

static ARTIFACT_UPDATE: Shape = Shape(&[
    text(1, "taskId"),
    text(2, "contextId"),
    one(3, "artifact", &ARTIFACT),
    flag(4, "append"),
    flag(5, "lastChunk"),
    object(6, "metadata"),
]);

static TASK_PUSH: Shape = Shape(&[text(1, "name"), one(2, "pushNotificationConfig", &PUSH)]);

static PUSH: Shape = Shape(&[
    text(1, "id"),
    text(2, "url"),
    text(3, "token"),
    one(4, "authentication", &AUTHENTICATION),
]);

static AUTHENTICATION: Shape = Shape(&[texts(1, "schemes"), text(2, "credentials")]);

static CARD: Shape = Shape(&[
    text(1, "name"),
    text(2, "description"),
    text(3, "url"),
    one(4, "provider", &PROVIDER),
    text(5, "version"),
    text(6, "documentationUrl"),
    one(7, "capabilities", &CAPABILITIES),
    keyed(8, "securitySchemes", &SCHEME),
    many(9, "security", &REQUIREMENT),
    texts(10, "defaultInputModes"),
    texts(11, "defaultOutputModes"),
    many(12, "skills", &SKILL),
    flag(13, "supportsAuthenticatedExtendedCard"),
    text(14, "preferredTransport"),
    many(15, "additionalInterfaces", &INTERFACE),
    text(16, "protocolVersion"),
    many(17, "signatures", &SIGNATURE),
    text(18, "iconUrl"),
]);

static INTERFACE: Shape = Shape(&[text(1, "url"), text(2, "transport")]);

static CAPABILITIES: Shape =
    Shape(&[flag(1, "streaming"), flag(2, "pushNotifications"), many(3, "extensions", &EXTENSION)]);

static SKILL: Shape = Shape(&[
    text(1, "id"),
    text(2, "name"),
    text(3, "description"),
    texts(4, "tags"),
    texts(5, "examples"),
    texts(6, "inputModes"),
    texts(7, "outputModes"),
    many(8, "security", &REQUIREMENT),
]);
