//! Messages of gRPC: the JSON of a version in the binary form of Protocol Buffers, and back.
//!
//! 1.0 and the second form of 0.3 are ProtoJSON, so a message is its JSON with numbers for names. The tables of a
//! package say which; whatever reads and writes the JSON serves gRPC too.

mod v0_3;
mod v1_0;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::error::{Error, ErrorKind};
use crate::ids::MessageId;
use crate::limits::NESTING_MAX;
use crate::model::{Answer, Call, Event, OperationKind};
use crate::timestamp::Timestamp;
use crate::version::Version;
use crate::wire::{self, Form};

/// The roles, by their numbers.
const ROLES: &[&str] = &["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"];

/// A message's fields.
pub(crate) struct Message(&'static [Field]);

struct Field {
    number: u32,
    /// As JSON has it.
    name: &'static str,
    shape: Shape,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    One,
    Many,
    /// From texts.
    Map,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Bytes,
    Bool,
    Number,
    Enum(&'static [&'static str]),
    Message(&'static Message),
    Struct,
    Value,
    Timestamp,
}

const fn one(number: u32, name: &'static str, kind: Kind) -> Field {
    Field { number, name, shape: Shape::One, kind }
}

const fn many(number: u32, name: &'static str, kind: Kind) -> Field {
    Field { number, name, shape: Shape::Many, kind }
}

const fn map(number: u32, name: &'static str, kind: Kind) -> Field {
    Field { number, name, shape: Shape::Map, kind }
}

/// A service of gRPC, by the version that it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    V1_0,
    V0_3,
}

impl Service {
    pub const ALL: [Self; 2] = [Self::V1_0, Self::V0_3];

