//! Turns names into addresses, and lets through only those that the rules admit.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;

use super::{EgressRules, Refusal};

/// Knows the addresses of a name.
pub trait Resolver: Send + Sync {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Names that are looked up at the same time. Each holds a thread until the system gives up, which takes half a minute for a
/// name whose servers are silent: searches and the store have to find one meanwhile.
const LOOKUPS_MAX: usize = 3;

static LOOKUPS: Semaphore = Semaphore::const_new(LOOKUPS_MAX);

/// Asks the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            if let Ok(address) = name.parse() {
                return Ok(vec![address]);
            }
            let name = name.to_owned();
            // It is never closed. The turn ends with the work, even if nobody waits for that any more.
            let turn = LOOKUPS.acquire().await.ok();
            let looking = move || {
                let _turn = turn;
                let found = (name.as_str(), 0).to_socket_addrs()?;
                Ok(found.map(|address| address.ip()).collect())
            };
            tokio::task::spawn_blocking(looking).await.map_err(io::Error::other)?
        })
    }
}

/// The resolver of the HTTP library: what it returns is what is dialled, so what was checked is what is dialled.
pub(super) struct CheckedNames {
    pub(super) rules: Arc<EgressRules>,
    pub(super) resolver: Arc<dyn Resolver>,
}

/// What resolves names says nothing of itself.
impl std::fmt::Debug for CheckedNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckedNames").finish_non_exhaustive()
    }
}

impl Resolve for CheckedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let rules = Arc::clone(&self.rules);
        let resolver = Arc::clone(&self.resolver);
        Box::pin(async move {
            let found = resolver.resolve(name.as_str()).await?;
            // One inside address among public ones is an attempt, not an accident: all are refused.
            if let Some(inside) = found.iter().find(|address| !rules.admits(**address)) {
                // The operator may know where a name leads; the caller may not.
                tracing::info!(name = name.as_str(), address = %inside, "refused to dial");
                return Err(Refusal::Inside.into());
            }
            if found.is_empty() {
                return Err(io::Error::other("no addresses").into());
            }
            // Port 0 stands for the port of the URL.
            let dialled: Addrs =
                Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(dialled)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn many_names_are_looked_up_and_an_address_is_its_own() {
        let names = ["127.0.0.1", "::1", "localhost"].repeat(LOOKUPS_MAX * 2);
        let lookups = names.iter().map(|name| SystemResolver.resolve(name));
        for found in futures_util::future::join_all(lookups).await {
            let found = found.unwrap();
            assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
        }
    }
}
