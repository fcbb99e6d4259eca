//! HTTP/2, on the port that takes HTTP/1.1 too: gRPC needs it. Without encryption its first bytes tell it apart.

use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use http::Request;
use http::header::{HOST, HeaderValue};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::Ending;
use super::timed::Phase;
use crate::Server;

/// How a client of HTTP/2 begins; no method of HTTP/1.1 does.
const BEGINNING: &[u8] = b"PRI";

/// Requests of one connection at once: what several agents behind one proxy need.
const STREAMS_MAX: u32 = 100;

/// How often a silent client is asked whether it is still there, and how long it may take to say so.
const PING_EVERY: Duration = Duration::from_secs(20);
const PONG_MAX: Duration = Duration::from_secs(20);

/// Spawns what a connection needs besides itself where the listener waits for it, on the threads of the listener: one
/// connection of HTTP/2 may carry what a whole company asks.
#[derive(Clone)]
pub(super) struct Spawner {
    pub(super) tasks: TaskTracker,
    pub(super) threads: Handle,
}

impl<F> Executor<F> for Spawner
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, future: F) {
        let task = async move {
            future.await;
        };
        self.tasks.spawn_on(task, &self.threads);
    }
}

impl Server {
    /// Serves a connection in whichever version of HTTP its client begins with.
    pub(super) async fn greet<H>(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        held: H,
        ending: Ending,
        spawner: &Spawner,
    ) where
        H: Send + Unpin + 'static,
    {
        let mut first = [0; BEGINNING.len()];
        let peeked = tokio::select! {
            peeked = timeout(self.shared.limits.head_wait_max, stream.peek(&mut first)) => peeked,
            () = ending.drain.cancelled() => return,
        };
        match peeked {
            Ok(Ok(count)) if first.get(..count) == Some(BEGINNING) => {
                self.converse_http2(stream, peer, held, ending, spawner).await;
            }
            Ok(Ok(_)) => self.converse(stream, peer, held, ending).await,
            // Nothing came, or nobody is there any more.
            Ok(Err(_)) | Err(_) => {}
        }
    }

    pub(super) async fn converse_http2<IO, H>(
        &self,
        stream: IO,
        peer: SocketAddr,
        held: H,
        ending: Ending,
        spawner: &Spawner,
    ) where
        IO: AsyncRead + AsyncWrite + Send + Unpin + 'static,
        H: Send + Unpin + 'static,
    {
        let _held = (held, self.shared.http.connection());
        let (server, shutdown) = (self.clone(), ending.drain.clone());
        let service = service_fn(move |request| {
            let (server, shutdown) = (server.clone(), shutdown.clone());
            async move {
                // The times of a connection with one request at a time say nothing here.
                let phase = Phase::opened();
                let request = with_host(request);
                Ok::<_, hyper::Error>(server.answer(request, peer, phase, shutdown).await)
            }
        });
        let heads_max = u32::try_from(self.shared.limits.head_bytes_max).unwrap_or(u32::MAX);
        let connection = http2::Builder::new(spawner.clone())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(heads_max)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PONG_MAX)
            .serve_connection(TokioIo::new(stream), service);
        let conversation = async {
            let mut connection = pin!(connection);
            tokio::select! {
                ended = &mut connection => return ended,
                () = ending.drain.cancelled() => {}
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        };
        tokio::select! {
            ended = conversation => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "a connection broke off");
                }
            }
            () = ending.cut.cancelled() => {}
        }
    }
}

/// HTTP/2 names the host in its address; what looks at requests looks at the header.
fn with_host(mut request: Request<Incoming>) -> Request<Incoming> {
    let named = request.uri().authority().map(|authority| authority.as_str().to_owned());
    if let Some(host) = named.and_then(|host| HeaderValue::from_str(&host).ok())
        && !request.headers().contains_key(HOST)
    {
        request.headers_mut().insert(HOST, host);
    }
    request
}
