//! What Saem keeps: documents, jobs, keys, conversations, research runs, what they cost, what tools did, tasks of other agents and the audit log, in one durable place.

mod ahead;
mod audit;
mod documents;
mod entries;
mod jobs;
mod keys;
mod ledger;
mod log;
mod memory_tasks;
mod migrations;
mod redb_file;
pub mod redis;
mod research;
mod sessions;
mod shelf;
mod tables;
mod tasks;
mod tools;
mod vault;
mod writer;

pub use memory_tasks::MemoryTasks;
pub use redb_file::{OpenError, Options, Store};
pub use vault::FileVault;
pub use writer::Health;
