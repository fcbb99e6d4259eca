//! Tells a client what has changed: in the older era on its connection, in the newer one on the stream it asked for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use agent::names::TenantId;
use engine::Following;
use futures_util::future::select_all;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::SubscriptionSink;
use rmcp::{Peer, RoleServer};
use tokio::sync::broadcast;

use crate::mcp::knowledge::document_of;
use crate::mcp::offer::{News, Offer};

/// Who is told, and of what.
pub(super) enum Told {
    /// A connection of the older era: of all lists, and of what it watches at that moment.
    Connection { peer: Peer<RoleServer>, watched: Arc<Mutex<BTreeSet<String>>> },
    /// A stream of the newer era: of what it asked for, which its sink knows.
    Subscription(SubscriptionSink),
}

/// What is told to a client: everything that happens after this value was made.
#[derive(Default)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    pub(super) async fn open(offers: &[Arc<dyn Offer>], tenant: &TenantId) -> Self {
        let mut sources = Vec::new();
        for offer in offers {
            sources.extend(offer.news().map(Source::News));
            if let Some(knowledge) = offer.knowledge() {
                match knowledge.follow(tenant).await {
                    Ok(following) => sources.push(Source::Documents(Box::new(following))),
                    Err(error) => tracing::warn!(%error, "a client hears nothing of documents"),
                }
            }
        }
        Self(sources)
    }
}

/// Tells everything that happens until the client is gone.
pub(super) async fn tell(sources: Sources, told: &Told) {
    let Sources(mut sources) = sources;
    while !sources.is_empty() {
        let waiting = sources.iter_mut().map(|source| Box::pin(source.next()));
        let (news, place, _) = select_all(waiting).await;
        match news {
            Some(news) => {
                if !told.tell(&news).await {
                    return;
                }
            }
            // Nothing more comes from there.
            None => drop(sources.remove(place)),
        }
    }
}

enum Source {
    Documents(Box<Following>),
    News(broadcast::Receiver<News>),
}

impl Source {
    async fn next(&mut self) -> Option<News> {
        match self {
            Self::Documents(following) => match following.next().await {
                Ok(documents) => documents.map(News::Documents),
                Err(error) => {
                    tracing::warn!(%error, "a client hears no more of documents");
                    None
                }
            },
            Self::News(news) => loop {
                match news.recv().await {
                    Ok(news) => return Some(news),
                    // Lists are told to be read again, so that one word is as good as many.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            },
        }
    }
}

impl Told {
    /// False if the client is gone.
    async fn tell(&self, news: &News) -> bool {
        match news {
            News::ToolsChanged => self.tools_changed().await,
            News::PromptsChanged => self.prompts_changed().await,
            News::Documents(documents) => {
                let is_changed = |uri: &String| {
                    document_of(uri).is_some_and(|document| documents.contains(&document))
                };
                let changed: Vec<String> = self.watched().into_iter().filter(is_changed).collect();
                for uri in changed {
                    if !self.updated(uri).await {
                        return false;
                    }
                }
                self.resources_changed().await
            }
        }
    }

    fn watched(&self) -> Vec<String> {
        match self {
            Self::Connection { watched, .. } => {
                watched.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
            }
            Self::Subscription(sink) => {
                sink.accepted().resource_subscriptions.clone().unwrap_or_default()
            }
        }
    }

    async fn tools_changed(&self) -> bool {
        match self {
            Self::Connection { peer, .. } => peer.notify_tool_list_changed().await.is_ok(),
            Self::Subscription(sink) => {
                !wants(sink.accepted().tools_list_changed)
                    || sink.notify_tool_list_changed().await.is_ok()
            }
        }
    }

    async fn prompts_changed(&self) -> bool {
        match self {
            Self::Connection { peer, .. } => peer.notify_prompt_list_changed().await.is_ok(),
            Self::Subscription(sink) => {
                !wants(sink.accepted().prompts_list_changed)
                    || sink.notify_prompt_list_changed().await.is_ok()
            }
        }
    }

    async fn resources_changed(&self) -> bool {
        match self {
            Self::Connection { peer, .. } => peer.notify_resource_list_changed().await.is_ok(),
            Self::Subscription(sink) => {
                !wants(sink.accepted().resources_list_changed)
                    || sink.notify_resource_list_changed().await.is_ok()
            }
        }
    }

    async fn updated(&self, uri: String) -> bool {
        match self {
            Self::Connection { peer, .. } => {
                let updated = ResourceUpdatedNotificationParam::new(uri);
                peer.notify_resource_updated(updated).await.is_ok()
            }
            Self::Subscription(sink) => sink.notify_resource_updated(uri).await.is_ok(),
        }
    }
}

fn wants(asked: Option<bool>) -> bool {
    asked == Some(true)
}
