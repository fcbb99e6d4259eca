//! Writes to a file past the system's cache: one call has bytes on the disk, and costs two thirds of a write and a sync.
//!
//! Such writes begin and end at blocks, in memory and on the disk. The block that the log ends in is written again with
//! what comes behind it, as the system's cache would do.

use std::fs::File;
use std::io::{self, IoSlice};
use std::path::Path;

/// Bytes of a block: as many as any disk wants.
const BLOCK_BYTES: usize = 4096;

/// Blocks that are kept for the next write: some turns fit.
const BLOCKS_KEPT: usize = 16;

#[derive(Debug, Clone)]
#[repr(align(4096))]
struct Block([u8; BLOCK_BYTES]);

impl Block {
    const EMPTY: Self = Self([0; BLOCK_BYTES]);
}

/// The file, and the last block of what was written to it.
#[derive(Debug)]
pub(super) struct Direct {
    file: File,
    /// The first holds what stands before the next write in its block.
    blocks: Vec<Block>,
}

impl Direct {
    /// Opens a file that is there; none where the system or the disk does not know of this.
    #[cfg(target_os = "linux")]
    pub(super) fn open(path: &Path) -> Option<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;

        let flags = i32::try_from((OFlags::DIRECT | OFlags::DSYNC).bits()).ok()?;
        let file = File::options().write(true).custom_flags(flags).open(path).ok()?;
        Some(Self { file, blocks: vec![Block::EMPTY] })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open(_path: &Path) -> Option<Self> {
        None
    }

    /// Has bytes on the disk behind the first `end` of the file, which were written here too or stand before a block.
    pub(super) fn write(&mut self, end: usize, bytes: &[u8]) -> io::Result<()> {
        let within = end % BLOCK_BYTES;
        let after = within + bytes.len();
        self.blocks.resize(after.div_ceil(BLOCK_BYTES).max(1), Block::EMPTY);
        let mut rest = bytes;
        let mut from = within;
        for Block(block) in &mut self.blocks {
            let (_, room) = block.split_at_mut(from);
            let (now, later) = rest.split_at(rest.len().min(room.len()));
            let (filled, left) = room.split_at_mut(now.len());
            filled.copy_from_slice(now);
            left.fill(0);
            (rest, from) = (later, 0);
        }
        let slices: Vec<IoSlice<'_>> =
            self.blocks.iter().map(|Block(block)| IoSlice::new(block)).collect();
        let written = rustix::io::pwritev(&self.file, &slices, (end - within) as u64)?;
        if written < self.blocks.len() * BLOCK_BYTES {
            return Err(io::ErrorKind::WriteZero.into());
        }
        // What is in the last block is written again with what comes next.
        let last = self.blocks.len() - 1;
        self.blocks.swap(0, last);
        self.blocks.truncate(1);
        self.blocks.shrink_to(BLOCKS_KEPT);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_piece_by_piece_stands_there_in_a_row() {
        // Not below the system's temporary folder, which may be in memory and know nothing of this.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 100 * BLOCK_BYTES]).unwrap();
        let Some(mut direct) = Direct::open(&path) else { return };
        let (mut expected, mut number) = (Vec::new(), 0_u8);
        for length in [1, 4095, 1, 5000, 0, 8192, 3, 4096 * 20 + 5, 4096 * 3 - 9, 10_000] {
            number += 1;
            let bytes = vec![number; length];
            direct.write(expected.len(), &bytes).unwrap();
            expected.extend(bytes);
            let there = std::fs::read(&path).unwrap();
            assert!(there.starts_with(&expected), "{length}");
            assert_eq!(there.len(), 100 * BLOCK_BYTES, "the file keeps its length");
        }
        assert!(direct.blocks.capacity() <= BLOCKS_KEPT);
        // From the front again.
        direct.write(0, b"anew").unwrap();
        direct.write(4, b" and on").unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(b"anew and on\0"));
    }
}
