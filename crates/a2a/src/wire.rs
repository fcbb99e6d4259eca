//! What each version writes, made from the model and read into it.
//!
//! A peer's JSON is checked here, once: what comes out of [`read_call`] and [`read_answer`] is within the limits.
//! Writing what has been read gives the same JSON again, but for what a version leaves to the writer (nulls, empty
//! lists, how fine a moment is).

mod card_v0;
mod card_v1_0;
mod objects;
mod v0_1;
mod v0_2;
mod v0_3;
mod v0_3_proto;
mod v1_0;

pub(crate) use objects::{base64, bytes};
use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::fields::check_nesting;
use crate::ids::MessageId;
use crate::model::{AgentCard, Answer, Call, Event, Operation, OperationKind};
use crate::version::Version;

/// The forms in which objects are written. A version has one for JSON-RPC; 0.3 has a second for HTTP+JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    V0_1,
    V0_2,
    V0_3,
    /// ProtoJSON of `a2a.v1`, as 0.3 speaks it over HTTP+JSON.
    V0_3Proto,
    V1_0,
}

impl Form {
    pub const ALL: [Self; 5] = [Self::V0_1, Self::V0_2, Self::V0_3, Self::V0_3Proto, Self::V1_0];

    #[must_use]
    pub fn version(self) -> Version {
        match self {
            Self::V0_1 => Version::V0_1,
            Self::V0_2 => Version::V0_2,
            Self::V0_3 | Self::V0_3Proto => Version::V0_3,
            Self::V1_0 => Version::V1_0,
        }
    }
}

impl From<Version> for Form {
    /// The form that the version has in JSON-RPC.
    fn from(version: Version) -> Self {
        match version {
            Version::V0_1 => Self::V0_1,
            Version::V0_2 => Self::V0_2,
            Version::V0_3 => Self::V0_3,
            Version::V1_0 => Self::V1_0,
        }
    }
}

/// The method of JSON-RPC for an operation; `None` if the version does not have it.
#[must_use]
pub fn method(version: Version, kind: OperationKind) -> Option<&'static str> {
    match version {
        Version::V0_1 => v0_1::method(kind),
        Version::V0_2 => v0_2::method(kind),
        Version::V0_3 => v0_3::method(kind),
        Version::V1_0 => Some(v1_0::method(kind)),
    }
}

/// The operation of a method of JSON-RPC; `None` if the version does not have it.
#[must_use]
pub fn kind_of(version: Version, name: &str) -> Option<OperationKind> {
    OperationKind::ALL.into_iter().find(|kind| method(version, *kind) == Some(name))
}

/// Reads what is asked.
///
/// A message of 0.1 has no id: `fresh` becomes it. Other versions do not use it.
///
/// # Errors
/// If a parameter is missing, wrong or beyond a limit; the error says which.
pub fn read_call(
    form: Form,
    kind: OperationKind,
    params: &Value,
    fresh: &MessageId,
) -> Result<Call, Error> {
    let none = Value::Object(crate::model::Object::new());
    let params = if params.is_null() { &none } else { params };
    check_nesting(params)?;
    match form {
        Form::V0_1 => v0_1::read_call(kind, params, fresh),
        Form::V0_2 => v0_2::read_call(kind, params),
        Form::V0_3 => v0_3::read_call(kind, params),
        Form::V0_3Proto => v0_3_proto::read_call(kind, params),
        Form::V1_0 => v1_0::read_call(kind, params),
    }
}

/// Writes what is asked; 1.0's `params`, or `Null` where a method has none.
///
/// # Errors
/// If the version cannot say it.
pub fn write_call(form: Form, call: &Call) -> Result<Value, Error> {
    let kind = call.operation.kind();
    if method(form.version(), kind).is_none() {
        let message = format!("A2A {} has no such operation", form.version());
        return Err(Error::new(ErrorKind::UnsupportedOperation, message));
    }
    match form {
        Form::V0_1 => v0_1::write_call(call),
        Form::V0_2 | Form::V0_3 => Ok(v0_3::write_call(call)),
        Form::V0_3Proto => Ok(v0_3_proto::write_call(call)),
        Form::V1_0 => Ok(v1_0::write_call(call)),
    }
}

/// Reads a peer's answer.
///
/// # Errors
/// With [`ErrorKind::InvalidAgentResponse`], if it is not what the version says.
pub fn read_answer(form: Form, kind: OperationKind, result: &Value) -> Result<Answer, Error> {
    let read = || {
        check_nesting(result)?;
        match form {
            Form::V0_1 => v0_1::read_answer(kind, result),
            Form::V0_2 | Form::V0_3 => v0_3::read_answer(kind, result),
            Form::V0_3Proto => v0_3_proto::read_answer(kind, result),
            Form::V1_0 => v1_0::read_answer(kind, result),
        }
    };
    read().map_err(from_agent)
}

