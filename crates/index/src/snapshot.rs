//! One moment of an index: what a search sees from its first step to its last.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use agent::filter::Filter;
use agent::knowledge::{Excerpt, Found, Passage};
use agent::language::Language;
use agent::names::SectionId;
use agent::ports::{ChunkKey, Find, Hit, IndexState};
use agent::retrieval::Marks;
use tantivy::columnar::Column;
use tantivy::directory::OwnedBytes;
use tantivy::schema::Value;
use tantivy::{DocAddress, Searcher, TantivyDocument};

use crate::bits::Bits;
use crate::excerpts::Excerpts;
use crate::filters;
use crate::known_terms::KnownTerms;
use crate::places::Places;
use crate::query::{self, WordsFound};
use crate::schema::{Fields, Stored};
use crate::top::Top;
use crate::vectors::{Allowed, Effort, Everything, Scratch, Segment};

/// Filters whose answers are remembered for one moment: the turn's two, and a few of the users' own.
const FILTERS_MAX: usize = 16;

/// Chunks of an index that is searched within a fraction of a millisecond and lies in memory.
const SMALL_CHUNKS_MAX: u64 = 4_000;

/// Most chunks that a filter alone lists.
const LISTED_MAX: usize = 10_000;

/// A vector file, open.
#[derive(Clone)]
pub(crate) struct VectorFile {
    pub(crate) name: String,
    pub(crate) segment: Arc<Segment<OwnedBytes>>,
}

/// Both halves of the index at one commit.
pub(crate) struct Snapshot {
    pub(crate) searcher: Searcher,
    pub(crate) fields: Fields,
    pub(crate) places: Places,
    /// Of each segment, by chunk. Opening a column takes longer than many looks into it.
    keys: Vec<Column<u64>>,
    pub(crate) vectors: Vec<VectorFile>,
    /// Of each vector file, whether all of its chunks are there. Not looked for in a large index, where a search sees few of them.
    all_live: Vec<bool>,
    pub(crate) state: IndexState,
    /// The first key that had not been given yet.
    pub(crate) next_key: u64,
    filters: Mutex<BTreeMap<String, Arc<Passing>>>,
    excerpts: Arc<Excerpts>,
    /// Of a small index.
    known_terms: Option<KnownTerms>,
}

/// Which chunks pass a filter.
struct Passing {
    segments: Arc<Vec<Bits>>,
    count: usize,
}

/// The lists that a search found.
#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) keyword: Vec<Hit>,
    pub(crate) coverage: f32,
    pub(crate) vector: Vec<Hit>,
    pub(crate) listed: Vec<Hit>,
}