    /// The first part of its paths.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V1_0 => "lf.a2a.v1.A2AService",
            Self::V0_3 => "a2a.v1.A2AService",
        }
    }

    #[must_use]
    pub fn version(self) -> Version {
        self.form().version()
    }

    fn form(self) -> Form {
        match self {
            Self::V1_0 => Form::V1_0,
            Self::V0_3 => Form::V0_3Proto,
        }
    }

    /// The method of an operation; `None` if the package does not have it.
    #[must_use]
    pub fn method(self, kind: OperationKind) -> Option<&'static str> {
        use OperationKind as Kind;
        match (self, kind) {
            (Self::V1_0, kind) => wire::method(Version::V1_0, kind),
            (Self::V0_3, Kind::Subscribe) => Some("TaskSubscription"),
            (Self::V0_3, Kind::ListPush) => Some("ListTaskPushNotificationConfig"),
            (Self::V0_3, Kind::ExtendedCard) => Some("GetAgentCard"),
            (Self::V0_3, Kind::List) => None,
            (Self::V0_3, kind) => wire::method(Version::V1_0, kind),
        }
    }

    /// The operation of a method.
    #[must_use]
    pub fn kind_of(self, method: &str) -> Option<OperationKind> {
        OperationKind::ALL.into_iter().find(|kind| self.method(*kind) == Some(method))
    }

    fn request(self, kind: OperationKind) -> &'static Message {
        use OperationKind as Kind;
        match (self, kind) {
            (Self::V1_0, Kind::Send | Kind::Stream) => &v1_0::SEND_MESSAGE_REQUEST,
            (Self::V1_0, Kind::Get) => &v1_0::GET_TASK_REQUEST,
            (Self::V1_0, Kind::List) => &v1_0::LIST_TASKS_REQUEST,
            (Self::V1_0, Kind::Cancel) => &v1_0::CANCEL_TASK_REQUEST,
            (Self::V1_0, Kind::Subscribe) => &v1_0::SUBSCRIBE_TO_TASK_REQUEST,
            (Self::V1_0, Kind::CreatePush) => &v1_0::TASK_PUSH_NOTIFICATION_CONFIG,
            (Self::V1_0, Kind::GetPush) => &v1_0::GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
            (Self::V1_0, Kind::ListPush) => &v1_0::LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST,
            (Self::V1_0, Kind::DeletePush) => &v1_0::DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
            (Self::V1_0, Kind::ExtendedCard) => &v1_0::GET_EXTENDED_AGENT_CARD_REQUEST,
            (Self::V0_3, Kind::Send | Kind::Stream) => &v0_3::SEND_MESSAGE_REQUEST,
            (Self::V0_3, Kind::Get) => &v0_3::GET_TASK_REQUEST,
            (Self::V0_3, Kind::Cancel) => &v0_3::CANCEL_TASK_REQUEST,
            (Self::V0_3, Kind::Subscribe) => &v0_3::TASK_SUBSCRIPTION_REQUEST,
            (Self::V0_3, Kind::CreatePush) => &v0_3::CREATE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
            (Self::V0_3, Kind::GetPush) => &v0_3::GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
            (Self::V0_3, Kind::ListPush) => &v0_3::LIST_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
            (Self::V0_3, Kind::DeletePush) => &v0_3::DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
            (Self::V0_3, Kind::ExtendedCard | Kind::List) => &v0_3::GET_AGENT_CARD_REQUEST,
        }
    }

    fn response(self, answer: &Answer) -> &'static Message {
        match (self, answer) {
            (Self::V1_0, Answer::Sent(_)) => &v1_0::SEND_MESSAGE_RESPONSE,
            (Self::V1_0, Answer::Task(_)) => &v1_0::TASK,
            (Self::V1_0, Answer::Push(_)) => &v1_0::TASK_PUSH_NOTIFICATION_CONFIG,
            (Self::V1_0, Answer::Pushes(_)) => &v1_0::LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE,
            (Self::V1_0, Answer::Card(_)) => &v1_0::AGENT_CARD,
            (_, Answer::Tasks(_)) => &v1_0::LIST_TASKS_RESPONSE,
            (Self::V0_3, Answer::Sent(_)) => &v0_3::SEND_MESSAGE_RESPONSE,
            (Self::V0_3, Answer::Task(_)) => &v0_3::TASK,
            (Self::V0_3, Answer::Push(_)) => &v0_3::TASK_PUSH_NOTIFICATION_CONFIG,
            (Self::V0_3, Answer::Pushes(_)) => &v0_3::LIST_TASK_PUSH_NOTIFICATION_CONFIG_RESPONSE,
            (Self::V0_3, Answer::Card(_)) => &v0_3::AGENT_CARD,
            (_, Answer::Deleted) => &EMPTY,
        }
    }
}

static EMPTY: Message = Message(&[]);

/// Reads what is asked.
///
/// # Errors
/// If it is no message of the package, or a parameter is missing, wrong or beyond a limit.
pub fn read_call(
    service: Service,
    kind: OperationKind,
    bytes: &[u8],
    fresh: &MessageId,
) -> Result<Call, Error> {
    let broken = || Error::new(ErrorKind::InvalidParams, "Invalid parameters: no such message");
    let params = read_message(service.request(kind), bytes, 0).ok_or_else(broken)?;
    wire::read_call(service.form(), kind, &Value::Object(params), fresh)
}

/// Writes an answer.
#[must_use]
pub fn write_answer(service: Service, answer: &Answer) -> Vec<u8> {
    write(service.response(answer), &wire::write_answer(service.form(), answer))
}

/// Writes an event of a stream.
#[must_use]
pub fn write_event(service: Service, event: &Event) -> Vec<u8> {
    let message = match service {
        Service::V1_0 => &v1_0::STREAM_RESPONSE,
        Service::V0_3 => &v0_3::STREAM_RESPONSE,
    };
    write(message, &wire::write_event(service.form(), event).unwrap_or_default())
}

