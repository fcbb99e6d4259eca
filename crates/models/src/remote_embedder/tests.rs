//! Tests of the embedder behind a server, against one that answers from a script.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::ports::{EmbedFor, Embedder as _, PortError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{RemoteEmbedder, RemoteSettings, SecretKey, batches, wire};

/// What the server does with a request.
enum Answer {
    Json(Value),
    Status(&'static str, &'static [(&'static str, &'static str)], String),
    Silence,
}

type Script = dyn Fn(usize, &str, &Value) -> Answer + Send + Sync;

#[derive(Default)]
struct Heard {
    bodies: Mutex<Vec<Value>>,
    heads: Mutex<Vec<String>>,
    open: AtomicUsize,
    open_max: AtomicUsize,
}

/// A server of embeddings on the own machine; runs until it is dropped.
struct Server {
    socket: SocketAddr,
    heard: Arc<Heard>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// `answer` is given the number of the request, its head and its body.
    async fn start(answer: impl Fn(usize, &str, &Value) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_in_step(1, answer).await
    }

    /// Answers only when `together` requests are there.
    async fn start_in_step(
        together: usize,
        answer: impl Fn(usize, &str, &Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = listener.local_addr().unwrap();
        let heard = Arc::new(Heard::default());
        let mut tasks = JoinSet::new();
        let (shared, answer) = (Arc::clone(&heard), Arc::new(answer) as Arc<Script>);
        tasks.spawn(async move {
            let step = Arc::new(Barrier::new(together));
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (heard, step) = (Arc::clone(&shared), Arc::clone(&step));
                open.spawn(serve(stream, heard, step, Arc::clone(&answer)));
            }
        });
        Self { socket, heard, _tasks: tasks }
    }

    fn settings(&self) -> RemoteSettings {
        RemoteSettings {
            retry_wait_first: Duration::from_millis(1),
            retry_wait_max: Duration::from_millis(2),
            answer_time_max: Duration::from_secs(10),
            ..RemoteSettings::new(format!("http://{}/v1", self.socket), "bge-m3")
        }
    }

    fn requests(&self) -> usize {
        self.heard.bodies.lock().unwrap().len()
    }

    /// The texts of each request but the probe.
    fn inputs(&self) -> Vec<Vec<String>> {
        let bodies = self.heard.bodies.lock().unwrap();
        bodies.iter().skip(1).map(texts_of).collect()
    }
}

async fn serve(mut stream: TcpStream, heard: Arc<Heard>, step: Arc<Barrier>, answer: Arc<Script>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap().split('\r').next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let number = {
        let mut bodies = heard.bodies.lock().unwrap();
        bodies.push(body.clone());
        bodies.len() - 1
    };
    heard.heads.lock().unwrap().push(head.clone());
    let open = heard.open.fetch_add(1, Ordering::SeqCst) + 1;
    heard.open_max.fetch_max(open, Ordering::SeqCst);
    if number > 0 {
        step.wait().await;
    }
    let answer = answer(number, &head, &body);
    heard.open.fetch_sub(1, Ordering::SeqCst);
    let (status, headers, body) = match answer {
        Answer::Json(body) => ("200 OK", &[][..], body.to_string()),
        Answer::Status(status, headers, body) => (status, headers, body),
        Answer::Silence => std::future::pending().await,
    };
    let mut reply = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        reply.push_str(&format!("{name}: {value}\r\n"));
    }
    reply.push_str("Connection: close\r\n\r\n");
    reply.push_str(&body);
    stream.write_all(reply.as_bytes()).await.unwrap();
    let _ = stream.shutdown().await;
}

fn texts_of(body: &Value) -> Vec<String> {
    serde_json::from_value(body["input"].clone()).unwrap()
}

/// Three numbers that tell one text from another.
fn raw(text: &str) -> Vec<f32> {
    vec![f32::from(u16::try_from(text.len()).unwrap()), 3.0, 4.0]
}

