//! The way out to agents, as a port: who builds it decides at the moment of use what may be reached.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use http::{HeaderMap, Request, StatusCode};

/// Whose word an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The owner's: it may be anywhere, on this machine too.
    WrittenDown,
    /// A card's or a catalogue's: it may not lead inside.
    Stranger,
}

/// Bytes of an answer, as they come.
pub type Body = BoxStream<'static, Result<Vec<u8>, OutsideError>>;

/// Headers that come after a body.
pub type Trailers = Arc<OnceLock<HeaderMap>>;

/// An answer that has begun.
pub struct Opened {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Body,
    /// What comes after the body; nothing is there before its end.
    pub trailers: Trailers,
}

/// Why there is no answer; the words hold no secret of the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutsideError {
    /// It was not tried, or not reached: nothing has happened.
    #[error("{0}")]
    Down(String),
    #[error("no answer in time")]
    Slow,
    /// It broke on the way: it may have happened.
    #[error("{0}")]
    Lost(String),
}

/// Sends requests; one of HTTP/2 goes over nothing else. Redirects are given back as they are; the body is the caller's to bound.
pub trait Outside: Send + Sync {
    /// `wait_max` holds until the answer begins.
    fn open(
        &self,
        reach: Reach,
        request: Request<Vec<u8>>,
        wait_max: Duration,
    ) -> BoxFuture<'_, Result<Opened, OutsideError>>;
}
