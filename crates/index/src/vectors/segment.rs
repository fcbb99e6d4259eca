//! An open segment, and searching it.

use std::collections::HashSet;
use std::ops::Range;

use foldhash::fast::RandomState;
use pulp::bytemuck;

use super::codes::{self, BLOCK, Table};
use super::format::{self, Header, Layout};
use super::rotation::Rotation;
use super::scan::{self, Candidate, Candidates, Cluster};
use super::{Allowed, Effort, Hit, SegmentError, rows};

/// Most vectors that are compared row by row; beyond, codes find candidates first. So many rows
/// take well under a millisecond.
pub(super) const ROWS_ONLY_MAX: usize = 10_000;

/// A filter that allows less than this part of the vectors has them compared row by row: rows here
/// and there take some thirty times as long to read as codes one after the other.
const NARROW: usize = 32;

/// From about so many vectors on, the number to estimate grows like the logarithm of theirs; found
/// by measuring 20 thousand to a million.
const SPREAD_FROM: f64 = 500.0;

/// How much more a search does when it found too few keys.
const GROWTH: usize = 4;

/// Candidates ranked for each hit wanted, at least: estimates are off by more than hits lie apart.
const RANKED_PER_HIT: usize = 5;

/// Clusters ranked by their centroids, for each cluster that a search will look at, and how many
/// more in any case: sketches put some of the nearest centroids behind others.
const CLUSTERS_RANKED: f64 = 1.5;
const CLUSTERS_RANKED_MIN: usize = 32;

/// A segment in its bytes.
pub struct Segment<B> {
    bytes: B,
    header: Header,
    layout: Layout,
    rotation: Rotation,
    clusters: Vec<Place>,
}

/// What is known of a cluster without reading it: its centroid's length, where it is.
struct Place {
    /// How long the centroid is, and one over the length of its direction's codes.
    extent: f32,
    inverse_length: f32,
    first: u32,
    len: usize,
    first_block: usize,
}

/// Memory that searches use again and again.
#[derive(Default)]
pub struct Scratch {
    turned: Vec<f32>,
    query: Vec<i16>,
    table: Table,
    /// Clusters, each with its centroid's cosine.
    order: Vec<Candidate>,
    candidates: Candidates,
}

/// How many vectors one pass of a search looks at.
#[derive(Clone, Copy)]
struct Portion {
    estimated_min: usize,
    ranked: usize,
}

impl<B: AsRef<[u8]>> Segment<B> {
    /// Checks that the bytes are a whole segment; reads only its header and centroids.
    pub fn open(bytes: B) -> Result<Self, SegmentError> {
        let all = bytes.as_ref();
        let header = Header::read(all)?;
        let damaged = SegmentError::Damaged;
        let (layout, end) = header.layout().ok_or(damaged("its sizes are out of bounds"))?;
        if all.len() != end {
            return Err(damaged("its length is not what its header says"));
        }
        let clusters = read_clusters(all, &header, &layout)?;
        let rotation = Rotation::new(header.dimensions as usize);
        Ok(Self { bytes, header, layout, rotation, clusters })
    }