static STATUS: Message = Message(&[
    one(1, "code", Kind::Number),
    one(2, "message", Kind::Text),
    many(3, "details", Kind::Message(&ANY)),
]);
static ANY: Message = Message(&[one(1, "typeUrl", Kind::Text), one(2, "value", Kind::Bytes)]);
static ERROR_INFO: Message = Message(&[
    one(1, "reason", Kind::Text),
    one(2, "domain", Kind::Text),
    map(3, "metadata", Kind::Text),
]);
static BAD_REQUEST: Message =
    Message(&[many(1, "fieldViolations", Kind::Message(&FIELD_VIOLATION))]);
static FIELD_VIOLATION: Message =
    Message(&[one(1, "field", Kind::Text), one(2, "description", Kind::Text)]);

/// The status of a refused call, as `grpc-status-details-bin` carries it.
#[must_use]
pub fn write_status(error: &Error) -> Vec<u8> {
    let details = error.details();
    let packed = details.iter().filter_map(|detail| {
        let name = detail.get("@type")?.as_str()?;
        let message = if name.ends_with("ErrorInfo") { &ERROR_INFO } else { &BAD_REQUEST };
        Some(json!({ "typeUrl": name, "value": STANDARD.encode(write(message, detail)) }))
    });
    let status = json!({
        "code": error.kind.grpc().code(),
        "message": error.message,
        "details": packed.collect::<Vec<_>>(),
    });
    write(&STATUS, &status)
}

// The wire types of Protocol Buffers that are in use.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;

fn write(message: &Message, value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in message.0 {
        let Some(value) = value.get(field.name) else { continue };
        match (field.shape, value) {
            (_, Value::Null) if !matches!(field.kind, Kind::Value) => {}
            (Shape::One, value) => write_field(&mut bytes, field.number, field.kind, value),
            (Shape::Many, Value::Array(values)) => {
                values
                    .iter()
                    .for_each(|value| write_field(&mut bytes, field.number, field.kind, value));
            }
            (Shape::Map, Value::Object(entries)) => {
                for (name, value) in entries {
                    let mut entry = Vec::new();
                    write_bytes(&mut entry, 1, name.as_bytes());
                    write_field(&mut entry, 2, field.kind, value);
                    write_bytes(&mut bytes, field.number, &entry);
                }
            }
            (Shape::Many | Shape::Map, _) => {}
        }
    }
    bytes
}

/// Writes a field; what is not of its kind is left out.
fn write_field(bytes: &mut Vec<u8>, number: u32, kind: Kind, value: &Value) {
    match (kind, value) {
        (Kind::Text, Value::String(text)) => write_bytes(bytes, number, text.as_bytes()),
        (Kind::Bytes, Value::String(text)) => {
            write_bytes(bytes, number, &STANDARD.decode(text).unwrap_or_default());
        }
        (Kind::Bool, Value::Bool(value)) => write_number(bytes, number, u64::from(*value)),
        (Kind::Number, Value::Number(value)) => {
            let value = value.as_i64().unwrap_or_default();
            write_number(bytes, number, value.cast_unsigned());
        }
        (Kind::Enum(names), Value::String(name)) => {
            let place = names.iter().position(|known| known == name).unwrap_or_default();
            write_number(bytes, number, place as u64);
        }
        (Kind::Message(message), value @ Value::Object(_)) => {
            write_bytes(bytes, number, &write(message, value));
        }
        (Kind::Struct, Value::Object(fields)) => write_bytes(bytes, number, &write_struct(fields)),
        (Kind::Value, value) => write_bytes(bytes, number, &write_value(value)),
        (Kind::Timestamp, Value::String(text)) => {
            let Ok(moment) = text.parse::<Timestamp>() else { return };
            let milliseconds = moment.milliseconds();
            let mut inner = Vec::new();
            write_number(&mut inner, 1, milliseconds.div_euclid(1000).cast_unsigned());
            write_number(&mut inner, 2, milliseconds.rem_euclid(1000).cast_unsigned() * 1_000_000);
            write_bytes(bytes, number, &inner);
        }
        _ => {}
    }
}

