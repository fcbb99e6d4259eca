//! What every port promises, as functions that each implementation has to pass.

pub mod audit;
pub mod documents;
pub mod entries;
pub mod index;
pub mod jobs;
pub mod keys;
pub mod language_model;
pub mod ledger;
pub mod research;
pub mod sessions;
pub mod tasks;
pub mod tools;
