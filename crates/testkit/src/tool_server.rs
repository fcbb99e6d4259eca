//! A server of tools that does exactly what a test says, down to single bytes, in either era of MCP.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::wire::{LAST_CHUNK, chunk, next_request, send_whole};

/// What becomes of one message.
#[derive(Debug, Clone)]
pub enum Answer {
    Json(Value),
    /// Nothing to say: 202.
    Accepted,
    /// This status line, these headers, this body.
    Raw(&'static str, Vec<(&'static str, String)>, Vec<u8>),
    /// These events, each a message, and then the end.
    Events(Vec<Value>),
    /// These events, and the stream stays open.
    Open(Vec<Value>),
    /// This request to the client; its reply, as text, is then the result of the call of this id.
    Ask {
        request: Value,
        then: Value,
    },
    /// This event, again and again, as long as somebody listens.
    Drip(Value),
    /// The connection stays open, and nothing comes.
    Silence,
    /// The connection is closed before a word.
    Hangup,
    /// A body of JSON that never ends.
    Endless,
    /// The answer comes after a message that the script waits for has come.
    After(&'static str, Box<Self>),
}

/// Far shorter than anybody's patience.
const BETWEEN_DROPS: Duration = Duration::from_millis(20);

type Script = dyn Fn(&Value) -> Answer + Send + Sync;

/// Runs until it is dropped.
pub struct ToolServer {
    pub url: String,
    seen: watch::Receiver<Vec<Value>>,
    _tasks: JoinSet<()>,
}

impl ToolServer {
    /// Answers each message as the script says.
    pub async fn start(script: impl Fn(&Value) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (tell, seen) = watch::channel(Vec::new());
        let (script, tell): (Arc<Script>, _) = (Arc::new(script), Arc::new(tell));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                open.spawn(serve(stream, Arc::clone(&script), Arc::clone(&tell)));
            }
        });
        Self { url, seen, _tasks: tasks }
    }

    /// How many messages of this method have come.
    #[must_use]
    pub fn count(&self, method: &str) -> usize {
        self.seen.borrow().iter().filter(|message| message["method"] == method).count()
    }

    /// All messages of this method, in their order.
    #[must_use]
    pub fn messages(&self, method: &str) -> Vec<Value> {
        let seen = self.seen.borrow();
        seen.iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// Waits for a message of this method.
    pub async fn saw(&self, method: &str) {
        let mut seen = self.seen.clone();
        let came = |all: &Vec<Value>| all.iter().any(|message| message["method"] == method);
        seen.wait_for(came).await.unwrap();
    }
}

async fn serve(stream: TcpStream, script: Arc<Script>, tell: Arc<watch::Sender<Vec<Value>>>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = next_request(&mut stream).await {
        if !request.head.starts_with("post") {
            send_whole(&mut stream, "405 Method Not Allowed", &[], b"").await;
            continue;
        }
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        tell.send_modify(|seen| seen.push(message.clone()));
        let mut answer = script(&message);
        while let Answer::After(method, then) = answer {
            let came = |all: &Vec<Value>| all.iter().any(|message| message["method"] == method);
            tell.subscribe().wait_for(came).await.unwrap();
            answer = *then;
        }
        let goes_on = match answer {
            Answer::Ask { request, then } => ask(&mut stream, &request, &then, &tell).await,
            other => send(&mut stream, other).await,
        };
        if !goes_on {
            return;
        }
    }
}

const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn event(message: &Value) -> Vec<u8> {
    chunk(format!("data: {message}\n\n").as_bytes())
}

/// Sends a request to the client on the answer's stream and waits for its reply, which comes on another connection.
async fn ask(
    stream: &mut BufReader<TcpStream>,
    request: &Value,
    id: &Value,
    tell: &watch::Sender<Vec<Value>>,
) -> bool {
    let is_reply = |message: &&Value| message["id"] == request["id"] && message["method"].is_null();
    let mut seen = tell.subscribe();
    let before = seen.borrow().iter().filter(is_reply).count();
    let _ = stream.write_all(&[STREAM_HEAD.as_bytes(), &event(request)].concat()).await;
    let came = |all: &Vec<Value>| all.iter().filter(is_reply).count() > before;
    let reply = {
        let all = seen.wait_for(came).await.unwrap();
        all.iter().rfind(is_reply).cloned().unwrap_or_default()
    };
    let said = json!({"content": [{"type": "text", "text": reply.to_string()}]});
    let result = json!({"jsonrpc": "2.0", "id": id, "result": said});
    stream.write_all(&[event(&result), LAST_CHUNK.to_vec()].concat()).await.is_ok()
}

