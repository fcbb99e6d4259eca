//! A server with a few routes, keys in memory, a clock set by hand, and a caller that writes raw bytes.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent::identity::{ApiKey, AuditEntry, Scope, Timestamp};
use agent::names::TenantId;
use agent::ports::{Clock, Entropy, Keys, Later, PortError};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::IntoResponse;
use bytes::Bytes;
use engine::keys::{NewKey, mint};
use futures_util::stream;
use http::StatusCode;
use http::header::{CONNECTION, UPGRADE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use server::guard::{Caller, Shutdown, Standing};
use server::health::ReadyCheck;
use server::identity::{Identity, Mode};
use server::input::{self, Json, Path, Query};
use server::metrics::Metrics;
use server::problem::Problem;
use server::routes::{Access, Route, Table};
use server::{Parts, Server, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) const LOOPBACK: &str = "127.0.0.1:50000";
pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000_000);

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) keys: Arc<MemoryKeys>,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) app: App,
    entropy: CountingEntropy,
    tasks: TaskTracker,
}

/// What the handlers of these tests share.
#[derive(Clone, Default)]
pub(crate) struct App {
    /// `/wait` answers when this is rung.
    pub(crate) bell: Arc<Notify>,
    /// Rung whenever a handler waits.
    pub(crate) waiting: Arc<Notify>,
    pub(crate) bytes_read: Arc<AtomicU64>,
    tasks: TaskTracker,
}

#[derive(Default)]
pub(crate) struct MemoryKeys {
    pub(crate) kept: Mutex<HashMap<String, ApiKey>>,
    pub(crate) lookups: AtomicUsize,
    pub(crate) broken: Mutex<bool>,
}

impl Keys for MemoryKeys {
    fn put_key(&self, key: ApiKey, _entry: AuditEntry) -> Later<'_, ()> {
        self.kept.lock().unwrap().insert(key.prefix.clone(), key);
        Box::pin(async { Ok(()) })
    }

    fn find_key<'a>(&'a self, prefix: &'a str) -> Later<'a, Option<ApiKey>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let found = self.kept.lock().unwrap().get(prefix).cloned();
        let broken = *self.broken.lock().unwrap();
        let outcome = if broken { Err(PortError::Busy { what: "the store" }) } else { Ok(found) };
        Box::pin(async { outcome })
    }

    fn has_keys(&self) -> Later<'_, bool> {
        let has_some = !self.kept.lock().unwrap().is_empty();
        Box::pin(async move { Ok(has_some) })
    }

    fn keys<'a>(&'a self, _tenant: Option<&'a TenantId>) -> Later<'a, Vec<ApiKey>> {
        let all = self.kept.lock().unwrap().values().cloned().collect();
        Box::pin(async { Ok(all) })
    }
}

pub(crate) struct HandClock(pub(crate) AtomicU64);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

#[derive(Default)]
pub(crate) struct CountingEntropy(AtomicU8);

impl Entropy for CountingEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
        bytes.fill_with(|| self.0.fetch_add(11, Ordering::Relaxed));
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

