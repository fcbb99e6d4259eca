//! Settings of the copilot: its models, its turns and its memory.

use serde::Deserialize;

use super::Secret;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Models {
    pub(crate) base_url: String,
    pub(crate) model: String,
    pub(crate) api_key: Secret,
    pub(crate) discover: bool,
    pub(crate) judge: String,
    pub(crate) answer: String,
    pub(crate) memory: String,
    pub(crate) fallbacks: Vec<String>,
    pub(crate) other_keys: Vec<Secret>,
    pub(crate) extra_body: String,
    pub(crate) schema: SchemaKind,
    pub(crate) token_percent: u32,
    pub(crate) answer_tokens_max: u32,
    pub(crate) connect_seconds_max: u64,
    pub(crate) first_token_seconds_max: u64,
    pub(crate) between_tokens_seconds_max: u64,
    pub(crate) total_seconds_max: u64,
    pub(crate) tries_max: u32,
    pub(crate) at_once_max: usize,
    pub(crate) prices: Vec<String>,
}

/// How a model is brought to answer in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SchemaKind {
    Auto,
    Native,
    Tool,
    Prompted,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Copilot {
    pub(crate) calls_max: usize,
    pub(crate) confidence_min: f32,
    pub(crate) requests_max: u32,
    pub(crate) tokens_max: u64,
    pub(crate) dollars_max: f64,
    pub(crate) turn_seconds_max: u64,
    pub(crate) menu: String,
    pub(crate) system_tokens: usize,
    pub(crate) memory_tokens: usize,
    pub(crate) entities_tokens: usize,
    pub(crate) short_term_tokens: usize,
    pub(crate) passages_tokens: usize,
    pub(crate) question_tokens: usize,
    pub(crate) tool_rounds: usize,
    pub(crate) tools_tokens: usize,
    pub(crate) tool_results_tokens: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    pub(crate) turns: usize,
    pub(crate) sentences_max: usize,
    pub(crate) tokens_max: usize,
    pub(crate) entities_max: usize,
    pub(crate) lost_percent_max: usize,
    pub(crate) versions_max: usize,
    pub(crate) hours_kept: u64,
    pub(crate) recall: bool,
    pub(crate) recall_tokens: usize,
    pub(crate) store: SessionStore,
    pub(crate) redis_urls: Vec<Secret>,
    pub(crate) redis_cluster: bool,
}

/// Where conversations are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SessionStore {
    File,
    Redis,
}
