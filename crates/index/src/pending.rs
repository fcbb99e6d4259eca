//! Chunks that wait for a commit, and what they take the place of.

mod filling;

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use agent::filter::Tags;
use agent::names::DocumentId;
use tantivy::index::SegmentMeta;
use tantivy::query::{BooleanQuery, Query, RangeQuery, TermSetQuery};
use tantivy::{Index, Term};

use self::filling::Filling;
use crate::schema::{Entry, Fields};
use crate::tokens::Vocabularies;

/// Terms that wait, each as often as it comes: they take four bytes, and four more while they are turned about.
pub(crate) const TERMS_MAX: usize = 8 << 20;

/// The number that a document's id writes.
type DocumentNumber = [u8; 16];

pub(crate) struct Pending {
    /// What the terms of these chunks are numbered by.
    vocabularies: Arc<Vocabularies>,
    /// The documents that come anew, or go.
    replaced: HashSet<DocumentNumber>,
    /// What they had before has smaller keys.
    first_key: u64,
    /// Begun with the first chunk.
    segment: Option<Filling>,
}

/// A chunk that is put into a segment.
pub(crate) struct Chunk<'a> {
    pub(crate) key: u64,
    pub(crate) entry: &'a Entry,
    pub(crate) tags: &'a Tags,
}

impl Pending {
    pub(crate) fn new(vocabularies: Arc<Vocabularies>, first_key: u64) -> Self {
        Self { vocabularies, replaced: HashSet::new(), first_key, segment: None }
    }

    /// Whether a document can wait here too: there is room, and nothing of it that would have to be deleted.
    pub(crate) fn takes(&self, vocabularies: &Arc<Vocabularies>, document: &DocumentId) -> bool {
        let has_room = self.segment.as_ref().is_none_or(|segment| segment.terms() < TERMS_MAX);
        let is_new = !self.replaced.contains(&document.to_bytes());
        has_room && is_new && Arc::ptr_eq(&self.vocabularies, vocabularies)
    }

    /// Takes the chunks of a document in the place of those that it had before.
    pub(crate) fn add(
        &mut self,
        index: &Index,
        fields: Fields,
        (document, tags): (&DocumentId, &Tags),
        chunks: Vec<Chunk<'_>>,
    ) -> tantivy::Result<()> {
        let document = document.to_bytes();
        self.replaced.insert(document);
        if chunks.is_empty() {
            return Ok(());
        }
        let segment = match &mut self.segment {
            Some(segment) => segment,
            none => none.insert(Filling::begin(index, fields)?),
        };
        segment.add(document, tags, chunks)
    }

    /// Finds what the documents had before.
    pub(crate) fn superseded(&self, fields: Fields) -> Box<dyn Query> {
        let term = |document: &DocumentNumber| Term::from_field_bytes(fields.document, document);
        let documents = TermSetQuery::new(self.replaced.iter().map(term));
        // tantivy may look for it in this very segment too.
        let end = Bound::Excluded(Term::from_field_u64(fields.key, self.first_key));
        let older = RangeQuery::new(Bound::Unbounded, end);
        Box::new(BooleanQuery::intersection(vec![Box::new(documents), Box::new(older)]))
    }

    /// Writes the segment, if there are chunks.
    pub(crate) fn finish(self) -> tantivy::Result<Option<SegmentMeta>> {
        self.segment.map(|segment| segment.finish(&self.vocabularies)).transpose()
    }
}

#[cfg(test)]
mod tests;
