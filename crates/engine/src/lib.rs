//! Does what `agent` decides: loads, parses, indexes, searches, answers and remembers.

pub mod agents;
pub mod catalogue;
pub mod chat;
mod cleanup;
mod error;
mod following;
mod fresh;
mod indexing;
mod ingest;
mod jobs;
pub mod keys;
mod knowledge;
pub mod peers;
mod reading;
pub mod research;
pub mod search;
pub mod tasks;
pub mod telemetry;
pub mod tools;
mod trees;
pub mod worker;

pub use cleanup::CleanupReport;
pub use error::EngineError;
pub use extract::Mapping;
pub use following::{Following, WholeText};
pub use indexing::Expected;
pub use ingest::{Ingested, NewDocument, Outcome, too_large};
pub use jobs::{Order, Upload};
pub use knowledge::{Knowledge, Parts, Rules};
pub use reading::{RECIPE, document_id};
