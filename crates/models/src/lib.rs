//! Language models and embedders behind the ports of `agent`.

mod built_in;
pub mod encoder;
mod no_embedder;
pub mod remote_embedder;

pub use built_in::BuiltInEmbedder;
pub use no_embedder::NoEmbedder;
