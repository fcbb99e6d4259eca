//! What a message says: its text is the question, and what it carries besides is read with it, within limits.

use std::sync::Arc;

use a2a::model::{Content, Message, Part};
use agent::enclosure::Enclosure;
use agent::ports::Pages;

/// Files and data of one message that are read.
const ENCLOSURES_MAX: usize = 16;

/// Longest text of a file that is read, in bytes: a long report. What is longer is cut, and the answer says so.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// Media types that are read. A file that does not say its type is read if it is text.
pub(super) const MEDIA_TYPES: &[&str] = &[
    "text/*",
    "application/json",
    "application/jsonl",
    "application/x-ndjson",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/csv",
];

/// A message as a turn reads it.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) question: String,
    pub(super) enclosed: Vec<Enclosure>,
    /// What could not be read, for the caller.
    pub(super) notes: Vec<String>,
}

/// Reads a message; files that are elsewhere come through the egress guard.
pub(super) async fn read(message: &Message, pages: &Arc<dyn Pages>) -> Read {
    let mut read = Read::default();
    for part in &message.parts {
        match &part.content {
            Content::Text(text) => {
                if !read.question.is_empty() {
                    read.question.push_str("\n\n");
                }
                read.question.push_str(text);
            }
            Content::Data(data) => read.attach(part, data.to_string().into_bytes()),
            Content::Raw(bytes) => read.attach(part, bytes.clone()),
            Content::Url(_) if read.enclosed.len() >= ENCLOSURES_MAX => {
                read.attach(part, Vec::new())
            }
            Content::Url(address) => match pages.fetch(address).await {
                Ok(fetched) => read.attach(part, fetched.bytes),
                Err(error) => {
                    tracing::debug!(%error, "a file of a message could not be fetched");
                    read.notes.push(format!("{} could not be fetched", read.name(part)));
                }
            },
        }
    }
    read
}

impl Read {
    fn attach(&mut self, part: &Part, bytes: Vec<u8>) {
        let name = self.name(part);
        if self.enclosed.len() >= ENCLOSURES_MAX {
            self.notes.push(format!("{name} was not read: {ENCLOSURES_MAX} files are"));
            return;
        }
        let Ok(mut text) = String::from_utf8(bytes) else {
            self.notes.push(format!("{name} was not read: it is no text in UTF-8"));
            return;
        };
        if text.len() > TEXT_BYTES_MAX {
            self.notes.push(format!("of {name} the first {} KiB were read", TEXT_BYTES_MAX >> 10));
            text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        }
        self.enclosed.push(Enclosure { name, text });
    }

    fn name(&self, part: &Part) -> String {
        let number = self.enclosed.len() + 1;
        part.filename.clone().unwrap_or_else(|| format!("attachment {number}"))
    }
}
