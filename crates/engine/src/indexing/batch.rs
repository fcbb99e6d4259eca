//! Documents that go into an index together, and the vectors of their pieces.

use std::collections::HashMap;
use std::sync::Arc;

use agent::knowledge::DocumentChunks;
use agent::ports::{EmbedFor, Embedder, PortError};

use crate::reading::Piece;

/// Changes on their way into the index.
#[derive(Default)]
pub(super) struct Batch {
    /// The last of them.
    pub(super) last: u64,
    pub(super) bytes: usize,
    pub(super) documents: Vec<DocumentChunks>,
    /// What is to be embedded, each with the place of its document.
    pub(super) pieces: Vec<(usize, Piece)>,
}

/// Gives every chunk of a batch the vectors of its pieces.
pub(super) async fn embed(
    embedder: Option<&Arc<dyn Embedder>>,
    batch: Option<Batch>,
) -> Result<Option<Batch>, PortError> {
    let Some(mut batch) = batch else { return Ok(None) };
    let Some(embedder) = embedder else { return Ok(Some(batch)) };
    // The chunks of a section have its headings in common, and each text is embedded once.
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut places = Vec::with_capacity(batch.pieces.len());
    for (document, piece) in std::mem::take(&mut batch.pieces) {
        let next = known.len();
        places.push((document, piece.chunk, *known.entry(piece.text).or_insert(next)));
    }
    let mut texts = vec![String::new(); known.len()];
    for (text, place) in known {
        if let Some(slot) = texts.get_mut(place) {
            *slot = text;
        }
    }
    if texts.is_empty() {
        return Ok(Some(batch));
    }
    let vectors = embedder.embed(&texts, EmbedFor::Passage).await?;
    for (document, chunk, text) in places {
        let of = batch.documents.get_mut(document).and_then(|of| of.chunks.get_mut(chunk));
        if let (Some(of), Some(vector)) = (of, vectors.get(text)) {
            of.vectors.push(vector.clone());
        }
    }
    Ok(Some(batch))
}

#[cfg(test)]
mod tests {
    use agent::filter::Tags;
    use agent::knowledge::NewChunk;
    use testkit::lengths::Lengths;

    use super::*;

    fn document(chunks: usize) -> DocumentChunks {
        let chunk = NewChunk {
            ordinal: 0,
            section: 0,
            text: String::new(),
            heading_path: Vec::new(),
            range: 0..0,
            tags: Tags::new(),
            vectors: Vec::new(),
        };
        DocumentChunks {
            document: "0".repeat(32).parse().unwrap(),
            title: String::new(),
            source: String::new(),
            tags: Tags::new(),
            chunks: vec![chunk; chunks],
        }
    }

    #[tokio::test]
    async fn a_text_that_chunks_have_in_common_is_embedded_once_and_each_has_its_vector() {
        let piece =
            |document, chunk, text: &str| (document, Piece { chunk, text: text.to_owned() });
        let batch = Batch {
            documents: vec![document(2), document(1)],
            pieces: vec![
                piece(0, 0, "a"),
                piece(0, 0, "heading"),
                piece(0, 1, "bcd"),
                piece(0, 1, "heading"),
                piece(1, 0, "heading"),
            ],
            ..Batch::default()
        };
        let lengths = Arc::new(Lengths::default());
        let embedder: Arc<dyn Embedder> = Arc::clone(&lengths) as _;
        let batch = embed(Some(&embedder), Some(batch)).await.unwrap().unwrap();
        assert_eq!(lengths.asked(), ["a", "heading", "bcd"]);
        let vectors = |of: &DocumentChunks| -> Vec<_> {
            of.chunks.iter().map(|chunk| chunk.vectors.concat()).collect()
        };
        let all: Vec<_> = batch.documents.iter().map(vectors).collect();
        assert_eq!(all, [vec![vec![1.0, 7.0], vec![3.0, 7.0]], vec![vec![7.0]]]);
    }
}
