//! API keys: their form.

mod form;

pub use form::{NewKey, Secret, checked_prefix, looks_like_one, matching, mint};
