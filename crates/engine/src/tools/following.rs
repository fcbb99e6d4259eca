//! Resources that somebody follows: hears from the server, in either era, that one has changed, and reads it anew.
#![expect(
    deprecated,
    reason = "servers of the old era are asked in its own words, which have left the protocol"
)]

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent::tools::naming::ServerId;
use agent::tools::outcome::ToolOutput;
use rmcp::model::{ServerNotification, SubscribeRequestParams, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient, Subscription};
use tokio::sync::watch;

use super::calls::{CallError, Caller, failed};
use super::connection::{LISTEN_AGAIN, Link, LinkError, told};
use super::handler::Shared;
use super::host::Host;

/// Resources of one connection that may be followed: nobody looks at more, and each may hold a stream open.
const FOLLOWED_MAX: usize = 64;

/// A followed resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// Names the state that was seen. Another state has another number; a new connection begins with a new one.
    pub state: u64,
    /// None if nothing has changed since the state that the caller has seen.
    pub output: Option<ToolOutput>,
}

/// The resources that are followed on one connection, each with the number of its state.
#[derive(Default)]
pub(super) struct Followings(Mutex<BTreeMap<String, watch::Sender<u64>>>);

impl Followings {
    /// Takes note that a resource has changed; one that nobody follows does not matter.
    pub(super) fn changed(&self, address: &str) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = all.get(address) {
            state.send_modify(|state| *state += 1);
        }
    }

    fn known(&self, address: &str) -> Option<watch::Receiver<u64>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(address).map(watch::Sender::subscribe)
    }

    fn add(&self, address: &str, first: u64) -> Result<watch::Receiver<u64>, LinkError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= FOLLOWED_MAX && !all.contains_key(address) {
            let why = format!("{FOLLOWED_MAX} of its resources are followed already");
            return Err(LinkError::Refused(why));
        }
        let state = all.entry(address.to_owned()).or_insert_with(|| watch::Sender::new(first));
        Ok(state.subscribe())
    }

    fn remove(&self, address: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(address);
    }
}

impl Host {
    /// Reads a resource once it is in another state than the one that was `seen`, at once if none was; waits for that no
    /// longer than `wait_max`.
    pub async fn follow(
        &self,
        caller: &Caller,
        server: &ServerId,
        address: &str,
        seen: Option<u64>,
        wait_max: Duration,
    ) -> Result<Followed, CallError> {
        let link = self.link(&caller.principal.tenant, server).await?;
        // A number that no earlier connection has begun with.
        let first = self.parts.clock.now().0;
        let followed = link.follow(address, first).await;
        let mut state = followed.map_err(|error| failed(server, error))?;
        let is_news = |state: &u64| Some(*state) != seen;
        let waited = tokio::time::timeout(wait_max, state.wait_for(is_news)).await;
        // Before it is read: what changes meanwhile is another state.
        let now = waited.ok().and_then(Result::ok).map(|state| *state);
        match (now, seen) {
            (None, Some(seen)) => Ok(Followed { state: seen, output: None }),
            (now, _) => {
                let output = Some(self.read(caller, server, address).await?);
                Ok(Followed { state: now.unwrap_or(first), output })
            }
        }
    }
}

impl Link {
    /// The state of a resource, followed from now on until the connection ends.
    async fn follow(&self, address: &str, first: u64) -> Result<watch::Receiver<u64>, LinkError> {
        if let Some(known) = self.shared.followings.known(address) {
            return Ok(known);
        }
        let peer = self.service.peer().clone();
        let info = peer.peer_info();
        let capability = info.as_ref().and_then(|info| info.capabilities.resources.as_ref());
        if capability.and_then(|resources| resources.subscribe) != Some(true) {
            let why = "it does not tell when its resources change".to_owned();
            return Err(LinkError::Refused(why));
        }
        let is_old = info.is_some_and(|info| info.protocol_version.has_initialize());
        let state = self.shared.followings.add(address, first)?;
        let begun = tokio::time::timeout(self.waits.list, async {
            if is_old {
                peer.subscribe(SubscribeRequestParams::new(address)).await.map_err(told)?;
                return Ok(None);
            }
            listen(&peer, address).await.map(Some)
        });
        match begun.await.unwrap_or(Err(LinkError::TimedOut)) {
            Ok(None) => {}
            Ok(Some(subscription)) => self.keep_listening(peer, address, subscription),
            Err(error) => {
                self.shared.followings.remove(address);
                return Err(error);
            }
        }
        Ok(state)
    }

    fn keep_listening(&self, peer: Peer<RoleClient>, address: &str, first: Subscription) {
        let (shared, address) = (std::sync::Arc::clone(&self.shared), address.to_owned());
        let stopping = self.tasks.stopping();
        self.tasks.spawn(async move {
            tokio::select! {
                () = hear(peer, &shared, &address, first) => {}
                () = stopping.cancelled() => {}
            }
        });
    }
}

async fn listen(peer: &Peer<RoleClient>, address: &str) -> Result<Subscription, LinkError> {
    let filter = SubscriptionFilter::builder().resource_subscription(address).build();
    let subscription = peer.listen(filter).await.map_err(told)?;
    let honoured = subscription.acknowledged().resource_subscriptions.as_ref();
    if honoured.is_some_and(|all| all.iter().any(|one| one == address)) {
        return Ok(subscription);
    }
    Err(LinkError::Refused("it does not tell when this resource changes".to_owned()))
}

/// Hears of changes as long as there is a connection; a stream that ends is opened again.
async fn hear(peer: Peer<RoleClient>, shared: &Shared, address: &str, first: Subscription) {
    let mut open = Some(first);
    while !peer.is_transport_closed() {
        if let Some(mut subscription) = open.take() {
            while let Ok(Some(notification)) = subscription.next().await {
                if let ServerNotification::ResourceUpdatedNotification(updated) = notification {
                    shared.followings.changed(&updated.params.uri);
                }
            }
        }
        tokio::time::sleep(LISTEN_AGAIN).await;
        open = listen(&peer, address).await.ok();
        // Whatever was missed in between is found out by reading it again.
        shared.followings.changed(address);
    }
}
