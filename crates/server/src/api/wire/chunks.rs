//! Chunks of a document over the wire.

use engine::search::ChunkView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Chunks of a document, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChunksBody {
    pub chunks: Vec<ChunkBody>,
}

/// A chunk as it is searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChunkBody {
    /// Its place in the document, from 0.
    pub number: usize,
    pub section: String,
    /// First byte of the document's text that it stands for, and the byte after the last.
    pub start: usize,
    pub end: usize,
    /// With the header or question that it needs to be understood.
    pub text: String,
}

impl From<ChunkView> for ChunkBody {
    fn from(chunk: ChunkView) -> Self {
        Self {
            number: chunk.number,
            section: chunk.section.to_string(),
            start: chunk.range.start,
            end: chunk.range.end,
            text: chunk.text,
        }
    }
}
