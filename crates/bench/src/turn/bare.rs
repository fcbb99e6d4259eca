//! The least that a turn can be on the libraries Saem stands on: a question over HTTP, two calls of the model, a commit, an answer.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use redb::{Database, ReadableTable as _, TableDefinition};
use reqwest::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::peer::answer_lines;

/// A turn by its number.
const TURNS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("turns");

/// What the model is shown, as the peers show it.
#[derive(Deserialize)]
struct Material {
    base_url: String,
    judge: String,
    answer: String,
    judged: String,
    passages: String,
}

struct Bare {
    material: Material,
    client: Client,
    turns: Database,
}

/// Serves until it is killed; each line on standard input is answered with where it listens.
pub(crate) fn run(material: &Path, folder: &Path) -> Result<()> {
    let material: Material = serde_json::from_slice(&std::fs::read(material)?)?;
    let turns = Database::create(folder.join("bare.redb"))?;
    // The model is on this machine; without any certificates there is still a client that wants a provider of them.
    _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().no_proxy().http1_only().tls_certs_only([]).build()?;
    let bare = Arc::new(Bare { material, client, turns });
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let answer = json!({ "address": address });
        std::thread::spawn(move || answer_lines(&answer));
        let router = Router::new()
            .route("/v1/models", get(async || Json(json!({"object": "list", "data": []}))))
            .route("/v1/chat/completions", post(turn));
        axum::serve(listener, router.with_state(bare)).await?;
        Ok(())
    })
}

async fn turn(
    State(bare): State<Arc<Bare>>,
    Json(asked): Json<Value>,
) -> Result<Json<Value>, (StatusCode, String)> {
    let answered = bare.turn(&asked).await;
    answered.map(Json).map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")))
}

fn text_at<'a>(value: &'a Value, place: &str) -> Option<&'a str> {
    value.pointer(place)?.as_str()
}

impl Bare {
    async fn turn(&self, asked: &Value) -> Result<Value> {
        let question = text_at(asked, "/messages/0/content").context("a question")?;
        let form = json!({"type": "json_schema", "json_schema": {"name": "verdict"}});
        let judge = format!("{}\n\n{}", self.material.judge, self.material.judged);
        let verdict = self.ask(&judge, question, Some(form)).await?;
        let _: Value = serde_json::from_str(&verdict)?;
        let answer = format!("{}\n\n{}", self.material.answer, self.material.passages);
        let answer = self.ask(&answer, question, None).await?;
        let turn = serde_json::to_vec(&json!({"question": question, "answer": answer}))?;
        tokio::task::block_in_place(|| self.keep(&turn))?;
        let message = json!({"role": "assistant", "content": answer});
        Ok(json!({"choices": [{"index": 0, "message": message}], "persisted": true}))
    }

    async fn ask(&self, instructions: &str, question: &str, form: Option<Value>) -> Result<String> {
        let messages = [
            json!({"role": "system", "content": instructions}),
            json!({"role": "user", "content": question}),
        ];
        let body = json!({"model": "stub", "messages": messages, "response_format": form});
        let address = format!("{}/chat/completions", self.material.base_url);
        let sent = self.client.post(address).body(body.to_string()).send().await?;
        let answer: Value = serde_json::from_slice(&sent.error_for_status()?.bytes().await?)?;
        let content = text_at(&answer, "/choices/0/message/content");
        Ok(content.context("an answer")?.to_owned())
    }

    /// Has a turn on disk.
    fn keep(&self, turn: &[u8]) -> Result<()> {
        let writing = self.turns.begin_write()?;
        {
            let mut turns = writing.open_table(TURNS)?;
            let next = turns.last()?.map_or(0, |(number, _)| number.value() + 1);
            turns.insert(next, turn)?;
        }
        writing.commit()?;
        Ok(())
    }
}
