//! Collects the best chunks of a query among those that a filter allows, skipping what cannot be among them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::fastfield::AliveBitSet;
use tantivy::query::Weight;
use tantivy::{DocAddress, DocId, Score, Searcher, SegmentOrdinal, SegmentReader};

use crate::bits::Bits;

/// Which chunks pass a filter, segment by segment; none means that all do.
pub(crate) type Allowed = Option<Arc<Vec<Bits>>>;

/// The `count` best by score; ties go to the earlier address, so that the order is stable.
pub(crate) struct Top {
    pub(crate) count: usize,
    pub(crate) allowed: Allowed,
}

impl Top {
    /// The best by the score of each passage, those of all segments in order; 0 is none.
    pub(crate) fn of_scores(
        &self,
        searcher: &Searcher,
        scores: &[Score],
    ) -> Vec<(Score, DocAddress)> {
        let (mut found, mut rest) = (Vec::new(), scores);
        for (segment, reader) in (0..).zip(searcher.segment_readers()) {
            let (own, others) = rest.split_at(rest.len().min(reader.max_doc() as usize));
            let allowed = self.allowed_in(segment);
            let alive = reader.alive_bitset();
            let scored = (0..).zip(own).filter(|(_, score)| **score > 0.0);
            let passing = scored.filter(|(doc, _)| passes(alive, allowed, *doc));
            found.extend(passing.map(|(doc, score)| (*score, DocAddress::new(segment, doc))));
            rest = others;
        }
        if found.len() > self.count {
            found.select_nth_unstable_by(self.count, best_first);
            found.truncate(self.count);
        }
        found.sort_unstable_by(best_first);
        found
    }

    fn allowed_in(&self, segment: SegmentOrdinal) -> Option<&Bits> {
        self.allowed.as_ref().and_then(|allowed| allowed.get(segment as usize))
    }
}

fn passes(alive: Option<&AliveBitSet>, allowed: Option<&Bits>, doc: DocId) -> bool {
    alive.is_none_or(|alive| alive.is_alive(doc)) && allowed.is_none_or(|all| all.contains(doc))
}

fn best_first(a: &(Score, DocAddress), b: &(Score, DocAddress)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

#[derive(PartialEq)]
struct Worst {
    score: Score,
    address: DocAddress,
}

impl Eq for Worst {}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Worst {
    /// The greatest is the worst: it leaves the heap first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.address.cmp(&other.address))
    }
}

impl Collector for Top {
    type Fruit = Vec<(Score, DocAddress)>;
    type Child = Never;

    fn for_segment(&self, _: SegmentOrdinal, _: &SegmentReader) -> tantivy::Result<Never> {
        Ok(Never)
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn collect_segment(
        &self,
        weight: &dyn Weight,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<Vec<(Score, DocAddress)>> {
        let allowed = self.allowed_in(segment);
        let alive = reader.alive_bitset();
        let mut heap: BinaryHeap<Worst> = BinaryHeap::with_capacity(self.count + 1);
        let mut threshold = Score::MIN;
        weight.for_each_pruning(Score::MIN, reader, &mut |doc: DocId, score| {
            if passes(alive, allowed, doc) {
                heap.push(Worst { score, address: DocAddress::new(segment, doc) });
                if heap.len() > self.count {
                    heap.pop();
                }
                if heap.len() == self.count {
                    threshold = heap.peek().map_or(Score::MIN, |worst| worst.score);
                }
            }
            threshold
        })?;
        Ok(heap.into_iter().map(|worst| (worst.score, worst.address)).collect())
    }

    fn merge_fruits(
        &self,
        segments: Vec<Vec<(Score, DocAddress)>>,
    ) -> tantivy::Result<Vec<(Score, DocAddress)>> {
        let mut all: Vec<(Score, DocAddress)> = segments.into_iter().flatten().collect();
        all.sort_by(best_first);
        all.truncate(self.count);
        Ok(all)
    }
}

/// A whole segment is collected at once, so nothing is collected one by one.
pub(crate) struct Never;

impl SegmentCollector for Never {
    type Fruit = Vec<(Score, DocAddress)>;

    fn collect(&mut self, _: DocId, _: Score) {}

    fn harvest(self) -> Self::Fruit {
        Vec::new()
    }
}
