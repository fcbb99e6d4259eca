//! MCP's oldest transport over HTTP (2024-11-05): a stream at `/sse`, and messages to `/messages`. Off unless configured.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::http::StatusCode;
use ::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use agent::identity::{Principal, Scope};
use agent::ports::Entropy;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::events::{Pulse, event};
use crate::guard::{Caller, Shutdown, Standing};
use crate::identity::jwt::MCP_PATH;
use crate::input::{self, Query};
use crate::mcp::Mcp;
use crate::mcp::http::{Head, MESSAGE_BYTES_MAX, STANDING_INTERVAL};
use crate::problem::Problem;
use crate::routes::{Access, Route};

/// Streams at once, over all callers: only old clients use them.
const STREAMS_MAX: usize = 1000;

/// Messages of one client that wait to be read; then its next one is refused.
const MESSAGES_WAITING_MAX: usize = 16;

/// Bytes on their way between the two halves of us.
const PIPE_BYTES: usize = 64 << 10;

const READ: Access = Access::Needs(Scope::Read);

/// The routes of the old transport.
#[must_use]
pub fn sse_routes<S: Clone + Send + Sync + 'static>(
    mcp: &Mcp,
    entropy: Arc<dyn Entropy>,
) -> Vec<Route<S>> {
    let streams = Arc::new(Streams { mcp: mcp.clone(), entropy, open: Mutex::default() });
    let posted = Arc::clone(&streams);
    let open = move |caller, shutdown, standing| {
        let opened = Arc::clone(&streams).open(caller, shutdown, standing);
        std::future::ready(opened)
    };
    let post = move |caller: Caller, query: Query<Messages>, request: Request| {
        let streams = Arc::clone(&posted);
        async move { streams.post(&caller, &query.0, request).await }
    };
    let routes = vec![
        Route::get("/sse", READ, "Opens a stream of MCP's oldest transport", open)
            .gives_other(StatusCode::OK, "text/event-stream"),
        Route::post("/messages", READ, "Takes a message for such a stream", post)
            .query::<Messages>()
            .takes_bytes("application/json")
            .body_bytes_max(MESSAGE_BYTES_MAX)
            .gives_nothing(StatusCode::ACCEPTED),
    ];
    routes.into_iter().map(|route| route.tag("mcp")).collect()
}

/// Which stream a message is for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Messages {
    /// As the stream's first event has said it.
    session: String,
}

struct Streams {
    mcp: Mcp,
    entropy: Arc<dyn Entropy>,
    open: Mutex<HashMap<String, Open>>,
}

struct Open {
    owner: Principal,
    send: mpsc::Sender<Vec<u8>>,
}

impl Streams {
    fn open(
        self: Arc<Self>,
        caller: Caller,
        shutdown: Shutdown,
        standing: Standing,
    ) -> Result<Response, Problem> {
        let mut random = [0; 16];
        self.entropy.fill(&mut random)?;
        let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let (send, receive) = mpsc::channel(MESSAGES_WAITING_MAX);
        {
            let mut open = self.all();
            if open.len() >= STREAMS_MAX {
                return Err(full());
            }
            open.insert(id.clone(), Open { owner: caller.0.clone(), send });
        }
        let (lines, ends) = self.talk(caller.0, receive);
        let first = event(Some("endpoint"), &format!("/messages?session={id}"));
        let entry = Entry { streams: self, id, _ends: ends };
        let told = Told {
            first: Some(first),
            lines,
            shutdown: shutdown.0,
            standing,
            pulse: Pulse::every(STANDING_INTERVAL),
            _entry: entry,
        };
        let pieces = stream::unfold(told, |mut told| async move {
            let piece = told.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(piece)), told))
        });
        let mut response = Body::from_stream(pieces).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        let unbuffered = HeaderName::from_static("x-accel-buffering");
        headers.insert(unbuffered, HeaderValue::from_static("no"));
        Ok(response)
    }

    /// Starts the conversation behind a stream; gives what it says, line by line, and what ends it.
    fn talk(
        &self,
        principal: Principal,
        mut receive: mpsc::Receiver<Vec<u8>>,
    ) -> (Said, DropGuard) {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let (said, mut hears) = tokio::io::split(ours);
        let (mcp, tasks) = (self.mcp.clone(), &self.mcp.shared.tasks);
        let ended = CancellationToken::new();
        let (end, stopping) = (ended.clone(), tasks.stopping());
        tasks.spawn_here(async move {
            let (input, output) = tokio::io::split(theirs);
            let talking = mcp.converse(principal, input, output);
            let passing = async {
                while let Some(message) = receive.recv().await {
                    if hears.write_all(&message).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                talked = talking => {
                    if let Err(error) = talked {
                        tracing::debug!(%error, "a client of the old transport was not understood");
                    }
                }
                () = passing => {}
                () = end.cancelled() => {}
                () = stopping.cancelled() => {}
            }
        });
        (BufReader::new(said).lines(), ended.drop_guard())
    }

    async fn post(
        &self,
        caller: &Caller,
        query: &Messages,
        request: Request,
    ) -> Result<StatusCode, Problem> {
        let server = request.extensions().get::<Arc<crate::Shared>>().cloned();
        let server = server.ok_or_else(Problem::no_route)?;
        let send = {
            let open = self.all();
            // Another's stream and none at all look the same.
            let own = open.get(&query.session).filter(|open| open.owner == caller.0);
            own.map(|open| open.send.clone()).ok_or_else(|| Problem::not_found("MCP session"))?
        };
        let input::Json(message) =
            <input::Json<Value> as axum::extract::FromRequest<()>>::from_request(request, &())
                .await?;
        // One message is one line.
        let mut line = message.to_string().into_bytes();
        let head = Head::read(&line);
        let missing = head.and_then(|head| self.mcp.endpoint.missing_scope(&head, caller));
        if let Some(scope) = missing {
            let problem = server.identity.lacks(scope);
            return Err(server.identity.challenged(problem, &[Scope::Read, scope], MCP_PATH));
        }
        line.push(b'\n');
        send.try_send(line).map_err(|_| full())?;
        Ok(StatusCode::ACCEPTED)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Said = Lines<BufReader<ReadHalf<DuplexStream>>>;

/// A stream's place among the others; it goes with the stream.
struct Entry {
    streams: Arc<Streams>,
    id: String,
    _ends: DropGuard,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.streams.all().remove(&self.id);
    }
}

struct Told {
    first: Option<String>,
    lines: Said,
    shutdown: CancellationToken,
    standing: Standing,
    pulse: Pulse,
    _entry: Entry,
}

impl Told {
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        tokio::select! {
            line = self.lines.next_line() => Some(event(Some("message"), &line.ok()??)),
            () = self.shutdown.cancelled() => None,
            () = self.pulse.beat() => {
                self.standing.check().await.ok()?;
                Some(": still here\n\n".to_owned())
            }
        }
    }
}

fn full() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "sessions_full",
        "there is no room for more",
        "Too many streams are open, or too many messages wait on this one.",
        "Try again in a moment, or use /mcp.",
    )
    .retry_after(1)
}
