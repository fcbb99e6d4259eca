//! A model server that misbehaves in one chosen way, down to single bytes, and sees when its client goes away.

mod bomb;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::model_server::piece;
use crate::wire::{chunk, next_request};

/// What goes wrong with a request; a stream's text before that is `샘물`, in two pieces.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Nothing: `샘물`, usage, the end.
    None,
    /// This status, these headers, this body.
    Status(&'static str, Vec<(&'static str, String)>, String),
    /// A web page, with 200.
    Html,
    /// The connection is accepted, and that is all.
    Silence,
    /// The connection is closed before a word.
    Hangup,
    /// The headers come a byte each second.
    SlowHeaders,
    /// A piece of the answer comes, and the next one a byte each second.
    SlowBody,
    /// A piece of the answer comes, then nothing more.
    Stall,
    /// It breaks off in the middle of a character.
    CutInCharacter,
    /// It breaks off in the middle of a piece.
    CutInJson,
    /// It breaks off in the arguments of a call.
    CutInArguments,
    /// It breaks off between two pieces, without saying that this is the end.
    CutWithoutFinish,
    /// The same where the transfer itself is not over either.
    CutInTransfer,
    /// A right answer whose transfer breaks off after it was said to be over.
    CutAfterFinish,
    /// A line of 10 MB.
    LongLine,
    /// It never stops.
    Endless,
    /// It says twice that it is over.
    DoubleFinish,
    /// The arguments of a call are no JSON.
    BrokenArguments,
    /// JSON that is none of the schemas.
    WrongSchema,
    /// A right answer without usage.
    NoUsage,
    /// A right answer without the last `[DONE]`, and a connection that stays open.
    NoDone,
    /// Right answers in unusual clothes: every kind of line end.
    MixedLineEnds,
    ByteOrderMark,
    Comments,
    /// An error after the first piece.
    ErrorInStream,
    /// An error instead of the first piece, with 200.
    ErrorFirst,
    /// A megabyte for each kilobyte sent, without having been asked for gzip.
    GzipBomb,
}

impl Fault {
    #[must_use]
    pub fn status(status: &'static str, body: &str) -> Self {
        Self::Status(status, Vec::new(), body.to_owned())
    }

    #[must_use]
    pub fn too_many(retry_after: &str) -> Self {
        // The date makes sense of a wait that ends at a date.
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT".to_owned());
        let wait = ("retry-after", retry_after.to_owned());
        Self::Status("429 Too Many Requests", vec![date, wait], String::new())
    }
}

/// Runs until it is dropped. Each request is a connection of its own.
pub struct FaultServer {
    /// Up to and including `/v1`.
    pub base_url: String,
    counts: watch::Receiver<Counts>,
    _tasks: JoinSet<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    requests: usize,
    closed: usize,
}

struct Shared {
    faults: Mutex<VecDeque<Fault>>,
    counts: watch::Sender<Counts>,
}

impl FaultServer {
    /// The first request meets the first fault, and so on; the last fault stays.
    pub async fn start(faults: impl IntoIterator<Item = Fault>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (sender, counts) = watch::channel(Counts::default());
        let faults = Mutex::new(faults.into_iter().collect());
        let shared = Arc::new(Shared { faults, counts: sender });
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                open.spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { base_url, counts, _tasks: tasks }
    }

    #[must_use]
    pub fn requests(&self) -> usize {
        self.counts.borrow().requests
    }

    /// Waits until so many requests have come.
    pub async fn saw_requests(&self, count: usize) {
        self.counts.clone().wait_for(|counts| counts.requests >= count).await.unwrap();
    }

    /// Waits until so many clients have closed their connections while it was still at it.
    pub async fn saw_closed(&self, count: usize) {
        self.counts.clone().wait_for(|counts| counts.closed >= count).await.unwrap();
    }
}

/// So many mebibytes of nothing, packed.
#[must_use]
pub fn gzip_bomb(mebibytes: usize) -> Vec<u8> {
    bomb::gzip(mebibytes)
}

/// An address at which nothing listens.
pub async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut stream = BufReader::new(stream);
    if next_request(&mut stream).await.is_none() {
        return;
    }
    shared.counts.send_modify(|counts| counts.requests += 1);
    let fault = {
        let mut faults = shared.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.len() > 1 { faults.pop_front() } else { faults.front().cloned() }
    };
    let fault = fault.unwrap();
    let (reader, writer) = stream.into_inner().into_split();
    tokio::select! {
        // A client sends nothing after its request: what can be read is its leaving.
        () = left(reader) => shared.counts.send_modify(|counts| counts.closed += 1),
        () = misbehave(writer, &fault) => {}
    }
}

async fn left(mut reader: OwnedReadHalf) {
    let mut byte = [0];
    while reader.read(&mut byte).await.is_ok_and(|count| count > 0) {}
}

