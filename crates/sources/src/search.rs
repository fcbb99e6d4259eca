//! Searches at providers of the web: how each is asked, how often, and what its answers mean.

mod answer;
mod arxiv;
mod bucket;
mod openalex;
mod price;
mod request;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use agent::identity::Timestamp;
use agent::ports::{Clock, Searched, Searches};
use agent::price::Cost;
use agent::research::call::{Failure, Freshness};
use agent::research::message::{ErrorType, ProviderId};
use agent::research::order::{Class, Provider};
use agent::research::source::Hit;
use futures_util::future::BoxFuture;
use reqwest::header::HeaderMap;
use tokio::sync::Semaphore;

use self::bucket::Bucket;
use self::request::{Asking, asking};
use crate::cache::Cache;
use crate::guard::{EgressError, EgressGuard, Limits, Reply};

/// Most bytes of an answer: a hundred results with long summaries.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// How often an empty page of arXiv is asked for again: it has them now and then.
const EMPTY_TRIES_MAX: u32 = 3;

/// How long what a search has found is used again, in seconds: providers change daily.
const SEARCH_SECONDS_MAX: u64 = 24 * 3_600;

/// A provider that Saem knows how to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProviderKind {
    Arxiv,
    Wikipedia,
    Searxng,
    Brave,
    Tavily,
    Serper,
    Exa,
    SemanticScholar,
    Crossref,
    OpenAlex,
    Google,
}

impl ProviderKind {
    pub const ALL: [Self; 11] = [
        Self::Arxiv,
        Self::Wikipedia,
        Self::Searxng,
        Self::Brave,
        Self::Tavily,
        Self::Serper,
        Self::Exa,
        Self::SemanticScholar,
        Self::Crossref,
        Self::OpenAlex,
        Self::Google,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Arxiv => "arxiv",
            Self::Wikipedia => "wikipedia",
            Self::Searxng => "searxng",
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Serper => "serper",
            Self::Exa => "exa",
            Self::SemanticScholar => "semantic_scholar",
            Self::Crossref => "crossref",
            Self::OpenAlex => "openalex",
            Self::Google => "google",
        }
    }

    fn class(self) -> Class {
        match self {
            Self::Arxiv | Self::SemanticScholar | Self::Crossref | Self::OpenAlex => {
                Class::Scholarly
            }
            Self::Wikipedia
            | Self::Searxng
            | Self::Brave
            | Self::Tavily
            | Self::Serper
            | Self::Exa
            | Self::Google => Class::Web,
        }
    }

    /// Where it is, unless the configuration says otherwise; a SearXNG is one's own.
    #[must_use]
    pub fn usual_address(self) -> Option<&'static str> {
        Some(match self {
            Self::Arxiv => "https://export.arxiv.org",
            Self::Wikipedia => "https://en.wikipedia.org",
            Self::Searxng => return None,
            Self::Brave => "https://api.search.brave.com",
            Self::Tavily => "https://api.tavily.com",
            Self::Serper => "https://google.serper.dev",
            Self::Exa => "https://api.exa.ai",
            Self::SemanticScholar => "https://api.semanticscholar.org",
            Self::Crossref => "https://api.crossref.org",
            Self::OpenAlex => "https://api.openalex.org",
            Self::Google => "https://www.googleapis.com",
        })
    }

    /// Milliseconds between two requests, and requests at a time, as its terms have them.
    fn pace(self) -> (u64, usize) {
        match self {
            // One request in three seconds and one connection, over all machines.
            Self::Arxiv => (3_000, 1),
            // In series.
            Self::Wikipedia => (200, 1),
            Self::Brave | Self::SemanticScholar => (1_000, 1),
            // A hundred in a minute.
            Self::Tavily => (600, 2),
            Self::Searxng | Self::Serper | Self::Exa | Self::OpenAlex => (100, 4),
            // A hundred in a minute.
            Self::Google => (600, 2),
            Self::Crossref => (200, 2),
        }
    }

    /// What the operator should know before it is relied on.
    #[must_use]
    pub fn warning(self) -> Option<&'static str> {
        match self {
            Self::Google => Some(
                "Google's Custom Search JSON API takes no new customers and ends on 2027-01-01: have another provider ready",
            ),
            Self::Arxiv
            | Self::Wikipedia
            | Self::Searxng
            | Self::Brave
            | Self::Tavily
            | Self::Serper
            | Self::Exa
            | Self::SemanticScholar
            | Self::Crossref
            | Self::OpenAlex => None,
        }
    }

    fn id(self) -> Option<ProviderId> {
        self.as_str().parse().ok()
    }
}

/// A key that is shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderKey(String);

impl ProviderKey {
    #[must_use]
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hidden]")
    }
}

/// A provider as it is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    pub kind: ProviderKind,
    /// Up to the host.
    pub base_url: String,
    pub key: Option<ProviderKey>,
}

/// The providers that are set up, each with its pace.
pub struct WebSearches {
    guard: Arc<EgressGuard>,
    clock: Arc<dyn Clock>,
    providers: BTreeMap<ProviderId, Desk>,
    /// The preferred first.
    order: Vec<Provider>,
    /// What was found before, and when each provider may be asked next; none to remember nothing.
    cache: Option<Cache>,
}

/// One provider and the queue before it.
struct Desk {
    settings: ProviderSettings,
    at_a_time: Semaphore,
    bucket: Mutex<Bucket>,
}

