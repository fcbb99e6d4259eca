//! Changes one member of an object in JSON with comments, and leaves every other byte where it is.
//!
//! Editors let people write comments and trailing commas into their files of snippets, so a file is never read and
//! written anew: a text of the same length without comments is read, and the changes are made in the text itself.

use std::ops::Range;

use serde_json::{Map, Value};

/// Indentation of a file that shows none: what editors give a new file of snippets.
const INDENT: &str = "\t";

/// Why a text cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("it is not an object in JSON with comments: {0}")]
    NotJson(String),
    #[error("it cannot be changed without touching something else in it")]
    NotSafe,
}

/// An object with the places of its members.
#[derive(Debug)]
pub(crate) struct Object {
    text: String,
    values: Map<String, Value>,
    members: Vec<Member>,
    /// Where the closing brace stands.
    close: usize,
}

/// Where a member of the object stands.
#[derive(Debug)]
struct Member {
    key: String,
    /// From the opening quote of the key to the end of the value.
    place: Range<usize>,
    /// The comma after it.
    comma: Option<usize>,
}

impl Object {
    /// Reads a text; a blank one is an empty object.
    pub(crate) fn read(text: &str) -> Result<Self, Fault> {
        let is_blank = plain(text).0.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty();
        let text = if is_blank { format!("{text}\n{{\n}}\n") } else { text.to_owned() };
        let (plain, dropped) = plain(&text);
        let values: Map<String, Value> = serde_json::from_str(plain.trim_start_matches('\u{feff}'))
            .map_err(|error| Fault::NotJson(error.to_string()))?;
        let (mut members, close) = members(&plain).ok_or(Fault::NotSafe)?;
        if let Some(last) = members.last_mut() {
            let after = last.place.end..close;
            last.comma = dropped.into_iter().find(|comma| after.contains(comma));
        }
        Ok(Self { text, values, members, close })
    }

    /// What the object holds.
    pub(crate) fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// The text with one more member, the last.
    pub(crate) fn with(&self, key: &str, value: &Value) -> Result<String, Fault> {
        let (head, tail) = self.text.split_at_checked(self.close).ok_or(Fault::NotSafe)?;
        let mut head = head.trim_end().to_owned();
        let last = self.members.last();
        if let Some(last) = last.filter(|last| last.comma.is_none()) {
            // Right after the value: a comment may stand behind it.
            head.insert(last.place.end, ',');
        }
        // Whoever ends the last line with a comma finds it so again.
        let comma = if last.is_some_and(|last| last.comma.is_some()) { "," } else { "" };
        let line_end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let indent = self.indent();
        let member = format!("{}: {}", Value::from(key), pretty(value, indent));
        let member = member.replace('\n', &format!("{line_end}{indent}"));
        let text = format!("{head}{line_end}{indent}{member}{comma}{line_end}{tail}");
        let mut expected = self.values.clone();
        expected.insert(key.to_owned(), value.clone());
        checked(text, &expected)
    }

    /// The text without a member.
    pub(crate) fn without(&self, key: &str) -> Result<String, Fault> {
        let mut text = self.text.clone();
        // Backwards, so that the places before stay right. A key that stands there twice goes twice.
        for (index, member) in self.members.iter().enumerate().rev() {
            if member.key != key {
                continue;
            }
            let before = index.checked_sub(1).and_then(|index| self.members.get(index));
            match (member.comma, before.and_then(|before| before.comma)) {
                (Some(comma), _) => {
                    text.replace_range(comma..=comma, "");
                    cut(&mut text, &member.place);
                }
                (None, comma) => {
                    cut(&mut text, &member.place);
                    if let Some(comma) = comma {
                        text.replace_range(comma..=comma, "");
                    }
                }
            }
        }
        let mut expected = self.values.clone();
        expected.remove(key);
        checked(text, &expected)
    }

    /// The blanks before the first member, if it begins a line.
    fn indent(&self) -> &str {
        let before = self.members.first().and_then(|first| self.text.get(..first.place.start));
        let line = before.and_then(|before| before.rsplit_once('\n')).map(|(_, line)| line);
        line.filter(|line| !line.is_empty() && line.trim().is_empty()).unwrap_or(INDENT)
    }
}

