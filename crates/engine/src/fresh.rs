//! Chunks of documents that are being kept: the indexer takes them from here instead of cutting them again.

use std::collections::HashMap;

use agent::knowledge::Document;
use agent::names::DocumentId;
use agent::ports::Change;

use crate::reading::Cut;

/// Text that may wait here, in bytes; what does not fit is read from the store when its turn comes.
const BYTES_MAX: usize = 48 << 20;

/// Names what was announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    document: DocumentId,
    number: u64,
}

/// What is announced before it is kept: the indexer may see the change before the one who brought it hears of it.
/// Of each document there is only what was announced last.
#[derive(Default)]
pub(crate) struct Fresh {
    bytes: usize,
    /// Those of what is known to be kept.
    kept_bytes: usize,
    tickets: u64,
    announced: HashMap<DocumentId, Announced>,
}

struct Announced {
    ticket: u64,
    document: Document,
    cut: Cut,
    /// The change that brought it, once that is known.
    sequence: Option<u64>,
}

impl Fresh {
    /// Takes what was made of a document that is about to be kept.
    pub(crate) fn announce(&mut self, document: Document, cut: Cut) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket { document: document.id.clone(), number: self.tickets };
        self.remove(&ticket.document);
        let bytes = size(&cut);
        if bytes > BYTES_MAX {
            return ticket;
        }
        if self.bytes + bytes > BYTES_MAX {
            self.announced.clear();
            (self.bytes, self.kept_bytes) = (0, 0);
        }
        self.bytes += bytes;
        let announced = Announced { ticket: ticket.number, document, cut, sequence: None };
        self.announced.insert(ticket.document.clone(), announced);
        ticket
    }

    /// It is kept, as this change.
    pub(crate) fn confirm(&mut self, ticket: &Ticket, sequence: u64) {
        let announced = self.announced.get_mut(&ticket.document);
        if let Some(announced) = announced.filter(|announced| announced.ticket == ticket.number) {
            announced.sequence = Some(sequence);
            self.kept_bytes += size(&announced.cut);
        }
    }

    /// It is not kept.
    pub(crate) fn withdraw(&mut self, ticket: &Ticket) {
        let announced = self.announced.get(&ticket.document);
        if announced.is_some_and(|announced| announced.ticket == ticket.number) {
            self.remove(&ticket.document);
        }
    }

    /// Text that waits here for the indexer.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// What was made of the document that this change brought, if it is known to have brought it.
    pub(crate) fn take(&mut self, change: &Change) -> Option<Cut> {
        let sequence = self.announced.get(&change.document)?.sequence?;
        // An earlier one is never asked for again: its document has changed since.
        let cut = if sequence <= change.sequence { self.remove(&change.document) } else { None };
        cut.filter(|_| sequence == change.sequence)
    }

    /// What was made of this document, if it is the one that was announced.
    pub(crate) fn take_announced(&mut self, kept: &Document) -> Option<Cut> {
        let announced = &mut self.announced.get_mut(&kept.id)?.document;
        // Only keeping gives it its numbers.
        (announced.sequence, announced.accepted) = (kept.sequence, kept.accepted);
        if announced == kept { self.remove(&kept.id) } else { None }
    }

    fn remove(&mut self, document: &DocumentId) -> Option<Cut> {
        let Announced { cut, sequence, .. } = self.announced.remove(document)?;
        self.bytes -= size(&cut);
        self.kept_bytes -= if sequence.is_some() { size(&cut) } else { 0 };
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
    use agent::knowledge::{DocumentChunks, NewChunk};

    fn document(title: &str) -> Document {
        testkit::samples::document(&"0".repeat(32).parse().unwrap(), "things", title)
    }

    fn change(sequence: u64) -> Change {
        Change { sequence, document: document("").id }
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
        assert!(fresh.take(&change(1)).is_none(), "nobody knows yet that it was change 1");
        assert_eq!(fresh.kept_bytes(), 0);
        fresh.confirm(&ticket, 1);
        assert_eq!(fresh.kept_bytes(), 10);
        assert_eq!(fresh.take(&change(1)).as_ref().map(size), Some(10));
        assert!(fresh.take(&change(1)).is_none());
        assert_eq!((fresh.bytes, fresh.kept_bytes), (0, 0));
    }

    #[test]
    fn the_indexer_may_come_before_it_is_confirmed() {
        let mut fresh = Fresh::default();
        let ticket = fresh.announce(document("a"), cut(10));
        let kept = Document { sequence: 7, accepted: 5, ..document("a") };
        assert_eq!(fresh.take_announced(&kept).as_ref().map(size), Some(10));
        fresh.confirm(&ticket, 7);
        assert!(fresh.take(&change(7)).is_none());
        assert_eq!((fresh.bytes, fresh.kept_bytes), (0, 0));
    }

    #[test]
    fn another_version_is_not_taken_for_the_kept_one() {
        let mut fresh = Fresh::default();
        let first = fresh.announce(document("a"), cut(10));
        let second = fresh.announce(document("b"), cut(20));
        let kept = Document { sequence: 7, ..document("a") };
        fresh.confirm(&first, 7);
        fresh.withdraw(&first);
        assert!(fresh.take(&change(7)).is_none() && fresh.take_announced(&kept).is_none());
        fresh.confirm(&second, 8);
        assert_eq!(fresh.take(&change(8)).as_ref().map(size), Some(20));
    }

    #[test]
    fn what_is_never_asked_for_does_not_stay() {
        let mut fresh = Fresh::default();
        let ticket = fresh.announce(document("a"), cut(10));
        fresh.confirm(&ticket, 1);
        assert!(fresh.take(&change(2)).is_none(), "it was deleted before it was indexed");
        assert_eq!((fresh.bytes, fresh.kept_bytes), (0, 0));
        let ticket = fresh.announce(document("a"), cut(10));
        fresh.withdraw(&ticket);
        assert!(fresh.announced.is_empty());
    }

    #[test]
    fn it_never_holds_more_than_its_limit() {
        let mut fresh = Fresh::default();
        let document = |digit: char| {
            testkit::samples::document(&testkit::samples::id(digit), "things", "large")
        };
        for (sequence, digit) in (1..).zip('0'..='9') {
            let ticket = fresh.announce(document(digit), cut(BYTES_MAX / 3));
            fresh.confirm(&ticket, sequence);
            let held: usize = fresh.announced.values().map(|one| size(&one.cut)).sum();
            assert!(held == fresh.bytes && held == fresh.kept_bytes && held <= BYTES_MAX);
        }
        let ticket = fresh.announce(document('a'), cut(BYTES_MAX + 1));
        fresh.confirm(&ticket, 11);
        let mut take = |digit, sequence| {
            fresh.take(&Change { sequence, document: testkit::samples::id(digit) })
        };
        assert!(take('a', 11).is_none() && take('9', 10).is_some());
    }
}
