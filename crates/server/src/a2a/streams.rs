//! What happens to a task, as server-sent events; they end with the task, the server or the caller's rights.

use std::convert::Infallible;
use std::time::Duration;

use ::a2a::model::Event;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use engine::agents::serving::Watching;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Asked;
use crate::events::{Pulse, event};
use crate::guard::Standing;

/// How often it is asked whether the caller still is one, and a silent stream shows that it is alive.
pub(super) const PULSE: Duration = Duration::from_secs(5);

struct Told<W> {
    watching: Watching,
    write: W,
    shutdown: CancellationToken,
    standing: Option<Standing>,
    pulse: Pulse,
}

/// Streams what happens; `write` puts an event into the words of the carrier and the version.
pub(super) fn events<W>(watching: Watching, write: W, asked: &Asked) -> Response
where
    W: FnMut(&Event) -> Option<Value> + Send + 'static,
{
    let told = Told {
        watching,
        write,
        shutdown: asked.shutdown.clone(),
        standing: asked.standing.clone(),
        pulse: Pulse::every(PULSE),
    };
    let pieces = stream::unfold(told, |mut told| async move {
        let piece = told.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(piece)), told))
    });
    of_events(Body::from_stream(pieces))
}

/// A stream of one thing.
pub(super) fn single(value: &Value) -> Response {
    of_events(Body::from(event(None, &value.to_string())))
}

fn of_events(body: Body) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    headers.insert(unbuffered, HeaderValue::from_static("no"));
    response
}

impl<W: FnMut(&Event) -> Option<Value>> Told<W> {
    async fn next(&mut self) -> Option<String> {
        loop {
            tokio::select! {
                told = self.watching.next() => {
                    // A version may have no word for it.
                    if let Some(value) = (self.write)(&told?) {
                        return Some(event(None, &value.to_string()));
                    }
                }
                () = self.shutdown.cancelled() => return None,
                () = self.pulse.beat() => {
                    let stands = match &self.standing {
                        Some(standing) => standing.check().await.is_ok(),
                        None => true,
                    };
                    return stands.then(|| ": still here\n\n".to_owned());
                }
            }
        }
    }
}
