//! The fields of a chunk in the keyword index, and what is stored beside them.

use std::ops::Range;

use agent::filter::{TagValue, Tags};
use agent::knowledge::{DocumentChunks, NewChunk};
use agent::language::Language;
use agent::names::DocumentId;
use agent::text::line_and_text;
use serde::{Deserialize, Serialize, Serializer};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};

use crate::query::{KeywordFields, TOKENIZER};
use crate::tokens::{Analyzer, TextTerms};

/// Names how chunks are analysed; a change of analysis changes it, and every index is built anew.
pub const RECIPE: &str = "chunks/6";

/// About what is stored of a chunk besides its text.
const STORED_BYTES: usize = 1024;

/// The fields, by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    /// The chunk's number in its generation: the link to its vectors.
    pub(crate) key: Field,
    /// As a number: each document's stands in the list of terms by itself, and digits would take twice the steps there.
    pub(crate) document: Field,
    pub(crate) keyword: KeywordFields,
    /// The chunk's language, as a number.
    pub(crate) language: Field,
    pub(crate) tags: Field,
    pub(crate) stored: Field,
}

/// What a passage is made from, stored as a line of JSON and then the text as it is.
#[derive(Deserialize)]
pub(crate) struct Stored {
    pub(crate) document: DocumentId,
    pub(crate) ordinal: u32,
    pub(crate) section: u32,
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) heading_path: Vec<String>,
    #[serde(skip)]
    pub(crate) text: String,
    pub(crate) range: Range<usize>,
    pub(crate) tags: Tags,
}

impl Stored {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        use serde::de::Error as _;
        let (head, text) = line_and_text(bytes).map_err(serde_json::Error::custom)?;
        Ok(Self { text: text.to_owned(), ..serde_json::from_slice(head)? })
    }
}

pub(crate) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let tags = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let tags = TextOptions::default().set_indexing_options(tags);
    let fields = Fields {
        key: builder.add_u64_field("key", FAST),
        document: builder.add_bytes_field("document", INDEXED),
        keyword: KeywordFields::declare(&mut builder),
        language: builder.add_u64_field("language", FAST),
        tags: builder.add_text_field("tags", tags),
        stored: builder.add_bytes_field("stored", STORED),
    };
    (builder.build(), fields)
}

/// A chunk as the keyword index takes it, but for its key and its tags.
pub(crate) struct Entry {
    /// The document's title and the path of headings above the text.
    pub(crate) heading: TextTerms,
    pub(crate) text: TextTerms,
    pub(crate) language: u64,
    /// [`Stored`] as it is written.
    pub(crate) stored: Vec<u8>,
}

/// Takes a chunk apart.
pub(crate) fn entry(
    analyzer: &mut Analyzer,
    of: &DocumentChunks,
    chunk: &NewChunk,
) -> Result<Entry, serde_json::Error> {
    let stored = StoredView {
        document: &of.document,
        ordinal: chunk.ordinal,
        section: chunk.section,
        title: &of.title,
        source: &of.source,
        heading_path: &chunk.heading_path,
        range: &chunk.range,
        tags: MergedTags { document: &of.tags, chunk: &chunk.tags },
    };
    let mut bytes = Vec::with_capacity(chunk.text.len() + STORED_BYTES);
    serde_json::to_writer(&mut bytes, &stored)?;
    bytes.push(b'\n');
    bytes.extend(chunk.text.as_bytes());
    Ok(Entry {
        heading: analyzer.terms(&chunk.heading_path.join("\n")),
        text: analyzer.terms(&chunk.text),
        language: Language::of(&chunk.text).number(),
        stored: bytes,
    })
}

/// [`Stored`] as it is written, but for its text: thousands of chunks a second are not copied for it.
#[derive(Serialize)]
struct StoredView<'a> {
    document: &'a DocumentId,
    ordinal: u32,
    section: u32,
    title: &'a str,
    source: &'a str,
    heading_path: &'a [String],
    range: &'a Range<usize>,
    tags: MergedTags<'a>,
}

/// The tags of a chunk and those of its document that it does not have itself.
#[derive(Clone, Copy)]
pub(crate) struct MergedTags<'a> {
    pub(crate) document: &'a Tags,
    pub(crate) chunk: &'a Tags,
}

impl<'a> MergedTags<'a> {
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a String, &'a Vec<TagValue>)> {
        let inherited = self.document.iter().filter(|(name, _)| !self.chunk.contains_key(*name));
        inherited.chain(self.chunk)
    }
}

impl Serialize for MergedTags<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
