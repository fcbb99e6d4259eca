//! Chunks of documents that are being kept: the indexer takes them from here instead of cutting them again.

use std::collections::HashMap;

use agent::knowledge::{Document, DocumentChunks};
use agent::names::DocumentId;

use crate::reading::Piece;

/// Text that may wait here, in bytes; what does not fit is read from the store when its turn comes.
const BYTES_MAX: usize = 48 << 20;

/// What was made of a document.
pub(crate) type Cut = (DocumentChunks, Vec<Piece>);

/// Names what was announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ticket(u64);

/// What is announced before it is kept: the indexer may see the change before the one who brought it hears of it.
#[derive(Default)]
pub(crate) struct Fresh {
    bytes: usize,
    /// Those of what is known to be kept.
    kept_bytes: usize,
    next: u64,
    announced: HashMap<Ticket, Announced>,
    /// By the number of the change that brought them.
    kept: HashMap<u64, Ticket>,
    latest: HashMap<DocumentId, Ticket>,
}

struct Announced {
    document: Document,
    cut: Cut,
    is_kept: bool,
}

impl Fresh {
    /// Takes what was made of a document that is about to be kept.
    pub(crate) fn announce(&mut self, document: Document, cut: Cut) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        let bytes = size(&cut);
        if bytes > BYTES_MAX {
            return ticket;
        }
        if self.bytes + bytes > BYTES_MAX {
            // Some may never be asked for: their document has changed again.
            self.announced.clear();
            self.kept.clear();
            self.latest.clear();
            (self.bytes, self.kept_bytes) = (0, 0);
        }
        self.bytes += bytes;
        self.latest.insert(document.id.clone(), ticket);
        self.announced.insert(ticket, Announced { document, cut, is_kept: false });
        ticket
    }

    /// It is kept, as this change.
    pub(crate) fn confirm(&mut self, ticket: Ticket, sequence: u64) {
        if let Some(announced) = self.announced.get_mut(&ticket) {
            announced.is_kept = true;
            self.kept_bytes += size(&announced.cut);
            self.kept.insert(sequence, ticket);
        }
    }

    /// It is not kept.
    pub(crate) fn withdraw(&mut self, ticket: Ticket) {
        self.remove(ticket);
    }

    /// Text that waits here for the indexer.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// What was made of the document that this change brought, if it is known to have brought it.
    pub(crate) fn take(&mut self, sequence: u64) -> Option<Cut> {
        let ticket = self.kept.remove(&sequence)?;
        self.remove(ticket)
    }

    /// What was made of this document, if it is the one that was announced last.
    pub(crate) fn take_announced(&mut self, kept: &Document) -> Option<Cut> {
        let ticket = *self.latest.get(&kept.id)?;
        let announced = self.announced.get(&ticket)?.document.clone();
        // Only keeping gives it its numbers.
        let numbered = Document { sequence: kept.sequence, accepted: kept.accepted, ..announced };
        if numbered == *kept { self.remove(ticket) } else { None }
    }

    fn remove(&mut self, ticket: Ticket) -> Option<Cut> {
        let Announced { document, cut, is_kept } = self.announced.remove(&ticket)?;
        self.bytes -= size(&cut);
        self.kept_bytes -= if is_kept { size(&cut) } else { 0 };
        if self.latest.get(&document.id) == Some(&ticket) {
            self.latest.remove(&document.id);
        }
        Some(cut)
    }
}

fn size((of, _): &Cut) -> usize {
    of.chunks.iter().map(|chunk| chunk.text.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::filter::Tags;
    use agent::knowledge::NewChunk;

    fn document(title: &str) -> Document {
        testkit::samples::document(&"0".repeat(32).parse().unwrap(), "things", title)
    }

    fn cut(bytes: usize) -> Cut {
        let chunk = NewChunk {
            ordinal: 0,
            section: 0,
            text: "x".repeat(bytes),
            heading_path: Vec::new(),
            range: 0..0,
            tags: Tags::new(),
            vectors: Vec::new(),
        };
        let of = DocumentChunks {
            document: "0".repeat(32).parse().unwrap(),
            title: String::new(),
            source: String::new(),
            tags: Tags::new(),
            chunks: vec![chunk],
        };
        (of, Vec::new())
    }

    #[test]
    fn what_is_taken_is_gone() {
        let mut fresh = Fresh::default();
        let ticket = fresh.announce(document("a"), cut(10));
        assert!(fresh.take(1).is_none(), "nobody knows yet that it was change 1");
        assert_eq!(fresh.kept_bytes(), 0);
        fresh.confirm(ticket, 1);
        assert_eq!(fresh.kept_bytes(), 10);
        assert_eq!(fresh.take(1).as_ref().map(size), Some(10));
        assert!(fresh.take(1).is_none());
        assert_eq!((fresh.bytes, fresh.kept_bytes), (0, 0));
    }

    #[test]
    fn the_indexer_may_come_before_it_is_confirmed() {
        let mut fresh = Fresh::default();
        let ticket = fresh.announce(document("a"), cut(10));
        let kept = Document { sequence: 7, accepted: 5, ..document("a") };
        assert_eq!(fresh.take_announced(&kept).as_ref().map(size), Some(10));
        fresh.confirm(ticket, 7);
        assert!(fresh.take(7).is_none() && fresh.bytes == 0 && fresh.kept.is_empty());
    }

    #[test]
    fn another_version_is_not_taken_for_the_kept_one() {
        let mut fresh = Fresh::default();
        let first = fresh.announce(document("a"), cut(10));
        let second = fresh.announce(document("b"), cut(20));
        let kept = Document { sequence: 7, ..document("a") };
        assert!(fresh.take_announced(&kept).is_none(), "another one was announced last");
        fresh.withdraw(second);
        fresh.confirm(first, 7);
        assert_eq!(fresh.take(7).as_ref().map(size), Some(10));
        assert!(fresh.bytes == 0 && fresh.latest.is_empty());
    }

    #[test]
    fn it_never_holds_more_than_its_limit() {
        let mut fresh = Fresh::default();
        for sequence in 0..10 {
            let ticket = fresh.announce(document("a"), cut(BYTES_MAX / 3));
            fresh.confirm(ticket, sequence);
            let held: usize = fresh.announced.values().map(|one| size(&one.cut)).sum();
            assert!(held == fresh.bytes && held <= BYTES_MAX);
        }
        let ticket = fresh.announce(document("b"), cut(BYTES_MAX + 1));
        fresh.confirm(ticket, 11);
        assert!(fresh.take(11).is_none() && fresh.take(9).is_some());
    }
}
