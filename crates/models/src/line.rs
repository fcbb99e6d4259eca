//! HTTP/1.1 without encryption to a model server nearby: a connection is read by whoever has asked on it.
//!
//! A model says its answer in hundreds of pieces. A client whose connections are tasks of their own hands over each of
//! them by two changes of tasks, which costs more than to read it; here all that has come is read at once. What is
//! encrypted goes through reqwest.

mod body;

use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use tokio::io::{AsyncReadExt as _, Interest};
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Id};
use tokio::time::{Instant, timeout};

use self::body::Body;

/// Room that is made for what comes next, in bytes: an answer of a few hundred tokens in pieces.
const READ_BYTES: usize = 16 << 10;

/// Longest head of an answer, in bytes, and most lines of it.
const HEAD_BYTES_MAX: usize = 64 << 10;
const HEAD_LINES_MAX: usize = 128;

/// How long a connection is kept for the next question: servers close theirs after a minute or more.
const KEPT_TIME_MAX: Duration = Duration::from_secs(50);

/// Why there is no answer, or no more of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineError {
    ConnectTimedOut,
    /// Nobody is there.
    Unreachable(String),
    /// The connection ended before a word of an answer.
    Closed,
    Broken(String),
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectTimedOut => f.write_str("it cannot be reached in time"),
            Self::Closed => f.write_str("it closed the connection before it answered"),
            Self::Unreachable(why) | Self::Broken(why) => f.write_str(why),
        }
    }
}

/// The way to one address of a server, with the connections that are kept open to it.
pub(crate) struct Line {
    host: String,
    port: u16,
    /// The head of every question but its last line. It may hold a key, so it is never shown.
    head: Vec<u8>,
    connect_time_max: Duration,
    kept_max: usize,
    kept: Mutex<Vec<Kept>>,
}

/// A connection that waits for the next question.
struct Kept {
    stream: TcpStream,
    /// Where it is watched: on other threads it would be read by way of these.
    runtime: Id,
    since: Instant,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("host", &self.host).field("port", &self.port).finish()
    }
}

