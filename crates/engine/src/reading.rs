//! From a reading to what is kept and indexed: names, tags and chunks of a document.

use std::collections::BTreeMap;

use agent::filter::{TAG_BYTES_MAX, TagValue, Tags};
use agent::knowledge::{Document, DocumentChunks, NewChunk};
use agent::names::{CollectionName, DocumentId, NameError, SectionId};
use agent::path_rule;
use agent::ports::Embedder;
use agent::text::clip;
use extract::{BlockKind, Extracted, Language, Section, SplitLimits};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Names how bytes become chunks; a change of reading or splitting changes it, and documents are read anew.
pub const RECIPE: &str = "read/1";

/// Tags that a document or row may bring along.
const OWN_TAGS_MAX: usize = 64;

/// Values of one tag.
const TAG_VALUES_MAX: usize = 64;

/// The type of a document that nothing else gives one.
pub(crate) const GUIDE: &str = "guide";

/// A piece of text for the embedder, and the chunk it belongs to.
pub(crate) struct Piece {
    pub(crate) chunk: usize,
    pub(crate) text: String,
}

/// What is made of a document: its chunks, and the pieces of them to embed.
pub(crate) type Cut = (DocumentChunks, Vec<Piece>);

/// The id of what stands at `source` in `collection`: the same place gives the same id.
pub fn document_id(collection: &CollectionName, source: &str) -> Result<DocumentId, NameError> {
    let mut digits = sha256_hex(&[collection.as_str().as_bytes(), b"\0", source.as_bytes()]);
    digits.truncate(32);
    digits.parse()
}

pub(crate) fn sha256_hex(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    hash.finalize().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The type of a document: what the caller says, else its front matter, a rule for its path, its
/// collection, or its form.
pub(crate) fn doc_type(
    asked: Option<&str>,
    extracted: &Extracted,
    source: &str,
    rules: &[(String, String)],
    collection: Option<&str>,
) -> String {
    let own = extracted.front_matter.get("doc_type").and_then(Value::as_str);
    let by_path = rules.iter().find(|(pattern, _)| path_rule::fits(pattern, source));
    let has_pairs = extracted.blocks.iter().any(|b| matches!(b.kind, BlockKind::Pair { .. }));
    let by_form = if has_pairs { agent::retrieval::FAQ } else { GUIDE };
    let found = asked.or(own).or(by_path.map(|(_, kind)| kind.as_str())).or(collection);
    clip(found.unwrap_or(by_form), TAG_BYTES_MAX).to_owned()
}

/// The title: what the document calls itself, else the last part of where it came from.
pub(crate) fn title(extracted: &Extracted, source: &str) -> String {
    let own = extracted.front_matter.get("title").and_then(Value::as_str);
    let own = own.or(extracted.title.as_deref()).map(str::trim).filter(|title| !title.is_empty());
    let last = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
    clip(own.unwrap_or(last), 500).to_owned()
}

/// Front matter as tags; what has a place of its own is left out.
pub(crate) fn own_tags(fields: &BTreeMap<String, Value>) -> Tags {
    let named = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "title" | "doc_type"));
    named
        .filter(|(name, _)| !name.is_empty() && !name.contains(char::is_control))
        .map(|(name, value)| (clip(name, TAG_BYTES_MAX).to_owned(), tag_values(value)))
        .filter(|(_, values)| !values.is_empty())
        .take(OWN_TAGS_MAX)
        .collect()
}

fn tag_values(value: &Value) -> Vec<TagValue> {
    match value {
        Value::Null | Value::Object(_) => Vec::new(),
        Value::Bool(flag) => vec![TagValue::Flag(*flag)],
        Value::Number(number) => number.as_f64().map(TagValue::Number).into_iter().collect(),
        Value::String(text) => vec![TagValue::Text(clip(text, TAG_BYTES_MAX).to_owned())],
        Value::Array(items) => {
            let scalars = items.iter().filter(|item| !item.is_array());
            scalars.flat_map(tag_values).take(TAG_VALUES_MAX).collect()
        }
    }
}

/// What is made of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Chunks,
    /// Chunks, and the pieces of them to embed.
    Pieces,
}

