//! Searches a small index by adding up lists: where a term stands, and what it is worth there, is read once and remembered.
//!
//! tantivy makes forty readers of lists ready for a question, in each segment, so that it can pass over most of what
//! they hold. In a small index that costs ten times as much as to add up all of it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::fast::RandomState;
use tantivy::postings::Postings as _;
use tantivy::query::{Bm25StatisticsProvider as _, Bm25Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet as _, Score, Searcher, TERMINATED, Term};

use crate::query::{self, KeywordFields, PassageStatistics, WordsFound};
use crate::top::Top;

/// Memory for lists, by estimate: those of some ten thousand terms, about what a small index has.
const BYTES_MAX: usize = 2 << 20;

/// What a list takes besides its entries, by estimate.
const LIST_BYTES: usize = 96;

/// A passage that a term stands in, by its number among those of all segments, and what the term is worth there.
#[derive(Clone, Copy)]
struct Entry {
    passage: u32,
    worth: Score,
}

type List = Arc<[Entry]>;

/// The lists of the terms that were asked for, of one moment of an index.
pub(crate) struct KnownTerms {
    statistics: PassageStatistics,
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    lists: HashMap<Field, HashMap<Box<str>, List, RandomState>, RandomState>,
    bytes: usize,
}

impl KnownTerms {
    pub(crate) fn new(searcher: &Searcher, fields: KeywordFields) -> tantivy::Result<Self> {
        let statistics = PassageStatistics::of(searcher, fields)?;
        Ok(Self { statistics, known: RwLock::default() })
    }

    /// Finds the passages that say most of what is asked; none when nothing in the question is a word.
    pub(crate) fn find(
        &self,
        searcher: &Searcher,
        fields: KeywordFields,
        question: &str,
        top: &Top,
    ) -> tantivy::Result<Option<WordsFound>> {
        let choice = query::choose(fields, question, searcher.num_docs(), |field, text| {
            let list = match self.list(field, text) {
                Some(list) => list,
                None => self.read(searcher, field, text)?,
            };
            let found_in = list.len() as u64;
            Ok((list, found_in))
        })?;
        let Some(choice) = choice else { return Ok(None) };
        let passages = usize::try_from(self.statistics.passages()).unwrap_or(0);
        let mut scores = vec![0.0; passages];
        for term in &choice.terms {
            for Entry { passage, worth } in term.term.iter() {
                if let Some(score) = scores.get_mut(*passage as usize) {
                    *score += term.weight * worth;
                }
            }
        }
        let hits = top.of_scores(searcher, &scores);
        Ok(Some(WordsFound { hits, full_score: choice.full_score }))
    }

    fn list(&self, field: Field, text: &str) -> Option<List> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.lists.get(&field)?.get(text).cloned()
    }

    /// Reads a list and remembers it.
    fn read(&self, searcher: &Searcher, field: Field, text: &str) -> tantivy::Result<List> {
        let term = Term::from_field_text(field, text);
        let mut entries = Vec::new();
        let mut first = 0;
        let weight = self.weight(searcher, &term)?;
        for reader in searcher.segment_readers() {
            let inverted = reader.inverted_index(field)?;
            if let Some(info) = inverted.get_term_info(&term)? {
                let option = IndexRecordOption::WithFreqs;
                let mut postings = inverted.read_postings_from_terminfo(&info, option)?;
                let norms = reader.get_fieldnorms_reader(field)?;
                while postings.doc() != TERMINATED {
                    let norm = norms.fieldnorm_id(postings.doc());
                    let worth = weight.score(norm, postings.term_freq());
                    entries.push(Entry { passage: first + postings.doc(), worth });
                    postings.advance();
                }
            }
            first += reader.max_doc();
        }
        let list: List = entries.into();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let bytes = LIST_BYTES + text.len() + size_of_val(&*list);
        if known.bytes + bytes > BYTES_MAX {
            *known = Known::default();
        }
        known.bytes += bytes;
        known.lists.entry(field).or_default().insert(text.into(), Arc::clone(&list));
        Ok(list)
    }

    fn weight(&self, searcher: &Searcher, term: &Term) -> tantivy::Result<Bm25Weight> {
        let (found_in, passages) = (searcher.doc_freq(term)?, self.statistics.passages());
        let tokens = self.statistics.total_num_tokens(term.field())?;
        let length = tokens as Score / passages as Score;
        Ok(Bm25Weight::for_one_term_without_explain(found_in, passages, length))
    }
}

#[cfg(test)]
mod tests;
