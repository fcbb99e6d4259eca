//! The server as its callers meet it: over a connection, byte by byte.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends at the first surprise"
)]

mod credentials;
mod ending;
mod hosts;
mod limits;
mod pages;
mod table;
mod tokens;
mod visits;
mod world;
