//! What parent and child say to each other: a line of JSON with lengths, then bytes.

use extract::Mapping;
use serde::{Deserialize, Serialize};

/// Longest header: a file name, a media type and column names fit many times over.
pub(crate) const HEADER_BYTES_MAX: usize = 64 << 10;

/// Longest answer: the text limit of `extract`, with its blocks.
pub(crate) const ANSWER_BYTES_MAX: usize = 160 << 20;

/// What the child is to read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReadOrder {
    pub file_name: Option<String>,
    pub media_type: Option<String>,
    pub mapping: Option<Mapping>,
}

/// Before the bytes of a document.
#[derive(Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) order: ReadOrder,
    pub(crate) bytes: usize,
}

/// Before the bytes of an answer: a reading, or the reason why there is none.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) is_read: bool,
    pub(crate) bytes: usize,
}
