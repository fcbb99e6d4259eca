//! Reads the parts of the encoder's asset and refuses bytes that are not what they should be.

use super::EncoderError;

/// The asset's first bytes.
const MAGIC: &[u8; 8] = b"SAEM-USE";
/// The layout this program reads. Another one is refused, not guessed at.
const VERSION: u32 = 1;

/// What is wrong with an asset that begins like one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DamagedAsset(pub(super) &'static str);

impl From<DamagedAsset> for EncoderError {
    fn from(damage: DamagedAsset) -> Self {
        Self::Damaged(damage.0)
    }
}

/// Reads numbers and texts from the front of the asset; all numbers are little-endian.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Checks magic, version and checksum, and stands at the first part.
    pub(super) fn open(asset: &'a [u8]) -> Result<Self, EncoderError> {
        let (reader, expected) = Self::begin(asset)?;
        if checksum(reader.rest) != expected {
            return Err(EncoderError::Damaged("its checksum does not match"));
        }
        Ok(reader)
    }

    /// The same without the checksum, which takes a look at every byte: for an asset that is a part of the program, and
    /// of which most is seldom needed.
    pub(super) fn open_built_in(asset: &'a [u8]) -> Result<Self, EncoderError> {
        Self::begin(asset).map(|(reader, _)| reader)
    }

    /// Checks magic and version, and gives the checksum of what follows.
    fn begin(asset: &'a [u8]) -> Result<(Self, u64), EncoderError> {
        let mut reader = Self { rest: asset };
        if reader.bytes(MAGIC.len()).ok() != Some(MAGIC.as_slice()) {
            return Err(EncoderError::NotAnAsset);
        }
        let found = reader.number()?;
        if found != VERSION {
            return Err(EncoderError::OtherVersion { found, known: VERSION });
        }
        let checksum = u64::from_le_bytes(*reader.array()?);
        Ok((reader, checksum))
    }

    /// The next `length` bytes.
    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], DamagedAsset> {
        let (bytes, rest) =
            self.rest.split_at_checked(length).ok_or(DamagedAsset("it ends too early"))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A 32-bit number.
    pub(super) fn number(&mut self) -> Result<u32, DamagedAsset> {
        Ok(u32::from_le_bytes(*self.array()?))
    }

    /// A 32-bit number of things to follow. Each takes a byte at least, so that a damaged count
    /// cannot ask for more memory than the asset has.
    pub(super) fn count(&mut self) -> Result<usize, DamagedAsset> {
        let count = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if count > self.rest.len() { Err(DamagedAsset("a count is too large")) } else { Ok(count) }
    }

    /// A byte.
    pub(super) fn byte(&mut self) -> Result<u8, DamagedAsset> {
        self.array::<1>().map(|[byte]| *byte)
    }

    /// A 16-bit number.
    pub(super) fn short(&mut self) -> Result<u16, DamagedAsset> {
        Ok(u16::from_le_bytes(*self.array()?))
    }

    /// A finite 32-bit floating-point number.
    pub(super) fn float(&mut self) -> Result<f32, DamagedAsset> {
        let float = f32::from_le_bytes(*self.array()?);
        if float.is_finite() { Ok(float) } else { Err(DamagedAsset("a number is not finite")) }
    }

    /// `length` floating-point numbers.
    pub(super) fn floats(&mut self, length: usize) -> Result<Vec<f32>, DamagedAsset> {
        (0..length).map(|_| self.float()).collect()
    }

    /// A text of at most 255 bytes.
    pub(super) fn short_text(&mut self) -> Result<&'a str, DamagedAsset> {
        let length = self.byte()?;
        let bytes = self.bytes(usize::from(length))?;
        std::str::from_utf8(bytes).map_err(|_| DamagedAsset("a text is not UTF-8"))
    }

    /// Adds the next of a sorted list of keys: the number of bytes it shares with the one before,
    /// the number of others, and these.
    pub(super) fn next_key(&mut self, keys: &mut Keys) -> Result<(), DamagedAsset> {
        let shared = usize::from(self.byte()?);
        let own = usize::from(self.byte()?);
        let own = self.bytes(own)?;
        keys.push(shared, own).ok_or(DamagedAsset("a key shares too much"))
    }

    /// Says that nothing may be left.
    pub(super) fn finish(self) -> Result<(), DamagedAsset> {
        if self.rest.is_empty() { Ok(()) } else { Err(DamagedAsset("it is too long")) }
    }

    fn array<const LENGTH: usize>(&mut self) -> Result<&'a [u8; LENGTH], DamagedAsset> {
        let (array, rest) =
            self.rest.split_first_chunk().ok_or(DamagedAsset("it ends too early"))?;
        self.rest = rest;
        Ok(array)
    }
}

/// A sorted list of keys in one piece of memory: there are tens of thousands of short ones.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    /// By key, where it begins and ends.
    places: Vec<(usize, usize)>,
}

impl Keys {
    /// Each key, in their order.
    pub(super) fn slices(&self) -> Vec<&[u8]> {
        let slice = |(from, until): &(usize, usize)| self.bytes.get(*from..*until);
        self.places.iter().filter_map(slice).collect()
    }

    /// Adds a key that begins with the first `shared` bytes of the last one.
    fn push(&mut self, shared: usize, own: &[u8]) -> Option<()> {
        let (from, until) = self.places.last().copied().unwrap_or_default();
        if shared > until - from {
            return None;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_within(from..from + shared);
        self.bytes.extend_from_slice(own);
        self.places.push((start, self.bytes.len()));
        Some(())
    }
}

/// A checksum that takes eight bytes at a time in four lanes, as the asset is read at each start:
/// it finds damage, and is no defence against a forger.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut lanes = [1_u64, 2, 3, 4];
    let (blocks, tail) = bytes.as_chunks::<32>();
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
        }
    }
    let mut sum = bytes.len() as u64;
    for word in lanes.into_iter().chain(tail.iter().copied().map(u64::from)) {
        sum = (sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
    }
    sum
}
