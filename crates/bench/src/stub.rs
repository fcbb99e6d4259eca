//! `bench stub`: a language model that says the same each time after a fixed wait, so that what is left of a turn is ours.
//!
//! Each line on standard input is a wait in milliseconds, kept from then on; each line of output is JSON with the address
//! and the answers given since the line before. It ends with its input.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::result;

/// What the model writes: about sixty words, two of them citations.
pub(crate) const TEXT: &str = "Open the settings of the workspace and choose the account that you want to connect. The role needs \
    read access to the billing export and to the list of linked accounts [1]. After that the first import begins by \
    itself and takes some hours, because the costs of the last months are read as well. When it has ended, the costs \
    stand in the overview, by service and by account [2].";

/// What it says of passages: the first three will do.
const VERDICT: &str = r#"{"ranked_indices":[1,2,3],"is_sufficient":true,"missing":[],"next_action":null,"refined_query":null,"confidence":0.9}"#;

/// What it remembers; no value in it that the next memory would have to keep.
const MEMORY: &str = r#"{"memory":"The user sets up the import of costs and asks how accounts are connected. They were told which role is needed and how long the first import takes.","entities":[{"key":"topic","value":"connecting accounts"}]}"#;

/// Largest request, in bytes: far more than a context.
const BODY_BYTES_MAX: usize = 4 << 20;

pub(crate) fn run() -> Result<()> {
    let stub = Stub::start()?;
    for line in std::io::stdin().lines() {
        let line = line?;
        let wait = line.trim().parse().with_context(|| format!("no wait: {line}"))?;
        result(&stub.wait_from_now(wait))?;
    }
    Ok(())
}

/// Serves until the process ends.
struct Stub {
    address: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    wait_milliseconds: AtomicU64,
    /// Answers of each kind.
    given: [AtomicU64; 3],
}

impl Stub {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let shared = Arc::new(Shared::default());
        let (served, answers) = (Arc::clone(&shared), Arc::new(Answers::new()));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, answers) = (Arc::clone(&served), Arc::clone(&answers));
                // A client that has gone is not missed.
                std::thread::spawn(move || _ = serve(stream, &shared, &answers));
            }
        });
        Ok(Self { address, shared })
    }

    fn wait_from_now(&self, milliseconds: u64) -> Value {
        self.shared.wait_milliseconds.store(milliseconds, Ordering::Relaxed);
        let [answers, verdicts, memories] =
            self.shared.given.each_ref().map(|given| given.swap(0, Ordering::Relaxed));
        json!({"address": self.address, "answers": answers, "verdicts": verdicts, "memories": memories})
    }
}

/// What is read of a request.
#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    response_format: Option<Format>,
}

#[derive(Deserialize)]
struct Format {
    #[serde(default)]
    json_schema: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Clone, Copy)]
enum Kind {
    Answer,
    Verdict,
    Memory,
}

impl Asked {
    fn kind(&self) -> Kind {
        let schema = self.response_format.as_ref().and_then(|format| format.json_schema.as_ref());
        match schema.map(|schema| schema.name.as_str()) {
            Some("verdict" | "Verdict") => Kind::Verdict,
            Some(_) => Kind::Memory,
            None => Kind::Answer,
        }
    }
}

/// All answers as they go over the wire: whole, and in pieces of a word.
struct Answers {
    whole: [Vec<u8>; 3],
    pieces: [Vec<u8>; 3],
}

impl Answers {
    fn new() -> Self {
        let texts = [TEXT, VERDICT, MEMORY];
        Self { whole: texts.map(whole), pieces: texts.map(pieces) }
    }

    fn to(&self, asked: &Asked) -> &[u8] {
        let form = if asked.stream { &self.pieces } else { &self.whole };
        let [answer, verdict, memory] = form;
        match asked.kind() {
            Kind::Answer => answer,
            Kind::Verdict => verdict,
            Kind::Memory => memory,
        }
    }
}

fn usage() -> Value {
    json!({"prompt_tokens": 1500, "completion_tokens": 80, "total_tokens": 1580})
}

fn whole(text: &str) -> Vec<u8> {
    let message = json!({"role": "assistant", "content": text});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let body = json!({
        "id": "1", "object": "chat.completion", "created": 1, "model": "stub", "choices": [choice], "usage": usage(),
    })
    .to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

fn pieces(text: &str) -> Vec<u8> {
    let piece = |delta: &Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": [choice]})
    };
    let mut events = vec![piece(&json!({"role": "assistant", "content": ""}), None)];
    events.extend(text.split_inclusive(' ').map(|word| piece(&json!({"content": word}), None)));
    events.push(piece(&json!({}), Some("stop")));
    events.push(json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": [], "usage": usage()}));
    let mut lines: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    lines.push("data: [DONE]\n\n".to_owned());
    let chunks: String =
        lines.iter().map(|line| format!("{:x}\r\n{line}\r\n", line.len())).collect();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
    )
    .into_bytes()
}

/// Answers requests on a connection until the client ends it.
fn serve(stream: TcpStream, shared: &Shared, answers: &Answers) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(64 << 10, stream);
    let mut body = Vec::new();
    while let Some(length) = head(&mut reader)? {
        ensure!(length <= BODY_BYTES_MAX, "a request of {length} bytes");
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
        let asked: Asked = serde_json::from_slice(&body)?;
        let [answered, judged, remembered] = &shared.given;
        let given = match asked.kind() {
            Kind::Answer => answered,
            Kind::Verdict => judged,
            Kind::Memory => remembered,
        };
        given.fetch_add(1, Ordering::Relaxed);
        wait(shared.wait_milliseconds.load(Ordering::Relaxed));
        reader.get_mut().write_all(answers.to(&asked))?;
    }
    Ok(())
}

fn wait(milliseconds: u64) {
    if milliseconds > 0 {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
}

/// Reads to the end of a request's headers and gives the length of its body; none at the end of the connection.
fn head(reader: &mut impl BufRead) -> Result<Option<usize>> {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse()?;
            }
            _ if line.trim().is_empty() => return Ok(Some(length)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Connection;

    #[test]
    fn it_answers_by_what_is_asked_for_and_counts() {
        let stub = Stub::start().unwrap();
        let mut to = Connection::open(&stub.address).unwrap();
        let mut ask = |format: Value| {
            let body = json!({"model": "stub", "messages": [], "response_format": format});
            let answer = to.post("/v1/chat/completions", &body.to_string()).unwrap();
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
        };
        let schema = |name: &str| json!({"type": "json_schema", "json_schema": {"name": name}});
        assert_eq!(ask(Value::Null), TEXT);
        assert_eq!(ask(schema("verdict")), VERDICT);
        assert_eq!(ask(schema("memory_update")), MEMORY);
        let given = stub.wait_from_now(5);
        assert_eq!(given["answers"], 1);
        assert_eq!(given["verdicts"], 1);
        assert_eq!(given["memories"], 1);
        assert_eq!(stub.wait_from_now(0)["answers"], 0);
    }

    #[test]
    fn pieces_are_the_whole() {
        let wire = String::from_utf8(pieces(TEXT)).unwrap();
        let events = wire.lines().filter_map(|line| line.strip_prefix("data: {"));
        let texts = events.filter_map(|event| {
            let event: Value = serde_json::from_str(&format!("{{{event}")).unwrap();
            Some(event["choices"][0]["delta"]["content"].as_str()?.to_owned())
        });
        assert_eq!(texts.collect::<String>(), TEXT);
    }
}
