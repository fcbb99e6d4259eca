//! Chunks of documents that have just been kept: the indexer takes them from here instead of cutting them again.

use std::collections::HashMap;

use agent::knowledge::DocumentChunks;

use crate::reading::Piece;

/// Text that may wait here, in bytes; what does not fit is read from the store when its turn comes.
const BYTES_MAX: usize = 48 << 20;

/// By the number of the change that brought them.
#[derive(Default)]
pub(crate) struct Fresh {
    bytes: usize,
    chunks: HashMap<u64, (DocumentChunks, Vec<Piece>)>,
}

impl Fresh {
    pub(crate) fn put(&mut self, sequence: u64, chunks: DocumentChunks, pieces: Vec<Piece>) {
        let bytes = size(&chunks);
        if bytes > BYTES_MAX {
            return;
        }
        if self.bytes + bytes > BYTES_MAX {
            // Some may never be asked for: their document has changed again.
            self.chunks.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.chunks.insert(sequence, (chunks, pieces));
    }

    /// Text that waits here.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn take(&mut self, sequence: u64) -> Option<(DocumentChunks, Vec<Piece>)> {
        let taken = self.chunks.remove(&sequence)?;
        self.bytes -= size(&taken.0);
        Some(taken)
    }
}

fn size(chunks: &DocumentChunks) -> usize {
    chunks.chunks.iter().map(|chunk| chunk.text.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::filter::Tags;
    use agent::knowledge::NewChunk;

    fn chunks(bytes: usize) -> DocumentChunks {
        let chunk = NewChunk {
            ordinal: 0,
            section: 0,
            text: "x".repeat(bytes),
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
            chunks: vec![chunk],
        }
    }

    #[test]
    fn what_is_taken_is_gone() {
        let mut fresh = Fresh::default();
        fresh.put(1, chunks(10), Vec::new());
        assert!(fresh.take(2).is_none());
        assert_eq!(fresh.take(1).map(|(of, _)| of), Some(chunks(10)));
        assert!(fresh.take(1).is_none());
        assert_eq!(fresh.bytes, 0);
    }

    #[test]
    fn it_never_holds_more_than_its_limit() {
        let mut fresh = Fresh::default();
        for sequence in 0..10 {
            fresh.put(sequence, chunks(BYTES_MAX / 3), Vec::new());
            let held: usize = fresh.chunks.values().map(|(of, _)| size(of)).sum();
            assert!(held == fresh.bytes && held <= BYTES_MAX);
        }
        fresh.put(11, chunks(BYTES_MAX + 1), Vec::new());
        assert!(fresh.take(11).is_none() && fresh.take(9).is_some());
    }
}
