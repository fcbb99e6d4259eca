//! Packs texts into a zip archive, as they are: a report is small, and a reader unpacks what is stored too.

/// Signatures of the three records of an archive.
const FILE: u32 = 0x0403_4b50;
const ENTRY: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// The version of the format that is needed: 2.0.
const VERSION: u16 = 20;
/// Names are UTF-8.
const NAMES_UTF8: u16 = 1 << 11;
/// 1980-01-01, the first day that the format knows: the same report gives the same bytes.
const DAY: u16 = 1 << 5 | 1;

/// An archive of named texts, in their order.
pub(super) fn packed(parts: &[(&str, String)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for (name, text) in parts {
        let at = number(bytes.len());
        let about = about(name, text.as_bytes());
        bytes.extend(FILE.to_le_bytes());
        bytes.extend(&about);
        bytes.extend(name.as_bytes());
        bytes.extend(text.as_bytes());
        directory.extend(ENTRY.to_le_bytes());
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&about);
        // No comment, the first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (at, count) = (number(bytes.len()), u16::try_from(parts.len()).unwrap_or(u16::MAX));
    bytes.extend(&directory);
    bytes.extend(END.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(number(directory.len()).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// What both records of a part say of it.
fn about(name: &str, content: &[u8]) -> Vec<u8> {
    let mut about = Vec::new();
    about.extend(VERSION.to_le_bytes());
    about.extend(NAMES_UTF8.to_le_bytes());
    // Stored, at midnight.
    about.extend([0; 4]);
    about.extend(DAY.to_le_bytes());
    about.extend(checksum(content).to_le_bytes());
    about.extend(number(content.len()).to_le_bytes());
    about.extend(number(content.len()).to_le_bytes());
    about.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
    about.extend([0; 2]);
    about
}

/// A report is far from four gigabytes.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// CRC-32, bit by bit: a report has some ten thousand bytes.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_format() {
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
    }
}
