//! Calls of an agent over gRPC: a message in a frame goes out over HTTP/2; frames come back, and how it ended stands after them.

use std::time::Duration;

use a2a::error::ErrorKind;
use a2a::grpc::{self, Deframer, FrameError, Method};
use a2a::model::{Answer, Call, Event};
use a2a::version::{VERSION_HEADER, Version};
use futures_util::StreamExt as _;
use http::header::{CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderValue, Request};
use reqwest::Url;

use super::calls::unsayable;
use super::error::{PeerError, shown};
use super::events::{ANSWER_BYTES_MAX, EVENTS_MAX, STREAM_BYTES_MAX, too_much};
use super::outside::{Body, Opened, Trailers};

// Statuses of gRPC that are about the way to the agent, and not about what was asked.
const DEADLINE_EXCEEDED: i32 = 4;
const PERMISSION_DENIED: i32 = 7;
const UNAVAILABLE: i32 = 14;
const UNAUTHENTICATED: i32 = 16;

/// The address of an agent whose card names host and port alone, as gRPC does: as safe as the way to its card.
pub(super) fn address(named: &str, card: Option<&str>) -> String {
    if named.contains("://") {
        return named.to_owned();
    }
    let is_plain = card.is_some_and(|card| card.starts_with("http://"));
    format!("{}://{named}", if is_plain { "http" } else { "https" })
}

/// Writes a call: where it goes, what is sent, and how the answer is read.
pub(super) fn written(
    version: Version,
    url: &Url,
    call: &Call,
) -> Result<(Url, Request<Vec<u8>>, Method), PeerError> {
    let kind = call.operation.kind();
    let (path, method) = Method::for_caller(version, kind).ok_or_else(|| {
        PeerError::Unusable(format!(
            "the agent speaks {version} over gRPC, which does not have this"
        ))
    })?;
    let mut url = url.clone();
    url.set_path(&path);
    let message = method.write_call(call).map_err(unsayable)?;
    let mut request = Request::new(grpc::frame(&message));
    *request.method_mut() = http::Method::POST;
    *request.version_mut() = http::Version::HTTP_2;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(grpc::MEDIA_TYPE));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    headers.insert(VERSION_HEADER, HeaderValue::from_static(version.as_str()));
    Ok((url, request, method))
}

/// Reads the one message of an answer.
pub(super) async fn answer(
    opened: Opened,
    method: Method,
    agent: &str,
) -> Result<Answer, PeerError> {
    let mut frames = Frames::new(opened, ANSWER_BYTES_MAX, agent)?;
    let mut answer = None;
    // How it ended is known only after the message.
    while let Some(message) = frames.next().await? {
        answer.get_or_insert(message);
    }
    let nothing = || too_much("no message at all".to_owned());
    Ok(method.read_answer(&answer.ok_or_else(nothing)?)?)
}

/// The events of a stream as they come.
pub(super) struct Told {
    frames: Frames,
    method: Method,
    count: usize,
}

impl Told {
    pub(super) fn new(opened: Opened, method: Method, agent: &str) -> Result<Self, PeerError> {
        let frames = Frames::new(opened, STREAM_BYTES_MAX, agent)?;
        Ok(Self { frames, method, count: 0 })
    }

    /// The next event; none at the end.
    pub(super) async fn next(&mut self, silence_max: Duration) -> Result<Option<Event>, PeerError> {
        let next = tokio::time::timeout(silence_max, self.frames.next()).await;
        let Some(message) = next.map_err(|_| PeerError::TimedOut)?? else { return Ok(None) };
        self.count += 1;
        if self.count > EVENTS_MAX {
            return Err(too_much(format!("it tells more than {EVENTS_MAX} events")));
        }
        Ok(Some(self.method.read_event(&message)?))
    }
}

/// Messages out of an answer, and its end.
struct Frames {
    body: Body,
    trailers: Trailers,
    frames: Deframer,
    bytes: usize,
    bytes_max: usize,
    /// The agent's name in the configuration.
    agent: String,
}

impl Frames {
    fn new(opened: Opened, bytes_max: usize, agent: &str) -> Result<Self, PeerError> {
        // A refusal may be a head alone.
        if let Some(status) = status(&opened.headers) {
            ended(status, &opened.headers, agent)?;
        }
        if opened.status.is_server_error() {
            let why = format!("the agent answers with status {}", opened.status);
            return Err(PeerError::Down(why));
        }
        if !opened.status.is_success() {
            let kind = ErrorKind::InvalidAgentResponse;
            return Err(PeerError::Refused { kind, words: format!("HTTP {}", opened.status) });
        }
        let Opened { body, trailers, .. } = opened;
        let frames = Deframer::new(ANSWER_BYTES_MAX);
        Ok(Self { body, trailers, frames, bytes: 0, bytes_max, agent: agent.to_owned() })
    }

    /// The next message; none after the last of a call that went well.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, PeerError> {
        loop {
            if let Some(message) = self.frames.next_message().map_err(broken)? {
                return Ok(Some(message));
            }
            let Some(chunk) = self.body.next().await else { break };
            let chunk = chunk?;
            self.bytes += chunk.len();
            if self.bytes > self.bytes_max {
                return Err(too_much(format!("its answer has more than {} bytes", self.bytes_max)));
            }
            self.frames.push(&chunk);
        }
        let lost = || PeerError::Lost("its answer breaks off".to_owned());
        let trailers = self.trailers.get().ok_or_else(lost)?;
        ended(status(trailers).ok_or_else(lost)?, trailers, &self.agent)?;
        self.frames.end().map_err(broken)?;
        Ok(None)
    }
}

fn status(headers: &HeaderMap) -> Option<i32> {
    headers.get("grpc-status")?.to_str().ok()?.parse().ok()
}

/// What a status of gRPC says about a call.
fn ended(code: i32, headers: &HeaderMap, agent: &str) -> Result<(), PeerError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let message = text("grpc-message").unwrap_or_default();
    let error = grpc::error_of(code, message, text("grpc-status-details-bin"));
    match code {
        grpc::OK => Ok(()),
        UNAUTHENTICATED | PERMISSION_DENIED => Err(PeerError::Closed(format!(
            "the agent wants to know who calls: give it credentials with `headers` in [agents.{agent}]"
        ))),
        UNAVAILABLE => Err(PeerError::Down(shown(&error.message))),
        DEADLINE_EXCEEDED => Err(PeerError::TimedOut),
        _ => Err(error.into()),
    }
}

fn broken(error: FrameError) -> PeerError {
    too_much(error.to_string())
}
