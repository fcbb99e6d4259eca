//! A run as server-sent events: each message under its place, so that a stream that was cut goes on where it ended.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::response::Response;
use engine::research::{Over, Seen, Watching};
use futures_util::stream;
use http::HeaderMap;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Case, message};
use crate::events::{HEARTBEAT, Pulse, event, event_stream};
use crate::guard::Standing;
use crate::problem::Problem;

/// What the header Last-Event-ID names; none if it is not there.
pub(super) fn last_event(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| Problem::refused("Last-Event-ID is the place of a message."))
}

pub(super) fn events(
    watching: Watching,
    case: Case,
    shutdown: CancellationToken,
    standing: Standing,
) -> Response {
    let told = Told { watching, case, shutdown, standing, pulse: Pulse::every(HEARTBEAT) };
    let pieces = stream::unfold(Some(told), |told| async move {
        let mut told = told?;
        let piece = told.next().await;
        let rest = (!piece.is_last).then_some(told);
        (!piece.text.is_empty()).then_some((Ok::<_, Infallible>(Bytes::from(piece.text)), rest))
    });
    event_stream(pieces)
}

struct Told {
    watching: Watching,
    case: Case,
    shutdown: CancellationToken,
    standing: Standing,
    pulse: Pulse,
}

/// What is sent next. An empty one is the end without a word: whoever watches comes back and goes on.
struct Piece {
    text: String,
    is_last: bool,
}

impl Piece {
    fn last(text: String) -> Self {
        Self { text, is_last: true }
    }
}

impl Told {
    async fn next(&mut self) -> Piece {
        tokio::select! {
            seen = self.watching.next() => self.seen(seen),
            () = self.shutdown.cancelled() => Piece::last(String::new()),
            () = self.pulse.beat() => match self.standing.check().await {
                Ok(()) => Piece { text: ": still here\n\n".to_owned(), is_last: false },
                Err(problem) => {
                    let why = json!({ "code": problem.code, "detail": problem.detail });
                    Piece::last(event(Some("failed"), &why.to_string()))
                }
            },
        }
    }

    fn seen(&self, seen: Option<Seen>) -> Piece {
        match seen {
            Some(Seen::Said(line)) => {
                let camel;
                let data = match self.case {
                    Case::Snake => &*line.json,
                    Case::Camel => {
                        camel = message(&line, Case::Camel).to_string();
                        &camel
                    }
                };
                let text = format!("id: {}\nevent: agent_message\ndata: {data}\n\n", line.seq);
                Piece { text, is_last: false }
            }
            Some(other) => last_words(&self.watching, other).map_or_else(
                || Piece::last(String::new()),
                |(name, data)| Piece::last(event(Some(name), &data.to_string())),
            ),
            None => Piece::last(String::new()),
        }
    }
}

/// What is said of an end, by its name; none where the run goes on somewhere else.
pub(super) fn last_words(watching: &Watching, seen: Seen) -> Option<(&'static str, Value)> {
    let id = watching.id();
    match seen {
        Seen::Said(_) | Seen::Over(Over::Left) => None,
        Seen::Gap(gap) => Some((
            "gap",
            json!({
                "code": "stream_replay_gap",
                "run_id": id,
                "requested_event_id": gap.after,
                "earliest_available_event_id": gap.earliest,
                "latest_available_event_id": gap.latest,
                "recovery": "reload_durable_state",
            }),
        )),
        Seen::Over(Over::Ended { reason, report }) => Some((
            "end",
            json!({ "run_id": id, "ended": reason.as_str(), "has_report": report.is_some() }),
        )),
        Seen::Over(Over::Failed(error)) => {
            Some(("failed", json!({ "code": "run_failed", "detail": error.to_string() })))
        }
    }
}
