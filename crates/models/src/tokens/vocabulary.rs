//! The tokens of o200k: which bytes are one, and which of two is joined first.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

/// Every token in the order of ranks, each as its length in one byte and its bytes; made by
/// `cargo xtask convert-tokens`.
static TOKENS: &[u8] = include_bytes!("../../assets/o200k.bin");

/// How many tokens there are, those for special purposes left out.
const TOKENS_COUNT: usize = 199_998;

/// Longest token, in bytes.
pub(super) const TOKEN_BYTES_MAX: usize = 128;

/// Places of the table, a power of two: a third more than tokens. Neighbours lie in one line of the cache, so that a few
/// looks more cost less than a table of twice the size.
const PLACES: usize = 1 << 18;

/// Of so many tokens one is known by its place; the others are found from there.
const TOKENS_PER_START: usize = 8;

/// Low bits of a place that hold the rank, plus one; the others hold a part of the token's hash.
const RANK_BITS: u32 = 18;
const RANK_MASK: u32 = (1 << RANK_BITS) - 1;

/// A token's place in the order in which tokens are made of their parts: the lower, the sooner.
pub(super) type Rank = u32;

/// A table of ranks by the bytes of tokens: a megabyte, a ninth of what a map of slices takes.
#[derive(Debug)]
pub(super) struct Vocabulary {
    /// By hash; who finds a place taken takes the next.
    places: Vec<u32>,
    /// Where every eighth token stands in [`TOKENS`], by rank.
    starts: Vec<u32>,
    count: usize,
}

impl Vocabulary {
    /// `None` if the asset is damaged.
    pub(super) fn load() -> Option<Self> {
        let starts = Vec::with_capacity(TOKENS_COUNT.div_ceil(TOKENS_PER_START));
        let mut vocabulary = Self { places: vec![0; PLACES], starts, count: 0 };
        let mut rest = TOKENS;
        while let Some((length, others)) = rest.split_first() {
            let length = Some(usize::from(*length)).filter(|length| *length <= TOKEN_BYTES_MAX)?;
            let (token, others) = others.split_at_checked(length)?;
            let start = TOKENS.len() - rest.len();
            vocabulary.add(token, u32::try_from(start).ok()?)?;
            rest = others;
        }
        (vocabulary.count == TOKENS_COUNT).then_some(vocabulary)
    }

    /// Adds the next token; `None` if there are too many, or it is there already.
    fn add(&mut self, token: &[u8], start: u32) -> Option<()> {
        let rank = u32::try_from(self.count).ok()?;
        if self.count >= TOKENS_COUNT || self.rank(token).is_some() {
            return None;
        }
        let (place, mark) = place_of(token);
        let free =
            (place..PLACES).chain(0..place).find(|place| self.places.get(*place) == Some(&0))?;
        *self.places.get_mut(free)? = mark | (rank + 1);
        if self.count.is_multiple_of(TOKENS_PER_START) {
            self.starts.push(start);
        }
        self.count += 1;
        Some(())
    }

    #[inline]
    pub(super) fn rank(&self, bytes: &[u8]) -> Option<Rank> {
        let (mut place, mark) = place_of(bytes);
        loop {
            let found = *self.places.get(place)?;
            if found == 0 {
                return None;
            }
            if found & !RANK_MASK == mark {
                let rank = (found & RANK_MASK) - 1;
                if self.token(rank) == Some(bytes) {
                    return Some(rank);
                }
            }
            place = (place + 1) % PLACES;
        }
    }

    fn token(&self, rank: Rank) -> Option<&'static [u8]> {
        let rank = rank as usize;
        let mut start = *self.starts.get(rank / TOKENS_PER_START)? as usize;
        for _ in 0..rank % TOKENS_PER_START {
            start += 1 + usize::from(*TOKENS.get(start)?);
        }
        let length = usize::from(*TOKENS.get(start)?);
        TOKENS.get(start + 1..start + 1 + length)
    }
}

/// The first place to look at, and what stands there above the rank. Tokens are known beforehand, so nobody can choose
/// them to collide.
#[inline]
fn place_of(bytes: &[u8]) -> (usize, u32) {
    let hash = FixedState::default().hash_one(bytes);
    (hash as usize % PLACES, (hash >> 32) as u32 & !RANK_MASK)
}
