//! Language models and embedders behind the ports of `agent`.

mod built_in;
pub mod chat;
pub mod discover;
pub mod encoder;
pub mod fallback;
mod http;
mod line;
mod no_embedder;
mod patience;
mod remembering;
pub mod remote_embedder;
pub mod tokens;

pub use built_in::BuiltInEmbedder;
pub use no_embedder::NoEmbedder;
pub use remembering::{Remembered, Remembering};
