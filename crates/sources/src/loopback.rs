//! A web server of a few lines on the own machine, for tests: it says what it is told and notes what it hears.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What the server does with a request.
pub(crate) enum Answer {
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// These bytes, then nothing, with the connection left open.
    ThenSilence(Vec<u8>),
    /// These bytes, then the same letter until nobody listens any more.
    ThenEndless(Vec<u8>),
}

type Script = dyn Fn(&str) -> Answer + Send + Sync;

/// Runs until it is dropped.
pub(crate) struct Server {
    pub(crate) socket: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// On 127.0.0.1 and a free port; `answer` is given the request line and headers.
    pub(crate) async fn start(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), answer).await
    }

    pub(crate) async fn start_at(
        socket: SocketAddr,
        answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(socket).await.unwrap();
        let socket = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(
            listener,
            Arc::clone(&connections),
            Arc::clone(&heads),
            Arc::new(answer) as Arc<Script>,
        ));
        Self { socket, connections, heads, _tasks: tasks }
    }

    /// A server that nobody should talk to.
    pub(crate) async fn canary(address: IpAddr, port: u16) -> Self {
        Self::start_at(SocketAddr::new(address, port), |_| ok("text/plain", b"inside")).await
    }

    pub(crate) fn port(&self) -> u16 {
        self.socket.port()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.socket)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The request lines and headers heard so far, in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn accept(
    listener: TcpListener,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
    answer: Arc<Script>,
) {
    let mut open = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        open.spawn(serve(stream, Arc::clone(&heads), Arc::clone(&answer)));
    }
}

async fn serve(mut stream: TcpStream, heads: Arc<Mutex<Vec<String>>>, answer: Arc<Script>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            // What begins otherwise is no request, but TLS.
            Ok(byte) if head.is_empty() && !byte.is_ascii_alphabetic() => return,
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    heads.lock().unwrap().push(head.clone());
    match answer(&head) {
        Answer::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Answer::ThenSilence(bytes) => {
            let _ = stream.write_all(&bytes).await;
            std::future::pending::<()>().await;
        }
        Answer::ThenEndless(bytes) => {
            let _ = stream.write_all(&bytes).await;
            while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
        }
    }
}

pub(crate) fn ok(media_type: &str, body: &[u8]) -> Answer {
    with_headers("200 OK", &[("Content-Type", media_type)], body)
}

pub(crate) fn redirect_to(location: &str) -> Answer {
    with_headers("302 Found", &[("Location", location)], b"")
}

pub(crate) fn with_headers(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut bytes = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        bytes.push_str(&format!("{name}: {value}\r\n"));
    }
    bytes.push_str("Connection: close\r\n\r\n");
    Answer::Bytes([bytes.as_bytes(), body].concat())
}
