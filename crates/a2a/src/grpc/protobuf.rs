//! Protobuf to JSON and back, by the description of a message.

use serde_json::{Map, Number, Value};

use super::schema::{Field, Kind, Shape};
use crate::limits::NESTING_MAX;
use crate::timestamp::Timestamp;
use crate::wire::{base64, bytes as plain};

/// Values in one message: two bytes of protobuf can be an object of JSON, so that bytes alone are no limit.
const VALUES_MAX: usize = 200_000;

/// Whole numbers up to here are the same as a double: 2⁵³.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

const VARINT: u8 = 0;
const EIGHT_BYTES: u8 = 1;
const LENGTH: u8 = 2;
const FOUR_BYTES: u8 = 5;

/// Why bytes are no such message, or JSON cannot become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("it breaks off")]
    Short,
    #[error("a number is longer than ten bytes")]
    LongNumber,
    #[error("a field is of another kind than its number says")]
    OtherKind,
    #[error("a text is not UTF-8")]
    NotText,
    #[error("it is nested too deeply or has too many values")]
    TooMuch,
    #[error("a number or moment is out of range")]
    OutOfRange,
}

/// Reads a message.
pub(super) fn read(shape: &'static Shape, message: &[u8]) -> Result<Map<String, Value>, Fault> {
    let mut into = Map::new();
    let mut budget = Budget { values: VALUES_MAX, depth: NESTING_MAX };
    budget.message(shape, message, &mut into)?;
    Ok(into)
}

/// What is left of what one message may be.
struct Budget {
    values: usize,
    depth: usize,
}

impl Budget {
    fn spend(&mut self) -> Result<(), Fault> {
        self.values = self.values.checked_sub(1).ok_or(Fault::TooMuch)?;
        Ok(())
    }

