//! What Saem knows: documents, their sections and chunks, and passages as found.

use std::ops::{Deref, Range};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::filter::Tags;
use crate::identity::Timestamp;
use crate::names::{CollectionName, DocumentId, SectionId};
use crate::retrieval::Marks;

/// A document as it is listed; its text is kept apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub id: DocumentId,
    pub collection: CollectionName,
    /// Where it came from: a path, an address or a name; unique in its collection.
    pub source: String,
    pub title: String,
    pub doc_type: String,
    pub format: String,
    /// SHA-256 of the bytes it was made from, in hexadecimal: the same bytes cost nothing again.
    pub content_hash: String,
    /// SHA-256 of what shaped the reading besides the bytes (type, mapping, reader's version).
    pub recipe: String,
    pub bytes: u64,
    pub sections: u32,
    pub chunks: u32,
    pub tags: Tags,
    pub updated_at: Option<String>,
    pub ingested_at: Timestamp,
    pub status: Status,
    pub warnings: Vec<String>,
    /// The tenant's change that this state is: larger is later.
    pub sequence: u64,
    /// When, in the same count, this version was accepted: an earlier one that comes in late does not replace it.
    pub accepted: u64,
}

/// How far a document has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Status {
    /// Its text is kept and searchable, or will be within moments.
    Ready,
    /// It could not be read; `reason` says what to do. An earlier good version stays searchable.
    Failed { reason: String },
}

/// A named set of documents of one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    pub name: CollectionName,
    pub doc_type: String,
    pub created_at: Timestamp,
}

/// A chunk on its way into the index.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChunk {
    pub ordinal: u32,
    pub section: u32,
    pub text: String,
    /// Titles from the document down to the section.
    pub heading_path: Vec<String>,
    /// Bytes of the document's text that this chunk stands for.
    pub range: Range<usize>,
    /// What it has besides the tags of its document; of two with one name, this one counts.
    pub tags: Tags,
    /// One for each short piece of the text; the best of them counts. Empty: keywords only.
    pub vectors: Vec<Vec<f32>>,
}

/// What the index is told about one document: its chunks from now on, none if it is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentChunks {
    pub document: DocumentId,
    pub title: String,
    pub source: String,
    /// Tags of every chunk.
    pub tags: Tags,
    pub chunks: Vec<NewChunk>,
}

/// A chunk as found. What it says is shared, for one chunk is found by many; [`Passage::edit`] makes a copy of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    pub excerpt: Arc<Excerpt>,
    /// 0 to 1; comparable within one answer only.
    pub score: f32,
    pub found: Found,
}

/// What a chunk says and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt {
    pub document: DocumentId,
    pub chunk: u32,
    pub section: SectionId,
    pub title: String,
    pub source: String,
    pub heading_path: Vec<String>,
    pub text: String,
    pub range: Range<usize>,
    pub tags: Tags,
    pub marks: Marks,
}

impl Passage {
    /// What it says and where it stands, to be changed for this passage alone.
    pub fn edit(&mut self) -> &mut Excerpt {
        let excerpt = Arc::make_mut(&mut self.excerpt);
        excerpt.marks = Marks::default();
        excerpt
    }
}

impl Deref for Passage {
    type Target = Excerpt;

    fn deref(&self) -> &Excerpt {
        &self.excerpt
    }
}

/// How a passage was found; a side that did not find it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Found {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyword_rank: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyword_score: Option<f32>,
    /// How much of what was asked its words say, rare ones counting more: 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_rank: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f32>,
}

/// A node of a document's heading tree with its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    pub id: SectionId,
    pub parent: Option<SectionId>,
    pub level: u8,
    pub heading: String,
    pub heading_path: Vec<String>,
    pub text: String,
    pub range: Range<usize>,
    /// The text was longer than what was asked for and ends early.
    pub is_cut: bool,
}
