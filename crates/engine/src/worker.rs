//! Reads documents in a child process, so that a hostile one kills the child and nothing else.
//!
//! The child is this same program, started with one argument. Before it sees a byte of any document it gives up
//! what a document could abuse: memory and time beyond a limit, new files and connections, and outliving us.

mod child;
mod pool;
mod wire;

pub use child::serve;
pub use pool::{Pool, PoolSettings, ReadError};
pub use wire::ReadOrder;