pub(crate) struct Always(pub(crate) &'static str, pub(crate) Result<(), String>);

impl ReadyCheck for Always {
    fn name(&self) -> &str {
        self.0
    }

    fn check(&self) -> Result<(), String> {
        self.1.clone()
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewThing {
    name: String,
}

/// A thing, as its owner sees it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Thing {
    tenant: String,
    caller: String,
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// How many.
    limit: Option<u32>,
}

pub(crate) fn routes() -> Vec<Route<App>> {
    use Access::{Needs, Public};
    let ok = StatusCode::OK;
    vec![
        Route::get("/open", Public, "For all", || async { "open" }).gives_other(ok, "text/plain"),
        Route::get("/things", Needs(Scope::Read), "Lists things", list_things)
            .query::<Which>()
            .gives::<Thing>(ok),
        Route::post("/things", Needs(Scope::Write), "Makes a thing", make_thing)
            .takes::<NewThing>()
            .gives::<Thing>(StatusCode::CREATED),
        Route::get("/things/{name}", Needs(Scope::Read), "One thing", one_thing).gives::<Thing>(ok),
        Route::put("/blob", Needs(Scope::Write), "Takes bytes", take_blob)
            .takes_bytes("application/octet-stream")
            .body_bytes_max(100_000)
            .gives_nothing(StatusCode::NO_CONTENT),
        Route::post("/form", Needs(Scope::Write), "Takes files", take_form)
            .takes_bytes("multipart/form-data")
            .body_bytes_max(3_000_000)
            .gives_nothing(StatusCode::NO_CONTENT),
        Route::get("/bare", Needs(Scope::Read), "Says nothing but a status", || async {
            StatusCode::GONE
        }),
        Route::delete("/all", Needs(Scope::Admin), "Ends it all", || async {
            StatusCode::NO_CONTENT
        })
        .gives_nothing(StatusCode::NO_CONTENT),
        Route::get("/owner", Access::Owner, "For the owner", || async { "yours" })
            .gives_other(ok, "text/plain"),
        Route::get("/panic", Needs(Scope::Read), "Panics", broken_handler),
        Route::get("/wait", Needs(Scope::Read), "Waits for the bell", wait_for_bell),
        Route::get("/stream", Needs(Scope::Read), "Goes on for ever", go_on)
            .gives_other(ok, "text/event-stream"),
        Route::get("/deaf", Needs(Scope::Read), "Goes on, whatever it is told", deaf),
        Route::get("/flood", Needs(Scope::Read), "Sends without end", flood),
        Route::get("/upgrade", Needs(Scope::Read), "Becomes an echo", become_echo),
        Route::get("/stands", Needs(Scope::Read), "Asks twice who is calling", ask_twice),
    ]
}

async fn list_things(caller: Caller, Query(which): Query<Which>) -> Json<Thing> {
    thing(&caller, &format!("{} things", which.limit.unwrap_or(3)))
}

async fn make_thing(caller: Caller, Json(new): Json<NewThing>) -> impl IntoResponse {
    (StatusCode::CREATED, thing(&caller, &new.name))
}

async fn one_thing(caller: Caller, Path(name): Path<String>) -> Result<Json<Thing>, Problem> {
    if name == "none" { Err(Problem::not_found("thing")) } else { Ok(thing(&caller, &name)) }
}

async fn take_blob(State(app): State<App>, input::Bytes(bytes): input::Bytes) -> StatusCode {
    app.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    StatusCode::NO_CONTENT
}

async fn take_form(
    State(app): State<App>,
    input::Multipart(mut form): input::Multipart,
) -> Result<StatusCode, Problem> {
    while let Some(part) = form.next_field().await? {
        app.bytes_read.fetch_add(part.bytes().await?.len() as u64, Ordering::Relaxed);
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn broken_handler() -> StatusCode {
    let nothing: Result<StatusCode, _> = "x".parse::<u16>().map(|_| StatusCode::OK);
    nothing.expect("the handler of this test panics")
}

async fn wait_for_bell(State(app): State<App>) -> &'static str {
    app.waiting.notify_one();
    app.bell.notified().await;
    "rung"
}

/// One event, and then silence until the server is told to end.
async fn go_on(Shutdown(shutdown): Shutdown) -> Body {
    let events = stream::unfold(0, move |step| {
        let shutdown = shutdown.clone();
        async move {
            match step {
                0 => Some((Ok::<_, std::io::Error>("data: hello\n\n"), 1)),
                1 => {
                    shutdown.cancelled().await;
                    Some((Ok("event: end\n\n"), 2))
                }
                _ => None,
            }
        }
    });
    Body::from_stream(events)
}

async fn deaf() -> Body {
    let first = stream::once(async { Ok::<_, std::io::Error>("data: hello\n\n") });
    Body::from_stream(futures_util::StreamExt::chain(first, stream::pending()))
}

async fn flood() -> Body {
    let block = Bytes::from(vec![b'x'; 16 * 1024]);
    Body::from_stream(stream::repeat_with(move || Ok::<_, std::io::Error>(block.clone())))
}

/// Answers with whatever comes, until its caller leaves.
async fn become_echo(State(app): State<App>, request: Request) -> impl IntoResponse {
    let upgrade = hyper::upgrade::on(request);
    app.tasks.spawn(async move {
        let mut stream = hyper_util::rt::TokioIo::new(upgrade.await.unwrap());
        let mut buffer = [0; 64];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            stream.write_all(&buffer[..count]).await.unwrap();
        }
    });
    let headers = [(CONNECTION, "upgrade"), (UPGRADE, "echo")];
    (StatusCode::SWITCHING_PROTOCOLS, headers)
}

async fn ask_twice(State(app): State<App>, standing: Standing) -> Result<&'static str, Problem> {
    standing.check().await?;
    app.waiting.notify_one();
    app.bell.notified().await;
    standing.check().await?;
    Ok("still")
}

fn thing(caller: &Caller, name: &str) -> Json<Thing> {
    let (tenant, caller) = (caller.tenant.to_string(), caller.name.clone());
    Json(Thing { tenant, caller, name: name.to_owned() })
}

impl World {
    pub(crate) fn new(mode: Mode) -> Self {
        Self::with(Settings::default(), mode, vec![], |identity| identity)
    }

    pub(crate) fn with(
        settings: Settings,
        mode: Mode,
        ready: Vec<Arc<dyn ReadyCheck>>,
        more: impl FnOnce(Identity) -> Identity,
    ) -> Self {
        let keys = Arc::new(MemoryKeys::default());
        let clock = Arc::new(HandClock(AtomicU64::new(NOW.0)));
        let (metrics, app) = (Arc::new(Metrics::default()), App::default());
        let identity = more(Identity::new(mode, keys.clone(), clock.clone()));
        let parts = Parts { identity, metrics: Arc::clone(&metrics), ready };
        let table = Table::new(routes(), Access::Needs(Scope::Admin)).unwrap();
        let server = Server::new(settings, parts, table, app.clone()).unwrap();
        let (entropy, tasks) = (CountingEntropy::default(), TaskTracker::new());
        Self { server, keys, clock, metrics, app, entropy, tasks }
    }

    /// A new key of this tenant, in clear.
    pub(crate) fn key(&self, tenant: &str, scopes: &[Scope]) -> String {
        let wanted = NewKey {
            tenant: tenant.parse().unwrap(),
            label: "test".to_owned(),
            scopes: scopes.to_vec(),
            created_at: NOW,
            expires_at: None,
        };
        let (secret, key) = mint(&self.entropy, wanted).unwrap();
        self.keys.kept.lock().unwrap().insert(key.prefix.clone(), key);
        secret.expose().to_owned()
    }

    pub(crate) fn change_key(&self, key: &str, change: impl FnOnce(&mut ApiKey)) {
        let prefix: String = key.chars().skip(5).take(8).collect();
        change(self.keys.kept.lock().unwrap().get_mut(&prefix).unwrap());
    }

    /// Opens a connection; the server's side of it runs until it ends.
    pub(crate) fn connect(&self, peer: &str) -> Connection {
        self.connect_until(peer, CancellationToken::new())
    }

    pub(crate) fn connect_until(&self, peer: &str, shutdown: CancellationToken) -> Connection {
        let (ours, theirs) = duplex(64 * 1024);
        let (server, peer) = (self.server.clone(), peer.parse::<SocketAddr>().unwrap());
        self.tasks.spawn(async move { server.serve_one(theirs, peer, shutdown).await });
        Connection(ours)
    }

    /// One request on a connection of its own.
    pub(crate) async fn ask(&self, request: &str) -> Answer {
        self.ask_from(LOOPBACK, request).await
    }

    pub(crate) async fn ask_from(&self, peer: &str, request: &str) -> Answer {
        let mut connection = self.connect(peer);
        connection.send(request).await;
        connection.answer().await
    }

    /// `GET` with these header lines.
    pub(crate) async fn get(&self, path: &str, headers: &str) -> Answer {
        self.ask(&request("GET", path, headers, "")).await
    }

    pub(crate) async fn get_with(&self, path: &str, token: &str) -> Answer {
        self.get(path, &format!("Authorization: Bearer {token}\r\n")).await
    }
}

/// A request with a good Host; a body brings its length and type along.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let about = if body.is_empty() {
        String::new()
    } else {
        format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
    };
    format!("{method} {path} HTTP/1.1\r\nHost: localhost:8080\r\n{headers}{about}\r\n{body}")
}

