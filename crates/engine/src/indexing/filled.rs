//! How far an index has come, and when what was readied for it is committed.

use std::time::Duration;

use tokio::time::Instant;

use super::GATHERING_MAX;

/// Bytes of text in one commit: large enough that its fixed cost does not count, and small enough that the last one
/// of many is not waited for long, with one processor idle.
const COMMIT_BYTES_MAX: usize = 8 << 20;

/// While more is coming, so many times as long as the last commit took is spent on gathering: a tenth of the time
/// goes into commits at most, however large the index is.
const GATHERING_PER_COMMIT: u32 = 10;

/// What was readied since the last commit.
pub(super) struct Staged {
    /// The last change in it.
    pub(super) last: u64,
    pub(super) bytes: usize,
    /// When it is committed even if more is coming.
    pub(super) until: Instant,
}

impl Staged {
    /// From now on, after a commit that took so long.
    pub(super) fn after(commit: Duration) -> Self {
        let gathering = GATHERING_MAX.max(commit * GATHERING_PER_COMMIT);
        Self { last: 0, bytes: 0, until: Instant::now() + gathering }
    }

    /// Whether it is time for a commit even if more is coming.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= COMMIT_BYTES_MAX || Instant::now() >= self.until
    }
}

/// How far an index has come.
#[derive(Default)]
pub(super) struct Filled {
    /// The last change that shows.
    pub(super) applied: u64,
    pub(super) staged: Option<Staged>,
    /// How long the last commit took.
    pub(super) commit: Duration,
}

impl Filled {
    /// The last change that is in it or readied.
    pub(super) fn seen(&self) -> u64 {
        self.staged.as_ref().map_or(self.applied, |staged| staged.last)
    }
}