impl Want {
    pub(crate) fn for_embedder(embedder: &dyn Embedder) -> Self {
        if embedder.dimensions() == 0 { Self::Chunks } else { Self::Pieces }
    }
}

/// Cuts a document into its chunks, with all their tags, and the pieces to embed.
pub(crate) fn chunks(
    document: &Document,
    extracted: &Extracted,
    limits: &SplitLimits,
    want: Want,
) -> Cut {
    let split = extract::split(extracted, limits);
    let mut pieces = Vec::new();
    let mut chunks = Vec::with_capacity(split.chunks.len());
    for (place, chunk) in split.chunks.into_iter().enumerate() {
        let heading_path = heading_path(document, &split.sections, chunk.section);
        if want == Want::Pieces {
            let own_path = extract::heading_path(&split.sections, chunk.section);
            let mut piece = |text: String| pieces.push(Piece { chunk: place, text });
            for range in chunk.pieces() {
                let text = chunk.text.get(range.clone()).unwrap_or_default();
                piece(with_heading(&own_path, text));
            }
            if !own_path.is_empty() {
                piece(own_path.join(". "));
            }
        }
        chunks.push(NewChunk {
            ordinal: u32::try_from(place).unwrap_or(u32::MAX),
            section: u32::try_from(chunk.section).unwrap_or(0),
            tags: chunk_tags(&chunk),
            text: chunk.text,
            heading_path,
            range: chunk.start..chunk.end,
            vectors: Vec::new(),
        });
    }
    let of = DocumentChunks {
        document: document.id.clone(),
        title: document.title.clone(),
        source: document.source.clone(),
        tags: document_tags(document),
        chunks,
    };
    (of, pieces)
}

/// A piece seldom names what it is about; the heading it stands under does.
fn with_heading(own_path: &[&str], piece: &str) -> String {
    match own_path.last() {
        Some(heading) => format!("{heading}. {piece}"),
        None => piece.to_owned(),
    }
}

/// Titles from the document down to the section.
pub(crate) fn heading_path(
    document: &Document,
    sections: &[Section],
    section: usize,
) -> Vec<String> {
    let mut path: Vec<String> =
        extract::heading_path(sections, section).into_iter().map(str::to_owned).collect();
    if path.is_empty() {
        path.push(document.title.clone());
    }
    path
}

/// Tags that say where a chunk comes from; no document can bring its own.
const PLACE_TAGS: [&str; 5] = ["collection", "doc_type", "document", "source", "format"];

/// What all chunks of a document have.
fn document_tags(document: &Document) -> Tags {
    let mut tags = document.tags.clone();
    let place = [
        document.collection.as_str(),
        &document.doc_type,
        document.id.as_str(),
        &document.source,
        &document.format,
    ];
    for (name, value) in PLACE_TAGS.into_iter().zip(place) {
        tags.insert(name.to_owned(), text_tag(value));
    }
    if let (None, Some(updated_at)) = (tags.get("updated_at"), &document.updated_at) {
        tags.insert("updated_at".to_owned(), text_tag(updated_at));
    }
    tags
}

/// What a chunk has besides.
fn chunk_tags(chunk: &extract::Chunk) -> Tags {
    let flag = |value: bool| vec![TagValue::Flag(value)];
    let mut tags = own_tags(&chunk.fields);
    tags.retain(|name, _| !PLACE_TAGS.contains(&name.as_str()));
    let language = match chunk.tags.language {
        Language::Ko => "ko",
        Language::En => "en",
        Language::Mixed => "mixed",
        Language::Other => "other",
    };
    for (name, values) in [
        ("language", text_tag(language)),
        ("has_steps", flag(chunk.tags.has_steps)),
        ("has_table", flag(chunk.tags.has_table)),
        ("has_code", flag(chunk.tags.has_code)),
        ("has_conditions", flag(chunk.tags.has_conditions)),
    ] {
        tags.insert(name.to_owned(), values);
    }
    tags
}

fn text_tag(value: &str) -> Vec<TagValue> {
    vec![TagValue::Text(clip(value, TAG_BYTES_MAX).to_owned())]
}

/// Names a section of a document.
pub(crate) fn section_id(document: &DocumentId, section: usize) -> SectionId {
    SectionId { document: document.clone(), ordinal: u32::try_from(section).unwrap_or(u32::MAX) }
}
