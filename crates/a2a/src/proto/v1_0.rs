//! The messages of `lf.a2a.v1`, as far as this agent reads and writes them: numbers, names and kinds of their fields.

use super::{Kind, Message, ROLES, many, map, one};

/// The states, by their numbers.
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

static PART: Message = Message(&[
    one(1, "text", Kind::Text),
    one(2, "raw", Kind::Bytes),
    one(3, "url", Kind::Text),
    one(4, "data", Kind::Value),
    one(5, "metadata", Kind::Struct),
    one(6, "filename", Kind::Text),
    one(7, "mediaType", Kind::Text),
]);
static MESSAGE: Message = Message(&[
    one(1, "messageId", Kind::Text),
    one(2, "contextId", Kind::Text),
    one(3, "taskId", Kind::Text),
    one(4, "role", Kind::Enum(ROLES)),
    many(5, "parts", Kind::Message(&PART)),
    one(6, "metadata", Kind::Struct),
    many(7, "extensions", Kind::Text),
    many(8, "referenceTaskIds", Kind::Text),
]);
static AUTHENTICATION_INFO: Message =
    Message(&[one(1, "scheme", Kind::Text), one(2, "credentials", Kind::Text)]);
pub(super) static TASK_PUSH_NOTIFICATION_CONFIG: Message = Message(&[
    one(1, "tenant", Kind::Text),
    one(2, "id", Kind::Text),
    one(3, "taskId", Kind::Text),
    one(4, "url", Kind::Text),
    one(5, "token", Kind::Text),
    one(6, "authentication", Kind::Message(&AUTHENTICATION_INFO)),
]);
static SEND_MESSAGE_CONFIGURATION: Message = Message(&[
    many(1, "acceptedOutputModes", Kind::Text),
    one(2, "taskPushNotificationConfig", Kind::Message(&TASK_PUSH_NOTIFICATION_CONFIG)),
    one(3, "historyLength", Kind::Number),
    one(4, "returnImmediately", Kind::Bool),
]);
pub(super) static SEND_MESSAGE_REQUEST: Message = Message(&[
    one(1, "tenant", Kind::Text),
    one(2, "message", Kind::Message(&MESSAGE)),
    one(3, "configuration", Kind::Message(&SEND_MESSAGE_CONFIGURATION)),
    one(4, "metadata", Kind::Struct),
]);
static TASK_STATUS: Message = Message(&[
    one(1, "state", Kind::Enum(STATES)),
    one(2, "message", Kind::Message(&MESSAGE)),
    one(3, "timestamp", Kind::Timestamp),
]);
static ARTIFACT: Message = Message(&[
    one(1, "artifactId", Kind::Text),
    one(2, "name", Kind::Text),
    one(3, "description", Kind::Text),
    many(4, "parts", Kind::Message(&PART)),
    one(5, "metadata", Kind::Struct),
    many(6, "extensions", Kind::Text),
]);
pub(super) static TASK: Message = Message(&[
    one(1, "id", Kind::Text),
    one(2, "contextId", Kind::Text),
    one(3, "status", Kind::Message(&TASK_STATUS)),
    many(4, "artifacts", Kind::Message(&ARTIFACT)),
    many(5, "history", Kind::Message(&MESSAGE)),
    one(6, "metadata", Kind::Struct),
]);
pub(super) static SEND_MESSAGE_RESPONSE: Message =
    Message(&[one(1, "task", Kind::Message(&TASK)), one(2, "message", Kind::Message(&MESSAGE))]);
