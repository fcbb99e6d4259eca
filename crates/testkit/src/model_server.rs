//! A model server as others run them: it speaks `/v1/chat/completions`, says what a test wants and what it was asked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::wire::{LAST_CHUNK, Request, chunk, next_request, send_whole};

/// What the server says to one request: a completion, or something of another status.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    status: &'static str,
    headers: Vec<(String, String)>,
    /// Set for what is no completion.
    body: Option<Value>,
    thoughts: String,
    text: String,
    calls: Vec<Value>,
    finish: &'static str,
    usage: Option<Value>,
}

impl Answer {
    /// Says this, word by word where it is asked to stream.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            status: "200 OK",
            headers: Vec::new(),
            body: None,
            thoughts: String::new(),
            text: text.into(),
            calls: Vec::new(),
            finish: "stop",
            usage: Some(usage(100, 10)),
        }
    }

    /// Wants this tool called; `arguments` is text, so that it can be wrong.
    #[must_use]
    pub fn call(tool: &str, arguments: &str) -> Self {
        Self::text("").and_call(tool, arguments)
    }

    #[must_use]
    pub fn and_call(mut self, tool: &str, arguments: &str) -> Self {
        let function = json!({"name": tool, "arguments": arguments});
        let id = format!("call_{}", self.calls.len());
        self.calls.push(json!({"id": id, "type": "function", "function": function}));
        self.finish = "tool_calls";
        self
    }

    /// Thinks aloud first.
    #[must_use]
    pub fn thinking(mut self, thoughts: &str) -> Self {
        thoughts.clone_into(&mut self.thoughts);
        self
    }

    #[must_use]
    pub fn finish(mut self, reason: &'static str) -> Self {
        self.finish = reason;
        self
    }

    #[must_use]
    pub fn using(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(usage(input, output));
        self
    }

    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// A refusal, such as `("429 Too Many Requests", json!({"error": {"message": "slow down"}}))`.
    #[must_use]
    pub fn status(status: &'static str, body: Value) -> Self {
        Self { status, body: Some(body), ..Self::text("") }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn whole(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.thoughts.is_empty() {
            message["reasoning_content"] = json!(self.thoughts);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = json!(self.calls);
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": self.finish});
        let mut whole = json!({"object": "chat.completion", "model": "test", "choices": [choice]});
        if let Some(usage) = &self.usage {
            whole["usage"] = usage.clone();
        }
        whole
    }

    /// The pieces of a stream; usage among them only if it was asked for, as the wire has it.
    fn pieces(&self, with_usage: bool) -> Vec<String> {
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        let words =
            |text: &str| -> Vec<String> { text.split_inclusive(' ').map(str::to_owned).collect() };
        deltas.extend(words(&self.thoughts).iter().map(|word| json!({"reasoning_content": word})));
        deltas.extend(words(&self.text).iter().map(|word| json!({"content": word})));
        for (index, call) in self.calls.iter().enumerate() {
            deltas.extend(
                fragments(index, call).into_iter().map(|part| json!({"tool_calls": [part]})),
            );
        }
        let mut pieces: Vec<Value> = deltas.into_iter().map(|delta| piece(&delta, None)).collect();
        pieces.push(piece(&json!({}), Some(self.finish)));
        if let Some(usage) = self.usage.as_ref().filter(|_| with_usage) {
            pieces.push(json!({"object": "chat.completion.chunk", "choices": [], "usage": usage}));
        }
        let mut pieces: Vec<String> = pieces.iter().map(Value::to_string).collect();
        pieces.push("[DONE]".to_owned());
        pieces
    }
}

fn usage(input: u64, output: u64) -> Value {
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
}

/// A piece of a streamed answer, as the wire has it.
#[must_use]
pub fn piece(delta: &Value, finish: Option<&str>) -> Value {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    json!({"id": "1", "object": "chat.completion.chunk", "model": "test", "choices": [choice]})
}

/// A call in pieces: name and id first, then the arguments three characters at a time.
fn fragments(index: usize, call: &Value) -> Vec<Value> {
    let arguments: Vec<char> = call["function"]["arguments"].as_str().unwrap().chars().collect();
    let first = json!({"name": call["function"]["name"], "arguments": ""});
    let mut parts =
        vec![json!({"index": index, "id": call["id"], "type": "function", "function": first})];
    for part in arguments.chunks(3) {
        let part: String = part.iter().collect();
        parts.push(json!({"index": index, "function": {"arguments": part}}));
    }
    parts
}

type Answering = dyn Fn(&Value) -> Answer + Send + Sync;

/// Runs until it is dropped.
pub struct ModelServer {
    /// Without a path: where Ollama's own API would be.
    pub address: String,
    /// Up to and including `/v1`.
    pub base_url: String,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    answers: Mutex<VecDeque<Answer>>,
    answering: Option<Box<Answering>>,
    latency: Duration,
    tags: Mutex<Value>,
    requests: Mutex<Vec<Value>>,
    heads: Mutex<Vec<String>>,
    connections: AtomicUsize,
    at_once: AtomicUsize,
    at_once_max: AtomicUsize,
}

impl ModelServer {
    /// Says the answers that it is given with [`Self::will_say`], in order; after them, that it has none.
    pub async fn start() -> Self {
        Self::with(Shared::default()).await
    }

    /// Makes up its mind by the body of the request, after `latency` each time.
    pub async fn answering(
        latency: Duration,
        answering: impl Fn(&Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let answering: Option<Box<Answering>> = Some(Box::new(answering));
        Self::with(Shared { answering, latency, ..Shared::default() }).await
    }

    async fn with(shared: Shared) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(shared);
        let mut tasks = JoinSet::new();
        let served = Arc::clone(&shared);
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                // Pieces go out as they are written, as they do from real servers.
                let _ = stream.set_nodelay(true);
                served.connections.fetch_add(1, Ordering::SeqCst);
                open.spawn(serve(stream, Arc::clone(&served)));
            }
        });
        Self { base_url: format!("{address}/v1"), address, shared, _tasks: tasks }
    }

    pub fn will_say(&self, answer: Answer) {
        locked(&self.shared.answers).push_back(answer);
    }

    /// What `GET /api/tags` gives, as from an Ollama.
    pub fn has_models(&self, tags: Value) {
        *locked(&self.shared.tags) = tags;
    }

    /// The bodies of all requests for a completion, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        locked(&self.shared.requests).clone()
    }

    /// Connections that were made to it.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Most requests that waited for their answers at the same time.
    #[must_use]
    pub fn requests_at_once_max(&self) -> usize {
        self.shared.at_once_max.load(Ordering::SeqCst)
    }

    /// First lines and headers of all requests, in lower case.
    #[must_use]
    pub fn heads(&self) -> Vec<String> {
        locked(&self.shared.heads).clone()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = next_request(&mut stream).await {
        locked(&shared.heads).push(request.head.clone());
        let goes_on = if request.head.starts_with("get /api/tags") {
            let tags = locked(&shared.tags).clone();
            let (status, body) =
                if tags.is_null() { ("404 Not Found", json!({})) } else { ("200 OK", tags) };
            send_json(&mut stream, status, &[], &body).await
        } else if request.head.starts_with("post /v1/chat/completions") {
            let now = shared.at_once.fetch_add(1, Ordering::SeqCst) + 1;
            shared.at_once_max.fetch_max(now, Ordering::SeqCst);
            complete(&mut stream, &request, &shared).await
        } else {
            send_json(&mut stream, "404 Not Found", &[], &json!({"error": "no such path"})).await
        };
        if !goes_on {
            return;
        }
    }
}

