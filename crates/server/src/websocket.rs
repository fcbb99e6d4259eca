//! WebSockets (RFC 6455) as far as Saem speaks them: text in both directions, pings, and a clean end.
//!
//! Written here because what a library would add is a client, compression and a dozen packages; this is one handshake and
//! frames of two forms.

mod frames;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;
use http::header::{
    CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::time::timeout;

pub(crate) use self::frames::Close;
use self::frames::{Frames, Heard};
use crate::problem::Problem;
use crate::quota::Permit;

/// What every handshake adds to the caller's key (RFC 6455, section 1.3).
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Bytes of a caller's key.
const KEY_BYTES: usize = 16;

/// How long a peer may take to accept what is sent: a run waits for nobody, so whoever is slower comes back later.
const SEND_WAIT_MAX: Duration = Duration::from_secs(30);

/// Room for what is read at once.
const READ_BYTES: usize = 1 << 10;

/// Keeps a caller's place among the requests until its socket is closed: the answer itself is over at once.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Mutex<Option<Permit>>>);

impl Held {
    pub(crate) fn keep(&self, permit: Permit) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(permit);
    }
}

/// A handshake that is good: the answer, and the socket that comes after it.
pub(crate) struct Handshake {
    pub(crate) answer: Response,
    pub(crate) opening: Opening,
}

/// A socket that is there as soon as the answer has been sent.
pub(crate) struct Opening {
    upgrade: OnUpgrade,
    held: Held,
}

/// Checks a request for a socket.
pub(crate) fn handshake(request: &mut Request) -> Result<Handshake, Problem> {
    let headers = request.headers();
    let asks = has(headers, &UPGRADE, "websocket") && has(headers, &CONNECTION, "upgrade");
    let upgrade = request.extensions_mut().remove::<OnUpgrade>().filter(|_| asks);
    let Some(upgrade) = upgrade else { return Err(no_socket()) };
    let headers = request.headers();
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        let version = HeaderValue::from_static("13");
        return Err(no_socket().with_header(SEC_WEBSOCKET_VERSION, version));
    }
    let accept = headers.get(SEC_WEBSOCKET_KEY).and_then(accept).ok_or_else(no_socket)?;
    let mut answer = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let held = Held::default();
    answer.extensions_mut().insert(held.clone());
    let headers = answer.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Ok(Handshake { answer, opening: Opening { upgrade, held } })
}

/// What shows the caller that its key was read.
fn accept(key: &HeaderValue) -> Option<HeaderValue> {
    let key = key.to_str().ok()?.trim();
    STANDARD.decode(key).ok().filter(|bytes| bytes.len() == KEY_BYTES)?;
    let proof = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{MAGIC}").as_bytes());
    HeaderValue::from_str(&STANDARD.encode(proof)).ok()
}

fn has(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|word| word.trim().eq_ignore_ascii_case(wanted))
}

fn no_socket() -> Problem {
    Problem::new(
        StatusCode::UPGRADE_REQUIRED,
        "no_socket",
        "this address speaks WebSocket",
        "The request is no handshake of version 13 over HTTP/1.1.",
        "Open it as a WebSocket, or use the address that ends in /events.",
    )
    .with_header(UPGRADE, HeaderValue::from_static("websocket"))
}

impl Opening {
    /// The socket; none if the caller went away before.
    pub(crate) async fn open(self) -> Option<Socket> {
        let upgraded = self.upgrade.await.ok()?;
        let (reading, writing) = tokio::io::split(TokioIo::new(upgraded));
        let reader = Reader { reading, bytes: BytesMut::new(), frames: Frames::default() };
        Some(Socket { reader, writer: Writer { writing, _held: self.held } })
    }
}

/// An open socket.
pub(crate) struct Socket {
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
}

pub(crate) struct Reader {
    reading: ReadHalf<TokioIo<Upgraded>>,
    bytes: BytesMut,
    frames: Frames,
}

/// What a peer sends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Text(String),
    /// It wants to know whether we are there.
    Ping(Vec<u8>),
    /// It says that it is there.
    Pong,
    /// It ends, or what it sent cannot be read; this is to be answered before we end too.
    Closing(Close),
    /// It is gone.
    Gone,
}

impl Reader {
    /// What comes next. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Said {
        loop {
            match self.frames.take(&mut self.bytes) {
                Some(Heard::Text(text)) => return Said::Text(text),
                Some(Heard::Ping(data)) => return Said::Ping(data),
                Some(Heard::Pong) => return Said::Pong,
                Some(Heard::Close(close)) => return Said::Closing(close),
                None => {}
            }
            self.bytes.reserve(READ_BYTES);
            match self.reading.read_buf(&mut self.bytes).await {
                Ok(0) | Err(_) => return Said::Gone,
                Ok(_) => {}
            }
        }
    }
}

pub(crate) struct Writer {
    writing: WriteHalf<TokioIo<Upgraded>>,
    _held: Held,
}

impl Writer {
    pub(crate) async fn text(&mut self, text: &str) -> io::Result<()> {
        self.send(frames::text(text)).await
    }

    pub(crate) async fn ping(&mut self) -> io::Result<()> {
        self.send(frames::ping()).await
    }

    pub(crate) async fn pong(&mut self, data: &[u8]) -> io::Result<()> {
        self.send(frames::pong(data)).await
    }

    /// Says that this is the end, and ends.
    pub(crate) async fn close(mut self, close: Close) -> io::Result<()> {
        self.send(frames::close(close)).await?;
        timeout(SEND_WAIT_MAX, self.writing.shutdown()).await.unwrap_or_else(|_| Err(late()))
    }

    async fn send(&mut self, frame: Vec<u8>) -> io::Result<()> {
        let sending = async {
            self.writing.write_all(&frame).await?;
            self.writing.flush().await
        };
        timeout(SEND_WAIT_MAX, sending).await.unwrap_or_else(|_| Err(late()))
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the peer takes nothing")
}
