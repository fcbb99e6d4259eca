//! A segment of the keyword index that is being filled, and written in the end.
//!
//! tantivy looks up every term of every chunk by its letters. Here terms come as numbers and are counted and put in order
//! once. Its own serializers write them: the files are those that it would have made of the same chunks, byte for byte.

use std::ops::Range;

use agent::filter::Tags;
use tantivy::TantivyDocument;
use tantivy::directory::TerminatingWrite as _;
use tantivy::fastfield::FastFieldsWriter;
use tantivy::fieldnorm::{FieldNormReaders, FieldNormsSerializer, FieldNormsWriter};
use tantivy::index::{Index, Segment, SegmentComponent, SegmentMeta};
use tantivy::postings::InvertedIndexSerializer;
use tantivy::schema::{Field, Schema};
use tantivy::store::StoreWriter;

use super::{Chunk, DocumentNumber};
use crate::filters;
use crate::inversion::{Inverted, TermLists};
use crate::query::KeywordFields;
use crate::schema::{Entry, Fields, MergedTags};
use crate::tokens::{Terms, Vocabularies, Vocabulary};

pub(super) struct Filling {
    segment: Segment,
    schema: Schema,
    fields: Fields,
    chunks: u32,
    documents: Vec<(DocumentNumber, Range<u32>)>,
    words: TermLists,
    grams: TermLists,
    heading: TermLists,
    tags: TermLists,
    /// Tags are seldom met again in another segment.
    tag_terms: Vocabulary,
    lengths: FieldNormsWriter,
    columns: FastFieldsWriter,
    texts: StoreWriter,
}

impl Filling {
    pub(super) fn begin(index: &Index, fields: Fields) -> tantivy::Result<Self> {
        let (segment, schema, settings) = (index.new_segment(), index.schema(), index.settings());
        let texts = StoreWriter::new(
            segment.open_write(SegmentComponent::Store)?,
            settings.docstore_compression,
            settings.docstore_blocksize,
            // To hand blocks to another thread takes as long as to compress them.
            false,
        )?;
        Ok(Self {
            fields,
            chunks: 0,
            documents: Vec::new(),
            words: TermLists::default(),
            grams: TermLists::default(),
            heading: TermLists::default(),
            tags: TermLists::default(),
            tag_terms: Vocabulary::default(),
            lengths: FieldNormsWriter::for_schema(&schema),
            columns: FastFieldsWriter::from_schema_and_tokenizer_manager(
                &schema,
                index.fast_field_tokenizer().clone(),
            )?,
            texts,
            segment,
            schema,
        })
    }

    /// How many terms there are, each as often as it comes.
    pub(super) fn terms(&self) -> usize {
        self.words.len() + self.grams.len() + self.heading.len() + self.tags.len()
    }

    pub(super) fn add(
        &mut self,
        document: DocumentNumber,
        tags: &Tags,
        chunks: Vec<Chunk<'_>>,
    ) -> tantivy::Result<()> {
        let first = self.chunks;
        let mut shared = Vec::new();
        filters::terms(tags.iter(), |term| shared.push(self.tag_terms.number(term)));
        for Chunk { key, entry, tags: own } in chunks {
            let of = |term: &str| self.tags.push(self.tag_terms.number(term));
            if own.keys().any(|name| tags.contains_key(name)) {
                filters::terms(MergedTags { document: tags, chunk: own }.iter(), of);
            } else {
                filters::terms(own.iter(), of);
                self.tags.extend(&shared);
            }
            self.add_terms(entry);
            self.keep(key, entry)?;
            self.chunks += 1;
        }
        self.documents.push((document, first..self.chunks));
        Ok(())
    }

    fn add_terms(&mut self, Entry { heading, text, .. }: &Entry) {
        self.heading.extend(&heading.words);
        for terms in [heading, text] {
            self.words.extend(&terms.words);
            self.grams.extend(&terms.grams);
        }
        let (document, fields) = (self.fields.document, self.fields.keyword);
        self.lengths.record(self.chunks, document, 1);
        for (field, list) in [
            (fields.words, &mut self.words),
            (fields.grams, &mut self.grams),
            (fields.heading, &mut self.heading),
        ] {
            let terms = list.end();
            self.lengths.record(self.chunks, field, u32::try_from(terms).unwrap_or(u32::MAX));
        }
        self.tags.end();
    }