async fn misbehave(mut writer: OwnedWriteHalf, fault: &Fault) {
    let writer = &mut writer;
    match fault {
        Fault::Status(status, headers, body) => {
            let headers: String =
                headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            send(writer, answer.as_bytes()).await;
        }
        Fault::Html => {
            let page = "<!doctype html><title>Sign in</title>";
            send(writer, &[&head("text/html")[..], page.as_bytes()].concat()).await;
        }
        Fault::Silence => wait().await,
        Fault::Hangup => {}
        Fault::SlowHeaders => drip(writer, &stream_head()).await,
        Fault::SlowBody => {
            send(writer, &[stream_head(), event(&text("샘"))].concat()).await;
            drip(writer, &event(&text("물"))).await;
        }
        Fault::Stall | Fault::NoDone => {
            let parts = if *fault == Fault::Stall { vec![text("샘")] } else { good() };
            let events = parts.iter().map(event).collect::<Vec<_>>().concat();
            send(writer, &[stream_head(), events].concat()).await;
            wait().await;
        }
        Fault::Endless => {
            send(writer, &stream_head()).await;
            while send(writer, &event(&text("물 "))).await {}
            wait().await;
        }
        Fault::GzipBomb => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\r\n";
            send(writer, &[head.as_bytes(), &bomb::gzip(64)].concat()).await;
        }
        Fault::CutInTransfer | Fault::CutAfterFinish => {
            let parts = if *fault == Fault::CutInTransfer { vec![text("샘")] } else { good() };
            let events = parts.iter().map(event).collect::<Vec<_>>().concat();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            send(writer, &[head.as_bytes(), &chunk(&events)].concat()).await;
        }
        Fault::None
        | Fault::CutInCharacter
        | Fault::CutInJson
        | Fault::CutInArguments
        | Fault::CutWithoutFinish
        | Fault::LongLine
        | Fault::DoubleFinish
        | Fault::BrokenArguments
        | Fault::WrongSchema
        | Fault::NoUsage
        | Fault::MixedLineEnds
        | Fault::ByteOrderMark
        | Fault::Comments
        | Fault::ErrorInStream
        | Fault::ErrorFirst => {
            send(writer, &[stream_head(), body(fault)].concat()).await;
        }
    }
}

/// The bytes after the headers, for faults that are only bytes.
fn body(fault: &Fault) -> Vec<u8> {
    let events = |parts: &[Value]| parts.iter().map(event).collect::<Vec<_>>().concat();
    let done = b"data: [DONE]\n\n".as_slice();
    let finish = |reason: &str| piece(&json!({}), Some(reason));
    match fault {
        Fault::CutInCharacter => {
            let whole = events(&[text("샘"), text("물")]);
            let last = whole.windows(3).rposition(|bytes| bytes == "물".as_bytes()).unwrap();
            whole[..last + 1].to_vec()
        }
        Fault::CutInJson => {
            let whole = events(&[text("샘"), text("물")]);
            whole[..whole.len() - 20].to_vec()
        }
        Fault::CutInArguments => events(&[call_begins("search"), call_goes_on("{\"query\": \"샘")]),
        Fault::CutWithoutFinish => events(&[text("샘"), text("물")]),
        Fault::LongLine => [b"data: ", "a".repeat(10_000_000).as_bytes(), b"\n\n"].concat(),
        Fault::DoubleFinish => {
            let parts = [text("샘"), text("물"), finish("stop"), finish("stop"), finish("length")];
            [&events(&parts), &event(&usage())[..], done, done].concat()
        }
        Fault::BrokenArguments => {
            let parts =
                [call_begins("search"), call_goes_on("{\"query\": 샘}"), finish("tool_calls")];
            [&events(&parts)[..], done].concat()
        }
        Fault::WrongSchema => {
            [&events(&[text("{\"nothing\": \"of use\"}"), finish("stop")])[..], done].concat()
        }
        Fault::NoUsage => [&events(&[text("샘"), text("물"), finish("stop")])[..], done].concat(),
        Fault::MixedLineEnds => mixed(&good()),
        Fault::ByteOrderMark => [b"\xEF\xBB\xBF", &events(&good())[..], done].concat(),
        Fault::Comments => {
            let events: Vec<Vec<u8>> = good()
                .iter()
                .map(|part| [b": still here\n\n".to_vec(), event(part)].concat())
                .collect();
            [&events.concat()[..], b": bye\n", done].concat()
        }
        Fault::ErrorInStream => {
            events(&[text("샘"), json!({"error": {"message": "the engine died", "code": 500}})])
        }
        Fault::ErrorFirst => {
            events(&[json!({"error": {"message": "overloaded", "type": "overloaded_error"}})])
        }
        _ => [&events(&good())[..], done].concat(),
    }
}

/// The same events with every line end there is, also in one event.
fn mixed(parts: &[Value]) -> Vec<u8> {
    let ends = ["\r\n\r\n", "\n\n", "\r\r", "\r\n\n", "\n\r\n"];
    let events =
        parts.iter().zip(ends.iter().cycle()).map(|(part, end)| format!("data: {part}{end}"));
    [events.collect::<String>().as_bytes(), b"data:[DONE]\r\n\r\n"].concat()
}

fn good() -> Vec<Value> {
    vec![text("샘"), text("물"), piece(&json!({}), Some("stop")), usage()]
}

fn text(text: &str) -> Value {
    piece(&json!({"content": text}), None)
}

fn usage() -> Value {
    json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}})
}

fn call_begins(name: &str) -> Value {
    let function = json!({"name": name, "arguments": ""});
    piece(
        &json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}),
        None,
    )
}

fn call_goes_on(arguments: &str) -> Value {
    piece(&json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}), None)
}

fn event(part: &Value) -> Vec<u8> {
    format!("data: {part}\n\n").into_bytes()
}

fn stream_head() -> Vec<u8> {
    head("text/event-stream")
}

/// Headers of a body that ends with the connection.
fn head(media_type: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\nconnection: close\r\n\r\n")
        .into_bytes()
}

async fn send(writer: &mut OwnedWriteHalf, bytes: &[u8]) -> bool {
    writer.write_all(bytes).await.is_ok()
}

async fn drip(writer: &mut OwnedWriteHalf, bytes: &[u8]) {
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    for byte in bytes {
        seconds.tick().await;
        if !send(writer, &[*byte]).await {
            return;
        }
    }
}

async fn wait() {
    std::future::pending().await
}
