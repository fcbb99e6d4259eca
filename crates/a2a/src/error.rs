//! What can go wrong, said once, and how each version and each carrier says it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::version::Version;

/// The domain of the protocol's errors in `google.rpc.ErrorInfo`.
pub const DOMAIN: &str = "a2a-protocol.org";

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

/// What went wrong, by who can do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The body is not JSON.
    Parse,
    /// The body is JSON, but no request.
    InvalidRequest,
    MethodNotFound,
    /// A parameter is missing or wrong; `violations` say which.
    InvalidParams,
    Internal,
    /// The task is not there, or not the caller's: these look the same.
    TaskNotFound,
    TaskNotCancelable,
    PushNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    InvalidAgentResponse,
    ExtendedCardNotConfigured,
    ExtensionSupportRequired,
    VersionNotSupported,
}

/// A parameter that is wrong, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where it stands, such as `message.parts[0].text`.
    pub field: String,
    pub description: String,
}

/// An error of the protocol, before a version has put it into its words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    pub violations: Vec<Violation>,
    /// Goes into `ErrorInfo.metadata`; nothing secret.
    pub metadata: BTreeMap<String, String>,
}

impl Error {
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), violations: Vec::new(), metadata: BTreeMap::new() }
    }

    /// The error with the words that the specification has for it.
    #[must_use]
    pub fn of(kind: ErrorKind) -> Self {
        Self::new(kind, kind.words())
    }

    /// A parameter that is wrong.
    #[must_use]
    pub fn violation(field: impl Into<String>, description: impl Into<String>) -> Self {
        let violation = Violation { field: field.into(), description: description.into() };
        let message = format!("Invalid parameters: {} {}", violation.field, violation.description);
        Self { violations: vec![violation], ..Self::new(ErrorKind::InvalidParams, message) }
    }

    /// A task that is not there, or not the caller's.
    #[must_use]
    pub fn task_not_found() -> Self {
        Self::of(ErrorKind::TaskNotFound)
    }
}

/// A status of gRPC, by the name that `google.rpc.Code` has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrpcStatus {
    InvalidArgument,
    NotFound,
    FailedPrecondition,
    Unimplemented,
    Internal,
}

impl GrpcStatus {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
        }
    }

    #[must_use]
    pub fn code(self) -> i32 {
        match self {
            Self::InvalidArgument => 3,
            Self::NotFound => 5,
            Self::FailedPrecondition => 9,
            Self::Unimplemented => 12,
            Self::Internal => 13,
        }
    }
}

impl ErrorKind {
    pub const ALL: [Self; 14] = [
        Self::Parse,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
    ];

