//! What an agent sends, bounded: whole answers, and the events of a stream.

use std::collections::VecDeque;
use std::time::Duration;

use a2a::error::ErrorKind;
use a2a::sse::Events;
use futures_util::StreamExt;

use super::error::PeerError;
use super::outside::Body;

/// Bytes of one answer or event: a file of the largest size, as base64.
pub(super) const ANSWER_BYTES_MAX: usize = 24 << 20;

/// Bytes of all events of a stream: a few such files, or a long text in very many pieces.
pub(super) const STREAM_BYTES_MAX: usize = 64 << 20;

/// Events of a stream: a piece for each word of a book.
pub(super) const EVENTS_MAX: usize = 100_000;

/// Reads a body to its end.
pub(super) async fn read_all(mut body: Body, bytes_max: usize) -> Result<Vec<u8>, PeerError> {
    let mut whole = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk?;
        if whole.len() + chunk.len() > bytes_max {
            return Err(too_much(format!("its answer has more than {bytes_max} bytes")));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole)
}

/// The events of a stream as they come.
pub(super) struct Told {
    body: Body,
    events: Events,
    waiting: VecDeque<String>,
    bytes: usize,
    count: usize,
}

impl Told {
    pub(super) fn new(body: Body) -> Self {
        let events = Events::new(ANSWER_BYTES_MAX);
        Self { body, events, waiting: VecDeque::new(), bytes: 0, count: 0 }
    }

    /// The next event's data; none at the end. Any byte is a sign of life.
    pub(super) async fn next(
        &mut self,
        silence_max: Duration,
    ) -> Result<Option<String>, PeerError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.count += 1;
                if self.count > EVENTS_MAX {
                    return Err(too_much(format!("it tells more than {EVENTS_MAX} events")));
                }
                return Ok(Some(event));
            }
            let chunk = tokio::time::timeout(silence_max, self.body.next()).await;
            let Some(chunk) = chunk.map_err(|_| PeerError::TimedOut)? else { return Ok(None) };
            let chunk = chunk?;
            self.bytes += chunk.len();
            if self.bytes > STREAM_BYTES_MAX {
                return Err(too_much(format!("its stream has more than {STREAM_BYTES_MAX} bytes")));
            }
            let events = self.events.push(&chunk).map_err(|error| too_much(error.to_string()))?;
            self.waiting.extend(events);
        }
    }
}

pub(super) fn too_much(words: String) -> PeerError {
    PeerError::Refused { kind: ErrorKind::InvalidAgentResponse, words }
}
