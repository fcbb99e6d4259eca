//! The log: what is on disk before it is in the tables, one entry behind the other, from the beginning anew when all is there.
//!
//! A commit of the tables writes a dozen pages all over their file, an entry some pages in a row: it costs a third. The file
//! keeps its length, so that nothing but the entry has to get to the disk.

mod direct;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use self::direct::Direct;

/// Length of the file, in bytes: room for more entries than wait for the tables.
const LOG_BYTES: usize = 4 << 20;

/// What stands before an entry: its number, its length, and the checksum of both, of the entry and of all before it.
const HEAD_BYTES: usize = 8 + 4 + 8;

/// A large odd number: multiplying by it spreads every bit over those above it.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The open file.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    /// The quicker way to the same file, where there is one.
    direct: Option<Direct>,
    /// Drawn for the store that the log belongs to: entries of another fit no checksum.
    key: u64,
    /// Where the next entry goes.
    end: usize,
    /// The checksum of the last entry; 0 before the first.
    sum: u64,
    /// The number of the next entry.
    next: u64,
}

/// What was found in a log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// What the entries say, in order; those that the tables have are left out.
    pub(crate) entries: Vec<Vec<u8>>,
    /// The number of the last entry, or of the last that the tables have.
    pub(crate) last: u64,
}

impl Log {
    /// Opens the log or makes it. `applied` is the number of the last entry that the tables have.
    pub(crate) fn open(path: &Path, key: u64, applied: u64) -> io::Result<(Self, Found)> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(LOG_BYTES)];
        file.read_exact_at(&mut bytes, 0)?;
        let found = read(&bytes, key, applied);
        if length < LOG_BYTES {
            file.write_all_at(&vec![0; LOG_BYTES - length], length as u64)?;
            file.sync_all()?;
            if let Some(folder) = path.parent() {
                File::open(folder)?.sync_all()?;
            }
        }
        // What was found stays until it is in the tables: whoever has it there begins anew.
        let next = found.last + 1;
        let direct = Direct::open(path);
        Ok((Self { file, direct, key, end: LOG_BYTES, sum: 0, next }, found))
    }

    /// Whether entries fit behind those that are there.
    pub(crate) fn has_room(&self, entries: &[Vec<u8>]) -> bool {
        bytes_of(entries) <= LOG_BYTES.saturating_sub(self.end)
    }

    /// Has entries on disk, and gives the number of the last.
    pub(crate) fn append(&mut self, entries: &[Vec<u8>]) -> io::Result<u64> {
        let mut bytes = Vec::with_capacity(bytes_of(entries));
        let mut sum = self.sum;
        for (number, entry) in (self.next..).zip(entries) {
            let length = u32::try_from(entry.len()).map_err(io::Error::other)?;
            bytes.extend_from_slice(&number.to_le_bytes());
            bytes.extend_from_slice(&length.to_le_bytes());
            sum = checksum(self.key ^ sum, number, entry);
            bytes.extend_from_slice(&sum.to_le_bytes());
            bytes.extend_from_slice(entry);
        }
        self.write(&bytes)?;
        (self.end, self.sum) = (self.end + bytes.len(), sum);
        self.next += entries.len() as u64;
        Ok(self.next - 1)
    }

    /// Has bytes on disk behind those that are there.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(direct) = &mut self.direct {
            match direct.write(self.end, bytes) {
                // A disk may only say now that it does not know of this.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.direct = None,
                written => return written,
            }
        }
        self.file.write_all_at(bytes, self.end as u64)?;
        self.file.sync_data()
    }

    /// Begins at the front again: all that was in it is in the tables.
    pub(crate) fn begin_anew(&mut self) {
        (self.end, self.sum) = (0, 0);
    }
}

/// What entries take of the file.
fn bytes_of(entries: &[Vec<u8>]) -> usize {
    entries.iter().map(|entry| HEAD_BYTES + entry.len()).sum()
}

/// The entries from the front on, as long as each is whole and follows the one before it.
fn read(bytes: &[u8], key: u64, applied: u64) -> Found {
    let mut found = Found { entries: Vec::new(), last: applied };
    let (mut rest, mut before, mut sum) = (bytes, None, 0);
    while let Some((number, entry, others)) = first(rest, key, &mut sum) {
        let follows = before.map_or(number <= applied + 1, |before: u64| number == before + 1);
        if !follows {
            break;
        }
        if number > applied {
            found.entries.push(entry.to_vec());
            found.last = number;
        }
        (rest, before) = (others, Some(number));
    }
    found
}

