//! The accept loop: takes connections in, holds them to their limits, and ends them in good order.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::header::CONNECTION;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::Server;
use crate::a2a::grpc;
use crate::body::holding;
use crate::cors::{self, ForeignPage};
use crate::gate::seal;
use crate::guard::{Peer, RouteLabel, Shutdown};
use crate::listen::http2::Spawner;
use crate::listen::timed::{Phase, Timed};
use crate::networks;
use crate::problem::{Problem, Refusal};
use crate::quota::{Counts, Held, neighbourhood};

mod http2;
mod strands;
mod timed;
mod tls;

pub(crate) use self::strands::OpenStrands;
pub use self::strands::Strands;
pub use self::tls::{Tls, TlsError};

/// How long to wait when the system has no room for another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The label of requests that no route answered.
const UNMATCHED: &str = "unmatched";

/// How a listener ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were still busy when the time was over.
    pub cut: usize,
}

/// How many connections there are, in all and from each address.
#[derive(Default)]
pub(crate) struct Connections {
    open: Arc<AtomicUsize>,
    by_address: Arc<Counts<IpAddr>>,
}

/// A place among the connections; free again when it is dropped.
struct Seat {
    open: Arc<AtomicUsize>,
    _address: Held<IpAddr>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// When the connections of a listener are to end.
#[derive(Clone)]
struct Ending {
    /// No new requests; streams end themselves.
    drain: CancellationToken,
    /// At once.
    cut: CancellationToken,
}

impl Server {
    /// Serves until `shutdown`; then lets requests end, at most for the drain's time, and cuts what is left.
    pub async fn serve(&self, listener: TcpListener, shutdown: CancellationToken) -> Drained {
        self.serve_with(listener, None, shutdown).await
    }

