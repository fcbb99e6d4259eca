//! Merges what the two sides of a search found.

use crate::knowledge::Found;
use crate::ports::{ChunkKey, Hit};

/// A chunk with the score that both sides give it together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fused {
    pub key: ChunkKey,
    pub score: f32,
    pub found: Found,
}

impl Fused {
    /// A chunk that a filter alone has listed.
    #[must_use]
    pub fn listed(hit: Hit) -> Self {
        Self { key: hit.key, score: hit.score, found: Found::default() }
    }
}

/// The best `count` of both lists.
#[must_use]
pub fn fuse(keyword: &[Hit], _keyword_score_max: f32, vector: &[Hit], count: usize) -> Vec<Fused> {
    let mut all: Vec<Fused> = Vec::new();
    let top = keyword.first().map_or(1.0, |hit| hit.score.max(f32::MIN_POSITIVE));
    for (rank, hit) in (1..).zip(keyword) {
        let found =
            Found { keyword_rank: Some(rank), keyword_score: Some(hit.score), ..Found::default() };
        all.push(Fused { key: hit.key, score: 0.75 * hit.score / top, found });
    }
    for (rank, hit) in (1..).zip(vector) {
        let share = 0.25 * hit.score.max(0.0);
        if let Some(known) = all.iter_mut().find(|known| known.key == hit.key) {
            known.score += share;
            known.found.vector_rank = Some(rank);
            known.found.similarity = Some(hit.score);
        } else {
            let found =
                Found { vector_rank: Some(rank), similarity: Some(hit.score), ..Found::default() };
            all.push(Fused { key: hit.key, score: share, found });
        }
    }
    all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
    all.truncate(count);
    all
}
