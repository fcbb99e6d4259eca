//! Hears calls of tools in what a model writes: small models put them into the text instead of calling.
//!
//! A block of JSON that names a tool and its arguments, between backticks, between tags or bare, is a call and is not
//! shown. Everything else is let through as it comes; only what may be such a block is held back.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::model::ToolCall;

/// Bytes that are held back in the hope of a call: a longer block is text. Each closing brace is a walk through them.
const HELD_BYTES_MAX: usize = 16 << 10;

/// Calls that are taken from one answer.
const CALLS_MAX: usize = 32;

const FENCE: &str = "```";
const TAG: &str = "<tool_call>";
const TAG_END: &str = "</tool_call>";

/// What may stand behind the backticks of a block that is a call.
const KINDS: [&str; 5] = ["", "json", "tool_call", "tool", "tool_code"];

/// Under which keys models put a tool's name, and its arguments.
const NAME_KEYS: [&str; 3] = ["name", "tool", "tool_name"];
const ARGUMENT_KEYS: [&str; 4] = ["arguments", "parameters", "args", "input"];

/// An answer on its way, of which calls are taken out.
#[derive(Debug, Clone)]
pub struct Listening {
    names: BTreeSet<String>,
    /// What may be the beginning of a call.
    held: String,
    /// Nothing but blanks stands before the next letter on its line.
    is_line_start: bool,
    calls: Vec<ToolCall>,
}

/// What is held back, seen as a call.
enum Seen {
    Open,
    /// The text of the call, whole.
    Closed(String),
    Text,
}

impl Listening {
    /// For calls of these tools alone.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().collect();
        Self { names, held: String::new(), is_line_start: true, calls: Vec::new() }
    }

    /// Takes the next piece and gives what can be shown of it.
    pub fn take(&mut self, piece: &str) -> String {
        let mut shown = String::with_capacity(piece.len());
        for letter in piece.chars() {
            let begins = self.is_line_start && matches!(letter, '`' | '{' | '<');
            if self.held.is_empty() && !begins {
                shown.push(letter);
                self.is_line_start =
                    letter == '\n' || (self.is_line_start && letter.is_whitespace());
                continue;
            }
            self.held.push(letter);
            match see(&self.held) {
                Seen::Open if self.held.len() < HELD_BYTES_MAX => {}
                Seen::Closed(text) => shown.push_str(&self.heard(&text)),
                Seen::Open | Seen::Text => shown.push_str(&self.release()),
            }
        }
        shown
    }

    /// Gives what was held back; a block that was never closed may still be a call.
    pub fn end(&mut self) -> String {
        if self.held.is_empty() {
            return String::new();
        }
        let inside = self.held.trim_start_matches('`').trim_start_matches(TAG);
        let inside = inside.split_once('{').map(|(_, rest)| format!("{{{rest}"));
        let inside = inside.unwrap_or_default();
        self.heard(inside.trim_end().trim_end_matches('`'))
    }

    /// The calls that were heard, in their order.
    #[must_use]
    pub fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Takes the calls of a whole block; a block that is none is shown.
    fn heard(&mut self, text: &str) -> String {
        let Some(calls) = self.read(text) else { return self.release() };
        for (name, arguments) in calls {
            if self.calls.len() < CALLS_MAX {
                let id = format!("spoken_{}", self.calls.len());
                self.calls.push(ToolCall { id, name, arguments: Value::Object(arguments) });
            }
        }
        self.held.clear();
        self.is_line_start = true;
        String::new()
    }

    fn release(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.is_line_start = held.ends_with('\n');
        held
    }

    fn read(&self, text: &str) -> Option<Vec<(String, Map<String, Value>)>> {
        match serde_json::from_str(text.trim()).ok()? {
            Value::Array(items) if !items.is_empty() => {
                items.iter().map(|item| self.call(item)).collect()
            }
            value => Some(vec![self.call(&value)?]),
        }
    }

    /// The call that a value is: of a tool that there is, with arguments that are an object.
    fn call(&self, value: &Value) -> Option<(String, Map<String, Value>)> {
        let value = value.get("function").filter(|inner| inner.is_object()).unwrap_or(value);
        let name = NAME_KEYS.iter().find_map(|key| value.get(*key)?.as_str())?;
        if !self.names.contains(name) {
            return None;
        }
        let arguments = match ARGUMENT_KEYS.iter().find_map(|key| value.get(*key)) {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(Value::String(text)) => serde_json::from_str(text).ok()?,
            Some(_) => return None,
        };
        Some((name.to_owned(), arguments))
    }
}

fn see(held: &str) -> Seen {
    if let Some(rest) = held.strip_prefix(FENCE) {
        return fenced(rest);
    }
    if let Some(rest) = held.strip_prefix(TAG) {
        return match rest.strip_suffix(TAG_END) {
            Some(inside) => Seen::Closed(inside.to_owned()),
            None => Seen::Open,
        };
    }
    if held.starts_with('{') {
        // Only a closing brace can end it: anything else is not worth a look.
        let is_whole = held.ends_with('}') && serde_json::from_str::<Value>(held).is_ok();
        return if is_whole { Seen::Closed(held.to_owned()) } else { bare(held) };
    }
    if FENCE.starts_with(held) || TAG.starts_with(held) { Seen::Open } else { Seen::Text }
}

