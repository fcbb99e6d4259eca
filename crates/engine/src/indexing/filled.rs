//! How far an index has come, and when what was readied for it is committed.

use std::time::Duration;

use tokio::time::Instant;

use super::{GATHERING_MAX, STAGE_BYTES};

/// Bytes of text in one commit: large enough that its fixed cost does not count, and small enough that the last one
/// of many is not waited for long, with one processor idle.
const COMMIT_BYTES_MAX: usize = 8 << 20;

/// The last commit of a load is waited for with one processor idle, so it is to be a small one: when no more is to come than a
/// third of what is there, this is committed beside it. For less than this it is not worth a commit.
const LAST_SHARE: usize = 3;
const LAST_BYTES_MIN: usize = STAGE_BYTES / 2;

/// So little is seldom looked at a second time: the next batch may be all of it. It is not waited for where this much is there.
const LAST_LOOK_BYTES: usize = STAGE_BYTES + LAST_BYTES_MIN;
const LAST_LOOK_FROM_BYTES: usize = 2 * STAGE_BYTES;

/// While more is coming, so many times as long as the last commit took is spent on gathering: a tenth of the time
/// goes into commits at most, however large the index is.
const GATHERING_PER_COMMIT: u32 = 10;

/// What was readied since the last commit.
pub(super) struct Staged {
    /// The last change in it.
    pub(super) last: u64,
    documents: usize,
    bytes: usize,
    /// When it is committed even if more is coming.
    pub(super) until: Instant,
}

impl Staged {
    /// From now on, after a commit that took so long.
    pub(super) fn after(commit: Duration) -> Self {
        let gathering = GATHERING_MAX.max(commit * GATHERING_PER_COMMIT);
        Self { last: 0, documents: 0, bytes: 0, until: Instant::now() + gathering }
    }

    /// With so many documents more, up to this change.
    pub(super) fn add(&mut self, documents: usize, bytes: usize, last: u64) {
        self.documents += documents;
        self.bytes += bytes;
        self.last = last;
    }

    /// Whether it is time for a commit, as so many documents are known to be still to come.
    pub(super) fn is_full(&self, coming: usize) -> bool {
        // They will be about as long as the others.
        let coming_bytes = (self.bytes / self.documents.max(1)).saturating_mul(coming);
        let is_last_look =
            coming_bytes <= LAST_LOOK_BYTES && self.bytes >= coming_bytes.max(LAST_LOOK_FROM_BYTES);
        let is_small = coming_bytes <= self.bytes / LAST_SHARE || is_last_look;
        self.bytes >= COMMIT_BYTES_MAX
            || (is_small && coming_bytes >= LAST_BYTES_MIN)
            || Instant::now() >= self.until
    }
}

/// How far an index has come.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) staged: Option<Staged>,
    /// How long the last commit took.
    pub(super) commit: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT_BYTES: usize = 4 << 10;

    /// Whether so much that is staged is committed, where so much is still to come.
    fn is_full(bytes: usize, coming_bytes: usize) -> bool {
        let mut staged = Staged::after(Duration::ZERO);
        staged.add(bytes / DOCUMENT_BYTES, bytes, 1);
        staged.is_full(coming_bytes / DOCUMENT_BYTES)
    }

    #[test]
    fn a_commit_is_of_so_much_or_leaves_a_small_one_for_the_end() {
        const MIB: usize = 1 << 20;
        for (bytes, coming, expected) in [
            (8 * MIB, 0, true),
            (8 * MIB, 40 * MIB, true),
            (6 * MIB, 40 * MIB, false),
            (6 * MIB, 3 * MIB, false),
            (6 * MIB, 2 * MIB, true),
            (6 * MIB, MIB, true),
            // So little is better committed with the rest.
            (6 * MIB, MIB / 4, false),
            (6 * MIB, 0, false),
            (3 * MIB, 5 * MIB / 4, true),
            (3 * MIB, 7 * MIB / 4, false),
            (2 * MIB, MIB, true),
            (MIB, MIB, false),
            (MIB, MIB / 2, false),
            (0, 0, false),
        ] {
            assert_eq!(is_full(bytes, coming), expected, "{bytes} are there, {coming} are to come");
        }
    }

    /// However long a load is, it ends in a commit of no more than two and a half batches.
    #[test]
    fn the_last_commit_of_a_load_is_a_small_one() {
        let tenth = STAGE_BYTES / 10;
        for tenths in 40..600 {
            let (mut staged, mut coming) = (0, tenths * tenth);
            while coming > 0 {
                if is_full(staged, coming) {
                    staged = 0;
                }
                let batch = coming.min(STAGE_BYTES);
                (staged, coming) = (staged + batch, coming - batch);
            }
            assert!(2 * staged <= 5 * STAGE_BYTES, "{staged} bytes are left of {tenths} tenths");
        }
    }
}
