//! The A2A protocol as plain data: no clock, no network, no runtime.
//!
//! Inside there is one [`model`], with the meaning of version 1.0. What a version writes is made and read in [`wire`];
//! how HTTP carries it is in [`http`], how JSON-RPC does in [`jsonrpc`], how gRPC does in [`grpc`]. [`version`] says who speaks which version,
//! [`admission`] what may be asked of an agent, [`machine`] what may happen to a task, [`listing`] how tasks are listed,
//! [`push`] what goes with a webhook, [`follow`] what a caller makes of a stranger's events, [`card`] how an agent
//! describes itself, [`hops`] how far a message has come, and [`registry`] what a catalogue of agents shows to whom.

pub mod admission;
pub mod card;
pub mod error;
mod fields;
pub mod follow;
pub mod grpc;
pub mod hops;
pub mod http;
pub mod ids;
pub mod jsonrpc;
pub mod limits;
pub mod listing;
pub mod machine;
pub mod model;
mod percent;
pub mod push;
pub mod registry;
#[cfg(test)]
mod samples;
pub mod sse;
pub mod timestamp;
pub mod version;
pub mod wire;
