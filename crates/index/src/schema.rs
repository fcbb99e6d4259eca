//! The fields of a chunk in the keyword index, and what is stored beside them.

use std::ops::Range;

use agent::filter::Tags;
use agent::knowledge::{DocumentChunks, NewChunk};
use agent::language::Language;
use agent::names::DocumentId;
use serde::{Deserialize, Serialize};
use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};

use crate::analysis::{Analyzer, TermsTokenizer};
use crate::filters;
use crate::query::KeywordFields;

/// Names how chunks are analysed; a change of analysis changes it, and every index is built anew.
pub const RECIPE: &str = "chunks/2";

/// The fields, by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    /// The chunk's number in its generation: the link to its vectors.
    pub(crate) key: Field,
    pub(crate) document: Field,
    pub(crate) keyword: KeywordFields,
    /// The chunk's language, as a number.
    pub(crate) language: Field,
    pub(crate) tags: Field,
    pub(crate) stored: Field,
}

/// What a passage is made from, stored as JSON.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) document: DocumentId,
    pub(crate) ordinal: u32,
    pub(crate) section: u32,
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) heading_path: Vec<String>,
    pub(crate) text: String,
    pub(crate) range: Range<usize>,
    pub(crate) tags: Tags,
}

pub(crate) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let tags = TextFieldIndexing::default()
        .set_tokenizer(TermsTokenizer::NAME)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let tags = TextOptions::default().set_indexing_options(tags);
    let fields = Fields {
        key: builder.add_u64_field("key", FAST),
        document: builder.add_text_field("document", STRING),
        keyword: KeywordFields::declare(&mut builder),
        language: builder.add_u64_field("language", FAST),
        tags: builder.add_text_field("tags", tags),
        stored: builder.add_bytes_field("stored", STORED),
    };
    (builder.build(), fields)
}

/// A chunk as the keyword index takes it.
pub(crate) fn entry(
    fields: &Fields,
    analyzer: &mut Analyzer,
    key: u64,
    of: &DocumentChunks,
    chunk: NewChunk,
) -> Result<TantivyDocument, serde_json::Error> {
    let mut entry = TantivyDocument::default();
    entry.add_u64(fields.key, key);
    entry.add_text(fields.document, of.document.as_str());
    fields.keyword.add(&mut entry, analyzer, &chunk.heading_path.join("\n"), &chunk.text);
    entry.add_u64(fields.language, Language::of(&chunk.text).number());
    entry.add_text(fields.tags, filters::terms(&chunk.tags).as_str());
    let stored = Stored {
        document: of.document.clone(),
        ordinal: chunk.ordinal,
        section: chunk.section,
        title: of.title.clone(),
        source: of.source.clone(),
        heading_path: chunk.heading_path,
        text: chunk.text,
        range: chunk.range,
        tags: chunk.tags,
    };
    entry.add_bytes(fields.stored, &serde_json::to_vec(&stored)?);
    Ok(entry)
}