fn write_struct(fields: &Map<String, Value>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        let mut entry = Vec::new();
        write_bytes(&mut entry, 1, name.as_bytes());
        write_bytes(&mut entry, 2, &write_value(value));
        write_bytes(&mut bytes, 1, &entry);
    }
    bytes
}

fn write_value(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    match value {
        Value::Null => write_number(&mut bytes, 1, 0),
        Value::Number(number) => {
            write_varint(&mut bytes, 2 << 3 | FIXED_64);
            bytes.extend(number.as_f64().unwrap_or_default().to_le_bytes());
        }
        Value::String(text) => write_bytes(&mut bytes, 3, text.as_bytes()),
        Value::Bool(value) => write_number(&mut bytes, 4, u64::from(*value)),
        Value::Object(fields) => write_bytes(&mut bytes, 5, &write_struct(fields)),
        Value::Array(values) => {
            let mut list = Vec::new();
            values.iter().for_each(|value| write_bytes(&mut list, 1, &write_value(value)));
            write_bytes(&mut bytes, 6, &list);
        }
    }
    bytes
}

fn write_number(bytes: &mut Vec<u8>, number: u32, value: u64) {
    write_varint(bytes, u64::from(number) << 3 | VARINT);
    write_varint(bytes, value);
}

fn write_bytes(bytes: &mut Vec<u8>, number: u32, value: &[u8]) {
    write_varint(bytes, u64::from(number) << 3 | LENGTH);
    write_varint(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap_or_default() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap_or_default());
}

/// What stands after a field's number.
enum Raw<'a> {
    Number(u64),
    Fixed([u8; 8]),
    Bytes(&'a [u8]),
}

/// Takes fields one after another; `None` where the bytes are none.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<Option<(u32, Raw<'a>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0)?;
        let raw = match tag & 7 {
            VARINT => Raw::Number(self.varint()?),
            FIXED_64 => Raw::Fixed(self.take(8)?.try_into().ok()?),
            LENGTH => {
                let length = usize::try_from(self.varint()?).ok()?;
                Raw::Bytes(self.take(length)?)
            }
            FIXED_32 => {
                self.take(4)?;
                Raw::Number(0)
            }
            _ => return None,
        };
        Some(Some((number, raw)))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

fn read_message(message: &Message, bytes: &[u8], depth: usize) -> Option<Map<String, Value>> {
    if depth > NESTING_MAX {
        return None;
    }
    let mut fields = Map::new();
    let mut reader = Reader(bytes);
    while let Some((number, raw)) = reader.next()? {
        // What a later version has besides is not looked at.
        let Some(field) = message.0.iter().find(|field| field.number == number) else { continue };
        match field.shape {
            Shape::One => {
                fields.insert(field.name.to_owned(), read_field(field.kind, raw, depth)?);
            }
            Shape::Many => {
                let value = read_field(field.kind, raw, depth)?;
                let list = fields.entry(field.name).or_insert_with(|| json!([]));
                list.as_array_mut()?.push(value);
            }
            Shape::Map => {
                let Raw::Bytes(entry) = raw else { return None };
                let (name, value) = read_entry(entry, |raw| read_field(field.kind, raw, depth))?;
                let object = fields.entry(field.name).or_insert_with(|| json!({}));
                object.as_object_mut()?.insert(name, value);
            }
        }
    }
    Some(fields)
}

