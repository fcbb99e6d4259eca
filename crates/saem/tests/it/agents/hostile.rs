//! Agents that lie about themselves, flood, never end or lead elsewhere: each costs its caller an error, and nobody more.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::*;

type Script = dyn Fn(&str, &str) -> Answer + Send + Sync;

/// What is answered, and what follows it.
enum Answer {
    Whole(String),
    /// Then this again and again.
    Endless(String, String),
    /// Then nothing, with the connection left open.
    Silent(String),
}

/// An agent of a few lines on this machine; it is given its own address and the head of a request.
struct Agent {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Agent {
    async fn start(script: impl Fn(&str, &str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (heads, script): (Arc<Mutex<Vec<String>>>, Arc<Script>) =
            (Arc::default(), Arc::new(script));
        let mut tasks = JoinSet::new();
        let (known, own) = (Arc::clone(&heads), url.clone());
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(serve(stream, own.clone(), Arc::clone(&known), Arc::clone(&script)));
            }
        });
        Self { url, heads, _tasks: tasks }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    own: String,
    heads: Arc<Mutex<Vec<String>>>,
    script: Arc<Script>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    if stream.read_exact(&mut body).await.is_err() {
        return;
    }
    heads.lock().unwrap().push(head.clone());
    match script(&own, &head) {
        Answer::Whole(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        Answer::Endless(text, more) => {
            let _ = stream.write_all(text.as_bytes()).await;
            while stream.write_all(more.as_bytes()).await.is_ok() {}
        }
        Answer::Silent(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
            std::future::pending::<()>().await;
        }
    }
}

fn whole(value: &Value) -> Answer {
    let body = value.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    Answer::Whole(format!("{head}Connection: close\r\n\r\n{body}"))
}

fn redirect(location: &str) -> Answer {
    Answer::Whole(format!(
        "HTTP/1.1 307 Gone\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ))
}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

fn card(url: &str) -> Value {
    json!({
        "name": "Liar", "description": "Lies.", "version": "1",
        "supportedInterfaces": [{ "url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0" }],
        "capabilities": { "streaming": true },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "lie", "name": "Lie", "description": "Lies.", "tags": ["x"] }],
    })
}

fn working() -> Value {
    json!({ "task": { "id": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_WORKING" } } })
}

/// Sends a message to an agent that answers with this, and gives the error.
async fn error_of(
    answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
) -> (String, Vec<String>) {
    let agent = Agent::start(move |own, head| match head {
        head if head.starts_with("get /.well-known/agent-card.json") => whole(&card(own)),
        _ => answer(head),
    })
    .await;
    let (world, config) = world("call_seconds_max = 1\ncall_total_seconds_max = 3\n");
    let url = agent.url.clone();
    let error = tokio::task::spawn_blocking(move || {
        world.error(&["a2a", "send", &url, "hi", "--config", &config])
    });
    (error.await.unwrap(), agent.heads())
}

#[tokio::test]
async fn an_agent_that_floods_or_never_ends_is_given_up() {
    let flood = || Answer::Endless(STREAM.to_owned(), "x".repeat(65_536));
    let (error, _) = error_of(move |_| flood()).await;
    assert!(error.contains("more than"), "{error}");

    let event = format!("data: {}\n\n", working());
    let much = event.repeat(100);
    let (error, _) = error_of(move |_| Answer::Endless(STREAM.to_owned(), much.clone())).await;
    assert!(error.contains("events") || error.contains("in time"), "{error}");

    let (error, heads) = error_of(move |head| match head {
        head if head.contains(":cancel") => whole(&working()["task"]),
        _ => Answer::Silent(format!("{STREAM}{event}")),
    })
    .await;
    assert!(error.contains("in time"), "{error}");
    assert!(heads.iter().any(|head| head.starts_with("post /tasks/t1:cancel")), "{heads:?}");
}

#[tokio::test]
async fn a_redirect_is_followed_nowhere() {
    let inside = Agent::start(|_, _| whole(&json!({ "secret": true }))).await;
    let location = format!("{}/secret", inside.url);
    let (error, _) = error_of(move |_| redirect(&location)).await;
    assert!(error.contains("redirect"), "{error}");
    assert_eq!(inside.heads().len(), 0);
}

#[tokio::test]
async fn a_card_that_points_inside_is_not_believed() {
    let inside = Agent::start(|_, _| whole(&working())).await;
    let points = inside.url.clone();
    let liar = Agent::start(move |_, _| whole(&card(&points))).await;
    let (world, config) = world(&format!(
        "[agents.liar]\nurl = \"{}\"\nheaders = {{ Authorization = \"Bearer hush\" }}\n",
        liar.url
    ));
    let error = tokio::task::spawn_blocking(move || {
        world.error(&["a2a", "send", "liar", "hi", "--config", &config])
    });
    let error = error.await.unwrap();
    assert!(error.contains("may not be opened") && !error.contains("hush"), "{error}");
    assert_eq!(inside.heads().len(), 0, "nobody went there");
    assert!(
        liar.heads().iter().all(|head| head.contains("bearer hush")),
        "its own address gets them"
    );
}
