//! Puts the client of agents together: the agents of the configuration, and the way out to them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use engine::peers::{
    Body, Opened, Outside, OutsideError, PeerParts, PeerRules, Peers, Reach, Source, Trailers,
};
use engine::tasks::Tasks;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream;
use http::{Request, Version};
use sources::guard::{self, EgressError, EgressGuard, EgressRules, Sent};

use crate::config::{Config, NamedAgent};
use crate::system::{SystemClock, SystemEntropy};

/// The client of the agents that are configured.
pub(crate) fn peers(config: &Config, agents: &[NamedAgent], tasks: Tasks) -> Result<Peers> {
    let rules = PeerRules {
        agents: agents.iter().map(|named| named.agent.clone()).collect(),
        registries: config.agents.registries.clone(),
        waits: config.agents.waits(),
        hops_max: config.agents.hops_max,
    };
    let parts = PeerParts {
        outside: Arc::new(Guarded::new(super::egress(config)?, agents)?),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        tasks,
    };
    Ok(Peers::new(parts, rules))
}

/// The egress guard, and a wider one for what the owner has written down: that may be anywhere but where credentials are
/// handed out.
struct Guarded {
    written_down: EgressGuard,
    /// For agents that want to see a certificate, or have one that only some believe: by their own origins.
    shown: Vec<(Vec<String>, EgressGuard)>,
    strangers: EgressGuard,
}

impl Guarded {
    fn new(rules: EgressRules, agents: &[NamedAgent]) -> Result<Self> {
        let mut wide = rules.clone();
        for network in ["0.0.0.0/0", "::/0"] {
            wide.allow_private.push(network.parse()?);
        }
        wide.ports = (1..=u16::MAX).collect();
        let mut shown = Vec::new();
        for named in agents {
            let Some(certificates) = &named.certificates else { continue };
            let guard = EgressGuard::showing(wide.clone(), certificates).with_context(|| {
                format!("agents.{}: certificate, certificate_key or ca", named.agent.name)
            })?;
            let address = match &named.agent.source {
                Source::Address(address) => Some(address),
                Source::Card(_) | Source::Listed(_) | Source::Catalogue { .. } => None,
            };
            let origins = address.into_iter().chain(&named.agent.origins);
            shown.push((origins.filter_map(|address| origin(address)).collect(), guard));
        }
        let (written_down, strangers) = (EgressGuard::new(wide), EgressGuard::new(rules));
        Ok(Self { written_down, shown, strangers })
    }

    /// The way to an address; a certificate is shown to whom it is meant for and to nobody else.
    fn way(&self, reach: Reach, address: &str) -> &EgressGuard {
        let own = origin(address);
        let is_own = |(origins, _): &&(Vec<String>, EgressGuard)| {
            own.as_ref().is_some_and(|own| origins.contains(own))
        };
        match (reach, self.shown.iter().find(is_own)) {
            (Reach::WrittenDown, Some((_, guard))) => guard,
            (Reach::WrittenDown, None) => &self.written_down,
            (Reach::Stranger, _) => &self.strangers,
        }
    }
}

impl Outside for Guarded {
    fn open(
        &self,
        reach: Reach,
        request: Request<Vec<u8>>,
        wait_max: Duration,
    ) -> BoxFuture<'_, Result<Opened, OutsideError>> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let address = head.uri.to_string();
            let guard = self.way(reach, &address);
            let (called, body) = ((head.method, address.as_str()), Bytes::from(body));
            let opened = match head.version == Version::HTTP_2 {
                true => guard.open_http2(called, &head.headers, body, wait_max).await,
                false => guard.open(called, &head.headers, body, wait_max).await,
            };
            let opened = opened.map_err(|error| told(&error))?;
            let (status, headers) = (opened.status(), opened.headers().clone());
            let trailers = Trailers::default();
            Ok(Opened { status, headers, body: body_of(opened, Arc::clone(&trailers)), trailers })
        })
    }
}

/// Scheme, host and port of an address.
fn origin(address: &str) -> Option<String> {
    let url: url::Url = address.parse().ok()?;
    Some(url.origin().ascii_serialization())
}

/// The bytes as they come; an error is the last of them.
fn body_of(opened: guard::Opened, trailers: Trailers) -> Body {
    stream::unfold(Some((opened, trailers)), async |opened| {
        let (mut opened, trailers) = opened?;
        match opened.chunk().await {
            Ok(Some(chunk)) => Some((Ok(chunk.to_vec()), Some((opened, trailers)))),
            Ok(None) => {
                // Nobody else sets them.
                _ = trailers.set(opened.trailers().clone());
                None
            }
            Err(error) => Some((Err(told(&error)), None)),
        }
    })
    .boxed()
}

fn told(error: &EgressError) -> OutsideError {
    let words = error.to_string();
    match error {
        EgressError::Slow { .. } => OutsideError::Slow,
        EgressError::Unreachable { sent: Sent::Perhaps, .. } | EgressError::TooLarge { .. } => {
            OutsideError::Lost(words)
        }
        EgressError::Unreachable { sent: Sent::Nothing, .. }
        | EgressError::Refused { .. }
        | EgressError::Setup(_) => OutsideError::Down(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_the_owner_has_written_down_may_be_on_this_machine() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        let guarded = Guarded::new(EgressRules::default(), &[]).unwrap();
        let open = async |reach, address: &str| {
            let request = Request::get(address).body(Vec::new()).unwrap();
            let opened = guarded.open(reach, request, Duration::from_secs(20)).await;
            opened.err().map(|error| error.to_string()).unwrap_or_default()
        };
        let refused = "may not be opened";
        // Nobody listens there any more, but it was tried.
        assert!(open(Reach::WrittenDown, &address).await.contains("no connection"));
        assert!(open(Reach::Stranger, &address).await.contains(refused));
        for reach in [Reach::WrittenDown, Reach::Stranger] {
            assert!(open(reach, "http://169.254.169.254/").await.contains(refused), "{reach:?}");
        }
    }
}