fn read_entry(bytes: &[u8], read: impl Fn(Raw<'_>) -> Option<Value>) -> Option<(String, Value)> {
    let (mut name, mut value) = (String::new(), Value::Null);
    let mut reader = Reader(bytes);
    while let Some((number, raw)) = reader.next()? {
        match (number, raw) {
            (1, Raw::Bytes(text)) => name = std::str::from_utf8(text).ok()?.to_owned(),
            (2, raw) => value = read(raw)?,
            _ => {}
        }
    }
    Some((name, value))
}

fn read_field(kind: Kind, raw: Raw<'_>, depth: usize) -> Option<Value> {
    Some(match (kind, raw) {
        (Kind::Text, Raw::Bytes(bytes)) => std::str::from_utf8(bytes).ok()?.into(),
        (Kind::Bytes, Raw::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (Kind::Bool, Raw::Number(number)) => (number != 0).into(),
        (Kind::Number, Raw::Number(number)) => number.cast_signed().into(),
        (Kind::Enum(names), Raw::Number(number)) => {
            let name = usize::try_from(number).ok().and_then(|place| names.get(place));
            name.map_or_else(|| number.into(), |name| (*name).into())
        }
        (Kind::Message(message), Raw::Bytes(bytes)) => {
            read_message(message, bytes, depth + 1)?.into()
        }
        (Kind::Struct, Raw::Bytes(bytes)) => read_struct(bytes, depth + 1)?.into(),
        (Kind::Value, Raw::Bytes(bytes)) => read_value(bytes, depth + 1)?,
        (Kind::Timestamp, Raw::Bytes(bytes)) => read_timestamp(bytes)?,
        _ => return None,
    })
}

fn read_struct(bytes: &[u8], depth: usize) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    let mut reader = Reader(bytes);
    while let Some((number, raw)) = reader.next()? {
        if let (1, Raw::Bytes(entry)) = (number, raw) {
            let read = |raw: Raw<'_>| match raw {
                Raw::Bytes(bytes) => read_value(bytes, depth + 1),
                Raw::Number(_) | Raw::Fixed(_) => None,
            };
            let (name, value) = read_entry(entry, read)?;
            fields.insert(name, value);
        }
    }
    Some(fields)
}

fn read_value(bytes: &[u8], depth: usize) -> Option<Value> {
    if depth > NESTING_MAX {
        return None;
    }
    let mut value = Value::Null;
    let mut reader = Reader(bytes);
    while let Some((number, raw)) = reader.next()? {
        value = match (number, raw) {
            (1, Raw::Number(_)) => Value::Null,
            (2, Raw::Fixed(bytes)) => from_double(f64::from_le_bytes(bytes))?,
            (3, Raw::Bytes(text)) => std::str::from_utf8(text).ok()?.into(),
            (4, Raw::Number(number)) => (number != 0).into(),
            (5, Raw::Bytes(fields)) => read_struct(fields, depth + 1)?.into(),
            (6, Raw::Bytes(list)) => read_list(list, depth + 1)?,
            _ => continue,
        };
    }
    Some(value)
}

fn read_list(bytes: &[u8], depth: usize) -> Option<Value> {
    let mut values = Vec::new();
    let mut reader = Reader(bytes);
    while let Some((number, raw)) = reader.next()? {
        if let (1, Raw::Bytes(value)) = (number, raw) {
            values.push(read_value(value, depth + 1)?);
        }
    }
    Some(Value::Array(values))
}

/// A whole number as JSON writes one; `None` for what JSON has no number for.
fn from_double(number: f64) -> Option<Value> {
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < WHOLE_MAX {
        // Small enough to be written without a point, and read back as a whole number.
        return format!("{number:.0}").parse::<i64>().ok().map(Value::from);
    }
    serde_json::Number::from_f64(number).map(Value::Number)
}

fn read_timestamp(bytes: &[u8]) -> Option<Value> {
    let (mut seconds, mut nanoseconds) = (0_i64, 0_i64);
    let mut reader = Reader(bytes);
    while let Some((number, raw)) = reader.next()? {
        match (number, raw) {
            (1, Raw::Number(value)) => seconds = value.cast_signed(),
            (2, Raw::Number(value)) => nanoseconds = value.cast_signed(),
            _ => {}
        }
    }
    let milliseconds = seconds.checked_mul(1000)?.checked_add(nanoseconds / 1_000_000)?;
    Some(Timestamp::from_milliseconds(milliseconds).ok()?.to_string().into())
}

#[cfg(test)]
mod tests;
