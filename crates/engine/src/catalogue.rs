//! The catalogue of agents: who may put what into it, who sees what of it, and whether its agents are there.
//!
//! The rules are `a2a::registry`'s. Entries are in memory as well as in the store: every list, count and search is made of
//! what its caller sees, so all of them are looked at each time.

mod asking;
mod cards;
mod changing;
mod checking;
mod crawling;
mod federation;
mod finding;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use a2a::registry::Entry;
use a2a::registry::disclosure::{Caller, IndexedText, indexed_texts};
use a2a::registry::health::Policy;
use a2a::timestamp::Timestamp;
use agent::identity::{Principal, Scope};
use agent::names::TenantId;
use agent::ports::{
    AgentEntries, Catalogues, Clock, Embedder, EntryList, KeptEntry, Pages, PortError,
};
use agent::shortlist::ShortText;
use tokio::sync::Semaphore;

use crate::tasks::Tasks;

pub use asking::{AgentsAnswer, AgentsQuestion, ExploreAnswer};
pub use changing::{Change, NewAgent, Placed, Registered, Written};
pub use checking::Round;
pub use crawling::Crawled;
pub use federation::{Upstream, UpstreamError};
pub use finding::{Find, Found, FoundPage, Own};

/// Agents of the catalogue: all of them are looked at for each question, which takes some milliseconds with this many.
pub const ENTRIES_MAX: usize = 10_000;

/// Agents of one owner, so that nobody fills the catalogue alone.
pub const ENTRIES_PER_OWNER_MAX: usize = 1_000;

/// Largest card, in bytes: one with a page of text for each of its skills fits.
pub const CARD_BYTES_MAX: usize = 256 << 10;

/// Entries read from the store at a time.
const PAGE: usize = 200;

/// How the catalogue behaves: plain values.
#[derive(Debug, Clone)]
pub struct CatalogueRules {
    /// Tenants whose administrators keep the catalogue.
    pub keepers: Vec<TenantId>,
    /// Whether an agent of somebody else waits for a keeper's yes before others see it.
    pub needs_approval: bool,
    pub health: Policy,
    pub upstreams: Vec<Upstream>,
}

/// What the catalogue works with.
pub struct CatalogueParts {
    pub entries: Arc<dyn AgentEntries>,
    pub embedder: Arc<dyn Embedder>,
    /// Cards and keys are fetched through it.
    pub pages: Arc<dyn Pages>,
    pub catalogues: Arc<dyn Catalogues>,
    pub clock: Arc<dyn Clock>,
    pub tasks: Tasks,
}

/// The catalogue. Cheap to clone.
#[derive(Clone)]
pub struct Catalogue {
    shared: Arc<Shared>,
}

struct Shared {
    parts: CatalogueParts,
    rules: CatalogueRules,
    listed: RwLock<BTreeMap<String, Arc<Listed>>>,
    /// One change at a time: what is in memory is set after the store has it, in the same order.
    changing: Semaphore,
    /// Searches that ask other catalogues at the same time.
    federating: Semaphore,
}

/// An entry as it is looked at: with its last version alone, and taken apart for searching.
struct Listed {
    entry: Entry,
    revision: u64,
    texts: Vec<Searched>,
}

struct Searched {
    indexed: IndexedText,
    terms: ShortText,
    /// Set when somebody searches first: an embedder may be slow or away.
    vector: OnceLock<Vec<f32>>,
}