/// Writes an answer.
#[must_use]
pub fn write_answer(form: Form, answer: &Answer) -> Value {
    match form {
        Form::V0_1 => v0_1::write_answer(answer),
        Form::V0_2 => v0_2::write_answer(answer),
        Form::V0_3 => v0_3::write_answer(answer),
        Form::V0_3Proto => v0_3_proto::write_answer(answer),
        Form::V1_0 => v1_0::write_answer(answer),
    }
}

/// Reads an event of a peer's stream or webhook.
///
/// # Errors
/// With [`ErrorKind::InvalidAgentResponse`], if it is not what the version says.
pub fn read_event(form: Form, value: &Value) -> Result<Event, Error> {
    let read = || {
        check_nesting(value)?;
        match form {
            Form::V0_1 => v0_1::read_event(value),
            Form::V0_2 | Form::V0_3 => v0_3::SPELLING.read_event(value),
            Form::V0_3Proto => v0_3_proto::SPELLING.read_event(value),
            Form::V1_0 => v1_0::SPELLING.read_event(value),
        }
    };
    read().map_err(from_agent)
}

/// Writes an event of a stream. `None` if the version has no such event: 0.1 knows no message without a task.
#[must_use]
pub fn write_event(form: Form, event: &Event) -> Option<Value> {
    match form {
        Form::V0_1 => v0_1::write_event(event),
        Form::V0_2 | Form::V0_3 => Some(v0_3::SPELLING.write_event(event)),
        Form::V0_3Proto => Some(v0_3_proto::SPELLING.write_event(event)),
        Form::V1_0 => Some(v1_0::SPELLING.write_event(event)),
    }
}

/// Reads a card of any version: its fields say which.
///
/// # Errors
/// If it is no card, or beyond a limit; the error says where.
pub fn read_card(card: &Value) -> Result<AgentCard, Error> {
    check_nesting(card)?;
    let is_new = |name| card.get(name).is_some_and(Value::is_array);
    if is_new("supportedInterfaces") || is_new("supported_interfaces") {
        return card_v1_0::read(&fields(card, crate::fields::Notation::Proto)?);
    }
    card_v0::read(&fields(card, crate::fields::Notation::Plain)?)
}

/// Writes a card in the form of a version.
#[must_use]
pub fn write_card(version: Version, card: &AgentCard) -> Value {
    match version {
        Version::V0_1 => card_v0::write_v0_1(card),
        Version::V0_2 => card_v0::write_v0_2(card),
        Version::V0_3 => card_v0::write_v0_3(card),
        Version::V1_0 => card_v1_0::write(card),
    }
}

/// What a webhook of a version is sent, with its media type: the event in 1.0, the task as it is now before.
#[must_use]
pub fn write_push(
    version: Version,
    event: &Event,
    task: &crate::model::Task,
) -> (Value, &'static str) {
    let whole = Answer::Task(task.clone());
    match version {
        Version::V1_0 => (v1_0::SPELLING.write_event(event), "application/a2a+json"),
        Version::V0_1 => (v0_1::write_answer(&whole), "application/json"),
        Version::V0_2 | Version::V0_3 => (v0_3::write_answer(&whole), "application/json"),
    }
}

/// Reads what a webhook was sent, in whatever version.
///
/// # Errors
/// If it is an event of no version.
pub fn read_push(body: &Value) -> Result<Event, Error> {
    let wraps =
        ["task", "message", "statusUpdate", "artifactUpdate", "status_update", "artifact_update"];
    let is = |name: &&str| body.get(name).is_some_and(Value::is_object);
    let form = match body {
        _ if body.get("kind").is_some() => Form::V0_3,
        _ if wraps.iter().any(is) => Form::V1_0,
        _ => Form::V0_1,
    };
    read_event(form, body)
}

fn fields(
    value: &Value,
    notation: crate::fields::Notation,
) -> Result<crate::fields::Fields<'_>, Error> {
    crate::fields::Fields::of(value, crate::fields::At::Root, notation)
}

fn from_agent(error: Error) -> Error {
    Error { kind: ErrorKind::InvalidAgentResponse, ..error }
}

/// Whether an operation's request names its task in the path or the parameters only: it is sent without a body.
pub(crate) fn names_only_a_task(operation: &Operation) -> bool {
    match operation {
        Operation::Get { .. } | Operation::Subscribe { .. } | Operation::ExtendedCard => true,
        Operation::List(_) | Operation::GetPush { .. } | Operation::ListPush { .. } => true,
        Operation::DeletePush { .. } => true,
        Operation::Send(_) | Operation::Stream(_) | Operation::Cancel { .. } => false,
        Operation::CreatePush(_) => false,
    }
}

#[cfg(test)]
mod tests;