static TASK_STATUS_UPDATE_EVENT: Message = Message(&[
    one(1, "taskId", Kind::Text),
    one(2, "contextId", Kind::Text),
    one(3, "status", Kind::Message(&TASK_STATUS)),
    one(4, "metadata", Kind::Struct),
]);
static TASK_ARTIFACT_UPDATE_EVENT: Message = Message(&[
    one(1, "taskId", Kind::Text),
    one(2, "contextId", Kind::Text),
    one(3, "artifact", Kind::Message(&ARTIFACT)),
    one(4, "append", Kind::Bool),
    one(5, "lastChunk", Kind::Bool),
    one(6, "metadata", Kind::Struct),
]);
pub(super) static STREAM_RESPONSE: Message = Message(&[
    one(1, "task", Kind::Message(&TASK)),
    one(2, "message", Kind::Message(&MESSAGE)),
    one(3, "statusUpdate", Kind::Message(&TASK_STATUS_UPDATE_EVENT)),
    one(4, "artifactUpdate", Kind::Message(&TASK_ARTIFACT_UPDATE_EVENT)),
]);
pub(super) static GET_TASK_REQUEST: Message = Message(&[
    one(1, "tenant", Kind::Text),
    one(2, "id", Kind::Text),
    one(3, "historyLength", Kind::Number),
]);
pub(super) static LIST_TASKS_REQUEST: Message = Message(&[
    one(1, "tenant", Kind::Text),
    one(2, "contextId", Kind::Text),
    one(3, "status", Kind::Enum(STATES)),
    one(4, "pageSize", Kind::Number),
    one(5, "pageToken", Kind::Text),
    one(6, "historyLength", Kind::Number),
    one(7, "statusTimestampAfter", Kind::Timestamp),
    one(8, "includeArtifacts", Kind::Bool),
]);
pub(super) static LIST_TASKS_RESPONSE: Message = Message(&[
    many(1, "tasks", Kind::Message(&TASK)),
    one(2, "nextPageToken", Kind::Text),
    one(3, "pageSize", Kind::Number),
    one(4, "totalSize", Kind::Number),
]);
pub(super) static CANCEL_TASK_REQUEST: Message = Message(&[
    one(1, "tenant", Kind::Text),
    one(2, "id", Kind::Text),
    one(3, "metadata", Kind::Struct),
]);
pub(super) static SUBSCRIBE_TO_TASK_REQUEST: Message =
    Message(&[one(1, "tenant", Kind::Text), one(2, "id", Kind::Text)]);
pub(super) static GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: Message = Message(&[
    one(1, "tenant", Kind::Text),
    one(2, "taskId", Kind::Text),
    one(3, "id", Kind::Text),
]);
pub(super) static LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST: Message = Message(&[
    one(4, "tenant", Kind::Text),
    one(1, "taskId", Kind::Text),
    one(2, "pageSize", Kind::Number),
    one(3, "pageToken", Kind::Text),
]);
pub(super) static LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE: Message = Message(&[
    many(1, "configs", Kind::Message(&TASK_PUSH_NOTIFICATION_CONFIG)),
    one(2, "nextPageToken", Kind::Text),
]);
pub(super) static GET_EXTENDED_AGENT_CARD_REQUEST: Message =
    Message(&[one(1, "tenant", Kind::Text)]);
static AGENT_INTERFACE: Message = Message(&[
    one(1, "url", Kind::Text),
    one(2, "protocolBinding", Kind::Text),
    one(3, "tenant", Kind::Text),
    one(4, "protocolVersion", Kind::Text),
]);
static AGENT_PROVIDER: Message =
    Message(&[one(1, "url", Kind::Text), one(2, "organization", Kind::Text)]);
static AGENT_EXTENSION: Message = Message(&[
    one(1, "uri", Kind::Text),
    one(2, "description", Kind::Text),
    one(3, "required", Kind::Bool),
    one(4, "params", Kind::Struct),
]);
static AGENT_CAPABILITIES: Message = Message(&[
    one(1, "streaming", Kind::Bool),
    one(2, "pushNotifications", Kind::Bool),
    many(3, "extensions", Kind::Message(&AGENT_EXTENSION)),
    one(4, "extendedAgentCard", Kind::Bool),
]);
static API_KEY_SECURITY_SCHEME: Message = Message(&[
    one(1, "description", Kind::Text),
    one(2, "location", Kind::Text),
    one(3, "name", Kind::Text),
]);
static HTTP_AUTH_SECURITY_SCHEME: Message = Message(&[
    one(1, "description", Kind::Text),
    one(2, "scheme", Kind::Text),
    one(3, "bearerFormat", Kind::Text),
]);
static AUTHORIZATION_CODE_O_AUTH_FLOW: Message = Message(&[
    one(1, "authorizationUrl", Kind::Text),
    one(2, "tokenUrl", Kind::Text),
    one(3, "refreshUrl", Kind::Text),
    map(4, "scopes", Kind::Text),
    one(5, "pkceRequired", Kind::Bool),
]);
static CLIENT_CREDENTIALS_O_AUTH_FLOW: Message = Message(&[
    one(1, "tokenUrl", Kind::Text),
    one(2, "refreshUrl", Kind::Text),
    map(3, "scopes", Kind::Text),
]);
static IMPLICIT_O_AUTH_FLOW: Message = Message(&[
    one(1, "authorizationUrl", Kind::Text),
    one(2, "refreshUrl", Kind::Text),
    map(3, "scopes", Kind::Text),
]);
static PASSWORD_O_AUTH_FLOW: Message = Message(&[
    one(1, "tokenUrl", Kind::Text),
    one(2, "refreshUrl", Kind::Text),
    map(3, "scopes", Kind::Text),
]);
static DEVICE_CODE_O_AUTH_FLOW: Message = Message(&[
    one(1, "deviceAuthorizationUrl", Kind::Text),
    one(2, "tokenUrl", Kind::Text),
    one(3, "refreshUrl", Kind::Text),
    map(4, "scopes", Kind::Text),
]);
static O_AUTH_FLOWS: Message = Message(&[
    one(1, "authorizationCode", Kind::Message(&AUTHORIZATION_CODE_O_AUTH_FLOW)),
    one(2, "clientCredentials", Kind::Message(&CLIENT_CREDENTIALS_O_AUTH_FLOW)),
    one(3, "implicit", Kind::Message(&IMPLICIT_O_AUTH_FLOW)),
    one(4, "password", Kind::Message(&PASSWORD_O_AUTH_FLOW)),
    one(5, "deviceCode", Kind::Message(&DEVICE_CODE_O_AUTH_FLOW)),
]);
static O_AUTH2_SECURITY_SCHEME: Message = Message(&[
    one(1, "description", Kind::Text),
    one(2, "flows", Kind::Message(&O_AUTH_FLOWS)),
    one(3, "oauth2MetadataUrl", Kind::Text),
]);
static OPEN_ID_CONNECT_SECURITY_SCHEME: Message =
    Message(&[one(1, "description", Kind::Text), one(2, "openIdConnectUrl", Kind::Text)]);
