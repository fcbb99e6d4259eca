//! Why a document could not be read, sorted by what the person who brought it can do.

use crate::Format;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    #[error("the document is empty: add some text and load it again")]
    Empty,
    #[error("unknown file type: load Markdown, text, HTML, PDF, DOCX, CSV, JSON or JSONL")]
    UnknownType,
    #[error("the document is encrypted: remove its password and load it again")]
    Encrypted,
    #[error("the PDF has no text layer: run text recognition (OCR) on it and load the result")]
    NoText,
    #[error("the document has too many {what} (at most {limit}): split it into smaller documents")]
    TooLarge { what: &'static str, limit: usize },
    #[error("the document is nested deeper than {limit} levels: simplify it or save it as text")]
    TooDeep { limit: usize },
    #[error("the {format} file is damaged ({why}): save it again and reload")]
    Malformed { format: Format, why: String },
    #[error("the bytes are not readable text: save the document as UTF-8 and load it again")]
    NotText,
}

impl ExtractError {
    pub(crate) fn malformed(format: Format, why: impl Into<String>) -> Self {
        Self::Malformed { format, why: why.into() }
    }
}
