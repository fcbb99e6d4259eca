//! The HTTP clients of a guard, each made when it is first needed.

use std::sync::{Arc, OnceLock};

use reqwest::{Certificate, Client, ClientBuilder, Identity};

use super::error::EgressError;
use super::names::CheckedNames;

/// How we introduce ourselves, so that a site's owner knows whom to turn away.
const USER_AGENT: &str = concat!("Saem/", env!("CARGO_PKG_VERSION"));

/// What is shown to servers that want to know who calls, and who may vouch for them; all of it in PEM.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Certificates {
    /// A chain of certificates and its key; empty for none.
    pub own: Vec<u8>,
    /// The only CAs that are believed; empty for the system's.
    pub authorities: Vec<u8>,
}

impl Certificates {
    fn put(&self, builder: ClientBuilder) -> Result<ClientBuilder, reqwest::Error> {
        let builder = match self.own.is_empty() {
            true => builder,
            false => builder.identity(Identity::from_pem(&self.own)?),
        };
        Ok(match self.authorities.is_empty() {
            true => builder,
            false => builder.tls_certs_only(Certificate::from_pem_bundle(&self.authorities)?),
        })
    }
}

/// There is a key in it.
impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificates").finish_non_exhaustive()
    }
}

/// Clients that reach only what the guard's names let through. Often none is ever needed, and the system's certificates
/// are read for each.
#[derive(Debug)]
pub(super) struct Clients {
    names: Arc<CheckedNames>,
    shown: Certificates,
    http1: OnceLock<Client>,
    /// Speaks HTTP/2 and nothing else, for the few who want that.
    http2: OnceLock<Client>,
}

impl Clients {
    pub(super) fn new(names: Arc<CheckedNames>, shown: Certificates) -> Self {
        Self { names, shown, http1: OnceLock::new(), http2: OnceLock::new() }
    }

    pub(super) fn http1(&self) -> Result<&Client, EgressError> {
        made_once(&self.http1, || {
            let builder = || self.builder().http1_only();
            if self.shown != Certificates::default() {
                return self.shown.put(builder())?.build();
            }
            builder().build().or_else(|error| {
                // Without the system's certificates nothing can be built; an empty set keeps plain http working.
                tracing::warn!(%error, "no https from here: install the system's CA certificates");
                builder().tls_certs_only([]).build()
            })
        })
    }

    pub(super) fn http2(&self) -> Result<&Client, EgressError> {
        made_once(&self.http2, || {
            self.shown.put(self.builder().http2_prior_knowledge().no_gzip())?.build()
        })
    }

    pub(super) fn builder(&self) -> ClientBuilder {
        // Whoever comes first decides for the process; everybody here decides the same.
        _ = rustls::crypto::ring::default_provider().install_default();
        Client::builder()
            .user_agent(USER_AGENT)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .dns_resolver(Arc::clone(&self.names))
            .connect_timeout(self.names.rules.connect_time_max)
            // A kept connection would be used later without a new look at where its name points.
            .pool_max_idle_per_host(0)
    }
}

/// What is there, or `make`s it; of two who do so at once, both use what the first has made.
fn made_once(
    place: &OnceLock<Client>,
    make: impl FnOnce() -> Result<Client, reqwest::Error>,
) -> Result<&Client, EgressError> {
    match place.get() {
        Some(client) => Ok(client),
        None => {
            let client = make().map_err(EgressError::Setup)?;
            Ok(place.get_or_init(|| client))
        }
    }
}