/// The caller's end of a connection.
pub(crate) struct Connection(pub(crate) DuplexStream);

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Connection {
    pub(crate) async fn send(&mut self, text: &str) {
        self.send_bytes(text.as_bytes()).await;
    }

    /// A server that has heard enough may close before all is sent.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes).await;
    }

    /// The next answer: its head, and as much body as it says it has.
    pub(crate) async fn answer(&mut self) -> Answer {
        let head = self.until("\r\n\r\n").await;
        let status = head.split(' ').nth(1).expect("an answer").parse().unwrap();
        let mut answer = Answer { status, head, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    /// Reads until this text has come, or the connection ends.
    pub(crate) async fn until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            let mut byte = [0];
            match self.0.read(&mut byte).await {
                Ok(1) => text.push(byte[0]),
                Ok(_) | Err(_) => break,
            }
        }
        String::from_utf8(text).unwrap()
    }

    /// Everything until the server closes.
    pub(crate) async fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        let _ = self.0.read_to_end(&mut rest).await;
        String::from_utf8(rest).unwrap()
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut named = lines.filter(|(found, _)| found.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.trim())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect(&self.body)
    }

    /// The code of the problem that this answer is; it says what, why and what to do.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let json = self.json();
        for field in ["type", "title", "detail", "code", "action"] {
            assert!(json[field].as_str().is_some_and(|text| !text.is_empty()), "{json}");
        }
        assert_eq!(json["status"], self.status);
        json["code"].as_str().unwrap().to_owned()
    }
}
