//! gRPC: the methods of both services, their messages as protobuf, frames, and how an error is said.
//!
//! A message of protobuf is taken for the JSON that ProtoJSON has for it, and back: what stands in a message is read and
//! checked in one place, [`wire`], whichever way it came.

mod frames;
mod protobuf;
mod schema;
mod schema_v0_3;
mod schema_v1_0;

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind};
use crate::ids::MessageId;
use crate::model::{AgentCard, Answer, Call, Event, OperationKind};
use crate::percent;
use crate::version::Version;
use crate::wire::{self, Form};
pub use frames::{Deframer, FrameError, frame};
use schema::Shape;

/// The media type of a request and of an answer.
pub const MEDIA_TYPE: &str = "application/grpc";

/// The status of a call that went well.
pub const OK: i32 = 0;

const SERVICE_1_0: &str = "lf.a2a.v1.A2AService";
const SERVICE_0_3: &str = "a2a.v1.A2AService";

/// A method of one of the two services.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    pub form: Form,
    pub kind: OperationKind,
    request: &'static Shape,
    answer: &'static Shape,
}

impl Method {
    fn of(version: Version, kind: OperationKind) -> Option<Self> {
        let (form, (request, answer)) = match version {
            Version::V1_0 => (Form::V1_0, schema_v1_0::messages(kind)),
            Version::V0_3 => (Form::V0_3Proto, schema_v0_3::messages(kind)?),
            Version::V0_1 | Version::V0_2 => return None,
        };
        Some(Self { form, kind, request, answer })
    }

    /// The method that a path asks for, with the version that the caller says it speaks; a service has but one.
    ///
    /// # Errors
    /// If there is no such method, or the service does not speak that version.
    pub fn at_path(path: &str, header: Option<&str>) -> Result<Self, Error> {
        let absent = || Error::of(ErrorKind::MethodNotFound);
        let (service, name) =
            path.strip_prefix('/').and_then(|path| path.split_once('/')).ok_or_else(absent)?;
        let version = match service {
            SERVICE_1_0 => Version::V1_0,
            SERVICE_0_3 => Version::V0_3,
            _ => return Err(absent()),
        };
        let header = header.map(str::trim).filter(|header| !header.is_empty());
        if header.is_some_and(|header| Version::read(header) != Some(version)) {
            return Err(Error::of(ErrorKind::VersionNotSupported));
        }
        let mut kinds = OperationKind::ALL.into_iter();
        let kind = kinds.find(|kind| name_of(version, *kind) == Some(name)).ok_or_else(absent)?;
        Self::of(version, kind).ok_or_else(absent)
    }

    /// The path that a caller asks at, and the method there; `None` if the version does not have it over gRPC.
    #[must_use]
    pub fn for_caller(version: Version, kind: OperationKind) -> Option<(String, Self)> {
        let method = Self::of(version, kind)?;
        let service = if version == Version::V1_0 { SERVICE_1_0 } else { SERVICE_0_3 };
        Some((format!("/{service}/{}", name_of(version, kind)?), method))
    }

    /// Reads what is asked.
    ///
    /// # Errors
    /// If the bytes are no such message, or a parameter is missing, wrong or beyond a limit.
    pub fn read_call(&self, message: &[u8], fresh: &MessageId) -> Result<Call, Error> {
        let params = protobuf::read(self.request, message).map_err(|fault| {
            Error::new(ErrorKind::InvalidRequest, format!("no message of A2A: {fault}"))
        })?;
        wire::read_call(self.form, self.kind, &Value::Object(params), fresh)
    }

    /// Writes what is asked.
    ///
    /// # Errors
    /// If the version cannot say it.
    pub fn write_call(&self, call: &Call) -> Result<Vec<u8>, Error> {
        let params = wire::write_call(self.form, call)?;
        written(self.request, params)
    }

    /// Reads a peer's answer.
    ///
    /// # Errors
    /// With [`ErrorKind::InvalidAgentResponse`], if it is not what the version says.
    pub fn read_answer(&self, message: &[u8]) -> Result<Answer, Error> {
        let result = protobuf::read(self.answer, message).map_err(strange)?;
        wire::read_answer(self.form, self.kind, &Value::Object(result))
    }

    /// Writes an answer.
    ///
    /// # Errors
    /// If it cannot be said in protobuf, such as a number that no double holds.
    pub fn write_answer(&self, answer: &Answer) -> Result<Vec<u8>, Error> {
        let result = match (self.form, answer) {
            (Form::V0_3Proto, Answer::Card(card)) => card_of_0_3(card),
            _ => wire::write_answer(self.form, answer),
        };
        written(self.answer, result)
    }

    /// Reads an event of a peer's stream.
    ///
    /// # Errors
    /// With [`ErrorKind::InvalidAgentResponse`], if it is not what the version says.
    pub fn read_event(&self, message: &[u8]) -> Result<Event, Error> {
        let event = protobuf::read(self.answer, message).map_err(strange)?;
        wire::read_event(self.form, &Value::Object(event))
    }

    /// Writes an event of a stream.
    ///
    /// # Errors
    /// If it cannot be said in protobuf.
    pub fn write_event(&self, event: &Event) -> Result<Vec<u8>, Error> {
        let event = wire::write_event(self.form, event);
        written(self.answer, event.ok_or_else(|| Error::of(ErrorKind::Internal))?)
    }
}

/// How a call ended: the trailers that say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// `grpc-status`
    pub code: i32,
    /// `grpc-message`, percent-encoded
    pub message: String,
    /// `grpc-status-details-bin`, in base64 without padding; empty if there is nothing to add
    pub details: String,
}

