//! Collects vectors and writes them down as a segment; merges segments.

use std::borrow::Borrow;
use std::io::{self, Write};

use super::clusters::{self, Clusters, Vectors};
use super::codes::{BLOCK, BlockWriter};
use super::format::{self, Header, SectionWriter, VECTORS_MAX};
use super::rotation::Rotation;
use super::segment::ROWS_ONLY_MAX;
use super::{DIMENSIONS_MAX, Segment, SegmentError, rows};

/// Vectors in a cluster, on average. In larger ones a search reads more codes than it needs; with
/// smaller ones there are more centroids to look through, and the last block of codes, which is
/// half empty, weighs more.
const CLUSTER_VECTORS: usize = 70;

/// Collects the vectors of a new segment.
pub struct SegmentBuilder {
    dimensions: usize,
    rotation: Rotation,
    keys: Vec<u64>,
    inverse_lengths: Vec<f32>,
    /// Rows, one after the other.
    codes: Vec<i8>,
    turned: Vec<f32>,
}

impl SegmentBuilder {
    pub fn new(dimensions: usize) -> Result<Self, SegmentError> {
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
            let expected = DIMENSIONS_MAX;
            return Err(SegmentError::Dimensions { found: dimensions, expected });
        }
        Ok(Self {
            dimensions,
            rotation: Rotation::new(dimensions),
            keys: Vec::new(),
            inverse_lengths: Vec::new(),
            codes: Vec::new(),
            turned: vec![0.0; format::width(dimensions)],
        })
    }

    /// Adds a vector of any length; only its direction counts. Vectors may share a key.
    pub fn push(&mut self, key: u64, vector: &[f32]) -> Result<(), SegmentError> {
        if vector.len() != self.dimensions {
            let (found, expected) = (vector.len(), self.dimensions);
            return Err(SegmentError::Dimensions { found, expected });
        }
        self.check_room()?;
        if !rows::unit(vector, format::width(self.dimensions), &mut self.turned) {
            return Err(SegmentError::NotFinite);
        }
        self.rotation.turn(&mut self.turned);
        let start = self.codes.len();
        rows::quantise(&self.turned, &mut self.codes);
        let row = self.codes.get(start..).unwrap_or_default();
        self.inverse_lengths.push(rows::inverse_length(row));
        self.keys.push(key);
        Ok(())
    }

    /// Adds a vector of another segment exactly as it is there.
    fn copy<B: AsRef<[u8]>>(&mut self, from: &Segment<B>, slot: u32) -> Result<(), SegmentError> {
        self.check_room()?;
        let start = self.codes.len();
        self.codes.extend(from.row(slot).iter().map(|code| *code as i8));
        let row = self.codes.get(start..).unwrap_or_default();
        self.inverse_lengths.push(rows::inverse_length(row));
        self.keys.push(from.key(slot).unwrap_or_default());
        Ok(())
    }

    fn check_room(&self) -> Result<(), SegmentError> {
        if self.keys.len() < VECTORS_MAX { Ok(()) } else { Err(SegmentError::Full(VECTORS_MAX)) }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Writes the segment. The same vectors and seed give the same bytes.
    pub fn finish(self, seed: u64, out: impl Write) -> io::Result<()> {
        let clusters = cluster_count(self.len());
        self.finish_with(clusters, seed, out)
    }

    /// [`Self::finish`] with a number of clusters of one's own, for tests and measurements.
    #[doc(hidden)]
    pub fn finish_with(self, clusters: usize, seed: u64, out: impl Write) -> io::Result<()> {
        let clusters = match clusters {
            0 => Clusters::default(),
            count => clusters::make(&self, count, seed),
        };
        let members = members(&clusters, self.len());
        let blocks = members.iter().map(|members| members.len().div_ceil(BLOCK)).sum::<usize>();
        let header = Header {
            dimensions: self.dimensions as u32,
            vectors: self.len() as u32,
            clusters: clusters.lengths.len() as u32,
            blocks: if clusters.lengths.is_empty() { 0 } else { blocks as u32 },
        };
        let mut out = SectionWriter::new(out);
        header.write(&mut out)?;
        out.end_section()?;
        write_codes(&mut out, &clusters.directions)?;
        out.end_section()?;
        self.write_sketches(&clusters, &mut out)?;
        write_all(&mut out, clusters.lengths.iter().map(|length| length.to_le_bytes()))?;
        let ends = members.iter().scan(0_u32, |end, members| {
            *end += members.len() as u32;
            Some(end.to_le_bytes())
        });
        write_all(&mut out, ends.take(header.clusters as usize))?;
        let slots = || members.iter().flatten().map(|place| *place as usize);
        let keys = slots().filter_map(|place| self.keys.get(place));
        write_all(&mut out, keys.map(|key| key.to_le_bytes()))?;
        let lengths = slots().filter_map(|place| self.inverse_lengths.get(place));
        write_all(&mut out, lengths.map(|length| length.to_le_bytes()))?;
        self.write_blocks(&clusters, &members, &mut out)?;
        for place in slots() {
            write_codes(&mut out, self.row(place))?;
        }
        out.flush()
    }

    fn write_sketches<W: Write>(
        &self,
        clusters: &Clusters,
        out: &mut SectionWriter<W>,
    ) -> io::Result<()> {
        // Directions lie around nothing in particular: signs are those of the numbers themselves.
        let centre = vec![0.0; self.width()];
        let mut vector = vec![0.0; self.width()];
        let mut writer = BlockWriter::new(&centre);
        for direction in clusters.directions.chunks_exact(self.width()) {
            let scale = rows::inverse_length(direction);
            rows::restore(direction, scale, &mut vector);
            if let Some(block) = writer.push(&vector) {
                out.write_all(block)?;
            }
        }
        if let Some(block) = writer.rest() {
            out.write_all(block)?;
        }
        out.end_section()
    }

    fn write_blocks<W: Write>(
        &self,
        clusters: &Clusters,
        members: &[Vec<u32>],
        out: &mut SectionWriter<W>,
    ) -> io::Result<()> {
        let mut centroid = vec![0.0; self.width()];
        let mut vector = vec![0.0; self.width()];
        let directions = clusters.directions.chunks_exact(self.width());
        for ((direction, length), members) in directions.zip(&clusters.lengths).zip(members) {
            let scale = length * rows::inverse_length(direction);
            rows::restore(direction, scale, &mut centroid);
            let mut writer = BlockWriter::new(&centroid);
            for place in members {
                self.restore(*place as usize, &mut vector);
                if let Some(block) = writer.push(&vector) {
                    out.write_all(block)?;
                }
            }
            if let Some(block) = writer.rest() {
                out.write_all(block)?;
            }
        }
        out.end_section()
    }

    fn row(&self, place: usize) -> &[i8] {
        let width = self.turned.len();
        self.codes.get(place * width..(place + 1) * width).unwrap_or_default()
    }
}

