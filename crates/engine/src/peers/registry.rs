//! Catalogues of agents: asked in the way of ARD, whoever runs them.

use std::collections::BTreeMap;

use a2a::registry::ard::{
    CARD_TYPE, CatalogEntry, Federation, QUESTION_BYTES_MAX, SearchQuery, SearchRequest,
    SearchResponse, SearchResult,
};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request};
use reqwest::Url;
use serde_json::Value;

use super::directory::Peers;
use super::error::{PeerError, shown};
use super::events::read_all;
use super::settings::AgentSettings;

/// Bytes of a page of results: a hundred entries with their cards in them.
const PAGE_BYTES_MAX: usize = 8 << 20;

/// An agent that a catalogue knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub entry: CatalogEntry,
    /// Relevance from 0 to 100; it says nothing about trust.
    pub score: u8,
    /// The catalogue that it is from.
    pub source: String,
}

impl Peers {
    /// Agents for a task in plain words, the best first, of every catalogue or of one.
    pub async fn search(
        &self,
        words: &str,
        registry: Option<&str>,
        count: u32,
    ) -> Result<Vec<Found>, PeerError> {
        let registries: Vec<String> = match registry {
            Some(registry) => vec![registry.to_owned()],
            None => self.rules.registries.clone(),
        };
        if registries.is_empty() {
            let why =
                "no catalogue is configured: name one with --registry, or in agents.registries";
            return Err(PeerError::Absent(why.to_owned()));
        }
        let mut found = Vec::new();
        for registry in &registries {
            let results = self.searched(registry, words, None, count).await?;
            found.extend(results.into_iter().map(|result| Found {
                score: result.score.min(100),
                source: result.source,
                entry: result.entry,
            }));
        }
        found.sort_by_key(|found| std::cmp::Reverse(found.score));
        found.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        Ok(found)
    }

    /// One entry by its identifier.
    pub(super) async fn entry(
        &self,
        registry: &str,
        identifier: &str,
    ) -> Result<CatalogEntry, PeerError> {
        let results = self.searched(registry, identifier, Some(identifier), 1).await?;
        let entry = results.into_iter().map(|result| result.entry);
        let entry = entry.into_iter().find(|entry| entry.identifier == identifier);
        entry.ok_or_else(|| {
            PeerError::Absent(format!("the catalogue knows no agent {}", shown(identifier)))
        })
    }

    async fn searched(
        &self,
        registry: &str,
        words: &str,
        identifier: Option<&str>,
        count: u32,
    ) -> Result<Vec<SearchResult>, PeerError> {
        let mut filter = BTreeMap::from([("type".to_owned(), vec![CARD_TYPE.to_owned()])]);
        if let Some(identifier) = identifier {
            filter.insert("identifier".to_owned(), vec![identifier.to_owned()]);
        }
        let text = agent::text::clip(words, QUESTION_BYTES_MAX).to_owned();
        let search = SearchRequest {
            query: SearchQuery { text, filter },
            federation: Federation::Auto,
            page_size: Some(count.clamp(1, a2a::registry::ard::PAGE_SIZE_MAX)),
            page_token: None,
        };
        let settings = AgentSettings::at(registry, self.rules.waits);
        let wrong = || PeerError::Card("the catalogue's address is no web address".to_owned());
        let mut url: Url = registry.parse().map_err(|_| wrong())?;
        url.set_path(&format!("{}/search", url.path().trim_end_matches('/')));
        let body = serde_json::to_vec(&search).map_err(|_| wrong())?;
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(ACCEPT, json.clone());
        request.headers_mut().insert(CONTENT_TYPE, json);
        let opened = self.open(&settings, &url, request, settings.waits.list).await?;
        let status = opened.status;
        let body = tokio::time::timeout(settings.waits.list, read_all(opened.body, PAGE_BYTES_MAX));
        let body = body.await.map_err(|_| PeerError::TimedOut)??;
        if !status.is_success() {
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let words = body.get("message").and_then(Value::as_str).unwrap_or_default();
            return Err(PeerError::Down(format!(
                "the catalogue answers {status}: {}",
                shown(words)
            )));
        }
        let answer: SearchResponse = serde_json::from_slice(&body).map_err(|_| {
            PeerError::Down("the catalogue's answer is none of a catalogue".to_owned())
        })?;
        Ok(answer.results.into_iter().filter(|result| result.entry.kind == CARD_TYPE).collect())
    }
}
