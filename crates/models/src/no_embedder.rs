//! The embedder of those who want keywords only: it makes no vectors.

use agent::ports::{EmbedFor, Embedder, Later};

/// Gives nothing, at no cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEmbedder;

impl Embedder for NoEmbedder {
    fn identity(&self) -> &str {
        "none"
    }

    fn dimensions(&self) -> usize {
        0
    }

    fn embed<'a>(&'a self, texts: &'a [String], _purpose: EmbedFor) -> Later<'a, Vec<Vec<f32>>> {
        let empty = vec![Vec::new(); texts.len()];
        Box::pin(async move { Ok(empty) })
    }
}
