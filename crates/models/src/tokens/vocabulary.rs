//! The tokens of o200k: which bytes are one, and which of two is joined first.

use std::collections::HashMap;

use foldhash::fast::FixedState;

/// Every token in the order of ranks, each as its length in one byte and its bytes; made by
/// `cargo xtask convert-tokens`.
static TOKENS: &[u8] = include_bytes!("../../assets/o200k.bin");

/// How many tokens there are, those for special purposes left out.
const TOKENS_COUNT: usize = 199_998;

/// Longest token, in bytes.
pub(super) const TOKEN_BYTES_MAX: usize = 128;

/// A token's place in the order in which tokens are made of their parts: the lower, the sooner.
pub(super) type Rank = u32;

#[derive(Debug)]
pub(super) struct Vocabulary {
    ranks: HashMap<&'static [u8], Rank, FixedState>,
}

impl Vocabulary {
    /// `None` if the asset is damaged.
    pub(super) fn load() -> Option<Self> {
        // The tokens are known beforehand, so nobody can choose them to collide.
        let mut ranks = HashMap::with_capacity_and_hasher(TOKENS_COUNT, FixedState::default());
        let mut rest = TOKENS;
        for rank in 0.. {
            let Some((length, others)) = rest.split_first() else { break };
            let length = Some(usize::from(*length)).filter(|length| *length <= TOKEN_BYTES_MAX)?;
            let (token, others) = others.split_at_checked(length)?;
            ranks.insert(token, rank);
            rest = others;
        }
        (ranks.len() == TOKENS_COUNT).then_some(Self { ranks })
    }

    #[inline]
    pub(super) fn rank(&self, bytes: &[u8]) -> Option<Rank> {
        self.ranks.get(bytes).copied()
    }
}