impl WebSearches {
    /// The preferred provider comes first.
    #[must_use]
    pub fn new(
        guard: Arc<EgressGuard>,
        clock: Arc<dyn Clock>,
        settings: Vec<ProviderSettings>,
        cache: Option<Cache>,
    ) -> Self {
        let mut providers = BTreeMap::new();
        let mut order = Vec::new();
        for settings in settings {
            let Some(id) = settings.kind.id() else { continue };
            let (interval, at_a_time) = settings.kind.pace();
            let class = settings.kind.class();
            order.push(Provider { id: id.clone(), class, is_repeatable: true });
            let bucket = Mutex::new(Bucket::new(interval));
            let at_a_time = Semaphore::new(at_a_time);
            providers.insert(id, Desk { settings, at_a_time, bucket });
        }
        Self { guard, clock, providers, order, cache }
    }

    async fn ask(
        &self,
        provider: &ProviderId,
        query: &str,
        results_max: u32,
        freshness: Freshness,
    ) -> Result<Searched, Failure> {
        let Some(desk) = self.providers.get(provider) else {
            return Err(broken(format!("{provider} is not set up")));
        };
        let asking = asking(&desk.settings, query, results_max).map_err(broken)?;
        let key = cache_key(&desk.settings, query, results_max);
        if freshness == Freshness::MayBeRemembered
            && let Some(hits) = self.known(&key).await
        {
            return Ok(Searched { hits, cost: Cost::default() });
        }
        let (mut tries, mut cost) = (0, Cost::default());
        loop {
            tries += 1;
            let reply = self.reach(desk, &asking).await?;
            let found = answer::hits(desk.settings.kind, &reply)?;
            cost += price::cost(&desk.settings, &reply.bytes);
            let may_be_lost = desk.settings.kind == ProviderKind::Arxiv && found.is_lost;
            if may_be_lost && tries < EMPTY_TRIES_MAX {
                continue;
            }
            let most = usize::try_from(results_max).unwrap_or(usize::MAX);
            let hits: Vec<Hit> = found.hits.into_iter().take(most).collect();
            self.remember(&key, &hits, may_be_lost).await;
            return Ok(Searched { hits, cost });
        }
    }

    /// What the same search has found before, if that is not too old.
    async fn known(&self, key: &str) -> Option<Vec<Hit>> {
        let found = self.cache.as_ref()?.get(key, self.clock.now()).await?;
        serde_json::from_slice(&found).ok()
    }

    async fn remember(&self, key: &str, hits: &[Hit], may_be_lost: bool) {
        let (Some(cache), false) = (&self.cache, may_be_lost) else { return };
        if let Ok(bytes) = serde_json::to_vec(hits) {
            cache.put(key, self.clock.now(), SEARCH_SECONDS_MAX, &bytes).await;
        }
    }

    /// Waits for its turn and asks.
    async fn reach(&self, desk: &Desk, asking: &Asking) -> Result<Reply, Failure> {
        let _place =
            desk.at_a_time.acquire().await.map_err(|_| broken("saem is stopping".to_owned()))?;
        let name = desk.settings.kind.as_str();
        let before = match &self.cache {
            Some(cache) => cache.free_at(name).await,
            None => Timestamp(0),
        };
        let (wait, free_at) = {
            let mut bucket = desk.bucket.lock().unwrap_or_else(PoisonError::into_inner);
            bucket.not_before(before);
            (bucket.reserve(self.clock.now()), bucket.free_at())
        };
        if let Some(cache) = &self.cache {
            cache.set_free_at(name, free_at).await;
        }
        tokio::time::sleep(wait).await;
        let limits = Limits { bytes_max: ANSWER_BYTES_MAX, ..self.guard.limits() };
        let headers: &HeaderMap = &asking.headers;
        let reply = match &asking.body {
            Some(body) => self.guard.post(&asking.address, headers, body.clone(), &limits).await,
            None => self.guard.get(&asking.address, headers, &limits).await,
        };
        reply.map_err(|error| unreached(&error))
    }
}

impl Searches for WebSearches {
    fn providers(&self) -> Vec<Provider> {
        self.order.clone()
    }

    fn search<'a>(
        &'a self,
        provider: &'a ProviderId,
        query: &'a str,
        results_max: u32,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<Searched, Failure>> {
        Box::pin(self.ask(provider, query, results_max, freshness))
    }
}

/// The same words in another order of blanks or letter case are the same search.
fn cache_key(settings: &ProviderSettings, query: &str, results_max: u32) -> String {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let (kind, words) = (settings.kind.as_str(), words.join(" "));
    format!("search\n{kind}\n{}\n{results_max}\n{words}", settings.base_url)
}

fn broken(message: String) -> Failure {
    let error_type = ErrorType::InternalError;
    Failure::new(error_type, message)
}

/// Nobody answered; a refusal of the guard stays one.
fn unreached(error: &EgressError) -> Failure {
    let is_passing = !matches!(error, EgressError::Refused { .. });
    let error_type = match error {
        EgressError::Slow { .. } => ErrorType::Timeout,
        EgressError::Refused { .. }
        | EgressError::TooLarge { .. }
        | EgressError::Unreachable { .. }
        | EgressError::Setup(_) => ErrorType::ApiError,
    };
    Failure { is_passing, ..Failure::new(error_type, error.to_string()) }
}
