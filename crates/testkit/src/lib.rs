//! A world for tests: contracts of the ports, a hand-set clock, peers that misbehave.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets something unexpected should end there"
)]

pub mod agent_tasks;
pub mod clock;
pub mod contracts;
pub mod embeddings;
pub mod entries;
pub mod fault_server;
pub mod hostile;
pub mod journals;
pub mod lengths;
pub mod model_server;
pub mod redis_server;
pub mod samples;
pub mod scripted_model;
pub mod sessions;
pub mod tool_records;
pub mod tool_server;
mod wire;