/// The first entry with its number, and what stands behind it; `sum` is that of the entry before it, and then its own.
fn first<'a>(bytes: &'a [u8], key: u64, sum: &mut u64) -> Option<(u64, &'a [u8], &'a [u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (own, rest) = rest.split_first_chunk()?;
    let number = u64::from_le_bytes(*number);
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (entry, rest) = rest.split_at_checked(length)?;
    *sum = checksum(key ^ *sum, number, entry);
    let is_whole = number > 0 && u64::from_le_bytes(*own) == *sum;
    is_whole.then_some((number, entry, rest))
}

/// Tells an entry from one that did not get to the disk whole, and from what stood there before; nobody forges any.
fn checksum(key: u64, number: u64, entry: &[u8]) -> u64 {
    let mut sum = key ^ number.wrapping_mul(SPREAD) ^ entry.len() as u64;
    let mut mix = |word: u64| sum = (sum ^ word).wrapping_mul(SPREAD).rotate_left(29);
    let (words, rest) = entry.as_chunks::<8>();
    words.iter().for_each(|word| mix(u64::from_le_bytes(*word)));
    rest.iter().for_each(|byte| mix(u64::from(*byte)));
    mix(number);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u64 = 7;

    fn entries(texts: &[&str]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    /// A log that everything of is in the tables, whose next entry is `applied` + 1.
    fn opened(path: &Path, applied: u64) -> (Log, Found) {
        let (mut log, found) = Log::open(path, KEY, applied).unwrap();
        if found.entries.is_empty() {
            log.begin_anew();
        }
        (log, found)
    }

    #[test]
    fn what_was_appended_is_found_until_the_tables_have_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (mut log, found) = opened(&path, 0);
        assert_eq!(found, Found { entries: vec![], last: 0 });
        assert_eq!(log.append(&entries(&["one", "two"])).unwrap(), 2);
        assert_eq!(log.append(&entries(&[""])).unwrap(), 3);
        let found = |applied| opened(&path, applied).1;
        assert_eq!(found(0), Found { entries: entries(&["one", "two", ""]), last: 3 });
        assert_eq!(found(2), Found { entries: entries(&[""]), last: 3 });
        assert_eq!(found(3), Found { entries: vec![], last: 3 });
        log.begin_anew();
        assert_eq!(log.append(&entries(&["four"])).unwrap(), 4);
        assert_eq!(found(3), Found { entries: entries(&["four"]), last: 4 });
        let length = std::fs::metadata(&path).unwrap().len();
        assert_eq!(length, LOG_BYTES as u64, "it keeps its length");
    }

    #[test]
    fn an_entry_that_is_not_whole_ends_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (mut log, _) = opened(&path, 0);
        log.append(&entries(&["the first entry", "the second entry"])).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let used = 2 * HEAD_BYTES + 31;
        for place in 0..used {
            let mut torn = whole.clone();
            torn[place] ^= 1;
            let found = read(&torn, KEY, 0).entries;
            let expected = if place < HEAD_BYTES + 15 { 0 } else { 1 };
            assert_eq!(found.len(), expected, "byte {place}");
            let cut = read(&whole[..place], KEY, 0).entries;
            assert_eq!(cut.len(), usize::from(place >= HEAD_BYTES + 15), "up to byte {place}");
        }
    }

    #[test]
    fn entries_of_another_store_or_of_a_later_one_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (mut log, _) = opened(&path, 4);
        log.append(&entries(&["five"])).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(read(&bytes, KEY, 4).entries.len(), 1);
        assert_eq!(read(&bytes, KEY + 1, 4), Found { entries: vec![], last: 4 });
        // The tables were taken from a copy that is older than the log.
        assert_eq!(read(&bytes, KEY, 3), Found { entries: vec![], last: 3 });
    }

    #[test]
    fn what_does_not_fit_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let (mut log, _) = opened(&folder.path().join("log"), 0);
        let half = vec![vec![1; LOG_BYTES / 2 - HEAD_BYTES]];
        for _ in 0..2 {
            assert!(log.has_room(&half));
            log.append(&half).unwrap();
        }
        assert!(!log.has_room(&entries(&[""])));
        log.begin_anew();
        assert!(log.has_room(&half));
    }
}