async fn send(stream: &mut BufReader<TcpStream>, answer: Answer) -> bool {
    let kind = |kind: &str| vec![("content-type".to_owned(), kind.to_owned())];
    match answer {
        Answer::Json(value) => {
            let body = value.to_string();
            send_whole(stream, "200 OK", &kind("application/json"), body.as_bytes()).await
        }
        Answer::Accepted => send_whole(stream, "202 Accepted", &[], b"").await,
        Answer::Raw(status, headers, body) => {
            let headers: Vec<_> =
                headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            send_whole(stream, status, &headers, &body).await
        }
        Answer::Events(messages) => {
            let events: String =
                messages.iter().map(|message| format!("data: {message}\n\n")).collect();
            send_whole(stream, "200 OK", &kind("text/event-stream"), events.as_bytes()).await
        }
        Answer::Open(messages) => {
            let events: Vec<u8> = messages.iter().flat_map(event).collect();
            let _ = stream.write_all(&[STREAM_HEAD.as_bytes(), &events].concat()).await;
            let _ = next_request(stream).await;
            false
        }
        Answer::Drip(message) => {
            let _ = stream.write_all(STREAM_HEAD.as_bytes()).await;
            let drop = event(&message);
            while stream.write_all(&drop).await.is_ok() {
                tokio::time::sleep(BETWEEN_DROPS).await;
            }
            false
        }
        Answer::Silence => {
            let _ = next_request(stream).await;
            false
        }
        Answer::Hangup | Answer::After(..) | Answer::Ask { .. } => false,
        Answer::Endless => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(&chunk(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"")).await;
            let much = chunk(&[b'x'; 1 << 16]);
            while stream.write_all(&much).await.is_ok() {}
            false
        }
    }
}

/// The result of a request.
#[must_use]
pub fn result(request: &Value, result: &Value) -> Answer {
    Answer::Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
}

/// The refusal of a request.
#[must_use]
pub fn error(request: &Value, code: i64, message: &str) -> Answer {
    let error = json!({"code": code, "message": message});
    Answer::Json(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
}

/// What a server of the era before 2026-07-28 says to greetings; the rest is the script's.
pub fn legacy(request: &Value, rest: impl FnOnce(&str) -> Answer) -> Answer {
    match request["method"].as_str().unwrap_or_default() {
        "server/discover" => error(request, -32601, "Method not found"),
        "initialize" => result(
            request,
            &json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "fake", "version": "1"},
                "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}}}),
        ),
        method if method.starts_with("notifications/") => Answer::Accepted,
        method => rest(method),
    }
}

/// What a server of the era since 2026-07-28 says to greetings; the rest is the script's.
pub fn modern(request: &Value, rest: impl FnOnce(&str) -> Answer) -> Answer {
    match request["method"].as_str().unwrap_or_default() {
        "server/discover" => result(
            request,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0,
                "cacheScope": "private", "capabilities": {"tools": {"listChanged": true}}}),
        ),
        method if method.starts_with("notifications/") => Answer::Accepted,
        method => rest(method),
    }
}

/// A page of a list of tools, complete in either era.
#[must_use]
pub fn tools(request: &Value, tools: &[Value]) -> Answer {
    result(
        request,
        &json!({"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}),
    )
}

/// A tool that only reads, as its server says.
#[must_use]
pub fn reads(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true, "openWorldHint": false}})
}

/// A tool about which its server says nothing.
#[must_use]
pub fn silent(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"}})
}

/// What a tool gives: one text.
#[must_use]
pub fn said(request: &Value, text: &str) -> Answer {
    result(request, &json!({"content": [{"type": "text", "text": text}], "resultType": "complete"}))
}