/// Why the catalogue did not do what it was asked. Variants by who can do something about it.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The caller: there is no such agent, or it is not the caller's to see.
    #[error("there is no such agent")]
    Absent,
    /// The caller: it sees the agent, and may not do this to it.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The caller: the request cannot be used as it is.
    #[error("{0}")]
    Refused(String),
    /// The caller: somebody else has the identifier, or has changed the agent meanwhile.
    #[error("{0}")]
    Conflict(String),
    /// Whoever the port says.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl Catalogue {
    /// The catalogue that is in the store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn open(
        parts: CatalogueParts,
        rules: CatalogueRules,
    ) -> Result<Self, CatalogueError> {
        let mut listed = BTreeMap::new();
        let mut after = None;
        loop {
            let page = parts.entries.entries(EntryList { after, limit: PAGE }).await?;
            after = page.last().map(|entry| entry.identifier.clone());
            for kept in page {
                listed.insert(kept.identifier.clone(), Arc::new(Listed::of(&kept)?));
            }
            if after.is_none() {
                break;
            }
        }
        let listed = RwLock::new(listed);
        let (changing, federating) = (Semaphore::new(1), Semaphore::new(federation::AT_ONCE_MAX));
        Ok(Self { shared: Arc::new(Shared { parts, rules, listed, changing, federating }) })
    }

    /// Who somebody is to the catalogue. Whoever belongs to a tenant acts for it, and is a partner of its name.
    #[must_use]
    pub fn caller(&self, principal: Option<&Principal>) -> Caller {
        match principal {
            None => Caller::Anonymous,
            Some(who)
                if who.may(Scope::Admin) && self.shared.rules.keepers.contains(&who.tenant) =>
            {
                Caller::Keeper
            }
            Some(who) => Caller::Known {
                subject: who.tenant.as_str().to_owned(),
                partners: [who.tenant.as_str().to_owned()].into(),
            },
        }
    }

    fn now(&self) -> Timestamp {
        let now = i64::try_from(self.shared.parts.clock.now().0).unwrap_or(i64::MAX);
        Timestamp::clamped(now)
    }

    fn listed(&self) -> Vec<Arc<Listed>> {
        let listed = self.shared.listed.read().unwrap_or_else(PoisonError::into_inner);
        listed.values().cloned().collect()
    }

    fn one(&self, identifier: &str) -> Option<Arc<Listed>> {
        let listed = self.shared.listed.read().unwrap_or_else(PoisonError::into_inner);
        listed.get(identifier).cloned()
    }

    /// Shows what has just been written; `None` for what was removed.
    fn show(&self, identifier: &str, listed: Option<Listed>) {
        let mut all = self.shared.listed.write().unwrap_or_else(PoisonError::into_inner);
        match listed {
            Some(listed) => drop(all.insert(identifier.to_owned(), Arc::new(listed))),
            None => drop(all.remove(identifier)),
        }
    }
}

impl Listed {
    fn of(kept: &KeptEntry) -> Result<Self, CatalogueError> {
        let mut entry = read(kept)?;
        let older = entry.versions.len().saturating_sub(1);
        entry.versions.drain(..older);
        Ok(Self { texts: searched(&entry, None), entry, revision: kept.revision })
    }

    /// The same with other checks.
    fn with_health(&self, health: a2a::registry::health::Health) -> Self {
        let entry = Entry { health, ..self.entry.clone() };
        Self { texts: searched(&entry, Some(self)), entry, revision: self.revision }
    }
}

/// The texts of an entry; those that were there before keep their vectors.
fn searched(entry: &Entry, before: Option<&Listed>) -> Vec<Searched> {
    let known = |text: &str| {
        let same = before?.texts.iter().find(|known| known.indexed.text == text)?;
        Some((same.terms.clone(), same.vector.clone()))
    };
    let texts = indexed_texts(entry).into_iter();
    let text = |indexed: IndexedText| {
        let (terms, vector) =
            known(&indexed.text).unwrap_or_else(|| (ShortText::of(&indexed.text), OnceLock::new()));
        Searched { indexed, terms, vector }
    };
    texts.map(text).collect()
}

/// An entry as it is kept, all its versions included.
fn read(kept: &KeptEntry) -> Result<Entry, CatalogueError> {
    let broken = |error: serde_json::Error| {
        CatalogueError::Port(PortError::Broken {
            what: "reading the catalogue",
            source: Box::new(error),
        })
    };
    let mut entry: Entry = serde_json::from_slice(&kept.body).map_err(broken)?;
    if !kept.health.is_empty() {
        entry.health = serde_json::from_slice(&kept.health).map_err(broken)?;
    }
    Ok(entry)
}
