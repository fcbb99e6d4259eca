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

/// The number of entries that the archive claims; the most a number can be when it is a 64-bit archive.
fn entries(bytes: &[u8]) -> usize {
    let tail = bytes.get(bytes.len().saturating_sub(END_SEARCH_BYTES)..).unwrap_or(bytes);
    let end = tail.windows(END_SIGNATURE.len()).rposition(|window| window == END_SIGNATURE);
    let count = end.and_then(|at| tail.get(at + END_ENTRIES_OFFSET..at + END_ENTRIES_OFFSET + 2));
    match count {
        Some([low, high]) => usize::from(u16::from_le_bytes([*low, *high])),
        _ => 0,
    }
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