    /// The words that the specification has for it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Parse => "Invalid JSON payload",
            Self::InvalidRequest => "Request payload validation error",
            Self::MethodNotFound => "Method not found",
            Self::InvalidParams => "Invalid parameters",
            Self::Internal => "Internal error",
            Self::TaskNotFound => "Task not found",
            Self::TaskNotCancelable => "Task cannot be canceled",
            Self::PushNotSupported => "Push Notification is not supported",
            Self::UnsupportedOperation => "This operation is not supported",
            Self::ContentTypeNotSupported => "Incompatible content types",
            Self::InvalidAgentResponse => "Invalid agent response",
            Self::ExtendedCardNotConfigured => "Authenticated Extended Card is not configured",
            Self::ExtensionSupportRequired => "Extension support is required",
            Self::VersionNotSupported => "A2A version is not supported",
        }
    }

    /// `ErrorInfo.reason` in 1.0; the errors of JSON-RPC itself have none.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Parse
            | Self::InvalidRequest
            | Self::MethodNotFound
            | Self::InvalidParams
            | Self::Internal => None,
            Self::TaskNotFound => Some("TASK_NOT_FOUND"),
            Self::TaskNotCancelable => Some("TASK_NOT_CANCELABLE"),
            Self::PushNotSupported => Some("PUSH_NOTIFICATION_NOT_SUPPORTED"),
            Self::UnsupportedOperation => Some("UNSUPPORTED_OPERATION"),
            Self::ContentTypeNotSupported => Some("CONTENT_TYPE_NOT_SUPPORTED"),
            Self::InvalidAgentResponse => Some("INVALID_AGENT_RESPONSE"),
            Self::ExtendedCardNotConfigured => Some("EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
            Self::ExtensionSupportRequired => Some("EXTENSION_SUPPORT_REQUIRED"),
            Self::VersionNotSupported => Some("VERSION_NOT_SUPPORTED"),
        }
    }

    fn code_of_newest(self) -> i64 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::TaskNotFound => -32001,
            Self::TaskNotCancelable => -32002,
            Self::PushNotSupported => -32003,
            Self::UnsupportedOperation => -32004,
            Self::ContentTypeNotSupported => -32005,
            Self::InvalidAgentResponse => -32006,
            Self::ExtendedCardNotConfigured => -32007,
            Self::ExtensionSupportRequired => -32008,
            Self::VersionNotSupported => -32009,
        }
    }

    /// The code of JSON-RPC in this version. An error that the version does not know is the nearest that it knows; but
    /// who names a version that nobody speaks hears so in the code made for it.
    #[must_use]
    pub fn code(self, version: Version) -> i64 {
        let known = match version {
            Version::V0_1 => -32004,
            Version::V0_2 => -32006,
            Version::V0_3 => -32007,
            Version::V1_0 => -32009,
        };
        let code = self.code_of_newest();
        if code >= -32009 && code < known && self != Self::VersionNotSupported {
            return self.older().code_of_newest();
        }
        code
    }

    fn older(self) -> Self {
        match self {
            Self::ContentTypeNotSupported => Self::InvalidParams,
            Self::InvalidAgentResponse => Self::Internal,
            Self::ExtendedCardNotConfigured | Self::ExtensionSupportRequired => {
                Self::UnsupportedOperation
            }
            other => other,
        }
    }

    /// What a peer means by a code; `None` for one that the protocol does not have.
    #[must_use]
    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code_of_newest() == code)
    }

    /// What a peer means by a reason of 1.0.
    #[must_use]
    pub fn from_reason(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.reason() == Some(reason))
    }

    /// The status of gRPC, as 1.0.1 has it.
    #[must_use]
    pub fn grpc(self) -> GrpcStatus {
        match self {
            Self::Parse
            | Self::InvalidRequest
            | Self::InvalidParams
            | Self::ContentTypeNotSupported => GrpcStatus::InvalidArgument,
            Self::MethodNotFound => GrpcStatus::Unimplemented,
            Self::Internal | Self::InvalidAgentResponse => GrpcStatus::Internal,
            Self::TaskNotFound => GrpcStatus::NotFound,
            Self::TaskNotCancelable
            | Self::PushNotSupported
            | Self::UnsupportedOperation
            | Self::ExtendedCardNotConfigured
            | Self::ExtensionSupportRequired
            | Self::VersionNotSupported => GrpcStatus::FailedPrecondition,
        }
    }

    /// The status of HTTP for the HTTP+JSON carrier; JSON-RPC answers 200 whatever happens.
    #[must_use]
    pub fn http(self, version: Version) -> u16 {
        match (version, self) {
            (_, Self::MethodNotFound | Self::TaskNotFound) => 404,
            (_, Self::Internal) => 500,
            (_, Self::Parse | Self::InvalidRequest) => 400,
            (Version::V1_0, Self::InvalidAgentResponse) => 500,
            (Version::V1_0, _) => 400,
            (_, Self::InvalidAgentResponse) => 502,
            (_, Self::InvalidParams) => 422,
            (_, Self::TaskNotCancelable) => 409,
            (_, Self::PushNotSupported | Self::UnsupportedOperation) => 501,
            (_, Self::ContentTypeNotSupported) => 415,
            (_, Self::ExtendedCardNotConfigured) => 404,
            (_, Self::ExtensionSupportRequired | Self::VersionNotSupported) => 400,
        }
    }
}

impl Error {
    /// The `error` of a JSON-RPC answer.
    #[must_use]
    pub fn to_jsonrpc(&self, version: Version) -> Value {
        let mut error = json!({ "code": self.kind.code(version), "message": self.message });
        let data = match version {
            Version::V1_0 => {
                let details = self.details();
                (!details.is_empty()).then_some(Value::Array(details))
            }
            Version::V0_1 | Version::V0_2 | Version::V0_3 => {
                (!self.violations.is_empty()).then(|| json!({ "violations": self.fields() }))
            }
        };
        if let (Some(data), Some(object)) = (data, error.as_object_mut()) {
            object.insert("data".to_owned(), data);
        }
        error
    }

    /// The body of an HTTP+JSON answer.
    #[must_use]
    pub fn to_http(&self, version: Version) -> Value {
        match version {
            Version::V1_0 => json!({ "error": {
                "code": self.kind.http(version),
                "status": if self.kind == ErrorKind::MethodNotFound { "NOT_FOUND" } else { self.kind.grpc().name() },
                "message": self.message,
                "details": self.details(),
            }}),
            Version::V0_1 | Version::V0_2 | Version::V0_3 => json!({ "message": self.message }),
        }
    }

    /// The typed details of 1.0, as JSON-RPC's `data`, HTTP's `details` and gRPC's status carry them.
    #[must_use]
    pub fn details(&self) -> Vec<Value> {
        let mut details = Vec::new();
        if let Some(reason) = self.kind.reason() {
            let mut info = json!({ "@type": ERROR_INFO, "reason": reason, "domain": DOMAIN });
            if let (false, Some(object)) = (self.metadata.is_empty(), info.as_object_mut()) {
                object.insert("metadata".to_owned(), json!(self.metadata));
            }
            details.push(info);
        }
        if !self.violations.is_empty() {
            details.push(json!({ "@type": BAD_REQUEST, "fieldViolations": self.fields() }));
        }
        details
    }

