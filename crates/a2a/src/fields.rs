//! Reading a stranger's JSON: every value is checked where it stands, and a fault says where that is.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::error::Error;
use crate::limits::NESTING_MAX;
use crate::model::Object;
use crate::timestamp::Timestamp;

pub(crate) type Read<T> = Result<T, Error>;

/// How strictly a form of the protocol is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// ProtoJSON: snake case is accepted, enums may be numbers, an empty text is an absent one.
    Proto,
    /// The JSON schemas up to 0.3.
    Plain,
}

/// Where a value stands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum At<'a> {
    Root,
    Field(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(At::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

impl At<'_> {
    pub(crate) fn wrong(&self, description: impl Into<String>) -> Error {
        let place = match self {
            Self::Root => "params".to_owned(),
            Self::Field(..) | Self::Item(..) => self.to_string(),
        };
        Error::violation(place, description)
    }
}

/// The fields of an object.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    map: &'a Map<String, Value>,
    pub(crate) at: At<'a>,
    notation: Notation,
    /// Some name has an underscore; most objects need not be searched for them.
    snake: bool,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &'a Value, at: At<'a>, notation: Notation) -> Read<Self> {
        let map = value.as_object().ok_or_else(|| at.wrong("is an object"))?;
        let snake = notation == Notation::Proto && map.keys().any(|name| name.contains('_'));
        Ok(Self { map, at, notation, snake })
    }

    /// The value of a field, by its name in camel case; null is absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.present(name).filter(|value| !value.is_null())
    }

    /// As [`Fields::get`], but null is a value.
    pub(crate) fn present(&self, name: &str) -> Option<&'a Value> {
        let found = self.map.get(name);
        if found.is_some() || !self.snake {
            return found;
        }
        self.map.iter().find(|(key, _)| is_snake_of(key, name)).map(|(_, value)| value)
    }

    pub(crate) fn wrong(&self, name: &str, description: impl Into<String>) -> Error {
        At::Field(&self.at, name).wrong(description)
    }

    pub(crate) fn require<T>(&self, name: &str, value: Option<T>) -> Read<T> {
        value.ok_or_else(|| self.wrong(name, "is required"))
    }

    pub(crate) fn text(&self, name: &str, bytes_max: usize) -> Read<Option<String>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = text(value, &At::Field(&self.at, name), bytes_max)?;
        Ok(Some(text)
            .filter(|text| self.notation == Notation::Plain || !text.is_empty())
            .map(str::to_owned))
    }

    pub(crate) fn required_text(&self, name: &str, bytes_max: usize) -> Read<String> {
        let text = self.text(name, bytes_max)?;
        self.require(name, text)
    }

    pub(crate) fn id<T: FromStr<Err: fmt::Display>>(&self, name: &str) -> Read<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| self.wrong(name, "is a string"))?;
        if text.is_empty() && self.notation == Notation::Proto {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|error: T::Err| self.wrong(name, error.to_string()))
    }

    pub(crate) fn required_id<T: FromStr<Err: fmt::Display>>(&self, name: &str) -> Read<T> {
        let id = self.id(name)?;
        self.require(name, id)
    }

    pub(crate) fn boolean(&self, name: &str) -> Read<Option<bool>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            // Query parameters are texts.
            Some(Value::String(text)) if self.notation == Notation::Proto && text == "true" => {
                Ok(Some(true))
            }
            Some(Value::String(text)) if self.notation == Notation::Proto && text == "false" => {
                Ok(Some(false))
            }
            Some(_) => Err(self.wrong(name, "is true or false")),
        }
    }

    /// A whole number from 0; ProtoJSON may write it as a text.
    pub(crate) fn count(&self, name: &str) -> Read<Option<u32>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = match value {
            Value::String(text) if self.notation == Notation::Proto => text.parse().ok(),
            value => value.as_u64().or_else(|| whole(value)),
        };
        let number = number.filter(|number| *number <= i32::MAX as u64);
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.map(Some).ok_or_else(|| self.wrong(name, "is a whole number from 0 to 2147483647"))
    }

    pub(crate) fn timestamp(&self, name: &str) -> Read<Option<Timestamp>> {
        self.id(name)
    }

    pub(crate) fn object(&self, name: &str) -> Read<Option<Object>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object.clone())),
            Some(_) => Err(self.wrong(name, "is an object")),
        }
    }

    pub(crate) fn nested<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Fields<'_>) -> Read<T>,
    ) -> Read<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let at = At::Field(&self.at, name);
        read(&Fields::of(value, at, self.notation)?).map(Some)
    }

    pub(crate) fn required<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Fields<'_>) -> Read<T>,
    ) -> Read<T> {
        let value = self.nested(name, read)?;
        self.require(name, value)
    }

    pub(crate) fn list<T>(
        &self,
        name: &str,
        items_max: usize,
        read: impl Fn(&Fields<'_>) -> Read<T>,
    ) -> Read<Vec<T>> {
        self.items(name, items_max, |value, at| read(&Fields::of(value, at, self.notation)?))
    }

    pub(crate) fn texts(
        &self,
        name: &str,
        items_max: usize,
        bytes_max: usize,
    ) -> Read<Vec<String>> {
        self.items(name, items_max, |value, at| text(value, &at, bytes_max).map(str::to_owned))
    }

    pub(crate) fn items<T>(
        &self,
        name: &str,
        items_max: usize,
        read: impl Fn(&Value, At<'_>) -> Read<T>,
    ) -> Read<Vec<T>> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let values = value.as_array().ok_or_else(|| self.wrong(name, "is a list"))?;
        if values.len() > items_max {
            return Err(self.wrong(name, format!("has at most {items_max} items")));
        }
        let at = At::Field(&self.at, name);
        values.iter().enumerate().map(|(index, value)| read(value, At::Item(&at, index))).collect()
    }

    /// The values of an object that maps names to them.
    pub(crate) fn entries<T>(
        &self,
        name: &str,
        items_max: usize,
        read: impl Fn(&Value, At<'_>) -> Read<T>,
    ) -> Read<std::collections::BTreeMap<String, T>> {
        let Some(value) = self.get(name) else { return Ok(std::collections::BTreeMap::new()) };
        let map = value.as_object().ok_or_else(|| self.wrong(name, "is an object"))?;
        if map.len() > items_max {
            return Err(self.wrong(name, format!("has at most {items_max} entries")));
        }
        let at = At::Field(&self.at, name);
        map.iter()
            .map(|(key, value)| Ok((key.clone(), read(value, At::Field(&at, key))?)))
            .collect()
    }
}

pub(crate) fn text<'v>(value: &'v Value, at: &At<'_>, bytes_max: usize) -> Read<&'v str> {
    let text = value.as_str().ok_or_else(|| at.wrong("is a string"))?;
    if text.len() > bytes_max {
        return Err(at.wrong(format!("has at most {bytes_max} bytes")));
    }
    Ok(text)
}

/// `3.0` is 3 to a peer that knows only floating-point numbers.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is whole and within the range"
)]
fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64()?;
    (number.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&number))
        .then_some(number as u64)
}

