//! An embedder that remembers: the same words are not embedded, or paid for, twice in a row.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::ports::{EmbedFor, Embedder, Later, PortError};
use agent::recent::Recent;

/// What a remembered text takes besides its letters and its vector, by estimate.
const ENTRY_BYTES: usize = 160;

/// Remembers what another embedder gave, up to a number of bytes. A document that changes in one place, and a question
/// that many ask, cost what is new of them.
pub struct Remembering {
    inner: Arc<dyn Embedder>,
    what: Remembered,
    known: Mutex<Recent<Key, Vec<f32>>>,
}

/// What is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remembered {
    Everything,
    /// Passages are handed on: where they cost little, remembering them costs as much.
    Questions,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_query: bool,
    /// The text itself, so that nobody's text can pass for another's.
    text: Arc<str>,
}

impl Remembering {
    /// Remembers for `inner`, in no more than about so many bytes.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>, what: Remembered, bytes_max: usize) -> Self {
        Self { inner, what, known: Mutex::new(Recent::new(bytes_max)) }
    }

    fn known(&self) -> MutexGuard<'_, Recent<Key, Vec<f32>>> {
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
        if self.what == Remembered::Questions && purpose == EmbedFor::Passage {
            return self.inner.embed(texts, purpose);
        }
        Box::pin(async move {
            let keys: Vec<Key> = texts.iter().map(|text| Key::new(text, purpose)).collect();
            let mut vectors: Vec<Option<Vec<f32>>> = {
                let mut known = self.known();
                keys.iter().map(|key| known.get(key)).collect()
            };
            let unknown = texts.iter().zip(&vectors).filter(|(_, vector)| vector.is_none());
            let missing: Vec<String> = unknown.map(|(text, _)| text.clone()).collect();
            if !missing.is_empty() {
                let mut given = self.inner.embed(&missing, purpose).await?.into_iter();
                let mut known = self.known();
                for (place, key) in vectors.iter_mut().zip(keys) {
                    if place.is_none() {
                        let vector = given.next().ok_or_else(too_few)?;
                        let bytes = key.text.len() + size_of_val(vector.as_slice()) + ENTRY_BYTES;
                        known.put(key, vector.clone(), bytes);
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

#[cfg(test)]
mod tests {
    use testkit::lengths::Lengths;

    use super::*;

    fn remembering(inner: &Arc<Lengths>, what: Remembered, bytes_max: usize) -> Remembering {
        Remembering::new(Arc::clone(inner) as Arc<dyn Embedder>, what, bytes_max)
    }

    async fn embed(embedder: &Remembering, texts: &[&str], purpose: EmbedFor) -> Vec<f32> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        embedder.embed(&texts, purpose).await.unwrap().concat()
    }

    #[tokio::test]
    async fn only_what_is_new_is_embedded_and_the_order_is_kept() {
        let inner = Arc::new(Lengths::default());
        let embedder = remembering(&inner, Remembered::Everything, 1 << 20);
        assert_eq!(embed(&embedder, &["a", "bb"], EmbedFor::Passage).await, [1.0, 2.0]);
        assert_eq!(embed(&embedder, &["bb", "ccc", "a"], EmbedFor::Passage).await, [2.0, 3.0, 1.0]);
        // A question is another thing than a passage of the same words.
        assert_eq!(embed(&embedder, &["a"], EmbedFor::Query).await, [-1.0]);
        assert_eq!(embed(&embedder, &["a"], EmbedFor::Query).await, [-1.0]);
        assert_eq!(inner.asked(), ["a", "bb", "ccc", "a"]);
    }

    #[tokio::test]
    async fn passages_are_handed_on_where_questions_alone_are_remembered() {
        let inner = Arc::new(Lengths::default());
        let embedder = remembering(&inner, Remembered::Questions, 1 << 20);
        for purpose in [EmbedFor::Passage, EmbedFor::Query] {
            let sign = if purpose == EmbedFor::Query { -1.0 } else { 1.0 };
            for _ in 0..2 {
                assert_eq!(embed(&embedder, &["a", "bb"], purpose).await, [sign, 2.0 * sign]);
            }
        }
        assert_eq!(inner.asked(), ["a", "bb", "a", "bb", "a", "bb"]);
    }

    #[tokio::test]
    async fn memory_is_bounded_and_what_is_asked_for_stays() {
        let inner = Arc::new(Lengths::default());
        let embedder = remembering(&inner, Remembered::Everything, 10 * 200);
        for number in 0..100 {
            embed(&embedder, &[&number.to_string()], EmbedFor::Query).await;
            embed(&embedder, &["0"], EmbedFor::Query).await;
        }
        assert_eq!(inner.asked().len(), 100, "the first was asked for all the time");
        embed(&embedder, &["1"], EmbedFor::Query).await;
        assert_eq!(inner.asked().len(), 101, "the second was not");
    }
}
