//! Counts tokens as OpenAI's models do (o200k), and nearly as others do.

mod classes;
mod counts;
mod merger;
mod o200k;
mod pieces;
#[cfg(test)]
mod tests;
mod texts;
mod vocabulary;

use std::sync::OnceLock;

use agent::model::Tokenizer;

use self::o200k::O200k;

/// How many more tokens than o200k another model's text may have, in percent of o200k's. Most vocabularies are
/// smaller than its 200,000 entries, above all in Korean.
const OTHERS_PERCENT: u32 = 130;

static O200K: OnceLock<Option<O200k>> = OnceLock::new();

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
        // Without a vocabulary, every byte counts as a token: there can be no more of them.
        let exact = o200k().map_or(text.len(), |o200k| o200k.count(text));
        exact.saturating_mul(self.percent as usize).div_ceil(100)
    }

    fn clip<'text>(&self, text: &'text str, tokens_max: usize) -> &'text str {
        let budget = self.budget(tokens_max);
        let bytes = o200k().map_or(budget, |o200k| o200k.clip(text, budget));
        text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
    }
}

/// The vocabulary is part of the program, so it is there unless the program was built with a damaged one.
fn o200k() -> Option<&'static O200k> {
    O200K.get_or_init(O200k::load).as_ref()
}
