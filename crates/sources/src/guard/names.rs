//! Turns names into addresses, and lets through only those that the rules admit.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{EgressRules, Refusal};

/// Knows the addresses of a name.
pub trait Resolver: Send + Sync {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Asks the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
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
