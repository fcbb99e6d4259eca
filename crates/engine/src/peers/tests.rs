//! Checks the client of agents against agents that tests script: honest ones of every version, and hostile ones.

mod asking;
mod cards;
mod grpc;
mod tools;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::ports::{Entropy, PortError};
use agent::tools::naming::ServerId;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, Request, StatusCode};
use serde_json::{Value, json};
use testkit::clock::HandClock;

use super::*;
use crate::tasks::Tasks;
use crate::tools::Waits;

/// What an agent that tests script was sent.
#[derive(Debug, Clone)]
struct Heard {
    reach: Reach,
    line: String,
    headers: HeaderMap,
    /// Null if it is no JSON.
    body: Value,
    bytes: Vec<u8>,
}

impl Heard {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// What it answers.
struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Body,
    trailers: Trailers,
}

fn bytes(text: impl Into<String>) -> Body {
    let text: String = text.into();
    stream::iter([Ok(text.into_bytes())]).boxed()
}

fn json_reply(value: &Value) -> Reply {
    status_reply(200, value)
}

fn status_reply(status: u16, value: &Value) -> Reply {
    let headers = vec![("content-type", "application/json".to_owned())];
    Reply { status, headers, body: bytes(value.to_string()), trailers: Trailers::default() }
}

fn not_found() -> Reply {
    status_reply(404, &json!({}))
}

/// The answer of JSON-RPC to what was heard.
fn result(heard: &Heard, result: &Value) -> Reply {
    json_reply(&json!({ "jsonrpc": "2.0", "id": heard.body["id"], "result": result }))
}

fn error(heard: &Heard, code: i64, message: &str) -> Reply {
    let error = json!({ "code": code, "message": message });
    json_reply(&json!({ "jsonrpc": "2.0", "id": heard.body["id"], "error": error }))
}

fn events(heard: &Heard, results: &[Value]) -> Reply {
    let event = |result: &Value| {
        format!(
            "data: {}\n\n",
            json!({ "jsonrpc": "2.0", "id": heard.body["id"], "result": result })
        )
    };
    let body: String = results.iter().map(event).collect();
    let headers = vec![("content-type", "text/event-stream".to_owned())];
    Reply { status: 200, headers, body: bytes(body), trailers: Trailers::default() }
}

type Script = dyn Fn(&Heard) -> Reply + Send + Sync;

/// Answers in place of the net.
struct Net {
    script: Box<Script>,
    heard: Mutex<Vec<Heard>>,
}

impl Outside for Net {
    fn open(
        &self,
        reach: Reach,
        request: Request<Vec<u8>>,
        _wait_max: Duration,
    ) -> BoxFuture<'_, Result<Opened, OutsideError>> {
        let (head, body) = request.into_parts();
        let heard = Heard {
            reach,
            line: format!("{} {}", head.method, head.uri),
            headers: head.headers,
            body: serde_json::from_slice(&body).unwrap_or_default(),
            bytes: body,
        };
        self.heard.lock().unwrap().push(heard.clone());
        let reply = (self.script)(&heard);
        let mut headers = HeaderMap::new();
        for (name, value) in reply.headers {
            headers.insert(name, value.parse().unwrap());
        }
        let status = StatusCode::from_u16(reply.status).unwrap();
        Box::pin(std::future::ready(Ok(Opened {
            status,
            headers,
            body: reply.body,
            trailers: reply.trailers,
        })))
    }
}

/// Counts instead of drawing.
#[derive(Default)]
struct Counting(AtomicU64);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        bytes.iter_mut().zip(number.to_be_bytes()).for_each(|(byte, part)| *byte = part);
        Ok(())
    }
}

struct World {
    peers: Peers,
    net: Arc<Net>,
    clock: Arc<HandClock>,
    tasks: Tasks,
}

impl World {
    fn new(rules: PeerRules, script: impl Fn(&Heard) -> Reply + Send + Sync + 'static) -> Self {
        let net = Arc::new(Net { script: Box::new(script), heard: Mutex::default() });
        let clock = Arc::new(HandClock::at(1_000));
        let tasks = Tasks::new();
        let parts = PeerParts {
            outside: Arc::clone(&net) as Arc<dyn Outside>,
            clock: Arc::clone(&clock) as Arc<dyn agent::ports::Clock>,
            entropy: Arc::new(Counting::default()),
            tasks: tasks.clone(),
        };
        Self { peers: Peers::new(parts, rules), net, clock, tasks }
    }

    fn lines(&self) -> Vec<String> {
        self.net.heard.lock().unwrap().iter().map(|heard| heard.line.clone()).collect()
    }

    fn last(&self) -> Heard {
        self.net.heard.lock().unwrap().last().cloned().unwrap()
    }

    async fn ask(&self, named: &str, order: Order) -> Result<a2a::model::Sent, PeerError> {
        self.peers.agent(named).await?.ask(order, &mut |_| {}).await
    }
}

fn rules() -> PeerRules {
    let long = Duration::from_secs(20);
    let waits =
        Waits { connect: long, list: long, call: long, call_total: Duration::from_secs(60) };
    PeerRules { agents: Vec::new(), registries: Vec::new(), waits, hops_max: 4 }
}

fn configured(name: &str, source: Source) -> AgentSettings {
    AgentSettings {
        id: ServerId::for_name(name),
        name: name.to_owned(),
        source,
        headers: BTreeMap::from([("authorization".to_owned(), "Bearer hush".to_owned())]),
        ..AgentSettings::at("", rules().waits)
    }
}

const AT: &str = "http://agent.test";

fn card_of_1_0(binding: &str, url: &str) -> Value {
    json!({
        "name": "Painter", "description": "Paints.", "version": "1",
        "supportedInterfaces": [{ "url": url, "protocolBinding": binding, "protocolVersion": "1.0" }],
        "capabilities": { "streaming": true },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "paint", "name": "Paint", "description": "Paints a picture.", "tags": ["art"],
            "examples": ["Paint a spring."] }],
    })
}

fn card_of_0_3(url: &str) -> Value {
    json!({
        "name": "Painter", "description": "Paints.", "version": "1", "protocolVersion": "0.3.0", "url": url,
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "paint", "name": "Paint", "description": "Paints a picture.", "tags": ["art"] }],
    })
}

fn is_card(heard: &Heard) -> bool {
    heard.line.ends_with("/.well-known/agent-card.json")
}

/// A task of 1.0 in a state, with one artifact.
fn task(state: &str) -> Value {
    json!({
        "id": "t1", "contextId": "c1", "status": { "state": format!("TASK_STATE_{state}") },
        "artifacts": [{ "artifactId": "a1", "parts": [{ "text": "a spring" }] }],
    })
}
