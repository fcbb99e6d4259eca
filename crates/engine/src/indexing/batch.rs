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
    texts: Texts,
    /// One of each text, once they are embedded.
    vectors: Vec<Vec<f32>>,
}

/// What is to be embedded. The chunks of a section have its headings in common, and each text is embedded once.
#[derive(Default)]
struct Texts {
    places: HashMap<String, usize>,
    /// Where each vector goes.
    wanted: Vec<Wanted>,
}

struct Wanted {
    document: usize,
    chunk: usize,
    text: usize,
}

impl Batch {
    /// Takes in what a change brings.
    pub(super) fn add(&mut self, sequence: u64, of: DocumentChunks, pieces: Vec<Piece>) {
        self.last = sequence;
        self.bytes += of.chunks.iter().map(|chunk| chunk.text.len()).sum::<usize>();
        let document = self.documents.len();
        self.documents.push(of);
        let Texts { places, wanted } = &mut self.texts;
        for Piece { chunk, text } in pieces {
            let next = places.len();
            let text = *places.entry(text).or_insert(next);
            wanted.push(Wanted { document, chunk, text });
        }
    }

    /// Vectors that it will have.
    pub(super) fn pieces(&self) -> usize {
        self.texts.wanted.len()
    }

    /// Gives every chunk the vectors of its pieces.
    pub(super) fn hand_out(&mut self) {
        for Wanted { document, chunk, text } in std::mem::take(&mut self.texts.wanted) {
            let of = self.documents.get_mut(document).and_then(|of| of.chunks.get_mut(chunk));
            if let (Some(of), Some(vector)) = (of, self.vectors.get(text)) {
                of.vectors.push(vector.clone());
            }
        }
        self.vectors = Vec::new();
    }
}

/// Has the texts of a batch embedded.
pub(super) async fn embed(
    embedder: Option<&Arc<dyn Embedder>>,
    batch: Option<Batch>,
) -> Result<Option<Batch>, PortError> {
    let Some(mut batch) = batch else { return Ok(None) };
    let places = std::mem::take(&mut batch.texts.places);
    let Some(embedder) = embedder.filter(|_| !places.is_empty()) else { return Ok(Some(batch)) };
    let mut texts = vec![String::new(); places.len()];
    for (text, place) in places {
        if let Some(slot) = texts.get_mut(place) {
            *slot = text;
        }
    }
    batch.vectors = embedder.embed(&texts, EmbedFor::Passage).await?;
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
        let piece = |chunk, text: &str| Piece { chunk, text: text.to_owned() };
        let mut batch = Batch::default();
        let first = [piece(0, "a"), piece(0, "heading"), piece(1, "bcd"), piece(1, "heading")];
        batch.add(1, document(2), first.into());
        batch.add(2, document(1), vec![piece(0, "heading")]);
        assert_eq!((batch.last, batch.pieces()), (2, 5));
        let lengths = Arc::new(Lengths::default());
        let embedder: Arc<dyn Embedder> = Arc::clone(&lengths) as _;
        let mut batch = embed(Some(&embedder), Some(batch)).await.unwrap().unwrap();
        batch.hand_out();
        assert_eq!(lengths.asked(), ["a", "heading", "bcd"]);
        let vectors = |of: &DocumentChunks| -> Vec<_> {
            of.chunks.iter().map(|chunk| chunk.vectors.concat()).collect()
        };
        let all: Vec<_> = batch.documents.iter().map(vectors).collect();
        assert_eq!(all, [vec![vec![1.0, 7.0], vec![3.0, 7.0]], vec![vec![7.0]]]);
    }
}
