//! The embedder that needs nothing: the compiled-in encoder on as many threads as there are processors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use agent::ports::{EmbedFor, Embedder, Later, PortError};

use crate::encoder::{DIMENSIONS, Encoder, EncoderError};

/// Texts that one thread takes at a time: enough to share the weights' way through the cache.
const TEXTS_PER_PART: usize = 120;

/// Longest question that is encoded where it is asked, in bytes: that takes a fraction of a millisecond, and to hand it to
/// another thread about as long.
const QUESTION_BYTES_MAX: usize = 300;

/// Questions about anything, a line each: what they have in common is what makes a question a question.
const SAMPLE_QUESTIONS: &str = include_str!("../assets/sample-questions.txt");

/// Questions of the sample that are encoded together.
const QUESTIONS_AT_ONCE: usize = 8;

/// How much of what questions have in common is taken out of each; chosen on the evaluation sets.
const QUESTION_SHARE: f32 = 0.85;

/// Korean and English sentences to vectors, offline.
#[derive(Clone)]
pub struct BuiltInEmbedder {
    identity: String,
    threads: usize,
    loaded: Arc<OnceLock<Result<Loaded, EncoderError>>>,
}

/// What the first text that is embedded brings into memory.
struct Loaded {
    encoder: Encoder,
    /// The mean vector of questions, made by the first one that is asked.
    question: OnceLock<Vec<f32>>,
}

impl BuiltInEmbedder {
    /// The encoder is unpacked, in some milliseconds, when something is embedded: where another embedder is used, it is
    /// seldom needed.
    pub fn new() -> Result<Self, EncoderError> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self { identity: Encoder::built_in_identity()?, threads, loaded: Arc::default() })
    }

    fn loaded(&self) -> Result<&Loaded, PortError> {
        let load =
            || Encoder::built_in().map(|encoder| Loaded { encoder, question: OnceLock::new() });
        let loaded = self.loaded.get_or_init(load).as_ref();
        loaded.map_err(|error| broken(error.clone()))
    }
}

impl Loaded {
    /// Takes out of a question's vector what all questions share, so that its subject counts for more.
    fn without_the_asking(&self, mut vector: Vec<f32>) -> Vec<f32> {
        let mean = self.question.get_or_init(|| mean_question(&self.encoder));
        for (number, shared) in vector.iter_mut().zip(mean) {
            *number -= QUESTION_SHARE * shared;
        }
        unit(vector)
    }
}

impl Embedder for BuiltInEmbedder {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed<'a>(&'a self, texts: &'a [String], purpose: EmbedFor) -> Later<'a, Vec<Vec<f32>>> {
        Box::pin(async move {
            if let ([question], EmbedFor::Query, Some(Ok(loaded))) =
                (texts, purpose, self.loaded.get())
                && question.len() <= QUESTION_BYTES_MAX
                // The first question is kept waiting until the mean is known.
                && loaded.question.get().is_some()
            {
                let vectors = loaded.encoder.encode(&[question]).into_iter();
                return Ok(vectors.map(|vector| loaded.without_the_asking(vector)).collect());
            }
            let parts = texts.len().div_ceil(TEXTS_PER_PART);
            let queue = Arc::new(Queue { texts: texts.to_vec(), taken: AtomicUsize::new(0) });
            let mut working = Vec::new();
            for _ in 0..parts.min(self.threads) {
                let (queue, this) = (Arc::clone(&queue), self.clone());
                let work = move || Ok::<_, PortError>(queue.encode(&this.loaded()?.encoder));
                working.push(tokio::task::spawn_blocking(work));
            }
            let mut encoded = Vec::with_capacity(parts);
            for work in working {
                encoded.extend(work.await.map_err(broken)??);
            }
            encoded.sort_unstable_by_key(|(part, _)| *part);
            let vectors = encoded.into_iter().flat_map(|(_, vectors)| vectors);
            Ok(match purpose {
                EmbedFor::Passage => vectors.collect(),
                EmbedFor::Query => {
                    let loaded = self.loaded()?;
                    vectors.map(|vector| loaded.without_the_asking(vector)).collect()
                }
            })
        })
    }
}

fn broken(source: impl std::error::Error + Send + Sync + 'static) -> PortError {
    PortError::Broken { what: "the built-in embedder", source: Box::new(source) }
}

fn mean_question(encoder: &Encoder) -> Vec<f32> {
    let questions: Vec<&str> = SAMPLE_QUESTIONS.lines().filter(|line| !line.is_empty()).collect();
    let mut mean = vec![0.0; encoder.dimensions()];
    // A few at a time: all of them together would need ten megabytes to work in, for this once.
    for some in questions.chunks(QUESTIONS_AT_ONCE) {
        for vector in encoder.encode(some) {
            for (sum, number) in mean.iter_mut().zip(vector) {
                *sum += number / questions.len() as f32;
            }
        }
    }
    mean
}

/// The same direction with length one; a vector of nothing stays as it is.
fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        for number in &mut vector {
            *number /= length;
        }
    }
    vector
}

/// Texts that several threads encode, part by part: who is faster takes more of them.
struct Queue {
    texts: Vec<String>,
    /// Parts that somebody has taken.
    taken: AtomicUsize,
}

impl Queue {
    /// Encodes parts while there are any; each comes with its place.
    fn encode(&self, encoder: &Encoder) -> Vec<(usize, Vec<Vec<f32>>)> {
        let next = || {
            let part = self.taken.fetch_add(1, Ordering::Relaxed);
            self.texts.chunks(TEXTS_PER_PART).nth(part).map(|texts| (part, texts))
        };
        let encoded = std::iter::from_fn(next).map(|(part, texts)| {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            (part, encoder.encode(&texts))
        });
        encoded.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn texts_that_threads_share_come_back_in_order() {
        let embedder = BuiltInEmbedder { threads: 3, ..BuiltInEmbedder::new().unwrap() };
        let texts: Vec<String> =
            (0..TEXTS_PER_PART * 4 + 1).map(|number| format!("report {number}")).collect();
        let vectors = embedder.embed(&texts, EmbedFor::Passage).await.unwrap();
        let each: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert!(vectors == embedder.loaded().unwrap().encoder.encode(&each));
        assert!(embedder.embed(&[], EmbedFor::Passage).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn nothing_is_unpacked_before_something_is_embedded() {
        let embedder = BuiltInEmbedder::new().unwrap();
        let (identity, dimensions) = (embedder.identity().to_owned(), embedder.dimensions());
        assert!(embedder.loaded.get().is_none());
        embedder.embed(&["report".to_owned()], EmbedFor::Query).await.unwrap();
        let encoder = &embedder.loaded().unwrap().encoder;
        assert_eq!((encoder.identity(), encoder.dimensions()), (identity.as_str(), dimensions));
    }
}