impl Line {
    /// `headers` go with every question. No more than `kept_max` connections are kept open.
    pub(crate) fn new(
        address: &Url,
        headers: &HeaderMap,
        connect_time_max: Duration,
        kept_max: usize,
    ) -> Arc<Self> {
        let shown = address.host_str().unwrap_or_default();
        let port = address.port_or_known_default().unwrap_or(80);
        let mut head = format!("POST {} HTTP/1.1\r\nhost: {shown}", address.path()).into_bytes();
        if let Some(port) = address.port() {
            head.extend_from_slice(format!(":{port}").as_bytes());
        }
        head.extend_from_slice(b"\r\naccept: */*\r\n");
        for (name, value) in headers {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                head.extend_from_slice(part);
            }
        }
        let host = shown.trim_start_matches('[').trim_end_matches(']').to_owned();
        Arc::new(Self { host, port, head, connect_time_max, kept_max, kept: Mutex::default() })
    }

    /// Sends a question and gives the answer when its head is there. `body` is asked for again if it has to be sent again:
    /// models think for long, and a question need not be held meanwhile.
    pub(crate) async fn post(
        self: &Arc<Self>,
        body: impl Fn() -> Vec<u8>,
    ) -> Result<Reply, LineError> {
        if let Some(stream) = self.take_kept() {
            match self.ask(stream, body()).await {
                // Some servers close a connection after an answer without saying so, and the next question meets that:
                // it is sent once more, as nobody has read it. llama.cpp's does.
                Err(LineError::Closed) => {}
                answered => return answered,
            }
        }
        let stream = self.connect().await?;
        self.ask(stream, body()).await
    }

    /// The head of a question of so many bytes.
    fn head(&self, body_bytes: usize) -> Vec<u8> {
        let mut head = Vec::with_capacity(self.head.len() + 64);
        head.extend_from_slice(&self.head);
        // Writing to memory does not fail.
        _ = write!(head, "content-length: {body_bytes}\r\n\r\n");
        head
    }

    async fn connect(&self) -> Result<TcpStream, LineError> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let stream = match timeout(self.connect_time_max, connecting).await {
            Ok(connected) => {
                connected.map_err(|error| LineError::Unreachable(error.to_string()))?
            }
            Err(_) => return Err(LineError::ConnectTimedOut),
        };
        // A question goes out as it is; without this it may wait for the answer to the one before.
        _ = stream.set_nodelay(true);
        Ok(stream)
    }

    async fn ask(
        self: &Arc<Self>,
        mut stream: TcpStream,
        body: Vec<u8>,
    ) -> Result<Reply, LineError> {
        let mut buffer = Vec::new();
        let is_sent = send(&stream, &self.head(body.len()), &body, &mut buffer).await?;
        drop(body);
        let head = loop {
            match Head::read(&mut buffer)? {
                Some(head) if head.is_interim() => {}
                Some(head) => break head,
                None if buffer.len() > HEAD_BYTES_MAX => {
                    return Err(LineError::Broken("its answer has too long a head".to_owned()));
                }
                None => {
                    buffer.reserve(READ_BYTES);
                    let read = stream.read_buf(&mut buffer).await;
                    if read.as_ref().map_or(true, |read| *read == 0) {
                        return Err(ended(&buffer, read.err()));
                    }
                }
            }
        };
        let body = Body::of(head.status, &head.headers)?;
        let may_be_kept = is_sent && head.may_be_kept && body.may_be_kept();
        let Head { status, headers, .. } = head;
        let kept_by = may_be_kept.then(|| Arc::clone(self));
        Ok(Reply { status, headers, stream: Some(stream), kept_by, buffer, body })
    }

    fn take_kept(&self) -> Option<TcpStream> {
        let here = Handle::current().id();
        let mut kept = self.kept();
        // The one that was used last is the likeliest to be open still.
        while let Some(last) = kept.iter().rposition(|kept| kept.runtime == here) {
            let Kept { stream, since, .. } = kept.remove(last);
            let is_quiet = stream.try_read(&mut [0]).is_err_and(|error| is_waiting(&error));
            if is_quiet && since.elapsed() < KEPT_TIME_MAX {
                return Some(stream);
            }
        }
        None
    }

    fn keep(&self, stream: TcpStream) {
        let (now, runtime) = (Instant::now(), Handle::current().id());
        let mut kept = self.kept();
        kept.retain(|kept| now.duration_since(kept.since) < KEPT_TIME_MAX);
        if kept.len() < self.kept_max {
            kept.push(Kept { stream, runtime, since: now });
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_waiting(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}

/// The connection has ended in the head of an answer.
fn ended(head: &[u8], error: Option<io::Error>) -> LineError {
    let is_usual = error.as_ref().is_none_or(|error| {
        matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
    });
    match error {
        _ if head.is_empty() && is_usual => LineError::Closed,
        Some(error) => LineError::Broken(error.to_string()),
        None => LineError::Broken("it closed the connection in the middle of a head".to_owned()),
    }
}

/// Sends a question; false if the server answers, or leaves, before it has taken everything. What it says is in `buffer`.
async fn send(
    stream: &TcpStream,
    head: &[u8],
    body: &[u8],
    buffer: &mut Vec<u8>,
) -> Result<bool, LineError> {
    let mut parts = [IoSlice::new(head), IoSlice::new(body)];
    let mut rest = parts.as_mut_slice();
    while !rest.is_empty() {
        match stream.try_write_vectored(rest) {
            Ok(sent) => IoSlice::advance_slices(&mut rest, sent),
            Err(error) if is_waiting(&error) => {
                let ready = stream.ready(Interest::READABLE | Interest::WRITABLE).await;
                let ready = ready.map_err(|error| LineError::Broken(error.to_string()))?;
                buffer.reserve(READ_BYTES);
                if ready.is_readable() && stream.try_read_buf(buffer).is_ok() {
                    return Ok(false);
                }
            }
            // Why is what the server says, if it says anything.
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// The head of an answer.
struct Head {
    status: u16,
    headers: HeaderMap,
    may_be_kept: bool,
}

impl Head {
    /// Takes a head off the front of what has come; none if it is not whole yet.
    fn read(buffer: &mut Vec<u8>) -> Result<Option<Self>, LineError> {
        let mut lines = [httparse::EMPTY_HEADER; HEAD_LINES_MAX];
        let mut parsed = httparse::Response::new(&mut lines);
        let wrong = |error| LineError::Broken(format!("its answer is no HTTP: {error}"));
        let httparse::Status::Complete(length) = parsed.parse(buffer).map_err(wrong)? else {
            return Ok(None);
        };
        let mut headers = HeaderMap::with_capacity(parsed.headers.len());
        for line in parsed.headers.iter() {
            let name = HeaderName::from_bytes(line.name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(line.value)) {
                headers.append(name, value);
            }
        }
        let is_old = parsed.version == Some(0);
        let may_be_kept = match (has_word(&headers, "close"), has_word(&headers, "keep-alive")) {
            (true, _) => false,
            (false, named) => named || !is_old,
        };
        let status = parsed.code.unwrap_or_default();
        buffer.drain(..length);
        Ok(Some(Self { status, headers, may_be_kept }))
    }

    /// Whether the answer is still to come.
    fn is_interim(&self) -> bool {
        (100..200).contains(&self.status)
    }
}

fn has_word(headers: &HeaderMap, word: &str) -> bool {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
}

/// An answer on its way. Dropped before its end, it closes the connection.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// None after the end.
    stream: Option<TcpStream>,
    /// Whose the connection is when the answer has ended; none closes it.
    kept_by: Option<Arc<Line>>,
    /// What has come and is not read yet.
    buffer: Vec<u8>,
    body: Body,
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Reply {
    /// All that has come since; none at the end. Nothing is lost when the future is dropped.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        loop {
            let mut bytes = Vec::with_capacity(self.buffer.len());
            let taken = self.body.take(&self.buffer, &mut bytes)?;
            self.buffer.drain(..taken);
            if self.body.is_over() {
                self.give_back();
            }
            if !bytes.is_empty() {
                return Ok(Some(bytes));
            }
            let Some(stream) = &mut self.stream else { return Ok(None) };
            self.buffer.reserve(READ_BYTES);
            let read = stream.read_buf(&mut self.buffer).await;
            match read {
                Ok(0) => {
                    self.stream = None;
                    return self.body.closed().map(|()| None);
                }
                Ok(_) => {}
                Err(error) => return Err(LineError::Broken(error.to_string())),
            }
        }
    }

    fn give_back(&mut self) {
        let stream = self.stream.take();
        // What stands behind an answer belongs to none of our questions.
        if let (Some(stream), Some(line), true) = (stream, &self.kept_by, self.buffer.is_empty()) {
            line.keep(stream);
        }
    }
}

#[cfg(test)]
mod tests;
