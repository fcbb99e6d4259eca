//! Counts each text once: the same turns are counted for every question and every row.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use agent::model::Tokenizer;
use models::tokens::TokenCounter;

/// Whose tokens are counted: those of the model that the product's prices are for.
const MODEL: &str = "gpt-5-nano";

/// Remembers every count for as long as one evaluation takes.
pub(super) struct Tokens {
    counter: TokenCounter,
    known: Mutex<HashMap<String, usize>>,
}

impl Tokens {
    pub(super) fn new() -> Self {
        Self { counter: TokenCounter::for_model(MODEL), known: Mutex::default() }
    }
}

impl Tokenizer for Tokens {
    fn count(&self, text: &str) -> usize {
        // Nothing panics while it is held, and a count is whole or not there.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = known.get(text) {
            return *count;
        }
        let count = self.counter.count(text);
        known.insert(text.to_owned(), count);
        count
    }

    fn clip<'text>(&self, text: &'text str, tokens_max: usize) -> &'text str {
        self.counter.clip(text, tokens_max)
    }
}