/// Whether `snake` is the name `camel` in snake case.
fn is_snake_of(snake: &str, camel: &str) -> bool {
    let mut letters = snake.chars();
    for expected in camel.chars() {
        let fits = if expected.is_ascii_uppercase() {
            letters.next() == Some('_') && letters.next() == Some(expected.to_ascii_lowercase())
        } else {
            letters.next() == Some(expected)
        };
        if !fits {
            return false;
        }
    }
    letters.next().is_none()
}

/// Refuses what is nested deeper than anything honest.
pub(crate) fn check_nesting(value: &Value) -> Read<()> {
    let mut level: Vec<&Value> = vec![value];
    for _ in 0..NESTING_MAX {
        level = level.into_iter().flat_map(children).collect();
        if level.is_empty() {
            return Ok(());
        }
    }
    Err(At::Root.wrong(format!("is nested at most {NESTING_MAX} deep")))
}

/// Only what has children of its own is looked at further.
fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    let nests = |value: &&Value| value.is_array() || value.is_object();
    match value {
        Value::Array(values) => Box::new(values.iter().filter(nests)),
        Value::Object(map) => Box::new(map.values().filter(nests)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Box::new(std::iter::empty())
        }
    }
}

/// An object in the making; what is absent is left out.
#[derive(Default)]
pub(crate) struct Writer(Map<String, Value>);

impl Writer {
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn some(&mut self, name: &str, value: Option<impl Into<Value>>) -> &mut Self {
        if let Some(value) = value {
            self.put(name, value);
        }
        self
    }

    /// A list that is left out when it is empty.
    pub(crate) fn list<T>(
        &mut self,
        name: &str,
        items: &[T],
        write: impl Fn(&T) -> Value,
    ) -> &mut Self {
        if !items.is_empty() {
            self.put(name, items.iter().map(write).collect::<Vec<_>>());
        }
        self
    }

    pub(crate) fn texts(&mut self, name: &str, texts: &[String]) -> &mut Self {
        self.list(name, texts, |text| Value::from(text.as_str()))
    }

    pub(crate) fn flag(&mut self, name: &str, value: bool) -> &mut Self {
        if value {
            self.put(name, true);
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn done(&mut self) -> Value {
        Value::Object(std::mem::take(&mut self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_fault_says_where_it_is() {
        let value = json!({ "message": { "parts": [{}, { "text": 7 }] } });
        let fields = Fields::of(&value, At::Root, Notation::Plain).unwrap();
        let read = |part: &Fields<'_>| part.text("text", 10);
        let error =
            fields.required("message", |message| message.list("parts", 9, read)).unwrap_err();
        assert_eq!(error.violations[0].field, "message.parts[1].text");
        assert_eq!(error.violations[0].description, "is a string");
    }

    #[test]
    fn proto_json_is_read_in_snake_case_and_plain_json_is_not() {
        let value = json!({ "context_id": "c", "o_auth": 1, "page_size": "7", "empty_text": "" });
        let proto = Fields::of(&value, At::Root, Notation::Proto).unwrap();
        assert_eq!(proto.text("contextId", 9).unwrap().as_deref(), Some("c"));
        assert_eq!(proto.count("pageSize").unwrap(), Some(7));
        assert_eq!(proto.text("emptyText", 9).unwrap(), None);
        assert!(proto.get("contextID").is_none());
        let plain = Fields::of(&value, At::Root, Notation::Plain).unwrap();
        assert_eq!(plain.text("contextId", 9).unwrap(), None);
        assert!(plain.count("page_size").is_err());
    }

    #[test]
    fn a_number_is_whole_and_not_negative() {
        let value =
            json!({ "a": 3.0, "b": 3.5, "c": -1, "d": 2_147_483_648_u64, "e": "3", "f": 1e300 });
        let fields = Fields::of(&value, At::Root, Notation::Plain).unwrap();
        assert_eq!(fields.count("a").unwrap(), Some(3));
        for name in ["b", "c", "d", "e", "f"] {
            assert!(fields.count(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let nest = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
        assert!(check_nesting(&nest(NESTING_MAX)).is_ok());
        assert!(check_nesting(&nest(NESTING_MAX + 1)).is_err());
    }
}
