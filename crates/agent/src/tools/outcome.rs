//! What a tool gave, bounded before anybody reads it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RESULT_BYTES_MAX;
use super::suspicion::clean;
use crate::text::clip;

/// What a tool gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What people and models read: only what can be seen.
    pub text: String,
    /// The same as data, if the tool gives any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The tool says that it failed; the text says how.
    pub is_error: bool,
    /// Some of it was left out, as it was too much.
    pub is_cut: bool,
    /// Resources that it names; the text names them too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

/// A resource that a tool names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub address: String,
    pub title: String,
}

/// One piece of what a tool gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Text(String),
    /// Bytes that no model reads here: their type, and how many.
    Bytes {
        kind: String,
        size: usize,
    },
    /// A resource that is only named.
    Link(Link),
}

impl Link {
    /// As it stands in a text.
    #[must_use]
    pub fn shown(&self) -> String {
        clean(&format!("[{}]({})", self.title, self.address))
    }
}

impl ToolOutput {
    /// Puts the pieces together, up to the limit.
    #[must_use]
    pub fn of(pieces: Vec<Piece>, structured: Option<Value>, is_error: bool) -> Self {
        let (mut text, mut links, mut is_cut) = (String::new(), Vec::new(), false);
        for piece in pieces {
            let shown = match piece {
                Piece::Text(words) => words,
                Piece::Bytes { kind, size } => format!("[{kind}, {size} bytes]"),
                Piece::Link(link) => {
                    let shown = link.shown();
                    links.push(link);
                    shown
                }
            };
            if !text.is_empty() {
                text.push('\n');
            }
            let fitting = clip(&shown, RESULT_BYTES_MAX.saturating_sub(text.len()));
            text.push_str(fitting);
            is_cut = fitting.len() < shown.len();
            if is_cut {
                break;
            }
        }
        let size = structured.as_ref().map_or(0, |value| value.to_string().len());
        let fits = size <= RESULT_BYTES_MAX;
        // A server that gives data alone is read as that data.
        if text.is_empty()
            && fits
            && let Some(value) = &structured
        {
            text = value.to_string();
        }
        let structured = structured.filter(|_| fits);
        Self { text: clean(&text), structured, is_error, is_cut: is_cut || !fits, links }
    }

    /// The text for a context of so many bytes, with a word about what is missing.
    #[must_use]
    pub fn within(&self, bytes_max: usize) -> String {
        let cut = clip(&self.text, bytes_max);
        if cut.len() == self.text.len() && !self.is_cut {
            return cut.to_owned();
        }
        format!("{cut}\n[cut: the tool gave more than fits]")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_stand_one_under_the_other_and_bytes_are_only_named() {
        let pieces = vec![
            Piece::Text("하나".to_owned()),
            Piece::Bytes { kind: "image/png".to_owned(), size: 70 },
            Piece::Link(Link { address: "file:///a".to_owned(), title: "a".to_owned() }),
        ];
        let output = ToolOutput::of(pieces, None, false);
        assert_eq!(output.text, "하나\n[image/png, 70 bytes]\n[a](file:///a)");
        assert!(!output.is_cut);
        assert_eq!(output.links[0].address, "file:///a");
    }

    #[test]
    fn too_much_is_cut_at_a_character_and_said() {
        let much = vec![Piece::Text("샘".repeat(RESULT_BYTES_MAX)); 3];
        let output = ToolOutput::of(much, None, false);
        assert!(output.is_cut && output.text.len() <= RESULT_BYTES_MAX);
        assert!(output.text.chars().all(|letter| letter == '샘'));
        let shown = output.within(10);
        assert!(shown.starts_with("샘샘샘\n[cut"), "{shown}");
        let data = ToolOutput::of(Vec::new(), Some(json!("x".repeat(RESULT_BYTES_MAX + 1))), false);
        assert!(data.is_cut && data.structured.is_none());
    }

    #[test]
    fn data_alone_is_read_as_text_too() {
        let output = ToolOutput::of(Vec::new(), Some(json!({"a": 1})), true);
        assert_eq!(output.text, r#"{"a":1}"#);
        assert!(output.is_error);
    }

    #[test]
    fn what_cannot_be_seen_reaches_nobody() {
        let output =
            ToolOutput::of(vec![Piece::Text("a\u{e0041}\u{1b}[0mb".to_owned())], None, false);
        assert_eq!(output.text, "a[0mb");
    }
}
