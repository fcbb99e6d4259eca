//! Finds an Ollama on this machine and the chat models that it has.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::Deserialize;

use crate::http;

/// Where Ollama listens unless it is told otherwise.
pub const OLLAMA_ADDRESS: &str = "http://127.0.0.1:11434";

/// Longest time for an answer: on the own machine it takes milliseconds, and somebody waits for the start.
const ANSWER_TIME_MAX: Duration = Duration::from_millis(500);

/// Largest list of models that is read, in bytes: a thousand models.
const LIST_BYTES_MAX: usize = 1024 * 1024;

/// Parts of names, and families, of models that only embed.
const EMBEDDERS: &[&str] = &["embed", "minilm", "bge-", "bge:", "bert", "e5-", "gte-"];

/// An Ollama that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ollama {
    /// For the settings of a model server, up to the version.
    pub base_url: String,
    /// Models that chat, the latest first.
    pub chat_models: Vec<LocalModel>,
}

/// A model that is on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalModel {
    pub name: String,
    pub bytes: u64,
    /// Such as `7.6B`; empty where it is not told.
    pub parameters: String,
}

#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    details: Details,
}

#[derive(Deserialize, Default)]
struct Details {
    #[serde(default)]
    family: String,
    #[serde(default)]
    parameter_size: String,
}

/// The Ollama at an address such as [`OLLAMA_ADDRESS`]; none if there is none, or it does not answer at once.
pub async fn ollama(address: &str) -> Option<Ollama> {
    let found = tokio::time::timeout(ANSWER_TIME_MAX, ask(address)).await;
    found.unwrap_or_else(|_| {
        tracing::debug!(address, "no answer from Ollama in time");
        None
    })
}

async fn ask(address: &str) -> Option<Ollama> {
    let tags = http::address("Ollama", address, "api/tags").ok()?;
    let base_url = http::address("Ollama", address, "v1").ok()?.to_string();
    let client = http::client("Ollama", &tags, None, reqwest::ClientBuilder::no_gzip).ok()?;
    let response = client.get(tags).send().await.ok()?.error_for_status().ok()?;
    let list = http::read(response, LIST_BYTES_MAX).await.ok()??;
    let tags: Tags = serde_json::from_slice(&list).ok()?;
    let chat_models = tags.models.into_iter().filter(chats).map(|tag| LocalModel {
        name: tag.name,
        bytes: tag.size,
        parameters: tag.details.parameter_size,
    });
    Some(Ollama { base_url, chat_models: chat_models.collect() })
}

fn chats(tag: &Tag) -> bool {
    let (name, family) = (tag.name.to_lowercase(), tag.details.family.to_lowercase());
    !EMBEDDERS.iter().any(|part| name.contains(part) || family.contains(part))
}