/// Removes a part, and its line if nothing else stands in it.
fn cut(text: &mut String, part: &Range<usize>) {
    let before = text.get(..part.start).unwrap_or_default();
    let after = text.get(part.end..).unwrap_or_default();
    let start = before.trim_end_matches([' ', '\t', '\r']).len();
    let blanks_after = after.len() - after.trim_start_matches([' ', '\t', '\r']).len();
    let is_alone = before.get(..start).is_some_and(|before| before.ends_with('\n'))
        && after.get(blanks_after..).is_some_and(|after| after.starts_with('\n'));
    if is_alone {
        text.replace_range(start..part.end + blanks_after + 1, "");
    } else {
        text.replace_range(part.clone(), "");
    }
}

/// The text, if it holds what it should and nothing else.
fn checked(text: String, expected: &Map<String, Value>) -> Result<String, Fault> {
    let holds = Object::read(&text).is_ok_and(|object| object.values == *expected);
    if holds { Ok(text) } else { Err(Fault::NotSafe) }
}

fn pretty(value: &Value, indent: &str) -> String {
    use serde::Serialize as _;

    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => value.to_string(),
    }
}

/// What stands at a place of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Json,
    Quotes,
    LineComment,
    BlockComment,
}

/// A text of the same length with blanks for comments and for commas that nothing follows, and where those commas were.
fn plain(text: &str) -> (String, Vec<usize>) {
    let mut bytes = text.as_bytes().to_vec();
    let mut dropped = Vec::new();
    let mut inside = Inside::Json;
    let mut comma = None;
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        let next = bytes.get(index + 1).copied();
        let mut width = 1;
        match (inside, byte, next) {
            (Inside::Json, b'"', _) => (inside, comma) = (Inside::Quotes, None),
            (Inside::Json, b'/', Some(b'/')) => (inside, width) = (Inside::LineComment, 2),
            (Inside::Json, b'/', Some(b'*')) => (inside, width) = (Inside::BlockComment, 2),
            (Inside::Json, b',', _) => comma = Some(index),
            (Inside::Json, b'}' | b']', _) => {
                dropped.extend(comma.take());
            }
            (Inside::Json, byte, _) if !byte.is_ascii_whitespace() => comma = None,
            (Inside::Quotes, b'\\', Some(_)) => width = 2,
            (Inside::Quotes, b'"', _) => inside = Inside::Json,
            (Inside::LineComment, b'\n', _) => inside = Inside::Json,
            (Inside::BlockComment, b'*', Some(b'/')) => (inside, width) = (Inside::Json, 2),
            _ => {}
        }
        let is_comment = matches!(inside, Inside::LineComment | Inside::BlockComment)
            || (byte == b'*' && width == 2);
        for place in bytes.iter_mut().skip(index).take(if is_comment { width } else { 0 }) {
            // Line ends stay, so that an error names the right line.
            if !matches!(place, b'\n' | b'\r') {
                *place = b' ';
            }
        }
        index += width;
    }
    for place in &dropped {
        bytes.get_mut(*place).into_iter().for_each(|byte| *byte = b' ');
    }
    (String::from_utf8_lossy(&bytes).into_owned(), dropped)
}

/// The members of the object in a plain text that is known to be one, and where it closes.
fn members(plain: &str) -> Option<(Vec<Member>, usize)> {
    let bytes = plain.as_bytes();
    let mut members: Vec<Member> = Vec::new();
    let (mut depth, mut index) = (0_usize, 0);
    let mut open: Option<(usize, Range<usize>)> = None;
    while let Some(&byte) = bytes.get(index) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        let mut end = index + 1;
        if byte == b'"' {
            end = end_of_quotes(bytes, index)?;
            if depth == 1 && open.is_none() {
                open = Some((index, index..end));
                index = end;
                continue;
            }
        }
        let ends_member = (byte == b',' && depth == 1) || (byte == b'}' && depth == 0);
        if ends_member && let Some((start, key)) = open.take() {
            let value_end = plain.get(..index)?.trim_end().len();
            let comma = (byte == b',').then_some(index);
            let key = serde_json::from_str(plain.get(key)?).ok()?;
            members.push(Member { key, place: start..value_end, comma });
        }
        if byte == b'}' && depth == 0 {
            return Some((members, index));
        }
        index = end;
    }
    None
}

/// The place after the quote that closes the one at `start`.
fn end_of_quotes(bytes: &[u8], start: usize) -> Option<usize> {
    let mut index = start + 1;
    loop {
        match bytes.get(index)? {
            b'\\' => index += 2,
            b'"' => return Some(index + 1),
            _ => index += 1,
        }
    }
}

#[cfg(test)]
mod tests;
