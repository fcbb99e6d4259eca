//! Counts tokens as OpenAI's models do (o200k), and nearly as others do.

mod stretches;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::OnceLock;

use agent::model::Tokenizer;
use tiktoken_rs::{CoreBPE, Rank};

use self::stretches::stretches;

/// Bytes that are about one token, in tenths: Korean prose has 3.6 of them and English 4.5, code and short words fewer.
const BYTES_PER_TOKEN_TENTHS: u64 = 36;

/// How many more tokens than o200k another model's text may have, in percent of o200k's. Most vocabularies are
/// smaller than its 200,000 entries, above all in Korean.
const OTHERS_PERCENT: u32 = 130;

static O200K: OnceLock<Option<CoreBPE>> = OnceLock::new();

/// Loads the vocabulary if it is not there: 0.2 s of one processor, so not while somebody waits. Counting does it too.
pub fn load() {
    o200k();
}

#[must_use]
pub fn is_loaded() -> bool {
    O200K.get().is_some()
}

/// About how many tokens so many bytes of text are, for want of a count.
#[must_use]
pub fn tokens_in_about(bytes: usize) -> u64 {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    bytes.saturating_mul(10).div_ceil(BYTES_PER_TOKEN_TENTHS)
}

/// Counts for one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCounter {
    /// Tokens of this model for 100 of o200k.
    percent: u32,
}

impl TokenCounter {
    /// Exact for OpenAI's models since gpt-4o, with some room for others.
    #[must_use]
    pub fn for_model(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let is_o200k = ["gpt-4o", "gpt-4.1", "gpt-5", "gpt-6", "gpt-oss", "o1", "o3", "o4"]
            .iter()
            .any(|start| name.starts_with(start));
        Self { percent: if is_o200k { 100 } else { OTHERS_PERCENT } }
    }

    /// `percent` is what the operator measured for the model, in tokens for 100 of o200k; at least 1.
    #[must_use]
    pub fn with_percent(percent: u32) -> Self {
        Self { percent: percent.max(1) }
    }

    /// Of o200k's tokens, so many fit.
    fn budget(self, tokens: usize) -> usize {
        tokens.saturating_mul(100) / self.percent as usize
    }
}

impl Tokenizer for TokenCounter {
    fn count(&self, text: &str) -> usize {
        let exact: usize = stretches(text).map(|stretch| encode(stretch).len()).sum();
        exact.saturating_mul(self.percent as usize).div_ceil(100)
    }

    fn clip<'text>(&self, text: &'text str, tokens_max: usize) -> &'text str {
        let mut left = self.budget(tokens_max);
        let mut bytes = 0;
        for stretch in stretches(text) {
            let tokens = encode(stretch);
            if tokens.len() > left {
                bytes += clip_stretch(stretch, &tokens, left).len();
                break;
            }
            left -= tokens.len();
            bytes += stretch.len();
        }
        text.get(..bytes).unwrap_or(text)
    }
}

/// The tokens of a stretch; what cannot be taken apart counts as one for each byte, which is the most there can be.
fn encode(stretch: &str) -> Vec<Rank> {
    let none = HashSet::new();
    let encoded = o200k().and_then(|o200k| o200k.encode(stretch, &none).ok());
    encoded.map_or_else(|| vec![Rank::MAX; stretch.len()], |(tokens, _)| tokens)
}

/// The longest beginning of a stretch of more than `tokens_max` tokens that has no more than that.
fn clip_stretch<'text>(stretch: &'text str, tokens: &[Rank], tokens_max: usize) -> &'text str {
    let lengths = tokens.iter().map(|token| {
        let bytes = o200k().and_then(|o200k| o200k.decode_bytes(&[*token]).ok());
        bytes.map_or(1, |bytes| bytes.len())
    });
    let mut end = lengths.take(tokens_max).sum::<usize>();
    loop {
        let start = stretch.get(..stretch.floor_char_boundary(end)).unwrap_or_default();
        // A beginning may be cut into other tokens than it was as a part of the whole, and into more of them.
        if start.is_empty() || encode(start).len() <= tokens_max {
            return start;
        }
        end = start.len() - 1;
    }
}

/// The vocabulary is part of the program, so it can only fail to load for lack of memory.
fn o200k() -> Option<&'static CoreBPE> {
    O200K.get_or_init(|| tiktoken_rs::o200k_base().ok()).as_ref()
}
