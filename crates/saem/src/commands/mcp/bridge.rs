//! Passes MCP messages between standard input and output and a server's endpoint, in both eras of the protocol.

mod message;

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use self::message::{Kind, Message};
use crate::backend::Client;

/// Longest line, in bytes: what the endpoint takes, and a little for the line's end.
const LINE_BYTES_MAX: u64 = (4 << 20) + 16;

/// Longest event of an answer, in bytes: a document as a resource, twice over.
const EVENT_BYTES_MAX: usize = 16 << 20;

/// Requests that are under way at the same time; then the client waits.
const REQUESTS_MAX: usize = 256;

/// Lines that wait for a slow client; then the server waits too.
const LINES_WAITING_MAX: usize = 64;

/// How long the server is told that a session has ended.
const GOODBYE_MAX: Duration = Duration::from_secs(2);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Passes messages on until the client closes its end.
pub(super) async fn run(client: Client) -> Result<ExitCode> {
    let (input, mut output) = server::mcp::pipes();
    let (tell, mut told) = mpsc::channel::<String>(LINES_WAITING_MAX);
    let bridge = Bridge { client, tell, state: Mutex::default() };
    let reading = async {
        let outcome = bridge.read(BufReader::new(input)).await;
        bridge.say_goodbye().await;
        drop(bridge);
        outcome
    };
    let writing = async {
        while let Some(line) = told.recv().await {
            output.write_all(line.as_bytes()).await?;
            output.write_all(b"\n").await?;
            output.flush().await?;
        }
        Ok::<_, std::io::Error>(())
    };
    let (read, written) = tokio::join!(reading, writing);
    read?;
    written.context("the client reads no more")?;
    Ok(ExitCode::SUCCESS)
}

struct Bridge {
    client: Client,
    tell: mpsc::Sender<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of the older era, once there is one.
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// How to give up requests of the newer era, by their ids.
    under_way: HashMap<String, AbortHandle>,
}

type Work<'a> = BoxFuture<'a, ()>;

impl Bridge {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(&self, mut input: impl AsyncBufReadExt + Unpin) -> Result<()> {
        let mut work: FuturesUnordered<Work<'_>> = FuturesUnordered::new();
        let mut line = Vec::new();
        loop {
            let mut bounded = (&mut input).take(LINE_BYTES_MAX - line.len() as u64);
            tokio::select! {
                read = bounded.read_until(b'\n', &mut line), if work.len() < REQUESTS_MAX => {
                    read.context("standard input")?;
                    if line.len() as u64 >= LINE_BYTES_MAX {
                        bail!("a message has more than {LINE_BYTES_MAX} bytes");
                    }
                    if !line.ends_with(b"\n") {
                        // The client has closed its end; what is under way is of no use to it.
                        return Ok(());
                    }
                    if let Some(more) = self.pass(&std::mem::take(&mut line)).await {
                        work.push(more);
                    }
                }
                Some(()) = work.next() => {}
            }
        }
    }