fn unit(text: &str) -> Vec<f32> {
    let raw = raw(text);
    let length = raw.iter().map(|number| number * number).sum::<f32>().sqrt();
    raw.iter().map(|number| number / length).collect()
}

/// What a right server says, last text first.
fn good(body: &Value) -> Answer {
    let data: Vec<Value> = texts_of(body)
        .iter()
        .enumerate()
        .rev()
        .map(|(index, text)| json!({"index": index, "embedding": raw(text), "object": "embedding"}))
        .collect();
    Answer::Json(json!({"object": "list", "data": data, "model": "bge-m3", "usage": {}}))
}

fn answer(data: &Value) -> Answer {
    Answer::Json(json!({ "data": data }))
}

fn texts(count: usize) -> Vec<String> {
    (1..=count).map(|length| "x".repeat(length)).collect()
}

async fn embed(settings: RemoteSettings, texts: &[String]) -> Result<Vec<Vec<f32>>, PortError> {
    RemoteEmbedder::connect(settings).await?.embed(texts, EmbedFor::Passage).await
}

fn assert_close(found: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
    }
}

/// The message of an embedder that says `answer` to the probe.
async fn complaint(answer: impl Fn() -> Answer + Send + Sync + 'static) -> String {
    let server = Server::start(move |_, _, _| answer()).await;
    let error = RemoteEmbedder::connect(server.settings()).await.unwrap_err();
    let message = error.to_string();
    let name = format!("the embedder at http://{}/v1 ", server.socket);
    assert_eq!(server.requests(), 1, "asked once: {message}");
    message.strip_prefix(&name).unwrap().to_owned()
}

#[tokio::test]
async fn vectors_come_in_the_order_of_the_texts_and_have_unit_length() {
    let server = Server::start(|_, _, body| good(body)).await;
    let embedder = RemoteEmbedder::connect(server.settings()).await.unwrap();
    assert_eq!((embedder.identity(), embedder.dimensions()), ("openai:bge-m3:3", 3));
    let texts = texts(5);
    let vectors = embedder.embed(&texts, EmbedFor::Passage).await.unwrap();
    assert_close(&vectors, &texts.iter().map(|text| unit(text)).collect::<Vec<_>>());
    assert!(server.heard.heads.lock().unwrap()[0].starts_with("post /v1/embeddings http/1.1"));
    let body = server.heard.bodies.lock().unwrap()[1].clone();
    assert_eq!(body, json!({"model": "bge-m3", "input": texts}));
}

