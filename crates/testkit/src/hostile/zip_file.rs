//! Writes zip archives byte by byte, so that they can lie.

use super::deflate::{Deflated, crc_of, repeated};

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// Says that the true number stands in a 64-bit field elsewhere.
const IN_64_BITS: u32 = u32::MAX;
/// The flag of an entry that needs a password.
const ENCRYPTED: u16 = 1;

/// One file in an archive.
#[derive(Clone)]
pub(super) struct Entry {
    name: String,
    method: u16,
    packed: Vec<u8>,
    crc: u32,
    /// The size that the headers claim.
    size: u64,
    flags: u16,
    /// Another entry's data instead of its own: the number of that entry.
    borrowed: Option<usize>,
}

impl Entry {
    pub(super) fn stored(name: &str, bytes: &[u8]) -> Self {
        Self {
            name: name.to_owned(),
            method: STORED,
            packed: bytes.to_vec(),
            crc: crc_of(bytes).sum(),
            size: bytes.len() as u64,
            flags: 0,
            borrowed: None,
        }
    }

    pub(super) fn deflated(name: &str, content: Deflated) -> Self {
        let Deflated { bytes, size, crc } = content;
        Self { method: DEFLATED, packed: bytes, size, crc, ..Self::stored(name, b"") }
    }

    pub(super) fn packed(name: &str, bytes: &[u8]) -> Self {
        Self::deflated(name, repeated(bytes, b"", 0, b""))
    }

    /// The same with a lie about its size.
    pub(super) fn claiming(self, size: u64) -> Self {
        Self { size, ..self }
    }

    /// The same, said to need a password.
    pub(super) fn locked(self) -> Self {
        Self { flags: ENCRYPTED, ..self }
    }

    /// An entry whose data are another's.
    pub(super) fn overlapping(name: &str, of: &Self, number: usize) -> Self {
        Self { name: name.to_owned(), packed: Vec::new(), borrowed: Some(number), ..of.clone() }
    }

    /// What both headers say, but for signature, versions and what only one of them has.
    fn common(&self, packed: usize, width: Width, extra: usize) -> Vec<u8> {
        let (packed, size) = match width {
            Width::Bits32 => (packed as u32, self.size as u32),
            Width::Bits64 => (IN_64_BITS, IN_64_BITS),
        };
        let mut bytes = Vec::new();
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend(self.method.to_le_bytes());
        bytes.extend([0; 4]);
        for number in [self.crc, packed, size] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes.extend((extra as u16).to_le_bytes());
        bytes
    }

    fn extra(&self, packed: usize, width: Width) -> Vec<u8> {
        match width {
            Width::Bits32 => Vec::new(),
            Width::Bits64 => {
                let header = [1, 0, 16, 0];
                [&header, &self.size.to_le_bytes()[..], &(packed as u64).to_le_bytes()].concat()
            }
        }
    }
}

/// Whether sizes and counts stand in the old fields or in the new ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Bits32,
    Bits64,
}

/// An archive of these entries; each gets a header and its data, then all are listed.
pub(super) fn archive(entries: &[Entry], width: Width) -> Vec<u8> {
    let count = entries.len() as u64;
    archive_claiming(entries, width, count)
}

/// The same with a claim about how many entries there are.
pub(super) fn archive_claiming(entries: &[Entry], width: Width, count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut offsets = Vec::new();
    for entry in entries {
        offsets.push(entry.borrowed.map_or(bytes.len(), |number| offsets[number]));
        if entry.borrowed.is_none() {
            let extra = entry.extra(entry.packed.len(), width);
            bytes.extend(b"PK\x03\x04\x2D\x00");
            bytes.extend(entry.common(entry.packed.len(), width, extra.len()));
            bytes.extend(entry.name.bytes());
            bytes.extend(extra);
            bytes.extend(&entry.packed);
        }
    }
    let list = bytes.len();
    for (entry, offset) in entries.iter().zip(&offsets) {
        let packed = entry.borrowed.map_or(&entry.packed, |number| &entries[number].packed);
        let extra = entry.extra(packed.len(), width);
        bytes.extend(b"PK\x01\x02\x2D\x00\x2D\x00");
        bytes.extend(entry.common(packed.len(), width, extra.len()));
        bytes.extend([0; 10]);
        bytes.extend((*offset as u32).to_le_bytes());
        bytes.extend(entry.name.bytes());
        bytes.extend(extra);
    }
    let end = bytes.len();
    if width == Width::Bits64 {
        push_end_of_64_bits(&mut bytes, list, end, count);
    }
    let short = if width == Width::Bits64 { u16::MAX } else { count as u16 };
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([short.to_le_bytes(), short.to_le_bytes()].concat());
    bytes.extend(((end - list) as u32).to_le_bytes());
    bytes.extend((list as u32).to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

fn push_end_of_64_bits(bytes: &mut Vec<u8>, list: usize, end: usize, count: u64) {
    bytes.extend(b"PK\x06\x06");
    bytes.extend(44u64.to_le_bytes());
    bytes.extend(b"\x2D\x00\x2D\x00\0\0\0\0\0\0\0\0");
    for number in [count, count, (end - list) as u64, list as u64] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(b"PK\x06\x07\0\0\0\0");
    bytes.extend((end as u64).to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
}