    /// Does something one level deeper.
    fn deeper<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.depth = self.depth.checked_sub(1).ok_or(Fault::TooMuch)?;
        let done = act(self);
        self.depth += 1;
        done
    }

    /// Reads fields into an object: of a field that stands twice the last counts, and messages are merged.
    fn message(
        &mut self,
        shape: &'static Shape,
        message: &[u8],
        into: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        let mut reader = Reader(message);
        while let Some((number, wire)) = reader.tag()? {
            let Some(field) = shape.0.iter().find(|field| field.number == number) else {
                reader.pass(wire)?;
                continue;
            };
            self.spend()?;
            if field.either {
                let others = shape.0.iter().filter(|other| other.either && other.number != number);
                others.for_each(|other| drop(into.remove(other.name)));
            }
            self.field(field, wire, &mut reader, into)?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &Field,
        wire: u8,
        reader: &mut Reader<'_>,
        into: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        if field.many {
            let value = self.value(field.kind, wire, reader)?;
            if let Value::Array(items) = entry(into, field.name, || Value::Array(Vec::new())) {
                items.push(value);
            }
            return Ok(());
        }
        match field.kind {
            Kind::Message(shape) => {
                let bytes = reader.bytes(wire)?;
                match entry(into, field.name, || Value::Object(Map::new())) {
                    Value::Object(inner) => {
                        self.deeper(|budget| budget.message(shape, bytes, inner))
                    }
                    _ => Ok(()),
                }
            }
            Kind::Messages(_) | Kind::Texts => {
                let pair = reader.bytes(wire)?;
                let (key, value) = self.deeper(|budget| budget.pair(field.kind, pair))?;
                if let Value::Object(inner) = entry(into, field.name, || Value::Object(Map::new()))
                {
                    inner.insert(key, value);
                }
                Ok(())
            }
            kind => {
                let value = self.value(kind, wire, reader)?;
                into.insert(field.name.to_owned(), value);
                Ok(())
            }
        }
    }

    fn value(&mut self, kind: Kind, wire: u8, reader: &mut Reader<'_>) -> Result<Value, Fault> {
        Ok(match kind {
            Kind::Text | Kind::Texts => Value::from(reader.text(wire)?),
            Kind::Bytes => Value::from(base64(reader.bytes(wire)?)),
            Kind::Base64 => {
                let bytes = reader.bytes(wire)?;
                let text = std::str::from_utf8(bytes).ok().filter(|text| plain(text).is_some());
                Value::from(text.map_or_else(|| base64(bytes), str::to_owned))
            }
            Kind::Flag => Value::from(reader.number(wire)? != 0),
            Kind::Count => Value::from(whole(reader.number(wire)?)),
            Kind::Choice(names) => {
                let number = whole(reader.number(wire)?);
                let name = usize::try_from(number).ok().and_then(|number| names.get(number));
                name.map_or_else(|| Value::from(number), |name| Value::from(*name))
            }
            Kind::Message(shape) | Kind::Messages(shape) => {
                let bytes = reader.bytes(wire)?;
                let mut inner = Map::new();
                self.deeper(|budget| budget.message(shape, bytes, &mut inner))?;
                Value::Object(inner)
            }
            Kind::Object => {
                let bytes = reader.bytes(wire)?;
                Value::Object(self.deeper(|budget| budget.object(bytes))?)
            }
            Kind::Any => {
                let bytes = reader.bytes(wire)?;
                self.deeper(|budget| budget.any(bytes))?
            }
            Kind::Moment => Value::from(moment(reader.bytes(wire)?)?),
        })
    }

    /// An entry of a map: its key and its value.
    fn pair(&mut self, kind: Kind, entry: &[u8]) -> Result<(String, Value), Fault> {
        let mut entry = Reader(entry);
        let mut key = String::new();
        let mut value = match kind {
            Kind::Texts => Value::from(""),
            Kind::Any => Value::Null,
            _ => Value::Object(Map::new()),
        };
        while let Some((number, wire)) = entry.tag()? {
            match number {
                1 => key = entry.text(wire)?,
                2 => value = self.value(kind, wire, &mut entry)?,
                _ => entry.pass(wire)?,
            }
        }
        Ok((key, value))
    }

    /// What the first field of a message holds, however often it stands there; `take` reads each.
    fn items<T, C: Default + Extend<T>>(
        &mut self,
        message: &[u8],
        mut take: impl FnMut(&mut Self, &[u8]) -> Result<T, Fault>,
    ) -> Result<C, Fault> {
        let mut items = C::default();
        let mut reader = Reader(message);
        while let Some((number, wire)) = reader.tag()? {
            if number == 1 {
                self.spend()?;
                let item = take(self, reader.bytes(wire)?)?;
                items.extend([item]);
            } else {
                reader.pass(wire)?;
            }
        }
        Ok(items)
    }

    /// `google.protobuf.Struct`
    fn object(&mut self, message: &[u8]) -> Result<Map<String, Value>, Fault> {
        self.items(message, |budget, entry| budget.pair(Kind::Any, entry))
    }

    /// `google.protobuf.Value`
    fn any(&mut self, message: &[u8]) -> Result<Value, Fault> {
        let mut value = Value::Null;
        let mut reader = Reader(message);
        while let Some((number, wire)) = reader.tag()? {
            self.spend()?;
            value = match number {
                1 => {
                    reader.number(wire)?;
                    Value::Null
                }
                2 => number_of(f64::from_le_bytes(reader.eight_bytes(wire)?))?,
                3 => Value::from(reader.text(wire)?),
                4 => Value::from(reader.number(wire)? != 0),
                5 => {
                    let bytes = reader.bytes(wire)?;
                    Value::Object(self.deeper(|budget| budget.object(bytes))?)
                }
                6 => {
                    let bytes = reader.bytes(wire)?;
                    Value::Array(self.deeper(|budget| budget.list(bytes))?)
                }
                _ => {
                    reader.pass(wire)?;
                    value
                }
            };
        }
        Ok(value)
    }

    /// `google.protobuf.ListValue`
    fn list(&mut self, message: &[u8]) -> Result<Vec<Value>, Fault> {
        self.items(message, |budget, item| budget.deeper(|budget| budget.any(item)))
    }
}

