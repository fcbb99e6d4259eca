//! Turns sentences in Korean and English into vectors, with a network compiled into the program.
//!
//! The network is Google's universal-sentence-encoder-multilingual v3, cut down to the pieces that
//! Korean, English, numbers and code are written with. A piece that was left out is spelt with
//! smaller ones, down to single characters, which are all there: so a text in another of its
//! languages still gets a vector, if a coarser one.

mod asset;
mod bytes;
mod cache;
mod convolution;
mod matrix;
mod network;
mod normalizer;
mod pieces;
mod prefix_code;
mod rows;
#[cfg(test)]
mod tests;
mod tokenizer;
mod trie;

use std::error::Error;
use std::fmt::{self, Display, Formatter};

use asset::Reader;
use bytes::Bytes;
use network::{Network, Room};
use pulp::Arch;
use tokenizer::Tokenizer;

pub use network::DIMENSIONS;

/// Most pieces of a text that are read, the marks of start and end among them: several times a
/// passage. Of a longer text, the beginning counts.
pub const PIECES_MAX: usize = 512;

/// Most bytes of a text that are looked at: pieces have some four bytes in Korean and English, so
/// this is well beyond [`PIECES_MAX`] of them.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Pieces worked on together, at least: weights are fetched from memory once for all of them.
const BATCH_PIECES: usize = 2048;
/// Texts whose sums go through the last layers together, for the same reason.
const BATCH_TEXTS: usize = 120;

static BUILT_IN: &[u8] = include_bytes!("../assets/use-m3-ko-en.bin");

/// Why an asset could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncoderError {
    /// The bytes are something else.
    NotAnAsset,
    /// The asset was made for another version of this program.
    OtherVersion {
        /// The layout it has.
        found: u32,
        /// The layout this program reads.
        known: u32,
    },
    /// The asset is incomplete or was changed.
    Damaged(&'static str),
}

impl Display for EncoderError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnAsset => write!(formatter, "this is not an encoder asset"),
            Self::OtherVersion { found, known } => {
                write!(formatter, "the encoder asset has layout {found}; layout {known} is needed")
            }
            Self::Damaged(damage) => write!(formatter, "the encoder asset is damaged: {damage}"),
        }
    }
}

impl Error for EncoderError {}

/// The encoder. It can be shared by threads; each call works in the thread it was made in.
#[derive(Debug)]
pub struct Encoder {
    identity: String,
    tokenizer: Tokenizer,
    network: Network,
}

impl Encoder {
    /// The encoder that is compiled in.
    pub fn built_in() -> Result<Self, EncoderError> {
        Self::read(Arch::new(), Reader::open_built_in(BUILT_IN)?, Bytes::of_program)
    }

    /// The identity of the encoder that is compiled in, which stands at the asset's beginning.
    pub fn built_in_identity() -> Result<String, EncoderError> {
        Ok(Reader::open_built_in(BUILT_IN)?.short_text()?.to_owned())
    }

    /// An encoder from an asset at run time; what is needed of the bytes is copied.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EncoderError> {
        Self::read(Arch::new(), Reader::open(bytes)?, Bytes::copied)
    }

    /// Which vectors these are: those of two encoders can be compared if their identities are
    /// equal.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// How many numbers a vector has.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    /// A vector of length one for each text. The same text gets the same vector, bit for bit,
    /// whatever else is encoded with it. This computes for some tenths of a millisecond a
    /// sentence: call it where that does no harm, and from several threads to use several cores.
    #[must_use]
    pub fn encode(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let mut room = Room::default();
        let batches = texts.chunks(BATCH_TEXTS);
        batches.flat_map(|batch| self.encode_batch(batch, &mut room)).collect()
    }

    /// How many pieces a text has, marks not counted. Beyond [`PIECES_MAX`], less the two marks,
    /// the encoder reads no further.
    #[must_use]
    pub fn count_pieces(&self, text: &str) -> usize {
        self.tokenizer.count(text)
    }

    fn read<'a>(
        arch: Arch,
        mut reader: Reader<'a>,
        keep: impl Fn(&'a [u8]) -> Bytes,
    ) -> Result<Self, EncoderError> {
        let identity = reader.short_text()?.to_owned();
        let tokenizer = Tokenizer::read(&mut reader)?;
        let network = Network::read(&mut reader, arch, tokenizer.len(), keep)?;
        reader.finish()?;
        Ok(Self { identity, tokenizer, network })
    }

    fn encode_batch(&self, texts: &[&str], room: &mut Room) -> Vec<Vec<f32>> {
        let mut sums = Vec::new();
        let mut lengths = Vec::with_capacity(texts.len());
        let mut waiting = Vec::new();
        let mut waiting_pieces = 0;
        for text in texts {
            let pieces = self.tokenizer.encode(tokenizer::clip(text, TEXT_BYTES_MAX), PIECES_MAX);
            lengths.push(pieces.len());
            waiting_pieces += pieces.len();
            waiting.push(pieces);
            if waiting_pieces >= BATCH_PIECES {
                sums.append(&mut self.network.sum_features(&waiting, room));
                waiting.clear();
                waiting_pieces = 0;
            }
        }
        sums.append(&mut self.network.sum_features(&waiting, room));
        self.network.vectors(&sums, &lengths)
    }
}
