//! What one search costs: as the provider says, or by its list of prices.

use agent::price::Cost;
use serde_json::Value;

use super::{ProviderKind, ProviderSettings};

/// Dollars for one search by the providers' price lists of autumn 2026. What their free allowances cover is counted too: Saem
/// does not know how much of them is left.
fn listed(kind: ProviderKind) -> f64 {
    match kind {
        ProviderKind::Brave | ProviderKind::Google => 0.005,
        ProviderKind::Tavily => 0.008,
        ProviderKind::Serper | ProviderKind::OpenAlex => 0.001,
        // Says it itself.
        ProviderKind::Exa => 0.0,
        ProviderKind::Arxiv
        | ProviderKind::Wikipedia
        | ProviderKind::Searxng
        | ProviderKind::SemanticScholar
        | ProviderKind::Crossref => 0.0,
    }
}

/// What an answer has cost; nothing without a key.
pub(super) fn cost(settings: &ProviderSettings, answer: &[u8]) -> Cost {
    if settings.key.is_none() {
        return Cost::default();
    }
    let said = || -> Option<f64> {
        let body: Value = serde_json::from_slice(answer).ok()?;
        body.pointer("/costDollars/total").and_then(Value::as_f64)
    };
    let dollars = match settings.kind {
        ProviderKind::Exa => said().unwrap_or_default(),
        kind => listed(kind),
    };
    Cost::from_dollars(dollars)
}
