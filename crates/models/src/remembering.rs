//! An embedder that remembers: the same words are not embedded, or paid for, twice in a row.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::ports::{EmbedFor, Embedder, Later, PortError};

/// What a remembered text takes besides its letters and its vector, by estimate.
const ENTRY_BYTES: usize = 160;

/// Remembers what another embedder gave, up to a number of bytes. A document that changes in one place, and a question
/// that many ask, cost what is new of them.
pub struct Remembering {
    inner: Arc<dyn Embedder>,
    bytes_max: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// By the text itself, so that nobody's text can pass for another's.
    vectors: HashMap<Key, Remembered>,
    /// The keys that are there, in the order in which they may have to go.
    order: VecDeque<Key>,
    bytes: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    is_query: bool,
    text: Arc<str>,
}

struct Remembered {
    vector: Vec<f32>,
    /// Asked for since its turn to go came last.
    is_used: bool,
}

impl Remembering {
    /// Remembers for `inner`, in no more than about so many bytes.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>, bytes_max: usize) -> Self {
        Self { inner, bytes_max, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing that can panic happens between two changes that belong together.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Embedder for Remembering {
    fn identity(&self) -> &str {
        self.inner.identity()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed<'a>(&'a self, texts: &'a [String], purpose: EmbedFor) -> Later<'a, Vec<Vec<f32>>> {
        Box::pin(async move {
            let keys: Vec<Key> = texts.iter().map(|text| Key::new(text, purpose)).collect();
            let mut vectors: Vec<Option<Vec<f32>>> = {
                let mut known = self.known();
                keys.iter().map(|key| known.find(key)).collect()
            };
            let unknown = texts.iter().zip(&vectors).filter(|(_, vector)| vector.is_none());
            let missing: Vec<String> = unknown.map(|(text, _)| text.clone()).collect();
            if !missing.is_empty() {
                let mut given = self.inner.embed(&missing, purpose).await?.into_iter();
                let mut known = self.known();
                for (place, key) in vectors.iter_mut().zip(keys) {
                    if place.is_none() {
                        let vector = given.next().ok_or_else(too_few)?;
                        known.keep(key, &vector, self.bytes_max);
                        *place = Some(vector);
                    }
                }
            }
            Ok(vectors.into_iter().flatten().collect())
        })
    }
}

fn too_few() -> PortError {
    PortError::Broken { what: "the embedder", source: "it gave fewer vectors than texts".into() }
}

impl Key {
    fn new(text: &str, purpose: EmbedFor) -> Self {
        Self { is_query: purpose == EmbedFor::Query, text: text.into() }
    }
}

impl Known {
    fn find(&mut self, key: &Key) -> Option<Vec<f32>> {
        let remembered = self.vectors.get_mut(key)?;
        remembered.is_used = true;
        Some(remembered.vector.clone())
    }

    fn keep(&mut self, key: Key, vector: &[f32], bytes_max: usize) {
        let remembered = Remembered { vector: vector.to_vec(), is_used: false };
        let bytes = bytes(&key, &remembered);
        if bytes > bytes_max || self.vectors.insert(key.clone(), remembered).is_some() {
            return;
        }
        self.bytes += bytes;
        self.order.push_back(key);
        while self.bytes > bytes_max {
            let Some(oldest) = self.order.pop_front() else { break };
            match self.vectors.get_mut(&oldest) {
                Some(remembered) if remembered.is_used => {
                    remembered.is_used = false;
                    self.order.push_back(oldest);
                }
                _ => {
                    let gone = self.vectors.remove(&oldest);
                    self.bytes -= gone.map_or(0, |gone| self::bytes(&oldest, &gone));
                }
            }
        }
    }
}

fn bytes(key: &Key, remembered: &Remembered) -> usize {
    key.text.len() + size_of_val(remembered.vector.as_slice()) + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives every text its length, and notes what it was asked.
    #[derive(Default)]
    struct Lengths {
        asked: Mutex<Vec<String>>,
    }

    impl Embedder for Lengths {
        fn identity(&self) -> &str {
            "lengths"
        }

        fn dimensions(&self) -> usize {
            1
        }

        fn embed<'a>(&'a self, texts: &'a [String], purpose: EmbedFor) -> Later<'a, Vec<Vec<f32>>> {
            self.asked.lock().unwrap().extend_from_slice(texts);
            let sign = if purpose == EmbedFor::Query { -1.0 } else { 1.0 };
            let vectors = texts.iter().map(|text| vec![sign * text.len() as f32]).collect();
            Box::pin(std::future::ready(Ok(vectors)))
        }
    }

    async fn embed(embedder: &Remembering, texts: &[&str], purpose: EmbedFor) -> Vec<f32> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        embedder.embed(&texts, purpose).await.unwrap().concat()
    }

    #[tokio::test]
    async fn only_what_is_new_is_embedded_and_the_order_is_kept() {
        let inner = Arc::new(Lengths::default());
        let embedder = Remembering::new(Arc::clone(&inner) as Arc<dyn Embedder>, 1 << 20);
        assert_eq!(embed(&embedder, &["a", "bb"], EmbedFor::Passage).await, [1.0, 2.0]);
        assert_eq!(embed(&embedder, &["bb", "ccc", "a"], EmbedFor::Passage).await, [2.0, 3.0, 1.0]);
        // A question is another thing than a passage of the same words.
        assert_eq!(embed(&embedder, &["a"], EmbedFor::Query).await, [-1.0]);
        assert_eq!(embed(&embedder, &["a"], EmbedFor::Query).await, [-1.0]);
        assert_eq!(*inner.asked.lock().unwrap(), ["a", "bb", "ccc", "a"]);
    }

    #[tokio::test]
    async fn memory_is_bounded_and_what_is_asked_for_stays() {
        let inner = Arc::new(Lengths::default());
        let embedder = Remembering::new(Arc::clone(&inner) as Arc<dyn Embedder>, 10 * 200);
        for number in 0..100 {
            embed(&embedder, &[&number.to_string()], EmbedFor::Query).await;
            embed(&embedder, &["0"], EmbedFor::Query).await;
        }
        assert_eq!(inner.asked.lock().unwrap().len(), 100, "the first was asked for all the time");
        let known = embedder.known();
        assert!(known.bytes <= 2000 && known.order.len() == known.vectors.len());
    }
}
