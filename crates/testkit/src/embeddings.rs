//! An embedding server as others run them: it speaks `/v1/embeddings`, and says what it was asked.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Numbers in its vectors.
pub const DIMENSIONS: usize = 16;

/// Runs until it is dropped.
pub struct EmbeddingServer {
    /// Up to and including `/v1`.
    pub base_url: String,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

#[derive(Deserialize)]
struct Request {
    input: Input,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    One(String),
    Many(Vec<String>),
}

impl EmbeddingServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let heard = Arc::clone(&asked);
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(answer_all(stream, Arc::clone(&heard)));
            }
        });
        Self { base_url, asked, _tasks: tasks }
    }

    /// Whether it was asked for the vector of a text that contains `part`.
    #[must_use]
    pub fn was_asked_for(&self, part: &str) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().any(|text| text.contains(part))
    }
}

async fn answer_all(stream: TcpStream, asked: Arc<Mutex<Vec<String>>>) {
    let mut stream = BufReader::new(stream);
    while let Some(body) = next_body(&mut stream).await {
        let request: Request = serde_json::from_slice(&body).unwrap();
        let texts = match request.input {
            Input::One(text) => vec![text],
            Input::Many(texts) => texts,
        };
        let data: Vec<_> = (0..)
            .zip(&texts)
            .map(|(index, text): (usize, &String)| {
                json!({ "object": "embedding", "index": index, "embedding": vector(text) })
            })
            .collect();
        asked.lock().unwrap_or_else(PoisonError::into_inner).extend(texts);
        let body = json!({ "object": "list", "data": data, "model": "test" }).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all(format!("{head}{body}").as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn next_body(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(body)
}

/// The same text gives the same vector; texts that share letters are near each other.
fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.1; DIMENSIONS];
    for letter in text.chars() {
        if let Some(number) = vector.get_mut(letter as usize % DIMENSIONS) {
            *number += 1.0;
        }
    }
    vector
}
