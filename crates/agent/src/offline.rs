//! Judging, answering and remembering without a language model: by what the words of question and texts share.
//!
//! It is what an installation without a model runs on, and what stands in when a model fails. Everything here is
//! the same for the same input.

mod answer;
mod everyday;
mod facts;
mod judge;
mod recollect;
mod remember;
#[cfg(test)]
mod tests;
mod word_list;
pub(crate) mod words;

pub use self::answer::{Extracted, answer};
pub use self::facts::facts;
pub use self::judge::judge;
pub use self::recollect::{Recollection, recollect};
pub use self::remember::remember;
pub use self::words::{Asked, contextual};
