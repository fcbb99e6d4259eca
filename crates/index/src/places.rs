//! Where each chunk stands in the keyword index: the link from a vector to its chunk, and the proof that the chunk
//! is still there.

use agent::language::Language;
use tantivy::{DocAddress, Searcher};

/// Keys a page spans: deleted stretches cost one empty page, living ones one lookup.
const PAGE_KEYS: usize = 4096;

/// A key that no living chunk has.
const NOWHERE: u64 = u64::MAX;

/// Where the segment's number begins in a place, and where the language's; before them is the chunk's number in its segment.
const SEGMENT_BIT: u32 = 32;
const LANGUAGE_BIT: u32 = 60;

/// Key → address and language, for the chunks that are there.
#[derive(Default)]
pub(crate) struct Places {
    pages: Vec<Option<Box<[u64]>>>,
    count: u64,
}

impl Places {
    /// Reads the keys of all living chunks.
    pub(crate) fn read(searcher: &Searcher) -> tantivy::Result<Self> {
        let mut places = Self::default();
        for (segment, reader) in (0u32..).zip(searcher.segment_readers()) {
            let fast = reader.fast_fields();
            let (keys, languages) = (fast.u64("key")?, fast.u64("language")?);
            for doc in reader.doc_ids_alive() {
                if let Some(key) = keys.first(doc) {
                    let language =
                        languages.first(doc).map_or(Language::Other, Language::from_number);
                    places.put(key, DocAddress::new(segment, doc), language);
                }
            }
        }
        Ok(places)
    }

    fn put(&mut self, key: u64, address: DocAddress, language: Language) {
        let Ok(key) = usize::try_from(key) else { return };
        let page = key / PAGE_KEYS;
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let Some(page) = self.pages.get_mut(page) else { return };
        let page = page.get_or_insert_with(|| vec![NOWHERE; PAGE_KEYS].into_boxed_slice());
        if let Some(place) = page.get_mut(key % PAGE_KEYS) {
            *place = language.number() << LANGUAGE_BIT
                | u64::from(address.segment_ord) << SEGMENT_BIT
                | u64::from(address.doc_id);
            self.count += 1;
        }
    }

    /// Where the chunk is, if it is.
    pub(crate) fn get(&self, key: u64) -> Option<DocAddress> {
        let place = self.place(key)? & ((1 << LANGUAGE_BIT) - 1);
        let (segment, doc) = (place >> SEGMENT_BIT, place & u64::from(u32::MAX));
        Some(DocAddress::new(u32::try_from(segment).ok()?, u32::try_from(doc).ok()?))
    }

    /// The chunk's language, if it is there.
    pub(crate) fn language(&self, key: u64) -> Option<Language> {
        self.place(key).map(|place| Language::from_number(place >> LANGUAGE_BIT))
    }

    fn place(&self, key: u64) -> Option<u64> {
        let key = usize::try_from(key).ok()?;
        let place = *self.pages.get(key / PAGE_KEYS)?.as_ref()?.get(key % PAGE_KEYS)?;
        (place != NOWHERE).then_some(place)
    }

    /// How many chunks are there.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The keys of all chunks that are there, ascending.
    pub(crate) fn keys(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let pages = (0u64..).zip(&self.pages).collect::<Vec<_>>();
        pages.into_iter().flat_map(|(page, places)| {
            let places = places.as_deref().unwrap_or_default();
            (0u64..).zip(places).collect::<Vec<_>>().into_iter().filter_map(move |(slot, place)| {
                (*place != NOWHERE).then_some(page * PAGE_KEYS as u64 + slot)
            })
        })
    }
}