    /// As [`Self::serve`]; encrypted, if there is something to encrypt with.
    pub async fn serve_with(
        &self,
        listener: TcpListener,
        tls: Option<Tls>,
        shutdown: CancellationToken,
    ) -> Drained {
        let (tasks, sockets) = (TaskTracker::new(), TaskTracker::new());
        let ending = Ending { drain: shutdown, cut: CancellationToken::new() };
        let spawner = Spawner { tasks: tasks.clone(), threads: Handle::current() };
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = ending.drain.cancelled() => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    // A connection over the limit is closed before a byte of it is read.
                    let Some(seat) = self.seat(peer.ip()) else { continue };
                    let _ = stream.set_nodelay(true);
                    let (server, ending) = (self.clone(), ending.clone());
                    let (spawner, tls) = (spawner.clone(), tls.clone());
                    let greet = move |stream, held| async move {
                        match tls {
                            None => server.greet(stream, peer, held, ending, &spawner).await,
                            Some(tls) => {
                                server.greet_tls(&tls, stream, peer, held, ending, &spawner).await;
                            }
                        }
                    };
                    let token = sockets.token();
                    match self.strands.take() {
                        None => _ = tasks.spawn(greet(stream, (seat, token, None))),
                        Some((strand, place)) => {
                            // It is watched where it was made, and from now on where it is served.
                            let Ok(stream) = stream.into_std() else { continue };
                            let serve = async move {
                                if let Ok(stream) = TcpStream::from_std(stream) {
                                    greet(stream, (seat, token, Some(place))).await;
                                }
                            };
                            tasks.spawn_on(serve, strand);
                        }
                    }
                }
                Err(error) => self.not_accepted(&error).await,
            }
        }
        drop(listener);
        tasks.close();
        // A socket may have gone on as something else than HTTP; it counts until it is closed.
        sockets.close();
        let drained = timeout(self.shared.limits.drain_max, sockets.wait()).await;
        let cut = if drained.is_ok() { 0 } else { sockets.len() };
        ending.cut.cancel();
        tasks.wait().await;
        if cut > 0 {
            tracing::warn!(cut, "connections were cut: they were still busy");
        }
        Drained { cut }
    }

    /// Serves one connection that is already there, without counting it: for tests and for other kinds of sockets.
    pub async fn serve_one<IO>(&self, stream: IO, peer: SocketAddr, shutdown: CancellationToken)
    where
        IO: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let ending = Ending { drain: shutdown, cut: CancellationToken::new() };
        self.converse(stream, peer, (), ending).await;
    }

    fn seat(&self, peer: IpAddr) -> Option<Seat> {
        let (limits, connections) = (&self.shared.limits, &self.shared.connections);
        let open = Arc::clone(&connections.open);
        if open.fetch_add(1, Ordering::Relaxed) >= limits.connections_max {
            open.fetch_sub(1, Ordering::Relaxed);
            self.shared.http.refused("connections");
            return None;
        }
        let max = limits.connections_per_address_max;
        let Some(address) = connections.by_address.take(neighbourhood(peer), max) else {
            open.fetch_sub(1, Ordering::Relaxed);
            self.shared.http.refused("connections_of_address");
            return None;
        };
        Some(Seat { open, _address: address })
    }

    /// A connection that broke before it was taken says nothing of the listener; a full table of files passes.
    async fn not_accepted(&self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        self.shared.http.refused("accept");
        tracing::warn!(%error, "a connection could not be accepted");
        sleep(ACCEPT_PAUSE).await;
    }

    async fn converse<IO, H>(&self, stream: IO, peer: SocketAddr, held: H, ending: Ending)
    where
        IO: AsyncRead + AsyncWrite + Send + Unpin + 'static,
        H: Send + Unpin + 'static,
    {
        let held = (held, self.shared.http.connection());
        let limits = &self.shared.limits;
        let phase = Phase::opened();
        let io = TokioIo::new(Timed::new(stream, held, phase.clone(), limits));
        let shutdown = ending.drain.clone();
        let service = service_fn(|request| {
            let (server, phase, shutdown) = (self.clone(), phase.clone(), shutdown.clone());
            async move { Ok::<_, hyper::Error>(server.answer(request, peer, phase, shutdown).await) }
        });
        let connection = http1::Builder::new()
            .max_buf_size(limits.head_bytes_max)
            .max_headers(limits.headers_max)
            .serve_connection(io, service)
            .with_upgrades();
        let conversation = async {
            let mut connection = pin!(connection);
            tokio::select! {
                ended = &mut connection => return ended,
                () = ending.drain.cancelled() => {}
            }
            // For a moment a request on a kept-alive connection is told that the server ends.
            if let Ok(ended) = timeout(limits.linger_max, &mut connection).await {
                return ended;
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        };
        tokio::select! {
            ended = AssertUnwindSafe(conversation).catch_unwind() => match ended {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%peer, %error, "a connection broke off"),
                Err(_) => self.shared.http.panicked(),
            },
            () = ending.cut.cancelled() => {}
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        phase: Phase,
        shutdown: CancellationToken,
    ) -> Response {
        let busy = phase.busy();
        let (started, counted) = (Instant::now(), self.shared.http.request());
        let method = request.method().clone();
        let is_grpc = grpc::is_grpc(request.version(), request.headers());
        let mut response = match self.admit(request, peer, shutdown) {
            Ok(request) => {
                let page = request.extensions().get::<ForeignPage>().cloned();
                let mut response = self.route(request, peer).await;
                page.into_iter().for_each(|page| cors::show(&mut response, page));
                response
            }
            Err(problem) => problem.into_response(),
        };
        if self.shared.gate.has_origins() {
            cors::vary(&mut response);
        }
        seal(&mut response);
        if response.headers().get(CONNECTION).is_some_and(|value| value == "close") {
            phase.ends();
        }
        let route = response.extensions().get::<RouteLabel>().map_or(UNMATCHED, |label| label.0);
        let (status, took) = (response.status(), started.elapsed());
        tracing::debug!(%method, route, %status, ?took, "answered");
        self.shared.http.answered(&method, route, status, took);
        let turned_away = status.is_client_error() || status == StatusCode::SERVICE_UNAVAILABLE;
        if let Some(Refusal { code, .. }) = response.extensions().get()
            && turned_away
        {
            self.shared.http.refused(code);
        }
        if status == StatusCode::SWITCHING_PROTOCOLS {
            busy.for_good();
            return response;
        }
        let response = if is_grpc { grpc::as_refusal(response) } else { response };
        response.map(|body| holding(body, (busy, counted)))
    }

    fn admit(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        shutdown: CancellationToken,
    ) -> Result<Request<Body>, Problem> {
        let (mut parts, body) = request.into_parts();
        if shutdown.is_cancelled() {
            return Err(ending());
        }
        if !networks::admits(&self.shared.networks, parts.uri.path(), peer.ip()) {
            return Err(Problem::no_route());
        }
        if let Some(page) = self.shared.gate.check(&parts)? {
            parts.extensions.insert(page);
        }
        parts.extensions.insert(Peer(peer));
        parts.extensions.insert(Shutdown(shutdown));
        Ok(Request::from_parts(parts, Body::new(body)))
    }

    async fn route(&self, request: Request<Body>, peer: SocketAddr) -> Response {
        let response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(impossible) => match impossible {},
        };
        if response.extensions().get::<RouteLabel>().is_some() {
            return response;
        }
        // Routes count for themselves; somebody who tries paths out is slowed down here.
        match self.shared.quota.address(peer.ip()) {
            Ok(()) => response,
            Err(problem) => problem.into_response(),
        }
    }
}

fn ending() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "shutting_down",
        "the server is ending",
        "It finishes what it has begun and takes nothing new.",
        "Try again in a moment: it may be on its way back.",
    )
    .retry_after(1)
    .closing()
}
