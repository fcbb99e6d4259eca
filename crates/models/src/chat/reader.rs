//! Reads a streamed answer from the wire, within its limits.

use agent::model::{Limit, ModelEvent};

use super::assembly::{Assembly, Fault, Progress};
use super::response::Response;
use super::sse::SseParser;

/// Longest line of a stream, in bytes: a piece is some tokens, and whole tool calls may come in one.
pub(super) const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Most bytes of one stream: the wrapping of each token takes some 250 bytes, and answers have up to 1 MiB.
const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// An answer on its way over the wire.
#[derive(Debug)]
pub(super) struct Reader {
    response: Response,
    parser: SseParser,
    pub(super) assembly: Assembly,
    body_bytes: usize,
    has_events: bool,
}

impl Reader {
    pub(super) fn new(response: Response, assembly: Assembly) -> Self {
        let parser = SseParser::new(LINE_BYTES_MAX);
        Self { response, parser, assembly, body_bytes: 0, has_events: false }
    }

    /// Reads what has come. Nothing is lost when the future is dropped.
    pub(super) async fn read(&mut self, events: &mut Vec<ModelEvent>) -> Result<Progress, Fault> {
        match self.response.chunk().await {
            Ok(Some(bytes)) => self.take(&bytes, events),
            Ok(None) => self.end(events),
            // The answer is whole; only the goodbye is missing.
            Err(_) if self.assembly.is_finished() => Ok(Progress::Done),
            Err(error) => Err(Fault::Broken(error.to_string())),
        }
    }

    /// Reads to the end, which is near.
    pub(super) async fn drain(&mut self) {
        while let Ok(Some(_)) = self.response.chunk().await {}
    }

    fn take(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<Progress, Fault> {
        self.body_bytes = self.body_bytes.saturating_add(bytes.len());
        if self.body_bytes > BODY_BYTES_MAX {
            return Err(Fault::Limit(Limit::BodyBytes(BODY_BYTES_MAX)));
        }
        let Self { parser, assembly, has_events, .. } = self;
        let mut taken = Ok(Progress::More);
        let fed = parser.feed(bytes, |data| {
            // What stands behind the end or a fault is not looked at.
            if matches!(taken, Ok(Progress::More)) {
                *has_events = true;
                taken = assembly.take(data, events);
            }
        });
        if matches!(taken, Ok(Progress::More)) {
            fed.map_err(|_| Fault::Limit(Limit::LineBytes(LINE_BYTES_MAX)))?;
        }
        taken
    }

    /// The connection was closed in good order, which does not mean that the answer is whole.
    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<Progress, Fault> {
        if let Some(data) = self.parser.rest() {
            self.has_events = true;
            if let Err(fault) = self.assembly.take(&data, events) {
                return Err(match fault {
                    Fault::Malformed(_) => Fault::Broken("the last event is not whole".to_owned()),
                    other => other,
                });
            }
        }
        if !self.has_events && self.body_bytes > 0 {
            return Err(Fault::Malformed("it is no stream of events".to_owned()));
        }
        Ok(Progress::Done)
    }
}