fn entry<'a>(
    map: &'a mut Map<String, Value>,
    name: &str,
    fresh: impl FnOnce() -> Value,
) -> &'a mut Value {
    map.entry(name).or_insert_with(fresh)
}

/// An `int32`, which is written as if it had 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "protobuf says that the upper bits go")]
fn whole(number: u64) -> i32 {
    number as i32
}

/// A number as JSON writes it: whole ones without a point.
#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small enough")]
pub(super) fn number_of(number: f64) -> Result<Value, Fault> {
    if number.fract() == 0.0 && number.abs() <= WHOLE_MAX {
        return Ok(Value::from(number as i64));
    }
    Number::from_f64(number).map(Value::Number).ok_or(Fault::OutOfRange)
}

fn moment(message: &[u8]) -> Result<String, Fault> {
    let (mut seconds, mut nanoseconds) = (0_i64, 0_i64);
    let mut reader = Reader(message);
    while let Some((number, wire)) = reader.tag()? {
        match number {
            1 => seconds = reader.number(wire)?.cast_signed(),
            2 => nanoseconds = i64::from(whole(reader.number(wire)?)),
            _ => reader.pass(wire)?,
        }
    }
    let milliseconds = seconds.checked_mul(1000).ok_or(Fault::OutOfRange)?;
    let milliseconds =
        milliseconds.checked_add(nanoseconds / 1_000_000).ok_or(Fault::OutOfRange)?;
    let moment = Timestamp::from_milliseconds(milliseconds).map_err(|_| Fault::OutOfRange)?;
    Ok(moment.to_string())
}

/// Bytes that are read from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The number and the wire type of the next field; `None` at the end.
    fn tag(&mut self) -> Result<Option<(u32, u8)>, Fault> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| Fault::OutOfRange)?;
        Ok(Some((number, (tag & 7) as u8)))
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let mut number = 0_u64;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(Fault::Short)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Fault::LongNumber)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Fault> {
        let length = usize::try_from(length).map_err(|_| Fault::Short)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Fault::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, wire: u8) -> Result<u64, Fault> {
        if wire == VARINT { self.varint() } else { Err(Fault::OtherKind) }
    }

    fn bytes(&mut self, wire: u8) -> Result<&'a [u8], Fault> {
        if wire != LENGTH {
            return Err(Fault::OtherKind);
        }
        let length = self.varint()?;
        self.take(length)
    }

    fn text(&mut self, wire: u8) -> Result<String, Fault> {
        let text = std::str::from_utf8(self.bytes(wire)?).map_err(|_| Fault::NotText)?;
        Ok(text.to_owned())
    }

    fn eight_bytes(&mut self, wire: u8) -> Result<[u8; 8], Fault> {
        if wire != EIGHT_BYTES {
            return Err(Fault::OtherKind);
        }
        self.take(8)?.try_into().map_err(|_| Fault::Short)
    }

    /// Passes a field that nobody knows.
    fn pass(&mut self, wire: u8) -> Result<(), Fault> {
        match wire {
            VARINT => self.varint().map(drop),
            EIGHT_BYTES => self.take(8).map(drop),
            LENGTH => self.bytes(wire).map(drop),
            FOUR_BYTES => self.take(4).map(drop),
            // Groups have been gone since before the protocol was there.
            _ => Err(Fault::OtherKind),
        }
    }
}

/// Writes a message. What has no field in the description is left out: it has no place in the protocol.
pub(super) fn write(shape: &'static Shape, object: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    for field in shape.0 {
        let Some(value) = object.get(field.name) else { continue };
        match value {
            Value::Array(items) if field.many => {
                for item in items {
                    write_value(field.number, field.kind, item, &mut out)?;
                }
            }
            // Null is absent, but for a value that may be null.
            Value::Null if !matches!(field.kind, Kind::Any) => {}
            value => write_value(field.number, field.kind, value, &mut out)?,
        }
    }
    Ok(out)
}

