//! What the command line can do, a file for each command.

pub(crate) mod activity;
pub(crate) mod agents;
pub(crate) mod ask;
pub(crate) mod cleanup;
pub(crate) mod conformance;
pub(crate) mod cost;
pub(crate) mod demo_files;
pub(crate) mod doctor;
pub(crate) mod documents;
pub(crate) mod eval;
pub(crate) mod files;
pub(crate) mod ingest;
pub(crate) mod key;
pub(crate) mod mcp;
pub(crate) mod research;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod watch;