/// The inside of backticks: a kind that may be a call, then JSON, then backticks on a line of their own.
fn fenced(rest: &str) -> Seen {
    let Some((kind, inside)) = rest.split_once('\n') else {
        let is_kind = KINDS.iter().any(|kind| kind.starts_with(rest.trim()));
        return if is_kind { Seen::Open } else { Seen::Text };
    };
    let is_json = inside.trim_start().is_empty() || inside.trim_start().starts_with(['{', '[']);
    if !KINDS.contains(&kind.trim()) || !is_json {
        return Seen::Text;
    }
    match inside.strip_suffix(FENCE) {
        Some(inside) if inside.is_empty() || inside.ends_with('\n') => {
            Seen::Closed(inside.to_owned())
        }
        _ => Seen::Open,
    }
}

/// Bare JSON: an object whose first key is one that a call begins with.
fn bare(held: &str) -> Seen {
    let start: String = held.chars().filter(|letter| !letter.is_whitespace()).take(16).collect();
    let keys = NAME_KEYS.iter().chain(&ARGUMENT_KEYS).chain(&["function", "type", "id"]);
    let can_be = |key: &str| {
        let wanted = format!("{{\"{key}\":");
        wanted.starts_with(&start) || start.starts_with(&wanted)
    };
    if keys.into_iter().any(|key| can_be(key)) { Seen::Open } else { Seen::Text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// What is shown and what is heard, whatever the pieces are that the text comes in.
    #[track_caller]
    fn check(text: &str, shown: &str, calls: &[(&str, Value)]) {
        for size in [1, 3, 7, 1_000] {
            let mut listening = Listening::new(["a__read".to_owned(), "b__send".to_owned()]);
            let letters: Vec<char> = text.chars().collect();
            let mut out = String::new();
            for piece in letters.chunks(size) {
                out.push_str(&listening.take(&piece.iter().collect::<String>()));
            }
            out.push_str(&listening.end());
            let heard: Vec<(&str, Value)> = listening
                .calls()
                .iter()
                .map(|call| (call.name.as_str(), call.arguments.clone()))
                .collect();
            assert_eq!((out.as_str(), heard.as_slice()), (shown, calls), "{size}: {text}");
        }
    }

    #[test]
    fn a_block_with_a_tools_name_is_a_call_however_it_is_wrapped() {
        let read = [("a__read", json!({"path": "x"}))];
        let plain = r#"{"name": "a__read", "arguments": {"path": "x"}}"#;
        check(&format!("I look.\n\n```json\n{plain}\n```\n"), "I look.\n\n\n", &read);
        check(&format!("```\n{plain}\n```"), "", &read);
        check(&format!("```json\n{plain}"), "", &read);
        check(plain, "", &read);
        check(&format!("<tool_call>\n{plain}\n</tool_call>"), "", &read);
        check(r#"{"tool": "a__read", "parameters": {"path": "x"}}"#, "", &read);
        check(
            r#"{"type": "function", "function": {"name": "a__read", "arguments": "{\"path\": \"x\"}"}}"#,
            "",
            &read,
        );
        let two = format!("```json\n[{plain}, {{\"name\": \"b__send\"}}]\n```");
        check(&two, "", &[read[0].clone(), ("b__send", json!({}))]);
    }

    #[test]
    fn everything_else_is_shown_as_it_is() {
        for text in [
            "An answer with `code` and {braces} and a < b.",
            "```python\nprint({\"name\": \"a__read\"})\n```\nDone.",
            "```json\n{\"name\": \"unknown__tool\", \"arguments\": {}}\n```\n",
            "{\"budget\": 3}",
            "```json\n{\"name\": \"a__read\", \"arguments\": [1]}\n```",
            "```json\n{\"name\": \"a__read\", \"arguments\": {\"path\": \n```",
            "<b>bold</b>\n`x`\n``",
        ] {
            check(text, text, &[]);
        }
    }

    #[test]
    fn a_block_that_never_ends_is_text_after_a_while() {
        let text =
            format!("{{\"name\": \"a__read\", \"arguments\": \"{}", "x".repeat(HELD_BYTES_MAX));
        let mut listening = Listening::new(["a__read".to_owned()]);
        assert!(listening.take(&text).len() >= HELD_BYTES_MAX);
    }

    proptest! {
        /// Without a tool that could be meant, not a letter is lost.
        #[test]
        fn nothing_is_lost(text in "[`{}<>a\\n\" :]{0,60}|(```json\\n|<tool_call>|\\{\"name\":)[^x]{0,30}") {
            let mut listening = Listening::new([]);
            let mut out = String::new();
            for letter in text.chars() {
                out.push_str(&listening.take(&letter.to_string()));
            }
            out.push_str(&listening.end());
            prop_assert_eq!(out, text);
        }
    }
}
