//! What is decided about tools: their names, what of them is believed, whether a call runs, and what is noted of it.
//!
//! A tool's server is a stranger: its names, descriptions, annotations and results are claims. What Saem itself gives
//! a tool (the server's id, the name that a model sees, the pin) never depends on what other servers say.

pub mod activity;
pub mod attachment;
pub mod definition;
pub mod fits;
pub mod listing;
pub mod login;
pub mod naming;
pub mod offer;
pub mod outcome;
pub mod policy;
pub mod question;
pub mod redaction;
pub mod spoken;
pub mod suspicion;

/// Tools of one server that are taken: more than any model can choose from.
pub const TOOLS_MAX: usize = 1_000;

/// Bytes of all definitions of one server: a thousand tools of four kilobytes.
pub const DEFINITIONS_BYTES_MAX: usize = 4 << 20;

/// Pages of one list: a server whose cursor never ends is cut off here.
pub const PAGES_MAX: usize = 50;

/// Bytes of a tool's result that get past the connection; what reaches a model is bounded again by its context.
pub const RESULT_BYTES_MAX: usize = 1 << 20;

/// Bytes of a description that a model reads: a page of text. Longer ones are cut, and the tool is marked.
pub const DESCRIPTION_BYTES_MAX: usize = 4_096;

/// Bytes of one tool's schema: the largest in the field have about thirty thousand.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;

/// How deep a schema may nest: people write five levels, generators ten.
pub const SCHEMA_DEPTH_MAX: usize = 32;

/// Values in one schema: keeps whatever walks it short.
pub const SCHEMA_VALUES_MAX: usize = 10_000;

/// Bytes of the arguments of one call: a document may be among them.
pub const ARGUMENTS_BYTES_MAX: usize = 1 << 20;
