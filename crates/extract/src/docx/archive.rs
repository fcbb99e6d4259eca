//! Opens the archive of a Word document; what its header says about sizes is not believed.

use std::error::Error;
use std::io::{Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::Event;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::limits::{Limits, within};
use crate::{ExtractError, Format};

/// Most files in the archive: Word writes a few dozen, and each is listed in memory.
const ENTRIES_MAX: usize = 10_000;
/// The record that ends an archive: its signature, and where the number of entries stands in it.
const END_SIGNATURE: &[u8] = b"PK\x05\x06";
const END_ENTRIES_OFFSET: usize = 10;
/// What stands right before it in a 64-bit archive: where the record with the true numbers is.
const LOCATOR_SIGNATURE: &[u8] = b"PK\x06\x07";
const LOCATOR_BYTES: usize = 20;
const LOCATOR_END_OFFSET: usize = 8;
const END_64_SIGNATURE: &[u8] = b"PK\x06\x06";
const END_64_ENTRIES_OFFSET: usize = 32;
/// How far from the end of the file that record may stand.
const END_SEARCH_BYTES: usize = 66_000;

pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Bytes that may still be inflated.
    budget: usize,
    limit: usize,
}

impl<'a> Archive<'a> {
    pub(super) fn open(bytes: &'a [u8], limits: &Limits) -> Result<Self, ExtractError> {
        within("files in the archive", entries(bytes), ENTRIES_MAX)?;
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
        Ok(Self { zip, budget: limits.inflated_bytes_max, limit: limits.inflated_bytes_max })
    }

    /// The text of a part; nothing when the archive does not have it.
    pub(super) fn part(&mut self, name: &str) -> Result<Option<String>, ExtractError> {
        let file = match self.zip.by_name(name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                return Err(ExtractError::Encrypted);
            }
            Err(error) => return Err(damaged(error)),
        };
        let mut bytes = Vec::new();
        // One byte more than allowed: its presence says that there is too much.
        let read = file.take(self.budget as u64 + 1).read_to_end(&mut bytes);
        if bytes.len() > self.budget {
            return Err(ExtractError::TooLarge { what: "inflated bytes", limit: self.limit });
        }
        read.map_err(damaged)?;
        self.budget -= bytes.len();
        Ok(Some(as_text(bytes)?))
    }
}

fn damaged<E: Error>(error: E) -> ExtractError {
    ExtractError::malformed(Format::Docx, error.to_string())
}

/// The number of entries that the archive claims.
fn entries(bytes: &[u8]) -> usize {
    let tail_start = bytes.len().saturating_sub(END_SEARCH_BYTES);
    let tail = bytes.get(tail_start..).unwrap_or(bytes);
    let end = tail.windows(END_SIGNATURE.len()).rposition(|window| window == END_SIGNATURE);
    let Some(end) = end.map(|at| tail_start + at) else { return 0 };
    match field(bytes, end + END_ENTRIES_OFFSET) {
        Some(count) if count == [u8::MAX; 2] => {
            entries_of_64_bits(bytes, end).unwrap_or(usize::from(u16::MAX))
        }
        Some(count) => usize::from(u16::from_le_bytes(count)),
        None => 0,
    }
}

/// The number that did not fit into the record at `end`, if there is another record for it.
fn entries_of_64_bits(bytes: &[u8], end: usize) -> Option<usize> {
    let locator = bytes.get(end.checked_sub(LOCATOR_BYTES)?..end)?;
    locator.starts_with(LOCATOR_SIGNATURE).then_some(())?;
    let at = usize::try_from(u64::from_le_bytes(field(locator, LOCATOR_END_OFFSET)?)).ok()?;
    let record = bytes.get(at..)?;
    record.starts_with(END_64_SIGNATURE).then_some(())?;
    let count = u64::from_le_bytes(field(record, END_64_ENTRIES_OFFSET)?);
    Some(usize::try_from(count).unwrap_or(usize::MAX))
}

fn field<const LENGTH: usize>(bytes: &[u8], at: usize) -> Option<[u8; LENGTH]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn as_text(bytes: Vec<u8>) -> Result<String, ExtractError> {
    if let Some((encoding, _)) = encoding_rs::Encoding::for_bom(&bytes) {
        return Ok(encoding.decode(&bytes).0.into_owned());
    }
    String::from_utf8(bytes).map_err(damaged)
}

/// Events of a part, with the depth of nesting bounded.
pub(super) struct Events<'a> {
    reader: Reader<&'a [u8]>,
    depth: usize,
    limit: usize,
}

impl<'a> Events<'a> {
    pub(super) fn of(part: &'a str, limits: &Limits) -> Self {
        Self { reader: Reader::from_str(part), depth: 0, limit: limits.nesting_max }
    }

    pub(super) fn next(&mut self) -> Result<Event<'a>, ExtractError> {
        let event = self.reader.read_event().map_err(damaged)?;
        match &event {
            Event::Start(_) => {
                self.depth += 1;
                if self.depth > self.limit {
                    return Err(ExtractError::TooDeep { limit: self.limit });
                }
            }
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        Ok(event)
    }

    /// Leaves out the rest of the element that has just begun.
    pub(super) fn skip(&mut self) -> Result<(), ExtractError> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            if let Event::Eof = self.next()? {
                return Ok(());
            }
        }
        Ok(())
    }
}