static MUTUAL_TLS_SECURITY_SCHEME: Message = Message(&[one(1, "description", Kind::Text)]);
static SECURITY_SCHEME: Message = Message(&[
    one(1, "apiKeySecurityScheme", Kind::Message(&API_KEY_SECURITY_SCHEME)),
    one(2, "httpAuthSecurityScheme", Kind::Message(&HTTP_AUTH_SECURITY_SCHEME)),
    one(3, "oauth2SecurityScheme", Kind::Message(&O_AUTH2_SECURITY_SCHEME)),
    one(4, "openIdConnectSecurityScheme", Kind::Message(&OPEN_ID_CONNECT_SECURITY_SCHEME)),
    one(5, "mtlsSecurityScheme", Kind::Message(&MUTUAL_TLS_SECURITY_SCHEME)),
]);
static STRING_LIST: Message = Message(&[many(1, "list", Kind::Text)]);
static SECURITY_REQUIREMENT: Message = Message(&[map(1, "schemes", Kind::Message(&STRING_LIST))]);
static AGENT_SKILL: Message = Message(&[
    one(1, "id", Kind::Text),
    one(2, "name", Kind::Text),
    one(3, "description", Kind::Text),
    many(4, "tags", Kind::Text),
    many(5, "examples", Kind::Text),
    many(6, "inputModes", Kind::Text),
    many(7, "outputModes", Kind::Text),
    many(8, "securityRequirements", Kind::Message(&SECURITY_REQUIREMENT)),
]);
static AGENT_CARD_SIGNATURE: Message = Message(&[
    one(1, "protected", Kind::Text),
    one(2, "signature", Kind::Text),
    one(3, "header", Kind::Struct),
]);
pub(super) static AGENT_CARD: Message = Message(&[
    one(1, "name", Kind::Text),
    one(2, "description", Kind::Text),
    many(3, "supportedInterfaces", Kind::Message(&AGENT_INTERFACE)),
    one(4, "provider", Kind::Message(&AGENT_PROVIDER)),
    one(5, "version", Kind::Text),
    one(6, "documentationUrl", Kind::Text),
    one(7, "capabilities", Kind::Message(&AGENT_CAPABILITIES)),
    map(8, "securitySchemes", Kind::Message(&SECURITY_SCHEME)),
    many(9, "securityRequirements", Kind::Message(&SECURITY_REQUIREMENT)),
    many(10, "defaultInputModes", Kind::Text),
    many(11, "defaultOutputModes", Kind::Text),
    many(12, "skills", Kind::Message(&AGENT_SKILL)),
    many(13, "signatures", Kind::Message(&AGENT_CARD_SIGNATURE)),
    one(14, "iconUrl", Kind::Text),
]);
pub(super) static DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: Message = Message(&[
    one(1, "tenant", Kind::Text),
    one(2, "taskId", Kind::Text),
    one(3, "id", Kind::Text),
]);
