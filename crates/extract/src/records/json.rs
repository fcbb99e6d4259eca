//! Reads JSON and JSON lines into rows.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use crate::limits::{Limits, within};
use crate::records::{Cell, Rows, plain};
use crate::{ExtractError, Extracted, Format, Mapping};

/// Deepest value that `serde_json` reads.
const PARSER_NESTING_MAX: usize = 127;
/// Most values of one document: each takes some fifty bytes of memory however short it is written.
const VALUES_MAX: usize = 4_000_000;

/// Reads an array of objects, an object that holds one such array, or any other value as one record.
pub(crate) fn read_json(
    text: &str,
    mapping: &Mapping,
    limits: &Limits,
) -> Result<Extracted, ExtractError> {
    check_shape(text, limits)?;
    let item = match serde_json::from_str::<Item>(text) {
        Ok(item) => item,
        // Several values in a row: JSON lines by another name.
        Err(error) if error.line() > 1 && first_line_is_whole(text) => {
            return read_json_lines(text, mapping, limits);
        }
        Err(error) => return Err(ExtractError::malformed(Format::Json, error.to_string())),
    };
    let mut rows = Rows::new(mapping, limits);
    let mut about = BTreeMap::new();
    match item {
        Item::List(items) => push_items(&mut rows, items)?,
        Item::Object(members) => {
            let (items, others) = only_list(members);
            match items {
                Some(items) => {
                    about.extend(others.into_iter().map(|(name, value)| (name, value.into())));
                    push_items(&mut rows, items)?;
                }
                None => push_item(&mut rows, 1, Item::Object(others))?,
            }
        }
        Item::Plain(_) => push_item(&mut rows, 1, item)?,
    }
    let title = about.get("title").or_else(|| about.get("name")).map(plain);
    Ok(rows.finish(Format::Json, title, about))
}

/// Reads one value per line; a broken line becomes a warning.
pub(crate) fn read_json_lines(
    text: &str,
    mapping: &Mapping,
    limits: &Limits,
) -> Result<Extracted, ExtractError> {
    let mut rows = Rows::new(mapping, limits);
    let mut first_error = None;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        check_shape(line, limits)?;
        match serde_json::from_str::<Item>(line) {
            Ok(item) => push_item(&mut rows, index + 1, item)?,
            Err(error) => {
                rows.warn(format!("line {} is not valid JSON and was left out", index + 1));
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) if rows.rows == 0 => {
            Err(ExtractError::malformed(Format::JsonLines, error.to_string()))
        }
        _ => Ok(rows.finish(Format::JsonLines, None, BTreeMap::new())),
    }
}

fn push_items(rows: &mut Rows<'_>, items: Vec<Item>) -> Result<(), ExtractError> {
    for (index, item) in items.into_iter().enumerate() {
        push_item(rows, index + 1, item)?;
    }
    Ok(())
}

fn push_item(rows: &mut Rows<'_>, number: usize, item: Item) -> Result<(), ExtractError> {
    match item {
        Item::Object(members) => {
            let cells: Vec<Cell> =
                members.into_iter().map(|(name, value)| (name, value.into())).collect();
            rows.push(number, cells)
        }
        Item::List(_) => rows.push(number, vec![(String::new(), item.into())]),
        Item::Plain(value) => {
            rows.rows += 1;
            within("rows", rows.rows, rows.limits.rows_max)?;
            rows.draft.push(crate::BlockKind::Record, &plain(&value))
        }
    }
}

/// The one member that is a list of objects, and the members beside it.
fn only_list(members: Vec<(String, Item)>) -> (Option<Vec<Item>>, Vec<(String, Item)>) {
    if members.iter().filter(|(_, item)| item.holds_rows()).count() != 1 {
        return (None, members);
    }
    let (mut rows, mut others) = (None, Vec::new());
    for (name, item) in members {
        match item {
            Item::List(items) if rows.is_none() && items.iter().any(Item::is_object) => {
                rows = Some(items)
            }
            Item::List(_) | Item::Object(_) | Item::Plain(_) => others.push((name, item)),
        }
    }
    (rows, others)
}

fn first_line_is_whole(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    serde_json::from_str::<serde::de::IgnoredAny>(first).is_ok()
}

/// Counts levels and values before any memory is spent on them.
fn check_shape(text: &str, limits: &Limits) -> Result<(), ExtractError> {
    let (mut depth, mut values, mut in_string, mut escaped) = (0usize, 1usize, false, false);
    let limit = limits.json_nesting_max.min(PARSER_NESTING_MAX);
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                values += 1;
                if depth > limit {
                    return Err(ExtractError::TooDeep { limit });
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
    }
    within("values", values, VALUES_MAX)
}

/// A JSON value whose members keep their order at the level where rows are.
enum Item {
    Object(Vec<(String, Self)>),
    List(Vec<Self>),
    Plain(Value),
}

impl Item {
    fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    fn holds_rows(&self) -> bool {
        matches!(self, Self::List(items) if items.iter().any(Self::is_object))
    }
}

impl From<Item> for Value {
    fn from(item: Item) -> Self {
        match item {
            Item::Object(members) => Self::Object(
                members.into_iter().map(|(name, value)| (name, value.into())).collect(),
            ),
            Item::List(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            Item::Plain(value) => value,
        }
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Item, E> {
        Ok(Item::Plain(Value::Null))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Item, E> {
        Ok(Item::Plain(Value::Bool(truth)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Item, E> {
        Ok(Item::Plain(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Item, E> {
        Ok(Item::Plain(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Item, E> {
        Ok(Item::Plain(Number::from_f64(number).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Item, E> {
        Ok(Item::Plain(Value::String(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Item, E> {
        Ok(Item::Plain(Value::String(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Item, A::Error> {
        let mut found = Vec::new();
        while let Some(item) = items.next_element()? {
            found.push(item);
        }
        Ok(Item::List(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Item, A::Error> {
        let mut found = Vec::new();
        while let Some(member) = members.next_entry()? {
            found.push(member);
        }
        Ok(Item::Object(found))
    }
}
