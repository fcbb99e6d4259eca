//! Takes agents in that other hosts publish in manifests.

use a2a::registry::crawl::{Crawl, Listed, ListedCard, MANIFEST_PATHS};
use a2a::registry::disclosure::Disclosure;
use agent::identity::Principal;
use agent::ports::{Fetched, PortError};

use super::changing::{NewAgent, Placed, Registered};
use super::{Catalogue, CatalogueError};

/// Largest manifest that is read, in bytes.
const MANIFEST_BYTES_MAX: usize = 4 << 20;

/// What became of the agents of a host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Crawled {
    pub agents: Vec<Registered>,
    /// What was not taken, and why.
    pub failures: Vec<String>,
}

impl Catalogue {
    /// Registers the agents that a host publishes; `address` is the host's or a manifest's. One that cannot be taken does not stop
    /// the others.
    ///
    /// # Errors
    /// If the caller may not register, or the store cannot be written.
    pub async fn crawl(
        &self,
        who: &Principal,
        address: &str,
        disclosure: Option<Disclosure>,
    ) -> Result<Crawled, CatalogueError> {
        let mut crawl = Crawl::at(address);
        let (mut has_read, mut missed) = (false, Vec::new());
        while let Some(address) = crawl.next_address() {
            match self.shared.parts.pages.fetch(&address).await {
                Ok(Fetched { bytes, .. }) if bytes.len() > MANIFEST_BYTES_MAX => {
                    crawl.missed(&address, "the manifest is too large");
                }
                Ok(Fetched { address: found_at, bytes, .. }) => {
                    match serde_json::from_slice(&bytes) {
                        Ok(manifest) => {
                            has_read = true;
                            crawl.take(&found_at, &manifest);
                        }
                        Err(error) => crawl.missed(&address, &format!("it is no JSON: {error}")),
                    }
                }
                Err(PortError::Refused(why)) => {
                    // Of the places where a host may have it, one is enough.
                    if MANIFEST_PATHS.iter().any(|path| address.ends_with(path)) {
                        missed.push(format!("{address}: {why}"));
                    } else {
                        crawl.missed(&address, &why);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        let found = crawl.end();
        let mut crawled = Crawled { agents: Vec::new(), failures: found.left_out };
        if !has_read {
            crawled.failures.extend(missed);
        }
        for Listed { identifier, card } in found.agents {
            let placed = match card {
                ListedCard::Url(url) => Placed::Url(url),
                ListedCard::Inline(card) => Placed::Card(card),
            };
            let (named, disclosure) = (Some(identifier.clone()), disclosure.clone());
            match self.register(who, NewAgent { placed, identifier: named, disclosure }).await {
                Ok(registered) => crawled.agents.push(registered),
                Err(error @ (CatalogueError::Refused(_) | CatalogueError::Conflict(_))) => {
                    crawled.failures.push(format!("{identifier}: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(crawled)
    }
}
