//! The embedder that needs nothing: the compiled-in encoder on as many threads as there are processors.

use std::sync::Arc;

use agent::ports::{EmbedFor, Embedder, Later, PortError};

use crate::encoder::{Encoder, EncoderError};

/// Texts that one thread takes at a time: enough to share the weights' way through the cache.
const TEXTS_PER_PART: usize = 120;

/// Korean and English sentences to vectors, offline.
#[derive(Clone)]
pub struct BuiltInEmbedder {
    encoder: Arc<Encoder>,
    threads: usize,
}

impl BuiltInEmbedder {
    /// Unpacks the encoder; takes some milliseconds.
    pub fn new() -> Result<Self, EncoderError> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self { encoder: Arc::new(Encoder::built_in()?), threads })
    }
}

impl Embedder for BuiltInEmbedder {
    fn identity(&self) -> &str {
        self.encoder.identity()
    }

    fn dimensions(&self) -> usize {
        self.encoder.dimensions()
    }

    fn embed<'a>(&'a self, texts: &'a [String], _purpose: EmbedFor) -> Later<'a, Vec<Vec<f32>>> {
        Box::pin(async move {
            let parts: Vec<Vec<String>> =
                texts.chunks(TEXTS_PER_PART).map(<[String]>::to_vec).collect();
            let share = parts.len().div_ceil(self.threads).max(1);
            let mut working = Vec::new();
            for parts in parts.chunks(share) {
                let (parts, encoder) = (parts.to_vec(), Arc::clone(&self.encoder));
                working.push(tokio::task::spawn_blocking(move || encode(&encoder, &parts)));
            }
            let mut vectors = Vec::with_capacity(texts.len());
            for work in working {
                vectors.extend(work.await.map_err(|error| PortError::Broken {
                    what: "the built-in embedder",
                    source: Box::new(error),
                })?);
            }
            Ok(vectors)
        })
    }
}

fn encode(encoder: &Encoder, parts: &[Vec<String>]) -> Vec<Vec<f32>> {
    let one = |part: &Vec<String>| {
        let texts: Vec<&str> = part.iter().map(String::as_str).collect();
        encoder.encode(&texts)
    };
    parts.iter().flat_map(one).collect()
}