impl Status {
    /// A status in words alone.
    #[must_use]
    pub fn new(code: i32, message: &str) -> Self {
        // What a header cannot carry is encoded, and the percent sign itself.
        let is_plain = |byte| (b' '..=b'~').contains(&byte) && byte != b'%';
        Self { code, message: percent::encoded(message, is_plain), details: String::new() }
    }
}

/// How an error is said.
#[must_use]
pub fn status(error: &Error) -> Status {
    let code = error.kind.grpc().code();
    let details = error.details();
    let details = if details.is_empty() {
        String::new()
    } else {
        let details = details.into_iter().filter_map(any).collect::<Vec<_>>();
        let status =
            serde_json::json!({ "code": code, "message": error.message, "details": details });
        let bytes = written(&schema::STATUS, status).unwrap_or_default();
        wire::base64(&bytes).trim_end_matches('=').to_owned()
    };
    Status { details, ..Status::new(code, &error.message) }
}

/// What a peer's status means.
#[must_use]
pub fn error_of(code: i32, message: &str, details: Option<&str>) -> Error {
    // Words that are not encoded well are still words.
    let message = percent::decoded(message).unwrap_or_else(|| message.to_owned());
    let details = details.and_then(wire::bytes);
    let details = details.and_then(|bytes| protobuf::read(&schema::STATUS, &bytes).ok());
    let kind = details.as_ref().and_then(reason).and_then(|reason| ErrorKind::from_reason(&reason));
    let kind = kind.unwrap_or(match code {
        3 => ErrorKind::InvalidParams,
        5 => ErrorKind::TaskNotFound,
        9 => ErrorKind::UnsupportedOperation,
        12 => ErrorKind::MethodNotFound,
        _ => ErrorKind::Internal,
    });
    Error::new(kind, message)
}

/// The reason in the details of a status.
fn reason(status: &Map<String, Value>) -> Option<String> {
    let mut details = status.get("details")?.as_array()?.iter();
    details.find_map(|detail| {
        let is_info = detail.get("typeUrl")?.as_str()?.ends_with("/google.rpc.ErrorInfo");
        let bytes = detail.get("value")?.as_str().filter(|_| is_info)?;
        let info = protobuf::read(&schema::ERROR_INFO, &wire::bytes(bytes)?).ok()?;
        Some(info.get("reason")?.as_str()?.to_owned())
    })
}

/// A typed detail as `google.protobuf.Any`.
fn any(mut detail: Value) -> Option<Value> {
    let kind = detail.as_object_mut()?.remove("@type")?;
    let name = kind.as_str()?;
    let shape =
        if name.ends_with("ErrorInfo") { &schema::ERROR_INFO } else { &schema::BAD_REQUEST };
    let value = wire::base64(&written(shape, detail).ok()?);
    Some(serde_json::json!({ "typeUrl": name, "value": value }))
}

fn written(shape: &'static Shape, value: Value) -> Result<Vec<u8>, Error> {
    let map = match value {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    protobuf::write(shape, &map).map_err(|fault| {
        Error::new(ErrorKind::Internal, format!("not to be said in gRPC: {fault}"))
    })
}

fn strange(fault: protobuf::Fault) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, format!("no message of A2A: {fault}"))
}

fn name_of(version: Version, kind: OperationKind) -> Option<&'static str> {
    match (version, kind) {
        (Version::V1_0, kind) => wire::method(Version::V1_0, kind),
        (_, OperationKind::Send) => Some("SendMessage"),
        (_, OperationKind::Stream) => Some("SendStreamingMessage"),
        (_, OperationKind::Get) => Some("GetTask"),
        (_, OperationKind::Cancel) => Some("CancelTask"),
        (_, OperationKind::Subscribe) => Some("TaskSubscription"),
        (_, OperationKind::CreatePush) => Some("CreateTaskPushNotificationConfig"),
        (_, OperationKind::GetPush) => Some("GetTaskPushNotificationConfig"),
        (_, OperationKind::ListPush) => Some("ListTaskPushNotificationConfig"),
        (_, OperationKind::DeletePush) => Some("DeleteTaskPushNotificationConfig"),
        (_, OperationKind::ExtendedCard) => Some("GetAgentCard"),
        (_, OperationKind::List) => None,
    }
}

/// The card of `a2a.v1`: 0.3's fields, with security written as 1.0 writes it.
fn card_of_0_3(card: &AgentCard) -> Value {
    let mut old = wire::write_card(Version::V0_3, card);
    let mut new = wire::write_card(Version::V1_0, card);
    let (Some(fields), Some(newer)) = (old.as_object_mut(), new.as_object_mut()) else {
        return old;
    };
    for (name, newer_name) in
        [("securitySchemes", "securitySchemes"), ("security", "securityRequirements")]
    {
        match newer.remove(newer_name) {
            Some(value) => fields.insert(name.to_owned(), value),
            None => fields.remove(name),
        };
    }
    let newer_skills = newer.get_mut("skills").and_then(Value::as_array_mut);
    let skills = fields.get_mut("skills").and_then(Value::as_array_mut);
    for (skill, newer) in skills.into_iter().flatten().zip(newer_skills.into_iter().flatten()) {
        let (Some(skill), Some(newer)) = (skill.as_object_mut(), newer.as_object_mut()) else {
            continue;
        };
        match newer.remove("securityRequirements") {
            Some(value) => skill.insert("security".to_owned(), value),
            None => skill.remove("security"),
        };
    }
    old
}

#[cfg(test)]
mod tests;