thread_local! {
    /// A vector search needs room to work in; each thread keeps its own.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

impl Snapshot {
    pub(crate) fn new(
        searcher: Searcher,
        fields: Fields,
        vectors: Vec<VectorFile>,
        mut state: IndexState,
        next_key: u64,
        excerpts: Arc<Excerpts>,
    ) -> tantivy::Result<Self> {
        let places = Places::read(&searcher)?;
        state.chunks = places.count();
        state.vectors = vectors.iter().map(|file| file.segment.len() as u64).sum();
        let filters = Mutex::new(BTreeMap::new());
        let keys = searcher.segment_readers().iter().map(|reader| reader.fast_fields().u64("key"));
        let keys = keys.collect::<tantivy::Result<_>>()?;
        let mut snapshot = Self {
            searcher,
            fields,
            places,
            keys,
            all_live: vec![false; vectors.len()],
            vectors,
            state,
            next_key,
            filters,
            excerpts,
            known_terms: None,
        };
        if snapshot.is_small() {
            let lives = |key| snapshot.places.get(key).is_some();
            let all_live = snapshot.vectors.iter().map(|file| file.segment.keys().all(lives));
            snapshot.all_live = all_live.collect();
            let known = KnownTerms::new(&snapshot.searcher, fields.keyword)?;
            snapshot.known_terms = Some(known);
        }
        Ok(snapshot)
    }

    /// What was loaded, for the next moment to know.
    pub(crate) fn excerpts(&self) -> Arc<Excerpts> {
        Arc::clone(&self.excerpts)
    }

    /// Whether a search is over before it would have got to another thread.
    pub(crate) fn is_small(&self) -> bool {
        self.state.chunks <= SMALL_CHUNKS_MAX
    }

    /// Runs both sides of a search.
    pub(crate) fn find(&self, find: &Find) -> tantivy::Result<Lists> {
        let passing = self.passing(&find.filter)?;
        let mut lists = Lists::default();
        if passing.as_ref().is_some_and(|passing| passing.count == 0) {
            return Ok(lists);
        }
        if let Some(text) = &find.text {
            self.find_words(text, find.count, passing.as_deref(), &mut lists)?;
        }
        if let Some(vector) = &find.vector {
            lists.vector = self.find_near(vector, find.count, passing.as_deref());
        }
        if find.text.is_none() && find.vector.is_none() {
            let passes = |address| passing.as_ref().is_none_or(|passing| passing.has(address));
            let keys = self.places.keys().rev();
            let living = keys.filter_map(|key| self.places.get(key).map(|address| (key, address)));
            let listed = living.filter(|(_, address)| passes(*address));
            let hit = |(key, _)| self.hit(key, 1.0);
            lists.listed = listed.take(find.count.min(LISTED_MAX)).map(hit).collect();
        }
        Ok(lists)
    }

    fn find_words(
        &self,
        text: &str,
        count: usize,
        passing: Option<&Passing>,
        lists: &mut Lists,
    ) -> tantivy::Result<()> {
        let allowed = passing.map(|passing| Arc::clone(&passing.segments));
        let top = Top { count: count.max(1), allowed };
        let (searcher, fields) = (&self.searcher, self.fields.keyword);
        let found = match &self.known_terms {
            Some(known) => known.find(searcher, fields, text, &top)?,
            None => query::find(searcher, fields, text, &top)?,
        };
        let Some(WordsFound { hits, full_score }) = found else { return Ok(()) };
        let best = hits.first().map_or(0.0, |(score, _)| *score);
        lists.coverage = query::coverage(best, full_score);
        for (score, address) in hits {
            let keys = self.keys.get(address.segment_ord as usize);
            let key = keys.and_then(|keys| keys.first(address.doc_id));
            lists.keyword.extend(key.map(|key| self.hit(key, score)));
        }
        Ok(())
    }

    fn find_near(&self, vector: &[f32], count: usize, passing: Option<&Passing>) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (VectorFile { segment, .. }, lives) in self.vectors.iter().zip(&self.all_live) {
            let living = Living { places: &self.places, passing, vectors: segment.len() };
            let allowed: &dyn Allowed =
                if *lives && passing.is_none() { &Everything } else { &living };
            let found = SCRATCH.with_borrow_mut(|scratch| {
                segment.search(vector, count, Effort::default(), allowed, scratch)
            });
            match found {
                Ok(found) => hits.extend(found.iter().map(|hit| self.hit(hit.key, hit.score))),
                Err(error) => tracing::warn!(%error, "a vector segment was left out of a search"),
            }
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
        hits.truncate(count);
        hits
    }

    fn hit(&self, key: u64, score: f32) -> Hit {
        let language = self.places.language(key).unwrap_or(Language::Other);
        Hit { key: ChunkKey(key), score, language }
    }

    /// The passages behind these keys; one that is gone is left out.
    pub(crate) fn load(&self, keys: &[ChunkKey]) -> tantivy::Result<Vec<Passage>> {
        let living: Vec<_> = self.living(keys).collect();
        let known = self.excerpts.find(living.iter().map(|(key, _)| *key));
        let excerpts = living.into_iter().zip(known).map(|((key, address), known)| match known {
            Some(excerpt) => Ok(excerpt),
            None => {
                let excerpt = Arc::new(self.excerpt(address)?);
                self.excerpts.keep(key, &excerpt);
                Ok(excerpt)
            }
        });
        excerpts.map(|excerpt| excerpt.map(passage)).collect()
    }

    /// The same without a look at the disk; none if that takes one.
    pub(crate) fn load_known(&self, keys: &[ChunkKey]) -> Option<Vec<Passage>> {
        let known = self.excerpts.find(self.living(keys).map(|(key, _)| key));
        known.into_iter().map(|excerpt| excerpt.map(passage)).collect()
    }

    fn living(&self, keys: &[ChunkKey]) -> impl Iterator<Item = (u64, DocAddress)> {
        keys.iter().filter_map(|key| Some((key.0, self.places.get(key.0)?)))
    }

    fn excerpt(&self, address: DocAddress) -> tantivy::Result<Excerpt> {
        let entry: TantivyDocument = self.searcher.doc(address)?;
        let bytes = entry.get_first(self.fields.stored).and_then(|value| value.as_bytes());
        let stored = Stored::from_bytes(bytes.unwrap_or_default())
            .map_err(|error| tantivy::TantivyError::InternalError(error.to_string()))?;
        let section = SectionId { document: stored.document.clone(), ordinal: stored.section };
        Ok(Excerpt {
            document: stored.document,
            chunk: stored.ordinal,
            section,
            title: stored.title,
            source: stored.source,
            heading_path: stored.heading_path,
            text: stored.text,
            range: stored.range,
            tags: stored.tags,
            marks: Marks::default(),
        })
    }

    pub(crate) fn known_tags(&self) -> tantivy::Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for reader in self.searcher.segment_readers() {
            filters::names(reader, self.fields.tags, &mut found)?;
        }
        Ok(found)
    }

    fn passing(&self, filter: &Filter) -> tantivy::Result<Option<Arc<Passing>>> {
        if filter.conditions.is_empty() {
            return Ok(None);
        }
        let name = format!("{filter:?}");
        let mut known = self.filters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(passing) = known.get(&name) {
            return Ok(Some(Arc::clone(passing)));
        }
        let passing = Arc::new(self.evaluate(filter)?);
        if known.len() >= FILTERS_MAX {
            known.pop_first();
        }
        known.insert(name, Arc::clone(&passing));
        Ok(Some(passing))
    }

    fn evaluate(&self, filter: &Filter) -> tantivy::Result<Passing> {
        let query = filters::query(self.fields.tags, filter);
        let weight =
            query.weight(tantivy::query::EnableScoring::disabled_from_searcher(&self.searcher))?;
        let mut segments = Vec::new();
        for reader in self.searcher.segment_readers() {
            let mut bits = Bits::new(reader.max_doc());
            let alive = reader.alive_bitset();
            weight.for_each_no_score(reader, &mut |docs| {
                for doc in docs {
                    if alive.is_none_or(|alive| alive.is_alive(*doc)) {
                        bits.insert(*doc);
                    }
                }
            })?;
            segments.push(bits);
        }
        let count = segments.iter().map(Bits::count).sum();
        Ok(Passing { segments: Arc::new(segments), count })
    }
}

fn passage(excerpt: Arc<Excerpt>) -> Passage {
    Passage { excerpt, score: 0.0, found: Found::default() }
}

impl Passing {
    fn has(&self, address: DocAddress) -> bool {
        let segment = self.segments.get(address.segment_ord as usize);
        segment.is_some_and(|bits| bits.contains(address.doc_id))
    }
}

/// Vectors whose chunk is there and passes the filter.
struct Living<'a> {
    places: &'a Places,
    passing: Option<&'a Passing>,
    vectors: usize,
}

/// Vectors of one chunk, at a guess: what a filter's count of chunks is multiplied by.
const VECTORS_PER_CHUNK: usize = 4;

impl Allowed for Living<'_> {
    fn allows(&self, _slot: u32, key: u64) -> bool {
        let Some(address) = self.places.get(key) else { return false };
        self.passing.is_none_or(|passing| passing.has(address))
    }

    fn count_max(&self) -> usize {
        let passing = self.passing.map_or(usize::MAX, |passing| passing.count);
        self.vectors.min(passing.saturating_mul(VECTORS_PER_CHUNK))
    }
}