    pub fn len(&self) -> usize {
        self.header.vectors as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dimensions(&self) -> usize {
        self.header.dimensions as usize
    }

    /// The keys in the order of slots.
    pub fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        self.section(&self.layout.keys).as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// The key of the vector at `slot`.
    pub fn key(&self, slot: u32) -> Option<u64> {
        let keys = self.section(&self.layout.keys).as_chunks().0;
        keys.get(slot as usize).map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// The unit vector at `slot`, as exact as its row. Adding it to another segment makes the
    /// same row.
    pub fn vector(&self, slot: u32) -> Option<Vec<f32>> {
        if slot >= self.header.vectors {
            return None;
        }
        let mut vector = vec![0.0; self.width()];
        let codes = bytemuck::cast_slice(self.row(slot));
        rows::restore(codes, self.inverse_length(slot), &mut vector);
        self.rotation.turn_back(&mut vector);
        vector.truncate(self.dimensions());
        Some(vector)
    }

    /// Finds the `count` keys whose vectors have the largest cosine with `query`, best first; of
    /// vectors with the same key only the best counts. There are fewer only if fewer are allowed.
    pub fn search(
        &self,
        query: &[f32],
        count: usize,
        effort: Effort,
        allowed: &dyn Allowed,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>, SegmentError> {
        let worth = self.prepare(query, scratch)?;
        if count == 0 || allowed.count_max() == 0 {
            return Ok(Vec::new());
        }
        if self.clusters.is_empty() || allowed.count_max() <= self.len() / NARROW {
            self.rank_all(worth, allowed, scratch);
            return Ok(self.best_keys(&mut scratch.candidates.list, count, count));
        }
        scratch.table.prepare(&scratch.turned);
        let mut wanted = self.portion(effort, count, allowed);
        loop {
            self.order_clusters(worth, wanted.estimated_min, scratch);
            let seen = self.estimate(wanted, allowed, scratch);
            let complete = seen == self.len() && scratch.candidates.list.len() < wanted.ranked;
            self.rank(worth, scratch);
            // Usually the first portion has enough keys, and the others need no sorting.
            let portion = count.saturating_mul(2);
            let hits = self.best_keys(&mut scratch.candidates.list, count, portion);
            if hits.len() == count || complete {
                return Ok(hits);
            }
            wanted.estimated_min = wanted.estimated_min.saturating_mul(GROWTH);
            wanted.ranked = wanted.ranked.saturating_mul(GROWTH);
        }
    }

    /// Turns the query and writes it as whole numbers; returns what one of them is worth.
    fn prepare(&self, query: &[f32], scratch: &mut Scratch) -> Result<f32, SegmentError> {
        if query.len() != self.dimensions() {
            let (found, expected) = (query.len(), self.dimensions());
            return Err(SegmentError::Dimensions { found, expected });
        }
        if !rows::unit(query, self.width(), &mut scratch.turned) {
            return Err(SegmentError::NotFinite);
        }
        self.rotation.turn(&mut scratch.turned);
        Ok(rows::prepare_query(&scratch.turned, &mut scratch.query))
    }

    /// Where few of the vectors are allowed, more must be looked at to meet as many.
    fn portion(&self, effort: Effort, count: usize, allowed: &dyn Allowed) -> Portion {
        let all = self.len().max(1) as f64;
        let allowed = allowed.count_max().clamp(1, self.len().max(1)) as f64;
        let estimated_min = f64::from(effort.breadth) * (all / SPREAD_FROM).ln_1p() * all / allowed;
        Portion {
            // Not 0, which would stay so however often it grows.
            estimated_min: (estimated_min as usize).max(1),
            ranked: effort.ranked.max(count.saturating_mul(RANKED_PER_HIT)),
        }
    }

    /// Sorts the clusters by the cosines of their centroids with the query, largest first: if not
    /// all, then those that look nearest and together hold `vectors_min` vectors.
    fn order_clusters(&self, worth: f32, vectors_min: usize, scratch: &mut Scratch) {
        let share = vectors_min.min(self.len()) as f64 / self.len().max(1) as f64;
        let likely = share * CLUSTERS_RANKED * self.clusters.len() as f64;
        let likely = CLUSTERS_RANKED_MIN + likely as usize;
        self.pick_clusters(likely, scratch);
        let picked =
            scratch.order.iter().filter_map(|picked| self.clusters.get(picked.slot as usize));
        if picked.map(|place| place.len).sum::<usize>() < vectors_min {
            self.pick_clusters(self.clusters.len(), scratch);
        }
        let order = &mut scratch.order;
        rows::products(&scratch.query, self.section(&self.layout.directions), order);
        for candidate in order.iter_mut() {
            let place = self.clusters.get(candidate.slot as usize);
            candidate.score *= worth * place.map_or(0.0, |place| place.inverse_length);
        }
        order.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
    }

    /// Picks so many clusters by the sketches of their centroids.
    fn pick_clusters(&self, count: usize, scratch: &mut Scratch) {
        let Scratch { order, candidates, table, .. } = scratch;
        order.clear();
        let all = self.clusters.len();
        if count >= all {
            order.extend((0..all as u32).map(|slot| Candidate { score: 0.0, slot }));
            return;
        }
        let block_bytes = codes::block_bytes(self.width());
        let blocks = self.section(&self.layout.sketches);
        let sketches = Cluster { blocks, block_bytes, first: 0, len: all, base: 0.0 };
        candidates.start(count);
        scan::scan(table, &sketches, |_| true, candidates);
        candidates.cut();
        order.extend_from_slice(&candidates.list);
    }

    /// Fills the candidates with the best estimates; returns how many vectors were looked at.
    fn estimate(&self, wanted: Portion, allowed: &dyn Allowed, scratch: &mut Scratch) -> usize {
        let block_bytes = codes::block_bytes(self.width());
        let blocks = self.section(&self.layout.blocks);
        scratch.candidates.start(wanted.ranked);
        let mut seen = 0;
        for &Candidate { score: cosine, slot: number } in &scratch.order {
            let Some(place) = self.clusters.get(number as usize) else { continue };
            let start = place.first_block * block_bytes;
            let end = start + place.len.div_ceil(BLOCK) * block_bytes;
            let blocks = blocks.get(start..end).unwrap_or_default();
            let Place { first, len, extent, .. } = *place;
            let cluster = Cluster { blocks, block_bytes, first, len, base: cosine * extent };
            let allows = |slot| allowed.allows(slot, self.key(slot).unwrap_or_default());
            scan::scan(&scratch.table, &cluster, allows, &mut scratch.candidates);
            seen += len;
            if seen >= wanted.estimated_min {
                break;
            }
        }
        scratch.candidates.cut();
        seen
    }

    /// Replaces the candidates' estimates by the cosines of their rows.
    fn rank(&self, worth: f32, scratch: &mut Scratch) {
        let candidates = &mut scratch.candidates.list;
        rows::products(&scratch.query, self.section(&self.layout.rows), candidates);
        for candidate in candidates {
            candidate.score *= worth * self.inverse_length(candidate.slot);
        }
    }

    /// Makes every allowed vector a candidate, by its row.
    fn rank_all(&self, worth: f32, allowed: &dyn Allowed, scratch: &mut Scratch) {
        let candidates = &mut scratch.candidates.list;
        candidates.clear();
        let slots = (0..).zip(self.keys()).filter(|(slot, key)| allowed.allows(*slot, *key));
        candidates.extend(slots.map(|(slot, _)| Candidate { score: 0.0, slot }));
        self.rank(worth, scratch);
        // The vectors of a key mostly follow each other. Only the best of them is looked at further.
        scratch.candidates.list.dedup_by(|later, best| {
            let is_same = self.key(later.slot) == self.key(best.slot);
            if is_same && later.score > best.score {
                *best = *later;
            }
            is_same
        });
    }

    /// The best candidate of each key, best first; so many are sorted at a time.
    fn best_keys(&self, candidates: &mut [Candidate], count: usize, portion: usize) -> Vec<Hit> {
        let mut hits = Vec::with_capacity(count.min(candidates.len()));
        let mut met = HashSet::with_capacity_and_hasher(count, RandomState::default());
        let mut rest = candidates;
        while hits.len() < count && !rest.is_empty() {
            let portion = portion.min(rest.len());
            if portion < rest.len() {
                rest.select_nth_unstable_by_key(portion, Candidate::place);
            }
            let (best, others) = rest.split_at_mut(portion);
            best.sort_unstable_by_key(Candidate::place);
            for candidate in best {
                let Candidate { slot, score } = *candidate;
                let Some(key) = self.key(slot) else { continue };
                if hits.len() < count && met.insert(key) {
                    hits.push(Hit { slot, key, score });
                }
            }
            rest = others;
        }
        hits
    }

    /// The numbers of the clusters that a search for so many vectors would look at, in order.
    #[cfg(test)]
    pub(super) fn ordered_clusters(&self, query: &[f32], vectors_min: usize) -> Vec<u32> {
        let mut scratch = Scratch::default();
        let worth = self.prepare(query, &mut scratch).unwrap_or_default();
        scratch.table.prepare(&scratch.turned);
        self.order_clusters(worth, vectors_min, &mut scratch);
        scratch.order.iter().map(|picked| picked.slot).collect()
    }

    /// The estimate and the row's cosine of each vector, by slot.
    #[cfg(test)]
    pub(super) fn estimates_and_scores(&self, query: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let everything = &super::Everything;
        let mut scratch = Scratch::default();
        let worth = self.prepare(query, &mut scratch).unwrap_or_default();
        scratch.table.prepare(&scratch.turned);
        self.order_clusters(worth, usize::MAX, &mut scratch);
        let wanted = Portion { estimated_min: usize::MAX, ranked: usize::MAX };
        self.estimate(wanted, everything, &mut scratch);
        let by_slot = |scratch: &mut Scratch| -> Vec<f32> {
            scratch.candidates.list.sort_by_key(|candidate| candidate.slot);
            scratch.candidates.list.iter().map(|candidate| candidate.score).collect()
        };
        let estimates = by_slot(&mut scratch);
        self.rank(worth, &mut scratch);
        (estimates, by_slot(&mut scratch))
    }

    fn width(&self) -> usize {
        format::width(self.dimensions())
    }

    /// The 8-bit codes of the vector at `slot`, as they lie in the file.
    pub(super) fn row(&self, slot: u32) -> &[u8] {
        let start = slot as usize * self.width();
        self.section(&self.layout.rows).get(start..start + self.width()).unwrap_or_default()
    }

    fn inverse_length(&self, slot: u32) -> f32 {
        let lengths = self.section(&self.layout.lengths).as_chunks().0;
        lengths.get(slot as usize).map_or(0.0, |bytes| f32::from_le_bytes(*bytes))
    }

    fn section(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.as_ref().get(range.clone()).unwrap_or_default()
    }
}

fn read_clusters(
    bytes: &[u8],
    header: &Header,
    layout: &Layout,
) -> Result<Vec<Place>, SegmentError> {
    let section = |range: &Range<usize>| bytes.get(range.clone()).unwrap_or_default();
    let directions =
        section(&layout.directions).chunks_exact(format::width(header.dimensions as usize));
    let extents = section(&layout.extents).as_chunks::<4>().0;
    let ends = section(&layout.ends).as_chunks::<4>().0;
    let mut clusters = Vec::with_capacity(ends.len());
    let (mut first, mut first_block) = (0, 0);
    for ((direction, extent), end) in directions.zip(extents).zip(ends) {
        let (extent, end) = (f32::from_le_bytes(*extent), u32::from_le_bytes(*end));
        let inverse_length = rows::inverse_length(bytemuck::cast_slice(direction));
        let Some(len) = end.checked_sub(first) else {
            return Err(SegmentError::Damaged("its clusters are out of order"));
        };
        clusters.push(Place { extent, inverse_length, first, len: len as usize, first_block });
        first = end;
        first_block += (len as usize).div_ceil(BLOCK);
    }
    let whole = first == header.vectors && first_block == header.blocks as usize;
    if !clusters.is_empty() && !whole {
        return Err(SegmentError::Damaged("its clusters do not hold its vectors"));
    }
    Ok(clusters)
}
