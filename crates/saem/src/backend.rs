//! Where a command does its work: on the data folder itself, or at the server that has it.

pub(crate) mod agents;
mod chat;
mod form;
mod remote;
pub(crate) mod research;
pub(crate) mod tools;

use agent::identity::{Principal, Scope};
use agent::names::{CollectionName, DocumentId, TenantId};
use agent::ports::DocumentList;
use anyhow::{Context, Result};
use engine::keys::KeyOrder;
use engine::search::SearchRequest;
use engine::{EngineError, Expected, NewDocument, Order, Outcome, Upload};
use server::api::wire::{
    CleanupBody, DocumentBody, DocumentsBody, JobBody, KeyBody, MintedBody, PassageBody,
    SearchBody, SectionBody, WorkState,
};
use store::Store;

pub(crate) use self::chat::{Answering, LocalChat, Told, Unwatched};
pub(crate) use self::remote::Client;
use crate::config::Config;
use crate::wiring::{self, Claim, Installation};

/// Documents asked for at a time.
const PAGE: usize = 500;

/// The data folder, opened as far as the command needs it, or a server.
pub(crate) enum Backend<L> {
    Local(L),
    Remote(Client),
}

/// A search, with its conditions as they were written.
pub(crate) struct Search {
    pub(crate) request: SearchRequest,
    pub(crate) conditions: Vec<String>,
    pub(crate) explain: bool,
}

/// A key that is asked for; without a tenant, one for the caller's own.
pub(crate) struct WantedKey {
    pub(crate) tenant: Option<String>,
    pub(crate) label: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) days: Option<u64>,
}

/// What became of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loaded {
    Kept { chunks: u64 },
    Unchanged,
    Failed { reason: String },
}

impl<L> Backend<L> {
    /// The server that was named, else the data folder, else the server that has the data folder open.
    async fn find(config: &Config, open: impl AsyncFnOnce(Store) -> Result<L>) -> Result<Self> {
        if let Some(remote) = &config.remote {
            return Ok(Self::Remote(Client::of_address(remote)?));
        }
        Ok(match wiring::claim(config).await? {
            Claim::Ours(store) => Self::Local(open(store).await?),
            Claim::Served(running) => Self::Remote(Client::of_owner(&running)?),
        })
    }
}

impl Backend<Store> {
    /// For commands that need keys only.
    pub(crate) async fn keys(config: &Config) -> Result<Self> {
        Self::find(config, async |store| Ok(store)).await
    }

    pub(crate) async fn create_key(&self, wanted: WantedKey) -> Result<MintedBody> {
        match self {
            Self::Local(store) => {
                let scopes = wanted.scopes.iter().map(|scope| scope.parse());
                let order = KeyOrder {
                    tenant: wanted.tenant.map_or(Ok(TenantId::local()), |name| name.parse())?,
                    label: wanted.label,
                    scopes: scopes.collect::<Result<Vec<Scope>, _>>()?,
                    days: wanted.days,
                };
                let ring = wiring::keyring(store);
                let (secret, key) = ring.create(&Principal::local_owner(), order).await?;
                Ok(MintedBody { secret: secret.expose().to_owned(), key: key.into() })
            }
            Self::Remote(client) => client.create_key(wanted).await,
        }
    }

    pub(crate) async fn list_keys(&self) -> Result<Vec<KeyBody>> {
        match self {
            Self::Local(store) => {
                let keys = wiring::keyring(store).list(None).await?;
                Ok(keys.into_iter().map(Into::into).collect())
            }
            Self::Remote(client) => client.list_keys().await,
        }
    }

    pub(crate) async fn revoke_key(&self, prefix: &str) -> Result<()> {
        let is_there = match self {
            Self::Local(store) => {
                let ring = wiring::keyring(store);
                found(ring.revoke(&Principal::local_owner(), None, prefix).await)?
            }
            Self::Remote(client) => client.revoke_key(prefix).await?,
        };
        is_there.with_context(|| {
            format!("there is no key {prefix}; `saem key list` shows the prefixes")
        })
    }
}

impl Backend<Installation> {
    pub(crate) async fn open(config: &Config) -> Result<Self> {
        Self::find(config, async |store| Installation::on(config, store).await).await
    }

    pub(crate) async fn close(self) {
        match self {
            Self::Local(installation) => installation.close().await,
            Self::Remote(_) => {}
        }
    }

    pub(crate) async fn search(&self, search: Search) -> Result<SearchBody> {
        match self {
            Self::Local(installation) => {
                let tenant = TenantId::local();
                let answer = installation.knowledge.search(&tenant, search.request).await?;
                let body = |passage| PassageBody::new(passage, search.explain);
                let passages = answer.passages.into_iter().map(body).collect();
                Ok(SearchBody { passages, warnings: answer.warnings })
            }
            Self::Remote(client) => client.search(&search).await,
        }
    }