    /// Passes a message on; what takes long is given back to be done beside others.
    async fn pass(&self, line: &[u8]) -> Option<Work<'_>> {
        let message = match Message::read(line) {
            Ok(message) => message?,
            Err(error) => {
                self.say(error).await;
                return None;
            }
        };
        match &message.kind {
            Kind::Request { id } => {
                let (key, is_modern) = (id.to_string(), message.version.is_some());
                let (handle, registration) = AbortHandle::new_pair();
                if is_modern {
                    self.state().under_way.insert(key.clone(), handle);
                }
                let work = Abortable::new(self.ask(message), registration);
                let work = work.map(move |_| {
                    self.state().under_way.remove(&key);
                });
                Some(work.boxed())
            }
            Kind::Cancelled { id } if self.state().under_way.contains_key(&id.to_string()) => {
                let handle = self.state().under_way.remove(&id.to_string());
                // Whoever closes the stream of an answer has taken the request back.
                handle.iter().for_each(AbortHandle::abort);
                None
            }
            // In order: a request that follows may need it.
            Kind::Cancelled { .. } | Kind::Other => {
                let starts_stream = message.method.as_deref() == Some("notifications/initialized");
                match self.post(&message).await {
                    Ok(_) if starts_stream => Some(self.listen().boxed()),
                    Ok(_) => None,
                    Err(error) => {
                        tracing::warn!(%error, "a message was not passed on");
                        None
                    }
                }
            }
        }
    }

    /// Passes a request on, and its answer back.
    async fn ask(&self, message: Message) {
        let Kind::Request { id } = &message.kind else { return };
        let answered = match self.post(&message).await {
            Ok(response) => self.answer(response, &message).await,
            Err(error) => Err(error),
        };
        if let Err(error) = answered {
            self.say(message::failure(id, &format!("{error:#}"))).await;
        }
    }

    async fn post(&self, message: &Message) -> Result<Response> {
        let mut request = self.client.mcp_request(Method::POST)?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        match &message.version {
            Some(version) => {
                headers.insert(VERSION, HeaderValue::from_str(version)?);
                headers.extend(message.routing_headers()?);
            }
            None => self.put_session(headers),
        }
        *request.body_mut() = Some(message.text.clone().into());
        self.client.mcp_send(request).await
    }

    fn put_session(&self, headers: &mut reqwest::header::HeaderMap) {
        let state = self.state();
        headers.extend(state.session.clone().map(|session| (SESSION, session)));
        headers.extend(state.version.clone().map(|version| (VERSION, version)));
    }

    async fn answer(&self, response: Response, message: &Message) -> Result<()> {
        let is_hello = message.method.as_deref() == Some("initialize");
        if is_hello {
            self.state().session = response.headers().get(SESSION).cloned();
        }
        let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let kind = kind.unwrap_or_default();
        if kind.starts_with(b"text/event-stream") {
            let mut is_answered = false;
            self.stream(response, |value| {
                is_answered |= value.get("method").is_none();
                if is_hello {
                    self.note_version(value);
                }
            })
            .await?;
            return if is_answered { Ok(()) } else { bail!("the answer broke off") };
        }
        let status = response.status();
        let body: Value = response.json().await.with_context(|| format!("status {status}"))?;
        if kind_is_rpc(&body) {
            if is_hello {
                self.note_version(&body);
            }
            self.say(body).await;
            return Ok(());
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        bail!("{} {}", text("detail"), text("action"));
    }

    fn note_version(&self, answer: &Value) {
        let version = answer.pointer("/result/protocolVersion").and_then(Value::as_str);
        if let Some(Ok(version)) = version.map(HeaderValue::from_str) {
            self.state().version = Some(version);
        }
    }

    /// What a session of the older era is told without asking.
    async fn listen(&self) {
        let listening = async {
            let mut request = self.client.mcp_request(Method::GET)?;
            request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
            self.put_session(request.headers_mut());
            let response = self.client.mcp_send(request).await?;
            if response.status() != StatusCode::OK {
                bail!("status {}", response.status());
            }
            self.stream(response, |_| ()).await
        };
        if let Err(error) = listening.await {
            tracing::warn!(%error, "nothing more is heard from the server without asking");
        }
    }

    /// Tells every message of a stream.
    async fn stream(&self, mut response: Response, mut seen: impl FnMut(&Value)) -> Result<()> {
        let mut waiting = Vec::new();
        while let Some(piece) = response.chunk().await.context("the answer broke off")? {
            if waiting.len() + piece.len() > EVENT_BYTES_MAX {
                bail!("the server sends more than {} MiB at once", EVENT_BYTES_MAX >> 20);
            }
            waiting.extend_from_slice(&piece);
            while let Some(end) = waiting.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = waiting.drain(..end + 2).collect();
                if let Some(value) = message::in_event(&String::from_utf8_lossy(&event)) {
                    seen(&value);
                    self.say(value).await;
                }
            }
        }
        Ok(())
    }

    async fn say(&self, value: Value) {
        // Whoever reads no more is noticed by whoever writes.
        _ = self.tell.send(value.to_string()).await;
    }

    async fn say_goodbye(&self) {
        if self.state().session.is_none() {
            return;
        }
        let ending = async {
            let mut request = self.client.mcp_request(Method::DELETE)?;
            self.put_session(request.headers_mut());
            self.client.mcp_send(request).await
        };
        // A session that nobody ends ends by itself.
        _ = tokio::time::timeout(GOODBYE_MAX, ending).await;
    }
}

fn kind_is_rpc(body: &Value) -> bool {
    body.get("jsonrpc").is_some()
}