async fn complete(stream: &mut BufReader<TcpStream>, request: &Request, shared: &Shared) -> bool {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    locked(&shared.requests).push(body.clone());
    let answer = match &shared.answering {
        Some(answering) => answering(&body),
        None => locked(&shared.answers).pop_front().unwrap_or_else(|| {
            Answer::status("400 Bad Request", json!({"error": {"message": "no answer left"}}))
        }),
    };
    if !shared.latency.is_zero() {
        tokio::time::sleep(shared.latency).await;
    }
    // Before the answer: who has read it may be back before we are.
    shared.at_once.fetch_sub(1, Ordering::SeqCst);
    if let Some(body) = &answer.body {
        return send_json(stream, answer.status, &answer.headers, body).await;
    }
    if body["stream"] == true {
        stream_answer(stream, &answer, body["stream_options"]["include_usage"] == true).await
    } else {
        send_json(stream, answer.status, &answer.headers, &answer.whole()).await
    }
}

async fn send_json(
    stream: &mut BufReader<TcpStream>,
    status: &str,
    headers: &[(String, String)],
    body: &Value,
) -> bool {
    let mut all = vec![("content-type".to_owned(), "application/json".to_owned())];
    all.extend_from_slice(headers);
    send_whole(stream, status, &all, body.to_string().as_bytes()).await
}

async fn stream_answer(
    stream: &mut BufReader<TcpStream>,
    answer: &Answer,
    with_usage: bool,
) -> bool {
    let mut head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".to_owned();
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\n\r\n");
    if stream.write_all(head.as_bytes()).await.is_err() {
        return false;
    }
    for piece in answer.pieces(with_usage) {
        if stream.write_all(&chunk(format!("data: {piece}\n\n").as_bytes())).await.is_err() {
            return false;
        }
    }
    stream.write_all(LAST_CHUNK).await.is_ok()
}
