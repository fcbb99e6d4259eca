//! Compressed streams that inflate to far more than anybody would compress in a test.

use flate2::{Compress, Compression, Crc, FlushCompress};

/// A compressed stream without any header, and what is true of what it inflates to.
pub(super) struct Deflated {
    pub(super) bytes: Vec<u8>,
    pub(super) size: u64,
    pub(super) crc: u32,
}

/// `head`, then `unit` so many times, then `tail`.
///
/// Each part is compressed once and ends on a byte, without looking back at what stood before it, so that
/// the compressed unit can be repeated as it is.
pub(super) fn repeated(head: &[u8], unit: &[u8], times: usize, tail: &[u8]) -> Deflated {
    let mut crc = crc_of(head);
    let unit_crc = crc_of(unit);
    for _ in 0..times {
        crc.combine(&unit_crc);
    }
    crc.combine(&crc_of(tail));
    let mut bytes = block(head);
    bytes.extend(block(unit).repeat(times));
    bytes.extend(block(tail));
    // An empty last block.
    bytes.extend([0x03, 0x00]);
    Deflated { bytes, size: (head.len() + unit.len() * times + tail.len()) as u64, crc: crc.sum() }
}

/// The same with the header that PDF wants; the checksum at its end is wrong, and nobody gets that far.
pub(super) fn zlib(unit: &[u8], times: usize) -> Vec<u8> {
    [&[0x78, 0x9C], repeated(b"", unit, times, b"").bytes.as_slice(), &[0; 4]].concat()
}

pub(super) fn crc_of(bytes: &[u8]) -> Crc {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc
}

fn block(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let mut compress = Compress::new(Compression::best(), false);
    // More than the compressor can need, so that one call does it.
    let mut packed = Vec::with_capacity(bytes.len() + bytes.len() / 8 + 64);
    compress.compress_vec(bytes, &mut packed, FlushCompress::Full).unwrap();
    assert_eq!(compress.total_in(), bytes.len() as u64);
    packed
}
