//! Answers that come in pieces: server-sent events that end when the caller, the server or the caller's rights do.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use engine::chat::{Asking, TurnEvent};
use futures_util::{Stream, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::guard::Standing;
use crate::problem::Problem;

/// How often a silent stream shows that it is alive: proxies give up on a silent answer after 60 seconds.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// What a stream says of a turn, in the words of its protocol.
pub(crate) trait Telling: Send + 'static {
    /// What is sent for an event; nothing for one that the protocol has no word for.
    fn tell(&mut self, event: TurnEvent) -> String;
    /// What is sent when the stream ends before the turn does.
    fn broke_off(&mut self, why: &Problem) -> String;
}

/// Streams a turn. The turn stops when the caller goes away.
pub(crate) fn stream<T: Telling>(
    asking: Asking,
    telling: T,
    shutdown: CancellationToken,
    standing: Standing,
) -> Response {
    let pulse = Pulse::every(HEARTBEAT);
    let told = Told { asking, telling, shutdown, standing, pulse, is_over: false };
    let pieces = stream::unfold(told, |mut told| async move {
        let piece = told.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(piece)), told))
    });
    event_stream(pieces)
}

/// An answer of events, which nobody on the way keeps or holds back.
pub(crate) fn event_stream(
    pieces: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let mut response = Body::from_stream(pieces).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    headers.insert(unbuffered, HeaderValue::from_static("no"));
    response
}

struct Told<T> {
    asking: Asking,
    telling: T,
    shutdown: CancellationToken,
    standing: Standing,
    pulse: Pulse,
    is_over: bool,
}

impl<T: Telling> Told<T> {
    async fn next(&mut self) -> Option<String> {
        while !self.is_over {
            let piece = tokio::select! {
                event = self.asking.next() => match event {
                    Some(event) => {
                        self.is_over = matches!(event, TurnEvent::Done(_) | TurnEvent::Failed(_));
                        self.telling.tell(event)
                    }
                    None => self.end(&stopping()),
                },
                () = self.shutdown.cancelled() => self.end(&stopping()),
                () = self.pulse.beat() => match self.standing.check().await {
                    Ok(()) => ": still here\n\n".to_owned(),
                    Err(problem) => self.end(&problem),
                },
            };
            if !piece.is_empty() {
                return Some(piece);
            }
        }
        None
    }

    fn end(&mut self, why: &Problem) -> String {
        self.is_over = true;
        self.telling.broke_off(why)
    }
}

/// The server ends while an answer is on its way.
pub(crate) fn stopping() -> Problem {
    Problem::new(
        http::StatusCode::SERVICE_UNAVAILABLE,
        "stopping",
        "the server is stopping",
        "The answer is not complete.",
        "Ask again in a moment.",
    )
}

/// Beats again and again, and never to catch up.
pub(crate) struct Pulse(Interval);

impl Pulse {
    pub(crate) fn every(interval: Duration) -> Self {
        let mut pulse = interval_at(Instant::now() + interval, interval);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self(pulse)
    }

    pub(crate) async fn beat(&mut self) {
        self.0.tick().await;
    }
}

/// One event as it goes over the wire; `data` is one line.
pub(crate) fn event(name: Option<&str>, data: &str) -> String {
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
