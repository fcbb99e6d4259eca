//! Bytes of which a few are needed here and there, and how they are read where they are part of the program.
//!
//! The system brings sixteen pages of a mapped file into memory for a look at one. What is read from the program's file
//! instead takes the memory of what is read.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;

/// Bytes at both ends by which the program's file is known for what is in memory.
const COMPARED: usize = 64;

/// Many bytes.
#[derive(Debug)]
pub(super) struct Bytes {
    bytes: Cow<'static, [u8]>,
    file: Option<Part>,
}

/// Where they stand in a file.
#[derive(Debug)]
struct Part {
    file: File,
    from: u64,
}

impl Bytes {
    /// Bytes that are compiled in.
    pub(super) fn of_program(bytes: &'static [u8]) -> Self {
        let part = Part::of_program(bytes).filter(|part| part.is(bytes));
        Self { bytes: Cow::Borrowed(bytes), file: part }
    }

    /// A copy of bytes from elsewhere.
    pub(super) fn copied(bytes: &[u8]) -> Self {
        Self { bytes: Cow::Owned(bytes.to_vec()), file: None }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes of a range, as far as they fit into `room`; none if they are not there.
    pub(super) fn read<'a>(&'a self, range: Range<usize>, room: &'a mut [u8]) -> Option<&'a [u8]> {
        let length = range.len().min(room.len());
        let here = self.bytes.get(range.clone())?.get(..length)?;
        let room = room.get_mut(..length)?;
        let is_read = self.file.as_ref().is_some_and(|part| part.read(range.start, room).is_ok());
        Some(if is_read { room } else { here })
    }
}

impl Part {
    /// Whether these bytes stand there: at both ends at least.
    fn is(&self, bytes: &[u8]) -> bool {
        let last = bytes.len().saturating_sub(COMPARED);
        [0, last].into_iter().all(|at| {
            let here = bytes.get(at..bytes.len().min(at + COMPARED)).unwrap_or_default();
            let mut there = vec![0; here.len()];
            self.read(at, &mut there).is_ok() && there == here
        })
    }

    #[cfg(unix)]
    fn read(&self, at: usize, room: &mut [u8]) -> std::io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, room, self.from + at as u64)
    }

    #[cfg(not(unix))]
    fn read(&self, _at: usize, _room: &mut [u8]) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Where the program's own file has what lies at this address, as Linux tells it; none elsewhere.
    fn of_program(bytes: &'static [u8]) -> Option<Self> {
        let address = bytes.as_ptr().addr() as u64;
        let mapped = std::fs::read_to_string("/proc/self/maps").ok()?;
        let from = mapped.lines().find_map(|line| place_in_file(line, address))?;
        Some(Self { file: File::open("/proc/self/exe").ok()?, from })
    }
}

/// Where an address lies in the file, if this line of the list of what is mapped is about it:
/// `55d0c0000000-55d0c4000000 r--p 00002000 fe:00 1234 /usr/bin/saem`.
fn place_in_file(line: &str, address: u64) -> Option<u64> {
    let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let mut parts = line.split_ascii_whitespace();
    let (from, until) = parts.next()?.split_once('-')?;
    let (from, until) = (number(from)?, number(until)?);
    let offset = number(parts.nth(1)?)?;
    (from..until).contains(&address).then(|| offset + (address - from))
}

#[cfg(test)]
mod tests {
    use super::*;

    static SOME: &[u8] = include_bytes!("../../assets/sample-questions.txt");

    fn read(bytes: &Bytes, range: Range<usize>) -> Option<Vec<u8>> {
        bytes.read(range, &mut [0; 256]).map(<[u8]>::to_vec)
    }

    #[test]
    fn what_is_compiled_in_is_read_from_the_program_s_file() {
        let bytes = Bytes::of_program(SOME);
        assert_eq!(bytes.file.is_some(), cfg!(target_os = "linux"));
        for range in [0..1, 0..256, 1000..1100, SOME.len() - 256..SOME.len()] {
            assert_eq!(read(&bytes, range.clone()).as_deref(), SOME.get(range));
        }
        assert_eq!(read(&bytes, 7..1000).as_deref(), SOME.get(7..263));
        assert_eq!(read(&bytes, SOME.len() - 1..SOME.len() + 1), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_done_without() {
        let file = File::open("/dev/null").unwrap();
        let bytes = Bytes { file: Some(Part { file, from: 0 }), ..Bytes::copied(SOME) };
        assert_eq!(read(&bytes, 5..50).as_deref(), SOME.get(5..50));
    }

    #[test]
    fn another_file_is_not_taken_for_the_program_s() {
        let part = Part::of_program(SOME).unwrap();
        assert!(part.is(SOME));
        assert!(!Part { from: part.from + 1, ..part }.is(SOME));
    }

    #[test]
    fn an_address_is_found_in_the_list_of_what_is_mapped() {
        let line = "55d0c0000000-55d0c4000000 r--p 00002000 fe:00 1234 /usr/bin/saem";
        assert_eq!(place_in_file(line, 0x55d0_c000_0010), Some(0x2010));
        assert_eq!(place_in_file(line, 0x55d0_c400_0000), None);
        assert_eq!(place_in_file("7ffd [stack]", 0x7ffd), None);
    }
}
