//! Puts the catalogue of agents together.

use std::sync::Arc;
use std::time::Duration;

use a2a::registry::health::Policy;
use agent::names::TenantId;
use anyhow::{Context, Result, bail};
use engine::catalogue::{Catalogue, CatalogueParts, CatalogueRules, Upstream};
use sources::catalogues::WebCatalogues;
use sources::guard::EgressGuard;

use super::Installation;
use crate::config::Config;
use crate::system::SystemClock;

/// The catalogue of an installation; nothing is checked yet but what the caller asks for.
pub(crate) async fn catalogue(config: &Config, installation: &Installation) -> Result<Catalogue> {
    let guard = Arc::new(EgressGuard::new(super::egress(config)?));
    let parts = CatalogueParts {
        entries: Arc::new(installation.store.clone()),
        embedder: Arc::clone(&installation.embedder),
        pages: installation.pages(),
        catalogues: Arc::new(WebCatalogues::new(guard)),
        clock: Arc::new(SystemClock),
        tasks: installation.tasks().clone(),
    };
    Ok(Catalogue::open(parts, rules(config)?).await?)
}

/// The address of this server as others know it, if it is set.
pub(crate) fn address(config: &Config) -> Result<Option<String>> {
    let address = config.registry.address.trim_end_matches('/');
    if address.is_empty() {
        return Ok(None);
    }
    let is_web = ["https://", "http://"].iter().any(|start| address.starts_with(start));
    if !is_web || address.contains(['?', '#', ' ', '@']) {
        bail!("registry.address is no address such as https://saem.example.com");
    }
    Ok(Some(address.to_owned()))
}

fn rules(config: &Config) -> Result<CatalogueRules> {
    let settings = &config.registry;
    let keepers = settings.keepers.iter().map(|tenant| tenant.parse());
    let upstreams = settings.upstreams.iter().map(|address| Upstream::new(address));
    let minutes = |minutes: u64| Duration::from_secs(minutes.max(1).saturating_mul(60));
    let days = Duration::from_secs(settings.evict_days.saturating_mul(24 * 3600));
    Ok(CatalogueRules {
        keepers: keepers.collect::<Result<Vec<TenantId>, _>>().context("registry.keepers")?,
        needs_approval: settings.approval,
        health: Policy {
            check_every: minutes(settings.check_minutes),
            failures_until_down: settings.failures_until_down.max(1),
            evict_after: Some(days).filter(|days| !days.is_zero()),
            ..Policy::default()
        },
        upstreams: upstreams.collect::<Result<_, _>>().context("registry.upstreams")?,
    })
}