    /// Keeps what is not looked up by terms.
    fn keep(&mut self, key: u64, entry: &Entry) -> tantivy::Result<()> {
        let mut row = TantivyDocument::with_capacity(entry.stored.len() + 64);
        row.add_u64(self.fields.key, key);
        row.add_u64(self.fields.language, entry.language);
        row.add_bytes(self.fields.stored, &entry.stored);
        self.columns.add_document(&row)?;
        self.texts.store(&row, &self.schema)?;
        Ok(())
    }

    pub(super) fn finish(mut self, vocabularies: &Vocabularies) -> tantivy::Result<SegmentMeta> {
        self.lengths.fill_up_to_max_doc(self.chunks);
        let lengths = self.segment.open_write(SegmentComponent::FieldNorms)?;
        self.lengths.serialize(FieldNormsSerializer::from_write(lengths)?, None)?;
        let mut postings = Postings::begin(&self.segment)?;
        postings.write_documents(self.fields.document, self.documents)?;
        let KeywordFields { words, grams, heading } = self.fields.keyword;
        let word = |of: &Inverted| vocabularies.words().some(of.numbers());
        let gram = |of: &Inverted| vocabularies.grams().some(of.numbers());
        let tag = |of: &Inverted| self.tag_terms.some(of.numbers());
        postings.write(words, &self.words, Counts::Kept, word)?;
        postings.write(grams, &self.grams, Counts::Kept, gram)?;
        postings.write(heading, &self.heading, Counts::Kept, word)?;
        postings.write(self.fields.tags, &self.tags, Counts::Dropped, tag)?;
        postings.serializer.close()?;
        let mut columns = self.segment.open_write(SegmentComponent::FastFields)?;
        self.columns.serialize(&mut columns, None)?;
        columns.terminate()?;
        self.texts.close()?;
        let segment = self.segment.with_max_doc(self.chunks);
        // There has never been a file for texts in another order, and none is to be looked for.
        segment.meta().untrack_temp_docstore();
        Ok(segment.meta().clone())
    }
}

/// Whether the index says how often a chunk has a term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    Kept,
    Dropped,
}

/// Terms and the chunks that have them, as they are written: field by field, terms and chunks in order.
struct Postings {
    lengths: FieldNormReaders,
    serializer: InvertedIndexSerializer,
}

impl Postings {
    fn begin(segment: &Segment) -> tantivy::Result<Self> {
        let lengths = FieldNormReaders::open(segment.open_read(SegmentComponent::FieldNorms)?)?;
        Ok(Self { lengths, serializer: InvertedIndexSerializer::open(segment)? })
    }

    fn write_documents(
        &mut self,
        field: Field,
        mut documents: Vec<(DocumentNumber, Range<u32>)>,
    ) -> tantivy::Result<()> {
        documents.sort_unstable_by_key(|(document, _)| *document);
        let chunks = documents.iter().map(|(_, chunks)| chunks.len() as u64).sum();
        let lengths = self.lengths.get_field(field)?;
        let mut to = self.serializer.new_field(field, chunks, lengths)?;
        for (document, chunks) in documents {
            to.new_term(&document, 0, false)?;
            chunks.for_each(|chunk| to.write_doc(chunk, 0, &[]));
            to.close_term()?;
        }
        to.close()?;
        Ok(())
    }

    /// Writes the terms of a field; `name` gives the terms behind the numbers.
    fn write(
        &mut self,
        field: Field,
        lists: &TermLists,
        counts: Counts,
        name: impl Fn(&Inverted) -> Terms,
    ) -> tantivy::Result<()> {
        if lists.len() == 0 {
            return Ok(());
        }
        let lengths = self.lengths.get_field(field)?;
        let mut to = self.serializer.new_field(field, lists.len() as u64, lengths)?;
        let inverted = lists.inverted();
        for (term, number) in name(&inverted).sorted() {
            let runs = inverted.chunks(number).chunk_by(|one, next| one == next);
            let found_in = match counts {
                Counts::Kept => u32::try_from(runs.clone().count()).unwrap_or(u32::MAX),
                Counts::Dropped => 0,
            };
            to.new_term(term, found_in, counts == Counts::Kept)?;
            for run in runs {
                let times = u32::try_from(run.len()).unwrap_or(u32::MAX);
                let Some(chunk) = run.first() else { continue };
                to.write_doc(*chunk, times, &[]);
            }
            to.close_term()?;
        }
        to.close()?;
        Ok(())
    }
}
