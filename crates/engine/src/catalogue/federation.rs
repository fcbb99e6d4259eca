//! Other catalogues: whom to ask, and how little of their answers to believe.

use std::time::Duration;

use a2a::registry::ard::{
    Federation, REGISTRY_TYPE, Referral, SearchRequest, SearchResponse, SearchResult,
};
use a2a::registry::registration::host;
use futures_util::future::join_all;

use super::Catalogue;

/// Other catalogues that are asked for one search.
const UPSTREAMS_MAX: usize = 8;

/// Searches that ask others at the same time; further ones find what is here.
pub(super) const AT_ONCE_MAX: usize = 8;

/// How long others have to answer: a search is waited for.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Longest answer that is looked at, in bytes: a hundred cards of ordinary size.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// Another catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its base address: `/search` is below it.
    pub address: String,
}

/// The address is none of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of a catalogue such as https://agents.example.com/registry")]
pub struct UpstreamError(String);

impl Upstream {
    /// A catalogue at an address.
    ///
    /// # Errors
    /// If it is no http or https address.
    pub fn new(address: &str) -> Result<Self, UpstreamError> {
        let address = address.trim().trim_end_matches('/');
        match host(address) {
            Some(_) if !address.contains(['?', '#']) => Ok(Self { address: address.to_owned() }),
            _ => Err(UpstreamError(address.to_owned())),
        }
    }

    fn referral(&self) -> Referral {
        let host = host(&self.address).unwrap_or_default();
        // Plain localhost is no publisher.
        let domain = if host == "localhost" { "agent.localhost" } else { host };
        Referral {
            identifier: format!("urn:air:{domain}:registry"),
            display_name: host.to_owned(),
            kind: REGISTRY_TYPE.to_owned(),
            url: self.address.clone(),
        }
    }
}

impl Catalogue {
    /// The catalogues that a caller may ask by itself.
    #[must_use]
    pub fn referrals(&self) -> Vec<Referral> {
        self.upstreams().map(Upstream::referral).collect()
    }

    fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        self.shared.rules.upstreams.iter().take(UPSTREAMS_MAX)
    }

    /// What other catalogues have. Those that are slow, down or wrong are left out.
    pub(super) async fn ask_upstreams(&self, request: &SearchRequest) -> Vec<SearchResult> {
        let Ok(_permit) = self.shared.federating.try_acquire() else { return Vec::new() };
        // They ask nobody in turn: so no question ever goes round in a circle.
        let question =
            SearchRequest { federation: Federation::None, page_token: None, ..request.clone() };
        let Ok(question) = serde_json::to_vec(&question) else { return Vec::new() };
        let asked = self.upstreams().map(|upstream| self.ask_one(upstream, question.clone()));
        join_all(asked).await.into_iter().flatten().collect()
    }

    async fn ask_one(&self, upstream: &Upstream, question: Vec<u8>) -> Vec<SearchResult> {
        let address = format!("{}/search", upstream.address);
        let asking = self.shared.parts.catalogues.ask(&address, question);
        let bytes = match tokio::time::timeout(WAIT_MAX, asking).await {
            Ok(Ok(bytes)) if bytes.len() <= ANSWER_BYTES_MAX => bytes,
            Ok(Ok(_)) => return left_out(upstream, "its answer is too long"),
            Ok(Err(error)) => return left_out(upstream, &error.to_string()),
            Err(_) => return left_out(upstream, "it takes too long"),
        };
        let Ok(answer) = serde_json::from_slice::<SearchResponse>(&bytes) else {
            return left_out(upstream, "its answer cannot be read");
        };
        let fine = answer.results.into_iter().filter(|result| result.entry.check().is_ok());
        // What it is from is what was asked, whatever it says itself.
        fine.map(|result| SearchResult {
            source: upstream.address.clone(),
            score: result.score.min(100),
            ..result
        })
        .collect()
    }
}

fn left_out(upstream: &Upstream, why: &str) -> Vec<SearchResult> {
    tracing::warn!(upstream = upstream.address, why, "another catalogue was left out");
    Vec::new()
}
