//! Language models and embedders behind the ports of `agent`.

mod built_in;
pub mod chat;
pub mod discover;
pub mod encoder;
pub mod fallback;
mod http;
mod no_embedder;
mod patience;
pub mod price;
pub mod remote_embedder;
mod schema;
pub mod structured;
pub mod tokens;

pub use built_in::BuiltInEmbedder;
pub use no_embedder::NoEmbedder;