#[tokio::test]
async fn no_texts_need_no_request() {
    let server = Server::start(|_, _, body| good(body)).await;
    assert!(embed(server.settings(), &[]).await.unwrap().is_empty());
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_server_that_leaves_the_index_out_keeps_the_order() {
    let server = Server::start(|_, _, body| {
        answer(&texts_of(body).iter().map(|text| json!({"embedding": raw(text)})).collect())
    })
    .await;
    let texts = texts(3);
    let vectors = embed(server.settings(), &texts).await.unwrap();
    assert_close(&vectors, &texts.iter().map(|text| unit(text)).collect::<Vec<_>>());
}

#[tokio::test]
async fn many_texts_go_in_batches_and_come_back_in_order() {
    let server = Server::start(|_, _, body| good(body)).await;
    let texts = texts(10);
    let settings = RemoteSettings { batch_texts_max: 4, concurrency_max: 1, ..server.settings() };
    let vectors = embed(settings, &texts).await.unwrap();
    assert_close(&vectors, &texts.iter().map(|text| unit(text)).collect::<Vec<_>>());
    assert_eq!(server.inputs(), [&texts[0..4], &texts[4..8], &texts[8..10]]);
}

#[test]
fn a_batch_keeps_both_limits_and_a_text_over_them_goes_alone() {
    let settings = |batch_texts_max, batch_bytes_max| RemoteSettings {
        batch_texts_max,
        batch_bytes_max,
        ..RemoteSettings::new("http://127.0.0.1/v1", "m")
    };
    let lengths = |lengths: &[usize], settings| -> Vec<Vec<usize>> {
        batches(lengths.iter().map(|length| "x".repeat(*length)), &settings)
            .iter()
            .map(|batch| batch.iter().map(String::len).collect())
            .collect()
    };
    assert_eq!(lengths(&[1, 2, 3, 4], settings(9, 6)), [vec![1, 2, 3], vec![4]]);
    assert_eq!(lengths(&[9, 1, 9, 9], settings(9, 6)), [[9], [1], [9], [9]]);
    assert_eq!(lengths(&[1, 1, 1], settings(2, 6)), [vec![1, 1], vec![1]]);
    assert_eq!(lengths(&[1, 1], settings(0, 0)), [[1], [1]]);
    assert!(lengths(&[], settings(2, 6)).is_empty());
}

#[tokio::test]
async fn as_many_requests_as_allowed_are_on_the_way_at_once() {
    let server = Server::start_in_step(2, |_, _, body| good(body)).await;
    let settings = RemoteSettings { batch_texts_max: 1, concurrency_max: 2, ..server.settings() };
    let embedder = RemoteEmbedder::connect(settings).await.unwrap();
    let (some, others) = (texts(4), texts(4));
    let (some, others) = tokio::join!(
        embedder.embed(&some, EmbedFor::Passage),
        embedder.embed(&others, EmbedFor::Passage)
    );
    assert_eq!((some.unwrap().len(), others.unwrap().len()), (4, 4));
    assert_eq!(server.heard.open_max.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn questions_and_passages_get_their_own_prefix() {
    let server = Server::start(|_, _, body| good(body)).await;
    let settings = RemoteSettings {
        query_prefix: "query: ".to_owned(),
        passage_prefix: "passage: ".to_owned(),
        ..server.settings()
    };
    let embedder = RemoteEmbedder::connect(settings).await.unwrap();
    let texts = ["샘".to_owned()];
    embedder.embed(&texts, EmbedFor::Query).await.unwrap();
    embedder.embed(&texts, EmbedFor::Passage).await.unwrap();
    assert_eq!(server.inputs(), [["query: 샘"], ["passage: 샘"]]);
    assert_eq!(embedder.identity(), "openai:bge-m3:3:\"passage: \"");
}

#[tokio::test]
async fn an_empty_text_is_sent_as_a_blank() {
    let server = Server::start(|_, _, body| good(body)).await;
    assert_eq!(embed(server.settings(), &[String::new()]).await.unwrap().len(), 1);
    assert_eq!(server.inputs(), [[" "]]);
}

#[tokio::test]
async fn the_wished_number_of_dimensions_is_asked_for_and_checked() {
    let server = Server::start(|_, _, body| good(body)).await;
    let settings = RemoteSettings { dimensions: Some(3), ..server.settings() };
    let embedder = RemoteEmbedder::connect(settings).await.unwrap();
    assert_eq!(embedder.dimensions(), 3);
    assert_eq!(server.heard.bodies.lock().unwrap()[0]["dimensions"], 3);
    let settings = RemoteSettings { dimensions: Some(256), ..server.settings() };
    let message = RemoteEmbedder::connect(settings).await.unwrap_err().to_string();
    assert!(message.contains("bge-m3 gives 3 numbers where 256 were asked for"), "{message}");
}

#[tokio::test]
async fn vectors_that_change_their_length_later_are_refused() {
    let server = Server::start(|number, _, body| match number {
        0 => good(body),
        _ => answer(&json!([{"index": 0, "embedding": [1, 2, 3, 4]}])),
    })
    .await;
    let message = embed(server.settings(), &texts(1)).await.unwrap_err().to_string();
    assert!(message.contains("had 3 numbers at the start and now have 4"), "{message}");
}

#[test]
fn an_answer_that_does_not_fit_the_texts_says_what_is_wrong() {
    for (data, why) in [
        (json!([{"index": 0, "embedding": [1]}]), "gave 1 vectors for 2 texts"),
        (json!([]), "gave 0 vectors for 2 texts"),
        (
            json!([{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]),
            "not numbered one by one",
        ),
        (
            json!([{"index": 1, "embedding": [1]}, {"index": 2, "embedding": [1]}]),
            "not numbered one by one",
        ),
        (
            json!([{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]),
            "differ in length",
        ),
        (
            json!([{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [0, 0]}]),
            "empty or all zeros",
        ),
        (
            json!([{"index": 0, "embedding": [1]}, {"index": 1, "embedding": []}]),
            "empty or all zeros",
        ),
        (
            json!([{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1e300]}]),
            "numbers that are none",
        ),
        (
            json!([{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [null]}]),
            "no list of embeddings",
        ),
        (json!("text"), "no list of embeddings"),
    ] {
        let answer = json!({ "data": data }).to_string();
        let error = wire::vectors(answer.as_bytes(), 2).unwrap_err();
        assert!(error.contains(why), "{answer}: {error}");
    }
    let nan = br#"{"data": [{"index": 0, "embedding": [NaN]}]}"#;
    assert!(wire::vectors(nan, 1).unwrap_err().contains("no list of embeddings"));
}

#[test]
fn the_largest_and_smallest_numbers_still_give_a_unit_vector() {
    for number in ["3e38", "1e-38", "-1"] {
        let answer = format!(r#"{{"data": [{{"embedding": [{number}, {number}]}}]}}"#);
        let vectors = wire::vectors(answer.as_bytes(), 1).unwrap();
        let length: f32 = vectors[0].iter().map(|number| number * number).sum();
        assert!((length - 1.0).abs() < 1e-6, "{number}: {length}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_json_is_not_asked_for_again() {
    let page = || Answer::Status("200 OK", &[], "<html>Welcome".to_owned());
    let message = complaint(page).await;
    assert!(
        message.starts_with("does not answer: its answer is no list of embeddings"),
        "{message}"
    );
    assert!(message.ends_with("check the base URL and the model"), "{message}");
}

#[tokio::test]
async fn a_server_that_fails_or_is_busy_is_asked_again() {
    for status in ["429 Too Many Requests", "500 Internal Server Error", "503 Unavailable"] {
        let server = Server::start(move |number, _, body| match number {
            0 | 1 => Answer::Status(status, &[], String::new()),
            _ => good(body),
        })
        .await;
        assert!(RemoteEmbedder::connect(server.settings()).await.is_ok());
        assert_eq!(server.requests(), 3, "{status}");
    }
}

#[tokio::test]
async fn tries_come_to_an_end() {
    for (tries_max, requests) in [(0, 1), (1, 1), (3, 3)] {
        let server = Server::start(|_, _, _| {
            Answer::Status("500 Oops", &[], r#"{"error":{"message":"out of memory"}}"#.to_owned())
        })
        .await;
        let settings = RemoteSettings { tries_max, ..server.settings() };
        let message = RemoteEmbedder::connect(settings).await.unwrap_err().to_string();
        assert!(
            message.ends_with("it failed (500): look at its log; it says: out of memory"),
            "{message}"
        );
        assert_eq!(server.requests(), requests);
    }
}

#[tokio::test]
async fn the_wait_that_a_server_asks_for_is_kept_up_to_our_limit() {
    let server = Server::start(|number, _, body| match number {
        1 => Answer::Status("429 Slow Down", &[("Retry-After", "3600")], String::new()),
        _ => good(body),
    })
    .await;
    let settings = RemoteSettings {
        retry_wait_first: Duration::ZERO,
        retry_wait_max: Duration::from_millis(80),
        ..server.settings()
    };
    let embedder = RemoteEmbedder::connect(settings).await.unwrap();
    let texts = texts(1);
    let before = tokio::time::Instant::now();
    assert!(embedder.embed(&texts, EmbedFor::Passage).await.is_ok());
    let waited = before.elapsed();
    assert_eq!(server.requests(), 3);
    assert!(waited >= Duration::from_millis(80), "{waited:?}");
    assert!(waited < Duration::from_secs(60), "{waited:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = listener.local_addr().unwrap();
    drop(listener);
    let settings = RemoteSettings {
        retry_wait_first: Duration::from_millis(1),
        ..RemoteSettings::new(format!("http://{socket}/v1"), "bge-m3")
    };
    let message = RemoteEmbedder::connect(settings).await.unwrap_err().to_string();
    let expected = format!("the embedder at http://{socket}/v1 does not answer: no connection (");
    assert!(message.starts_with(&expected), "{message}");
    assert!(message.ends_with("): is it running?"), "{message}");
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let server = Server::start(|_, _, _| Answer::Silence).await;
    let answer_time_max = Duration::from_millis(60);
    let settings = RemoteSettings { answer_time_max, ..server.settings() };
    let message = RemoteEmbedder::connect(settings).await.unwrap_err().to_string();
    assert!(message.contains("no answer within 60ms: make the batches smaller"), "{message}");
    assert!(server.requests() <= 1, "not asked again");
}

#[tokio::test]
async fn a_refusal_says_what_to_check_and_is_not_asked_again() {
    for (status, body, expected) in [
        ("401 No", "s3cret", "does not answer: it refuses the key (401): check the key"),
        ("403 No", "s3cret", "does not answer: it refuses the key (403): check the key"),
        (
            "404 Not Found",
            r#"{"error":"model \"bge-m3\" not found, try pulling it first"}"#,
            "does not answer: it does not know the model or the path (404): check the model name \
             `bge-m3`, and that the base URL ends as its manual says, mostly in /v1; it says: model \
             \"bge-m3\" not found, try pulling it first",
        ),
        (
            "400 Bad Request",
            r#"{"error":{"message":"maximum context\nlength is 8192","type":"x"}}"#,
            "refuses the texts (400): are they too long for bge-m3?; it says: maximum context length \
             is 8192",
        ),
        (
            "413 Too Large",
            r#"{"message":"batch size 64 > 32"}"#,
            "refuses the texts (413): are they too long for bge-m3?; it says: batch size 64 > 32",
        ),
        (
            "308 Moved",
            "",
            "does not answer: it redirects (308): set the base URL to the final address",
        ),
    ] {
        let message = complaint(move || Answer::Status(status, &[], body.to_owned())).await;
        assert_eq!(message, expected);
    }
}

#[tokio::test]
async fn a_key_is_sent_and_never_shown() {
    let key = "sk-s3cret";
    let server = Server::start(move |number, head, body| match number {
        0 => good(body),
        // Repeats what it was sent, as some servers do.
        _ => Answer::Status("400 Bad Request", &[], format!("you sent {head}").replace('\r', "")),
    })
    .await;
    let settings = RemoteSettings { api_key: Some(SecretKey::new(key)), ..server.settings() };
    assert!(!format!("{settings:?}").contains("s3cret"));
    let embedder = RemoteEmbedder::connect(settings).await.unwrap();
    assert!(!format!("{embedder:?}").contains("s3cret"));
    assert!(server.heard.heads.lock().unwrap()[0].contains("authorization: bearer sk-s3cret\r\n"));
    let error = embedder.embed(&texts(1), EmbedFor::Query).await.unwrap_err();
    assert!(error.to_string().contains("authorization: bearer [hidden]"), "{error}");
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_before_anything_is_sent() {
    for (base_url, key, expected) in [
        ("localhost", "k", "is not a URL"),
        ("ftp://localhost/v1", "k", "must begin with http:// or https://"),
        ("http://mina:s3cret@localhost/v1", "k", "must hold no user, password or query"),
        ("http://localhost/v1?key=s3cret", "k", "must hold no user, password or query"),
        ("http://localhost/v1#s3cret", "k", "must hold no #"),
        ("http://localhost/v1", "s3cret\n", "copy it again"),
    ] {
        let settings = RemoteSettings {
            api_key: Some(SecretKey::new(key)),
            ..RemoteSettings::new(base_url, "m")
        };
        let error = RemoteEmbedder::connect(settings).await.unwrap_err();
        assert!(matches!(error, PortError::Refused(_)), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}