    fn fields(&self) -> Vec<Value> {
        let field = |violation: &Violation| json!({ "field": violation.field, "description": violation.description });
        self.violations.iter().map(field).collect()
    }

    /// Reads the `error` of a peer's JSON-RPC answer, of any version: the reason counts, then the code.
    #[must_use]
    pub fn from_jsonrpc(error: &Value) -> Self {
        let code = error.get("code").and_then(Value::as_i64);
        let details = error.get("data").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Self::from_peer(error, details, code.and_then(ErrorKind::from_code))
    }

    /// Reads the body of a peer's HTTP+JSON answer, of any version; problem+json too, as some send it.
    #[must_use]
    pub fn from_http(status: u16, body: &Value) -> Self {
        let error = body.get("error").filter(|error| error.is_object()).unwrap_or(body);
        let details = error.get("details").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let kind = match status {
            404 => Some(ErrorKind::TaskNotFound),
            409 => Some(ErrorKind::TaskNotCancelable),
            415 => Some(ErrorKind::ContentTypeNotSupported),
            501 => Some(ErrorKind::UnsupportedOperation),
            400..=499 => Some(ErrorKind::InvalidParams),
            _ => None,
        };
        Self::from_peer(error, details, kind)
    }

    fn from_peer(error: &Value, details: &[Value], kind: Option<ErrorKind>) -> Self {
        let reason = details.iter().find_map(|detail| detail.get("reason")?.as_str());
        let kind = reason.and_then(ErrorKind::from_reason).or(kind).unwrap_or(ErrorKind::Internal);
        let words = ["message", "detail", "title"];
        let message = words.iter().find_map(|name| error.get(*name)?.as_str());
        let message = message.unwrap_or(kind.words());
        let end = message.floor_char_boundary(crate::limits::NAME_BYTES_MAX);
        Self {
            violations: violations(details),
            ..Self::new(kind, message.get(..end).unwrap_or_default())
        }
    }
}

fn violations(details: &[Value]) -> Vec<Violation> {
    let lists = details.iter().filter_map(|detail| detail.get("fieldViolations")?.as_array());
    let text = |value: &Value, name| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    lists
        .flatten()
        .take(crate::limits::NAMES_MAX)
        .map(|value| Violation {
            field: text(value, "field"),
            description: text(value, "description"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_the_codes_it_knows() {
        use ErrorKind as K;
        for (kind, codes) in [
            (K::Parse, [-32700; 4]),
            (K::InvalidParams, [-32602; 4]),
            (K::TaskNotFound, [-32001; 4]),
            (K::UnsupportedOperation, [-32004; 4]),
            (K::ContentTypeNotSupported, [-32602, -32005, -32005, -32005]),
            (K::InvalidAgentResponse, [-32603, -32006, -32006, -32006]),
            (K::ExtendedCardNotConfigured, [-32004, -32004, -32007, -32007]),
            (K::ExtensionSupportRequired, [-32004, -32004, -32004, -32008]),
            (K::VersionNotSupported, [-32009; 4]),
        ] {
            assert_eq!(Version::ALL.map(|version| kind.code(version)), codes, "{kind:?}");
        }
    }

    #[test]
    fn an_error_of_1_0_carries_typed_details_and_an_older_one_never_an_array() {
        let error = Error::task_not_found();
        assert_eq!(
            error.to_jsonrpc(Version::V1_0),
            json!({ "code": -32001, "message": "Task not found", "data": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org",
            }]})
        );
        assert_eq!(
            error.to_jsonrpc(Version::V0_3),
            json!({ "code": -32001, "message": "Task not found" })
        );
        let body = error.to_http(Version::V1_0);
        assert_eq!(body["error"]["code"], 404);
        assert_eq!(body["error"]["status"], "NOT_FOUND");
        let wrong = Error::violation("message.parts", "is required");
        assert_eq!(
            wrong.to_jsonrpc(Version::V1_0)["data"][0]["fieldViolations"][0]["field"],
            "message.parts"
        );
        assert!(wrong.to_jsonrpc(Version::V0_3)["data"].is_object());
    }

    #[test]
    fn every_error_reads_back_from_every_carrier_of_1_0() {
        for kind in ErrorKind::ALL {
            let error = Error::of(kind);
            assert_eq!(Error::from_jsonrpc(&error.to_jsonrpc(Version::V1_0)).kind, kind);
            if kind.reason().is_some() {
                // The statuses of 1.0.0 differ from those of 1.0.1: only the reason counts.
                for status in [400, 404, 409, 415, 500, 501, 502] {
                    assert_eq!(Error::from_http(status, &error.to_http(Version::V1_0)).kind, kind);
                }
            }
        }
        let problem = json!({ "type": "about:blank", "title": "Task not found", "status": 404 });
        assert_eq!(Error::from_http(404, &problem), Error::task_not_found());
        assert_eq!(Error::from_jsonrpc(&json!("odd")).kind, ErrorKind::Internal);
    }
}
