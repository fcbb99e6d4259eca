//! Hybrid search over chunks: keywords and vectors, Korean and English, one folder a tenant.

mod bits;
mod excerpts;
mod filters;
mod finding;
mod generation;
mod inversion;
mod known_terms;
mod local;
mod pending;
mod places;
#[cfg(test)]
mod plain;
mod query;
mod schema;
mod snapshot;
mod tokens;
mod top;
pub mod vectors;

pub use local::{LocalIndex, Settings};
pub use schema::RECIPE;