fn write_value(number: u32, kind: Kind, value: &Value, out: &mut Vec<u8>) -> Result<(), Fault> {
    match (kind, value) {
        (Kind::Text, Value::String(text)) => put_bytes(number, text.as_bytes(), out),
        (Kind::Bytes, Value::String(text)) => {
            put_bytes(number, &plain(text).ok_or(Fault::OtherKind)?, out);
        }
        (Kind::Base64, Value::String(text)) => put_bytes(number, text.as_bytes(), out),
        (Kind::Flag, Value::Bool(flag)) => put_number(number, u64::from(*flag), out),
        (Kind::Count, Value::Number(count)) => {
            let count = count.as_i64().and_then(|count| i32::try_from(count).ok());
            put_number(number, i64::from(count.ok_or(Fault::OutOfRange)?).cast_unsigned(), out);
        }
        (Kind::Choice(names), Value::String(name)) => {
            let place = names.iter().position(|known| known == name).ok_or(Fault::OtherKind)?;
            put_number(number, place as u64, out);
        }
        (Kind::Message(shape), Value::Object(inner)) => {
            put_bytes(number, &write(shape, inner)?, out);
        }
        (Kind::Messages(_) | Kind::Texts, Value::Object(entries)) => {
            for (key, value) in entries {
                put_bytes(number, &write_pair(kind, key, value)?, out);
            }
        }
        (Kind::Object, Value::Object(object)) => put_bytes(number, &write_object(object)?, out),
        (Kind::Any, value) => put_bytes(number, &write_any(value)?, out),
        (Kind::Moment, Value::String(text)) => put_bytes(number, &write_moment(text)?, out),
        _ => return Err(Fault::OtherKind),
    }
    Ok(())
}

fn write_pair(kind: Kind, key: &str, value: &Value) -> Result<Vec<u8>, Fault> {
    let inner = match kind {
        Kind::Messages(shape) => Kind::Message(shape),
        Kind::Texts => Kind::Text,
        other => other,
    };
    let mut pair = Vec::new();
    put_bytes(1, key.as_bytes(), &mut pair);
    write_value(2, inner, value, &mut pair)?;
    Ok(pair)
}

fn write_object(object: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    for (key, value) in object {
        put_bytes(1, &write_pair(Kind::Any, key, value)?, &mut out);
    }
    Ok(out)
}

fn write_any(value: &Value) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    match value {
        Value::Null => put_number(1, 0, &mut out),
        Value::Number(number) => {
            let number = number.as_f64().filter(|number| number.is_finite());
            put_varint(tag(2, EIGHT_BYTES), &mut out);
            out.extend_from_slice(&number.ok_or(Fault::OutOfRange)?.to_le_bytes());
        }
        Value::String(text) => put_bytes(3, text.as_bytes(), &mut out),
        Value::Bool(flag) => put_number(4, u64::from(*flag), &mut out),
        Value::Object(object) => put_bytes(5, &write_object(object)?, &mut out),
        Value::Array(items) => {
            let mut list = Vec::new();
            for item in items {
                put_bytes(1, &write_any(item)?, &mut list);
            }
            put_bytes(6, &list, &mut out);
        }
    }
    Ok(out)
}

fn write_moment(text: &str) -> Result<Vec<u8>, Fault> {
    let moment: Timestamp = text.parse().map_err(|_| Fault::OutOfRange)?;
    let milliseconds = moment.milliseconds();
    let mut out = Vec::new();
    put_number(1, milliseconds.div_euclid(1000).cast_unsigned(), &mut out);
    let nanoseconds = milliseconds.rem_euclid(1000) * 1_000_000;
    put_number(2, nanoseconds.cast_unsigned(), &mut out);
    Ok(out)
}

fn tag(number: u32, wire: u8) -> u64 {
    u64::from(number) << 3 | u64::from(wire)
}

fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

fn put_number(number: u32, value: u64, out: &mut Vec<u8>) {
    put_varint(tag(number, VARINT), out);
    put_varint(value, out);
}

fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(tag(number, LENGTH), out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
