//! The embedding of each piece: a row of small integers, kept encoded until it is asked for.

use super::asset::{DamagedAsset, Reader};
use super::bytes::Bytes;
use super::prefix_code::{Code, WORD_BITS_MAX};

/// Numbers in a row.
pub(super) const EMBEDDING: usize = 512;
/// The symbol of a level that is its block's zero.
const ZERO_SYMBOL: i16 = 128;
/// Most bytes that a row is written with.
const ROW_BYTES_MAX: usize = EMBEDDING * WORD_BITS_MAX as usize / 8;

/// Every row, encoded, and what is needed to read it.
#[derive(Debug)]
pub(super) struct Rows {
    blocks: Vec<Block>,
    codes: Vec<Code>,
    places: Vec<Place>,
    encoded: Bytes,
}

/// The original quantised its table in blocks; each has its own range.
#[derive(Debug, Clone, Copy)]
struct Block {
    lowest: f32,
    step: f32,
    zero: u8,
}

/// Where a row is, and how it is written.
#[derive(Debug, Clone, Copy)]
struct Place {
    from: u32,
    block: u8,
    code: u8,
}

/// A row as the original has it: a number is `lowest + step * level`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) levels: [u8; EMBEDDING],
    pub(super) lowest: f32,
    pub(super) step: f32,
}

impl Row {
    /// A row of zeros.
    pub(super) const EMPTY: Self = Self { levels: [0; EMBEDDING], lowest: 0.0, step: 0.0 };
}

impl Rows {
    /// Reads the rows of `count` pieces; the encoded ones are kept as `keep` says.
    pub(super) fn read<'a>(
        reader: &mut Reader<'a>,
        count: usize,
        keep: impl Fn(&'a [u8]) -> Bytes,
    ) -> Result<Self, DamagedAsset> {
        let block_count = reader.byte()?;
        let blocks =
            (0..block_count).map(|_| Block::read(reader)).collect::<Result<Vec<_>, _>>()?;
        let code_count = reader.byte()?;
        let codes = (0..code_count).map(|_| Code::read(reader)).collect::<Result<Vec<_>, _>>()?;
        let mut from = 0_u32;
        let mut places = Vec::with_capacity(count);
        for _ in 0..count {
            let (block, code) = (reader.byte()?, reader.byte()?);
            if block >= block_count || code >= code_count {
                return Err(DamagedAsset("a row names what is not there"));
            }
            places.push(Place { from, block, code });
            let bytes = u32::from(reader.short()?);
            from = from.checked_add(bytes).ok_or(DamagedAsset("the rows are too long"))?;
        }
        let encoded = keep(reader.bytes(from as usize)?);
        Ok(Self { blocks, codes, places, encoded })
    }

    /// The row of a piece; a piece that is not there has a row of zeros.
    pub(super) fn row(&self, piece: u32) -> Row {
        self.find(piece).unwrap_or(Row::EMPTY)
    }

    fn find(&self, piece: u32) -> Option<Row> {
        let piece = piece as usize;
        let place = self.places.get(piece)?;
        let until =
            self.places.get(piece + 1).map_or(self.encoded.len(), |next| next.from as usize);
        let block = self.blocks.get(usize::from(place.block))?;
        let code = self.codes.get(usize::from(place.code))?;
        let zero = i16::from(block.zero) - ZERO_SYMBOL;
        let mut levels = [0; EMBEDDING];
        let mut room = [0; ROW_BYTES_MAX];
        code.decode(self.encoded.read(place.from as usize..until, &mut room)?, &mut levels);
        for level in &mut levels {
            *level = u8::try_from((i16::from(*level) + zero).clamp(0, 255)).unwrap_or_default();
        }
        Some(Row { levels, lowest: block.lowest, step: block.step })
    }
}

impl Block {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DamagedAsset> {
        Ok(Self { lowest: reader.float()?, step: reader.float()?, zero: reader.byte()? })
    }
}
