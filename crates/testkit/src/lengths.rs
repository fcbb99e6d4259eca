//! An embedder for tests: a vector says how long its text is.

use std::sync::Mutex;

use agent::ports::{EmbedFor, Embedder, Later};

/// Gives every text its length, negative for a question, and notes what it was asked.
#[derive(Default)]
pub struct Lengths {
    asked: Mutex<Vec<String>>,
}

impl Lengths {
    /// All texts that it has embedded, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Embedder for Lengths {
    fn identity(&self) -> &'static str {
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
