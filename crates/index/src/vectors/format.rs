//! How a segment lies in its bytes: a header, then sections whose places follow from it.
//!
//! All numbers are little-endian. Sections begin at multiples of 64 bytes, but nothing relies on
//! where the bytes themselves begin.
//!
//! | section | contents |
//! |---|---|
//! | header | magic, version, dimensions, vectors, clusters, blocks, checksum of the header |
//! | directions | for each cluster, its centroid's 8-bit codes |
//! | sketches | the 1-bit codes of the centroids' directions, see `codes.rs` |
//! | extents | for each cluster, the length of its centroid (f32) |
//! | ends | for each cluster, the slot after its last vector (u32) |
//! | keys | for each slot, its key (u64) |
//! | lengths | for each slot, one over its row's length (f32) |
//! | blocks | the 1-bit codes, cluster after cluster, see `codes.rs` |
//! | rows | for each slot, its 8-bit codes |

use std::io::{self, Write};
use std::ops::Range;

use super::{DIMENSIONS_MAX, SegmentError, codes};

const MAGIC: [u8; 8] = *b"saem-vec";
const VERSION: u32 = 2;

/// Where sections begin: at cache lines, so that rows of usual widths do not straddle them.
const ALIGNMENT: usize = 64;

const HEADER_BYTES: usize = 64;

/// Most vectors in a segment: slots are 32 bits, and the last number is left for "the slot after".
pub(super) const VECTORS_MAX: usize = u32::MAX as usize;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) dimensions: u32,
    pub(super) vectors: u32,
    pub(super) clusters: u32,
    pub(super) blocks: u32,
}

/// Where the sections are.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) directions: Range<usize>,
    pub(super) sketches: Range<usize>,
    pub(super) extents: Range<usize>,
    pub(super) ends: Range<usize>,
    pub(super) keys: Range<usize>,
    pub(super) lengths: Range<usize>,
    pub(super) blocks: Range<usize>,
    pub(super) rows: Range<usize>,
}

/// Numbers in a rotated vector: codes come in whole groups of 64 dimensions.
pub(super) fn width(dimensions: usize) -> usize {
    dimensions.next_multiple_of(64)
}

impl Header {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, SegmentError> {
        let header = bytes.get(..HEADER_BYTES).ok_or(SegmentError::Damaged("it is too short"))?;
        if !header.starts_with(&MAGIC) {
            return Err(SegmentError::Damaged("it does not begin like one"));
        }
        let mut numbers = header.iter().skip(MAGIC.len()).copied();
        let mut number = || u32::from_le_bytes([(); 4].map(|()| numbers.next().unwrap_or(0)));
        let version = number();
        if version != VERSION {
            return Err(SegmentError::Version { found: version, known: VERSION });
        }
        let read =
            Self { dimensions: number(), vectors: number(), clusters: number(), blocks: number() };
        if read.bytes() != *header {
            return Err(SegmentError::Damaged("its header does not match its checksum"));
        }
        if !(1..=DIMENSIONS_MAX).contains(&(read.dimensions as usize)) {
            return Err(SegmentError::Damaged("its dimensions are out of bounds"));
        }
        Ok(read)
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.bytes())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [VERSION, self.dimensions, self.vectors, self.clusters, self.blocks] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.resize(HEADER_BYTES - 8, 0);
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes
    }

    /// Where the sections are, and how many bytes there are in all.
    pub(super) fn layout(&self) -> Option<(Layout, usize)> {
        let width = width(self.dimensions as usize);
        let (vectors, clusters) = (self.vectors as usize, self.clusters as usize);
        let block_bytes = codes::block_bytes(width);
        let mut end = HEADER_BYTES;
        let mut section = |count: usize, bytes: usize| {
            let start = padded(end)?;
            end = start.checked_add(count.checked_mul(bytes)?)?;
            Some(start..end)
        };
        let layout = Layout {
            directions: section(clusters, width)?,
            sketches: section(clusters.div_ceil(codes::BLOCK), block_bytes)?,
            extents: section(clusters, 4)?,
            ends: section(clusters, 4)?,
            keys: section(vectors, 8)?,
            lengths: section(vectors, 4)?,
            blocks: section(self.blocks as usize, block_bytes)?,
            rows: section(vectors, width)?,
        };
        Some((layout, end))
    }
}

fn padded(end: usize) -> Option<usize> {
    end.checked_next_multiple_of(ALIGNMENT)
}

/// FNV-1a: the header is short, and the point is to notice a cut or a foreign file.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// Passes bytes on and fills up sections to where the next one begins.
pub(super) struct SectionWriter<W> {
    out: W,
    written: usize,
}

impl<W: Write> SectionWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, written: 0 }
    }

    /// Ends a section: the next byte lies where the next section begins.
    pub(super) fn end_section(&mut self) -> io::Result<()> {
        let gap = self.written.next_multiple_of(ALIGNMENT) - self.written;
        self.write_all([0; ALIGNMENT].get(..gap).unwrap_or_default())
    }
}

impl<W: Write> Write for SectionWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.written += count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