    /// Says how many documents are about to be taken in here.
    pub(crate) fn expect(&self, documents: usize) -> Option<Expected> {
        match self {
            Self::Local(installation) => {
                Some(installation.knowledge.expect(&TenantId::local(), documents))
            }
            // A server hears of each as it comes.
            Self::Remote(_) => None,
        }
    }

    /// Takes a document in; see [`Self::settle`] for when it can be found.
    pub(crate) async fn ingest(&self, new: NewDocument) -> Result<Loaded> {
        match self {
            Self::Local(installation) => {
                let owner = Principal::local_owner();
                let ingested = installation.knowledge.ingest(&owner, new).await?;
                Ok(ingested.outcome.into())
            }
            Self::Remote(client) => client.ingest(&new).await.map(Into::into),
        }
    }

    /// Takes in what stands at a web address.
    pub(crate) async fn fetch(&self, order: Order) -> Result<Loaded> {
        match self {
            Self::Local(installation) => {
                let (knowledge, owner) = (&installation.knowledge, Principal::local_owner());
                let upload = Upload { order, bytes: Vec::new(), idempotency: None };
                let job = knowledge.accept(&owner, upload).await?;
                let done = knowledge.finished(&owner.tenant, &job.id).await?;
                Ok(JobBody::from(done).into())
            }
            Self::Remote(client) => client.fetch(&order).await.map(Into::into),
        }
    }

    /// Waits until everything that was taken in can be found.
    pub(crate) async fn settle(&self) -> Result<()> {
        match self {
            Self::Local(installation) => {
                Ok(installation.knowledge.indexed(&TenantId::local(), None).await?)
            }
            // A job of a server ends when its document can be found.
            Self::Remote(_) => Ok(()),
        }
    }

    /// Every document, or every one of a collection, given to `take` page by page.
    pub(crate) async fn each_document(
        &self,
        collection: Option<&CollectionName>,
        mut take: impl FnMut(DocumentBody) -> Result<()>,
    ) -> Result<()> {
        let mut after = None;
        loop {
            let list = DocumentList { collection: collection.cloned(), after, limit: PAGE };
            let page = match self {
                Self::Local(installation) => {
                    let page = installation.knowledge.documents(&TenantId::local(), list).await?;
                    let documents = page.items.into_iter().map(Into::into).collect();
                    DocumentsBody { documents, next: page.next }
                }
                Self::Remote(client) => client.documents(&list).await?,
            };
            page.documents.into_iter().try_for_each(&mut take)?;
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    pub(crate) async fn document(&self, id: &DocumentId) -> Result<DocumentBody> {
        let document = match self {
            Self::Local(installation) => {
                let found = found(installation.knowledge.document(&TenantId::local(), id).await)?;
                found.map(Into::into)
            }
            Self::Remote(client) => client.document(id).await?,
        };
        document.with_context(|| absent(id))
    }

    pub(crate) async fn sections(&self, id: &DocumentId) -> Result<Vec<SectionBody>> {
        match self {
            Self::Local(installation) => {
                let sections = installation.knowledge.sections(&TenantId::local(), id).await?;
                Ok(sections.into_iter().map(SectionBody::in_list).collect())
            }
            Self::Remote(client) => client.sections(id).await,
        }
    }

    /// Deletes documents; says which of them were there.
    pub(crate) async fn delete(&self, ids: Vec<DocumentId>) -> Result<Vec<DocumentId>> {
        match self {
            Self::Local(installation) => {
                Ok(installation.knowledge.delete(&Principal::local_owner(), ids).await?)
            }
            Self::Remote(client) => client.delete(ids).await,
        }
    }

    pub(crate) async fn clean_up(&self) -> Result<CleanupBody> {
        match self {
            Self::Local(installation) => Ok(installation.knowledge.clean_up().await?.into()),
            Self::Remote(client) => client.clean_up().await,
        }
    }
}

/// What to say of a document that is not there.
pub(crate) fn absent(id: &DocumentId) -> String {
    format!("there is no document {id}; `saem documents list` shows them")
}

/// What is not there is none; other errors stay.
fn found<T>(outcome: Result<T, EngineError>) -> Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(EngineError::Absent { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl From<Outcome> for Loaded {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Unchanged { .. } | Outcome::Superseded => Self::Unchanged,
            Outcome::Kept { chunks, .. } => Self::Kept { chunks: chunks.into() },
            Outcome::Failed { reason } => Self::Failed { reason },
        }
    }
}

impl From<JobBody> for Loaded {
    fn from(job: JobBody) -> Self {
        match job.state {
            WorkState::Done if job.documents_unchanged > 0 => Self::Unchanged,
            WorkState::Done => Self::Kept { chunks: job.chunks.into() },
            WorkState::Waiting | WorkState::Failed => {
                let reason = job.failures.into_iter().next().map(|failure| failure.reason);
                let unknown = || "it did not come to an end".to_owned();
                Self::Failed { reason: reason.unwrap_or_else(unknown) }
            }
        }
    }
}
