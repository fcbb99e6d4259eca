//! Tells clients what is another one now: in the old era those that have subscribed, in the new one those that listen.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;

/// Changes that a slow listener may be behind: one that is further behind is told to look at everything again.
const BEHIND_MAX: usize = 64;

/// Snippets that a client may subscribe to.
const SUBSCRIPTIONS_MAX: usize = 1_000;

#[derive(Debug)]
pub(super) struct Changes {
    /// The URIs that are another thing now.
    told: broadcast::Sender<String>,
    /// What a client of the old era has subscribed to.
    subscribed: Mutex<BTreeSet<String>>,
    /// Whether the client has gone.
    ended: watch::Sender<bool>,
}

impl Changes {
    pub(super) fn new() -> Self {
        let told = broadcast::Sender::new(BEHIND_MAX);
        Self { told, subscribed: Mutex::default(), ended: watch::Sender::new(false) }
    }

    /// Nobody listens any more.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }

    pub(super) fn subscribe(&self, uri: String) -> Result<(), ErrorData> {
        let mut subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        if subscribed.len() >= SUBSCRIPTIONS_MAX && !subscribed.contains(&uri) {
            return Err(ErrorData::invalid_params(
                "too many subscriptions: give some up first",
                None,
            ));
        }
        subscribed.insert(uri);
        Ok(())
    }

    pub(super) fn unsubscribe(&self, uri: &str) -> Result<(), ErrorData> {
        let mut subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever gives up what he does not have is where he wants to be.
        subscribed.remove(uri);
        Ok(())
    }

    /// Says that a snippet has come or gone. A client that cannot be told is gone, and needs no telling.
    pub(super) async fn tell(&self, uri: &str, context: &RequestContext<RoleServer>) {
        _ = self.told.send(uri.to_owned());
        // In the new era nothing is sent to those who do not listen.
        if context.meta.protocol_version().is_some() {
            return;
        }
        _ = context.peer.notify_resource_list_changed().await;
        let is_subscribed =
            self.subscribed.lock().unwrap_or_else(PoisonError::into_inner).contains(uri);
        if is_subscribed {
            let updated = ResourceUpdatedNotificationParam::new(uri);
            _ = context.peer.notify_resource_updated(updated).await;
        }
    }

    /// Passes on what a listener wants to hear, until it leaves.
    pub(super) async fn follow(&self, context: &SubscriptionContext) -> Result<(), ErrorData> {
        let mut ended = self.ended.subscribe();
        // Around the sending too: what is on its way when the client goes never comes back.
        tokio::select! {
            () = context.cancelled() => {}
            _ = ended.wait_for(|ended| *ended) => {}
            () = self.pass_on(context) => {}
        }
        Ok(())
    }

    /// Ends when the listener cannot be told any more.
    async fn pass_on(&self, context: &SubscriptionContext) {
        let mut told = self.told.subscribe();
        let accepted = context.accepted();
        let wants_list = accepted.resources_list_changed == Some(true);
        let wanted = accepted.resource_subscriptions.clone().unwrap_or_default();
        loop {
            let uris = match told.recv().await {
                Ok(uri) => wanted.iter().filter(|wanted| **wanted == uri).cloned().collect(),
                Err(RecvError::Lagged(_)) => wanted.clone(),
                Err(RecvError::Closed) => return,
            };
            let mut sent = Ok(());
            if wants_list {
                sent = context.sink().notify_resource_list_changed().await;
            }
            for uri in uris {
                sent = sent.and(context.sink().notify_resource_updated(uri).await);
            }
            if sent.is_err() {
                return;
            }
        }
    }
}
