//! The other end of a webhook: takes what an agent tells of a task that it was given from here.

use std::io;
use std::net::SocketAddr;

use ::a2a::model::Event;
use ::a2a::push::{NEW_TOKEN_HEADER, TOKEN_HEADER};
use ::a2a::wire;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::post;
use engine::tasks::Tasks;
use http::{HeaderMap, StatusCode};
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::MESSAGE_BYTES_MAX;

/// Events that wait to be read; who tells more is asked to try again later.
const WAITING_MAX: usize = 256;

/// Listens for an agent's webhook calls until everything stops.
#[derive(Debug)]
pub struct Receiver {
    pub address: SocketAddr,
    pub events: mpsc::Receiver<Event>,
}

#[derive(Clone)]
struct Taking {
    token: String,
    tell: mpsc::Sender<Event>,
}

impl Receiver {
    /// Takes what carries this token, in either of the headers that agents put it into.
    pub async fn listen(at: SocketAddr, token: String, tasks: &Tasks) -> io::Result<Self> {
        let listener = TcpListener::bind(at).await?;
        let address = listener.local_addr()?;
        let (tell, events) = mpsc::channel(WAITING_MAX);
        let bytes_max = usize::try_from(MESSAGE_BYTES_MAX).unwrap_or(usize::MAX);
        let router = Router::new()
            .route("/", post(take))
            .layer(DefaultBodyLimit::max(bytes_max))
            .with_state(Taking { token, tell });
        let stopping = tasks.stopping();
        tasks.spawn(async move {
            let serving = axum::serve(listener, router);
            let served = serving.with_graceful_shutdown(stopping.cancelled_owned()).await;
            if let Err(error) = served {
                tracing::warn!(%error, "webhooks are not taken any more");
            }
        });
        Ok(Self { address, events })
    }
}

async fn take(State(taking): State<Taking>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let shown = [TOKEN_HEADER, NEW_TOKEN_HEADER].into_iter().filter_map(|name| headers.get(name));
    let mut shown = shown.map(|token| token.as_bytes().ct_eq(taking.token.as_bytes()));
    if !shown.any(bool::from) {
        return StatusCode::UNAUTHORIZED;
    }
    let event = serde_json::from_slice(&body).ok().and_then(|body| wire::read_push(&body).ok());
    let Some(event) = event else { return StatusCode::BAD_REQUEST };
    match taking.tell.try_send(event) {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
