//! Puts research together: the documents, the providers, whom it may call, the journal and the model that answers.

use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Clock as _, Journals, Searches};
use agent::research::message::ProviderId;
use anyhow::{Context, Result, bail};
use engine::catalogue::Catalogue;
use engine::research::{
    Callees, PageTexts, Research, ResearchParts, ResearchRules, Researcher, StrangersPages,
};
use engine::tools::Host;
use sources::cache::Cache;
use sources::robots::PolitePages;
use sources::search::{ProviderKey, ProviderKind, ProviderSettings, WebSearches};

use super::{Installation, copilot, failpoints};
use crate::config::{self, Config, SessionStore};
use crate::system::{SystemClock, SystemEntropy};

/// Research for the callers of a server, with the tools and agents that it may call.
pub(crate) async fn service(
    config: &Config,
    installation: &Installation,
    (host, catalogue): (Host, Catalogue),
) -> Result<Research> {
    let rules = ResearchRules {
        runs_max: config.research.runs_max,
        plan_seconds: config.research.plan_seconds,
        answer_seconds: config.mcp.approval_seconds_max.max(1),
    };
    let (_, usual) = named(&config.research)?;
    let callees = Some(Callees { host, catalogue, usual });
    Ok(Research::new(researcher(config, installation, callees).await?, rules))
}

/// Research over an installation's documents, and where the configuration lets it search.
pub(crate) async fn researcher(
    config: &Config,
    installation: &Installation,
    callees: Option<Callees>,
) -> Result<Researcher> {
    let found = copilot::roles(&config.models).await?;
    let store = Arc::new(installation.store.clone());
    let knowledge = Arc::new(installation.knowledge.clone());
    let journals: Arc<dyn Journals> = match config.memory.store {
        SessionStore::File => Arc::clone(&store) as Arc<dyn Journals>,
        SessionStore::Redis => {
            let lease = Duration::from_secs(config.research.lease_seconds.max(1));
            let journals = copilot::redis_journals(&config.memory, lease).await?;
            Arc::new(journals.with_failpoints(failpoints()))
        }
    };
    let (providers, _) = named(&config.research)?;
    let clock = Arc::new(SystemClock);
    for warning in providers.iter().filter_map(|provider| provider.kind.warning()) {
        tracing::warn!("{warning}");
    }
    let guard = installation.guard();
    let cache = Cache::open(&config.data_folder()?.join("research-cache"), clock.now());
    let searches =
        WebSearches::new(Arc::clone(&guard), Arc::clone(&clock) as _, providers, cache.clone());
    let pages = PolitePages::new(installation.pages(), guard, Arc::clone(&clock) as _, cache);
    Ok(Researcher::new(ResearchParts {
        pages: Some(Arc::new(StrangersPages {
            pages: Arc::new(pages),
            knowledge: Arc::clone(&knowledge),
        }) as Arc<dyn PageTexts>),
        library: knowledge,
        searches: Some(Arc::new(searches) as Arc<dyn Searches>),
        callees,
        journals,
        ledger: store,
        model: found.roles.answer,
        prices: copilot::prices(&config.models.prices)?,
        clock,
        entropy: Arc::new(SystemEntropy),
        tasks: installation.tasks().clone(),
    }))
}

/// The providers as they are named: `arxiv`, `searxng@https://search.example.com`; and tools and agents:
/// `tool:notes__find`, `agent:weather`.
fn named(settings: &config::Research) -> Result<(Vec<ProviderSettings>, Vec<ProviderId>)> {
    let mut providers: Vec<ProviderSettings> = Vec::new();
    let mut callees: Vec<ProviderId> = Vec::new();
    for named in &settings.providers {
        if let Some(callee) = callee(named)? {
            callees.push(callee);
            continue;
        }
        let (name, address) = match named.split_once('@') {
            Some((name, address)) => (name, Some(address)),
            None => (named.as_str(), None),
        };
        let kind = ProviderKind::ALL.into_iter().find(|kind| kind.as_str() == name);
        let Some(kind) = kind else {
            let names: Vec<&str> = ProviderKind::ALL.iter().map(|kind| kind.as_str()).collect();
            bail!(
                "research.providers: there is no {name:?}; there are {}, tool:SERVER__TOOL and agent:NAME",
                names.join(", ")
            );
        };
        let Some(base_url) = address.or(kind.usual_address()) else {
            bail!("research.providers: {name} needs its address: write {name}@https://…");
        };
        if providers.iter().any(|known| known.kind == kind) {
            bail!("research.providers: {name} is there twice");
        }
        providers.push(ProviderSettings { kind, base_url: base_url.to_owned(), key: None });
    }
    for entry in &settings.keys {
        let Some((name, key)) = entry.reveal().split_once('=') else {
            bail!("research.keys: an entry is not of the form name=key");
        };
        // A key of a provider that is not used does no harm.
        let used = providers.iter_mut().find(|provider| provider.kind.as_str() == name.trim());
        if let Some(provider) = used {
            provider.key = Some(ProviderKey::new(key.trim()));
        }
    }
    Ok((providers, callees))
}

/// A tool or an agent, if one is named; whether it is there, each run looks for itself.
fn callee(named: &str) -> Result<Option<ProviderId>> {
    if !["tool:", "agent:"].iter().any(|start| named.starts_with(start)) {
        return Ok(None);
    }
    named
        .parse::<ProviderId>()
        .map(Some)
        .with_context(|| format!("research.providers: {named:?} is no source: it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(providers: &[&str]) -> config::Research {
        let providers = providers.iter().map(|name| (*name).to_owned()).collect();
        config::Research { providers, keys: vec![], runs_max: 1, plan_seconds: 1, lease_seconds: 1 }
    }

    #[test]
    fn providers_are_named_with_or_without_an_address() {
        let all = ["arxiv", "tool:notes__find", "searxng@http://127.0.0.1:8888", "agent:weather"];
        let (read, callees) = named(&settings(&all)).unwrap();
        let shown: Vec<(&str, &str)> =
            read.iter().map(|it| (it.kind.as_str(), it.base_url.as_str())).collect();
        let expected =
            [("arxiv", "https://export.arxiv.org"), ("searxng", "http://127.0.0.1:8888")];
        assert_eq!(shown, expected);
        let callees: Vec<&str> = callees.iter().map(ProviderId::as_str).collect();
        assert_eq!(callees, ["tool:notes__find", "agent:weather"]);
        for bad in [&["bing"][..], &["searxng"], &["arxiv", "arxiv"], &["tool:a b"]] {
            assert!(named(&settings(bad)).is_err(), "{bad:?}");
        }
    }
}