impl Vectors for SegmentBuilder {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn width(&self) -> usize {
        self.turned.len()
    }

    fn fetch(&self, place: usize) {
        rows::fetch(bytemuck::cast_slice(self.row(place)));
    }

    fn restore(&self, place: usize, vector: &mut [f32]) {
        let inverse_length = self.inverse_lengths.get(place).copied().unwrap_or(0.0);
        rows::restore(self.row(place), inverse_length, vector);
    }
}

/// Clusters of a segment with so many vectors.
pub(super) fn cluster_count(vectors: usize) -> usize {
    if vectors <= ROWS_ONLY_MAX { 0 } else { vectors / CLUSTER_VECTORS }
}

/// The places of the vectors of each cluster; all in one where there are no clusters.
fn members(clusters: &Clusters, vectors: usize) -> Vec<Vec<u32>> {
    if clusters.lengths.is_empty() {
        return vec![(0..vectors as u32).collect()];
    }
    let mut members = vec![Vec::new(); clusters.lengths.len()];
    for (place, cluster) in clusters.of.iter().enumerate() {
        if let Some(members) = members.get_mut(*cluster as usize) {
            members.push(place as u32);
        }
    }
    members
}

fn write_all<W: Write, const N: usize>(
    out: &mut SectionWriter<W>,
    values: impl Iterator<Item = [u8; N]>,
) -> io::Result<()> {
    for value in values {
        out.write_all(&value)?;
    }
    out.end_section()
}

fn write_codes(out: &mut impl Write, codes: &[i8]) -> io::Result<()> {
    out.write_all(bytemuck::cast_slice(codes))
}

/// Gathers what is `live` in all of `segments` (it is asked with the segment's number, the slot
/// and the key) for a segment that takes their place. Vectors are copied, not rounded again.
pub fn merge<B: AsRef<[u8]>, S: Borrow<Segment<B>>>(
    segments: &[S],
    dimensions: usize,
    mut live: impl FnMut(usize, u32, u64) -> bool,
) -> Result<SegmentBuilder, SegmentError> {
    let mut builder = SegmentBuilder::new(dimensions)?;
    for (number, segment) in segments.iter().map(Borrow::borrow).enumerate() {
        if segment.dimensions() != dimensions {
            let found = segment.dimensions();
            return Err(SegmentError::Dimensions { found, expected: dimensions });
        }
        for (slot, key) in (0..).zip(segment.keys()) {
            if live(number, slot, key) {
                builder.copy(segment, slot)?;
            }
        }
    }
    Ok(builder)
}
