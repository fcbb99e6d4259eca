//! A request's body under guard: bounded in size and in time, before anything is buffered.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, StatusCode};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use crate::problem::Problem;

/// Slowest body that is waited for once its first grace is over, in bytes per second.
const BODY_RATE_MIN: u64 = 1024;

/// Why a body was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the body is larger than {bytes_max} bytes")]
    TooLarge { bytes_max: u64 },
    #[error("the body came too slowly")]
    TooSlow,
    #[error("the connection broke off")]
    Broken,
}

impl BodyError {
    /// The answer to a request whose body was not read.
    #[must_use]
    pub fn problem(self) -> Problem {
        match self {
            Self::TooLarge { bytes_max: 0 } => Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_not_taken",
                "this route takes no body",
                "The request has a body that nothing would read.",
                "Send it without a body.",
            )
            .closing(),
            Self::TooLarge { bytes_max } => Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_too_large",
                "the body is too large",
                format!("This route takes at most {bytes_max} bytes."),
                "Send less at once, or ask whoever runs this server to raise the limit.",
            )
            .closing(),
            Self::TooSlow => Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "body_too_slow",
                "the body came too slowly",
                format!("After a first grace a body must bring {BODY_RATE_MIN} bytes a second."),
                "Send it again over a better connection, or send less at once.",
            )
            .closing(),
            Self::Broken => Problem::new(
                StatusCode::BAD_REQUEST,
                "body_broken",
                "the body broke off",
                "The connection ended, or its framing was wrong, before the body was complete.",
                "Send the request again.",
            )
            .closing(),
        }
    }
}

/// Refuses what can be refused by the head alone: an encoded body, or one that says it is too large.
pub(crate) fn check_head(headers: &HeaderMap, bytes_max: u64) -> Result<(), Problem> {
    let plain = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(plain) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "body_encoded",
            "the body is compressed",
            "Compressed request bodies are not read.",
            "Send it without Content-Encoding.",
        )
        .closing());
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    match length.and_then(|text| text.parse::<u64>().ok()) {
        Some(length) if length > bytes_max => Err(BodyError::TooLarge { bytes_max }.problem()),
        Some(_) | None => Ok(()),
    }
}

/// The body, cut off with a [`BodyError`] once it has grown too large or waits too long.
pub(crate) fn guarded(body: Body, bytes_max: u64, wait_max: Duration) -> Body {
    if body.is_end_stream() {
        return Body::empty();
    }
    let clock = Box::pin(sleep(wait_max));
    let (received, waited, waiting_since) = (0, Duration::ZERO, None);
    Body::new(Guarded { body, bytes_max, wait_max, received, waited, waiting_since, clock })
}

struct Guarded {
    body: Body,
    bytes_max: u64,
    wait_max: Duration,
    received: u64,
    /// How long it was waited for in all: what a slow handler takes is not the caller's fault.
    waited: Duration,
    waiting_since: Option<Instant>,
    clock: Pin<Box<Sleep>>,
}

impl Guarded {
    fn took(&mut self, bytes: usize) -> Result<(), BodyError> {
        if let Some(since) = self.waiting_since.take() {
            self.waited = self.waited.saturating_add(since.elapsed());
        }
        self.received = self.received.saturating_add(bytes as u64);
        if self.received > self.bytes_max {
            return Err(BodyError::TooLarge { bytes_max: self.bytes_max });
        }
        Ok(())
    }

    /// Nothing has come: says whether it has been too long.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.waiting_since.is_none() {
            let now = Instant::now();
            // Neither a pause nor a trickle may hold the request: what came early buys no long silence later.
            let earned = Duration::from_secs(self.received / BODY_RATE_MIN);
            let by_rate = self.wait_max.saturating_add(earned).saturating_sub(self.waited);
            self.clock.as_mut().reset(now + by_rate.min(self.wait_max));
            self.waiting_since = Some(now);
        }
        self.clock.as_mut().poll(context)
    }
}

impl HttpBody for Guarded {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Ready(Some(Err(_))) => return Poll::Ready(Some(Err(BodyError::Broken))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {
                return self.poll_late(context).map(|()| Some(Err(BodyError::TooSlow)));
            }
        };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        Poll::Ready(Some(self.took(bytes).map(|()| frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body that keeps something alive until it has been sent, or the caller is gone.
pub(crate) fn holding<T: Send + Sync + Unpin + 'static>(body: Body, held: T) -> Body {
    Body::new(Holding { body, _held: held })
}

struct Holding<T> {
    body: Body,
    _held: T,
}

impl<T: Unpin> HttpBody for Holding<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
