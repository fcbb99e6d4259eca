//! Checks that a running Ollama is found, and nothing else taken for one.

use serde_json::{Value, json};
use testkit::fault_server::{Fault, FaultServer, nobody};
use testkit::model_server::ModelServer;

use super::*;

fn tag(name: &str, family: &str) -> Value {
    json!({"name": name, "model": name, "modified_at": "2026-11-01T00:00:00Z", "size": 42,
        "details": {"family": family, "families": [family], "parameter_size": "7.6B"}})
}

#[tokio::test]
async fn an_ollama_is_found_with_the_models_that_chat() {
    let server = ModelServer::start().await;
    server.has_models(json!({"models": [
        tag("qwen2.5:7b", "qwen2"),
        tag("nomic-embed-text:latest", "nomic-bert"),
        tag("bge-m3:latest", "bert"),
        tag("all-minilm:22m", "bert"),
        {"name": "llama3.2:latest"},
    ]}));
    let found = ollama(&server.address).await.unwrap();
    assert_eq!(found.base_url, format!("{}/v1", server.address));
    let names: Vec<&str> = found.chat_models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["qwen2.5:7b", "llama3.2:latest"]);
    let first = &found.chat_models[0];
    assert_eq!((first.bytes, first.parameters.as_str()), (42, "7.6B"));
    assert_eq!(server.requests(), Vec::<Value>::new(), "nothing is asked of a model");
}

#[tokio::test]
async fn an_ollama_without_models_is_one_all_the_same() {
    let server = ModelServer::start().await;
    server.has_models(json!({"models": []}));
    assert_eq!(ollama(&server.address).await.unwrap().chat_models, []);
}

#[tokio::test]
async fn whoever_else_answers_is_no_ollama() {
    let address = |base_url: &str| base_url.trim_end_matches("/v1").to_owned();
    assert_eq!(ollama(&address(&nobody().await)).await, None);
    assert_eq!(ollama("no address").await, None);
    let other = ModelServer::start().await;
    assert_eq!(ollama(&other.address).await, None);
    for fault in [Fault::Html, Fault::Silence, Fault::Hangup, Fault::status("500 Oops", "{}")] {
        let server = FaultServer::start([fault]).await;
        let before = tokio::time::Instant::now();
        assert_eq!(ollama(&address(&server.base_url)).await, None);
        assert!(before.elapsed() < Duration::from_secs(30));
    }
}
