//! A team's knowledge as one thing: documents go in, passages come out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent::identity::{AuditEntry, Principal};
use agent::knowledge::{Collection, Document};
use agent::names::{CollectionName, DocumentId, TenantId};
use agent::ports::{
    AgentTasks, Audit, Clock, DocumentList, Documents, Embedder, Entropy, Index, IndexState, Jobs,
    Lane, Ledger, Page, Pages, Sessions, ToolRecords,
};
use agent::retrieval::Shares;
use extract::SplitLimits;
use tokio::sync::{Semaphore, watch};

use crate::error::EngineError;
use crate::indexing::Indexer;
use crate::tasks::Tasks;
use crate::trees::Trees;
use crate::worker::Pool;

/// What knowledge is made of.
#[derive(Clone)]
pub struct Parts {
    pub documents: Arc<dyn Documents>,
    pub jobs: Arc<dyn Jobs>,
    pub audit: Arc<dyn Audit>,
    /// For clean-up alone, as the ledger is.
    pub sessions: Arc<dyn Sessions>,
    pub ledger: Arc<dyn Ledger>,
    pub tool_records: Arc<dyn ToolRecords>,
    pub agent_tasks: Arc<dyn AgentTasks>,
    pub index: Arc<dyn Index>,
    /// The embedder of the configuration.
    pub embedder: Arc<dyn Embedder>,
    /// Embedders that may serve an index made before the configuration changed.
    pub other_embedders: Vec<Arc<dyn Embedder>>,
    pub pages: Arc<dyn Pages>,
    pub readers: Pool,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub tasks: Tasks,
}

/// Numbers and rules of the configuration.
#[derive(Debug, Clone)]
pub struct Rules {
    pub shares: Shares,
    pub split: SplitLimits,
    /// Pattern of a path → `doc_type`.
    pub path_types: Vec<(String, String)>,
    /// Largest document, in bytes.
    pub document_bytes_max: usize,
    /// How long a finished job is remembered.
    pub jobs_kept_hours: u64,
    /// How long it is kept what was spent.
    pub costs_kept_days: u32,
    /// How long it is kept which tools were called.
    pub activity_kept_days: u32,
    /// Names how documents become index entries; another name makes every index anew.
    pub index_recipe: String,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            shares: Shares::default(),
            split: SplitLimits::default(),
            path_types: Vec::new(),
            document_bytes_max: extract::SOURCE_BYTES_MAX,
            jobs_kept_hours: 72,
            costs_kept_days: 400,
            activity_kept_days: 90,
            index_recipe: crate::reading::RECIPE.to_owned(),
        }
    }
}

/// Everything a tenant knows. Cheap to clone.
#[derive(Clone)]
pub struct Knowledge {
    pub(crate) parts: Arc<Parts>,
    pub(crate) rules: Arc<Rules>,
    indexers: Arc<Mutex<HashMap<TenantId, Arc<Indexer>>>>,
    /// Counts the jobs that have ended in this process.
    pub(crate) jobs_ended: watch::Sender<u64>,
    /// Room for the documents of running jobs, in MiB.
    pub(crate) job_room: Arc<Semaphore>,
    pub(crate) trees: Arc<Trees>,
}

impl Knowledge {
    #[must_use]
    pub fn new(parts: Parts, rules: Rules) -> Self {
        Self {
            parts: Arc::new(parts),
            rules: Arc::new(rules),
            indexers: Arc::default(),
            jobs_ended: watch::channel(0).0,
            job_room: Arc::new(Semaphore::new(crate::jobs::MEBIBYTES_AT_ONCE as usize)),
            trees: Arc::default(),
        }
    }

    /// Takes up what an earlier process has left: documents that are not indexed yet and waiting jobs.
    pub async fn resume(&self) -> Result<(), EngineError> {
        for tenant in self.parts.documents.tenants().await? {
            self.indexer(&tenant).wake();
        }
        for (tenant, job) in self.parts.jobs.waiting().await? {
            self.run_job(tenant, job);
        }
        Ok(())
    }

    pub async fn document(
        &self,
        tenant: &TenantId,
        id: &DocumentId,
    ) -> Result<Document, EngineError> {
        let found = self.parts.documents.get(tenant, id).await?;
        found.ok_or(EngineError::Absent { what: "document of this id" })
    }

    pub async fn documents(
        &self,
        tenant: &TenantId,
        list: DocumentList,
    ) -> Result<Page<Document>, EngineError> {
        if let Some(name) = &list.collection {
            self.collection(tenant, name).await?;
        }
        Ok(self.parts.documents.list(tenant, list).await?)
    }

    pub async fn collections(&self, tenant: &TenantId) -> Result<Vec<Collection>, EngineError> {
        Ok(self.parts.documents.collections(tenant).await?)
    }

    /// The collection of this name, or an error that names those that are there.
    pub async fn collection(
        &self,
        tenant: &TenantId,
        name: &CollectionName,
    ) -> Result<Collection, EngineError> {
        let all = self.parts.documents.collections(tenant).await?;
        let names: Vec<&str> = all.iter().map(|collection| collection.name.as_str()).collect();
        let names = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
        let found = all.iter().find(|collection| collection.name == *name).cloned();
        found.ok_or_else(|| {
            EngineError::Refused(format!("there is no collection {name}; there are: {names}"))
        })
    }

    /// Makes a collection, or gives an empty one another type.
    pub async fn put_collection(
        &self,
        principal: &Principal,
        name: CollectionName,
        doc_type: String,
    ) -> Result<Collection, EngineError> {
        let tenant = &principal.tenant;
        let list = DocumentList { collection: Some(name.clone()), after: None, limit: 1 };
        let page = self.parts.documents.list(tenant, list).await?;
        let before = self.collections(tenant).await?.into_iter().find(|c| c.name == name);
        if let Some(before) = before {
            if before.doc_type == doc_type {
                return Ok(before);
            }
            if !page.items.is_empty() {
                let kind = before.doc_type;
                let why = format!("the collection {name} holds documents of type {kind} already");
                return Err(EngineError::Conflict(why));
            }
        }
        let audit = self.audit(principal, "collection.put", name.as_str());
        let collection = Collection { name, doc_type, created_at: audit.at };
        self.parts.documents.put_collection(tenant, collection.clone(), audit).await?;
        Ok(collection)
    }

    /// Deletes a collection and every document in it; says how many.
    pub async fn delete_collection(
        &self,
        principal: &Principal,
        name: &CollectionName,
    ) -> Result<usize, EngineError> {
        self.collection(&principal.tenant, name).await?;
        let mut deleted = 0;
        loop {
            let list = DocumentList { collection: Some(name.clone()), after: None, limit: 500 };
            let page = self.parts.documents.list(&principal.tenant, list).await?;
            if page.items.is_empty() {
                break;
            }
            let ids = page.items.into_iter().map(|document| document.id).collect();
            deleted += self.delete(principal, ids).await?.len();
        }
        let audit = self.audit(principal, "collection.delete", name.as_str());
        self.parts.documents.delete_collection(&principal.tenant, name.clone(), audit).await?;
        Ok(deleted)
    }

    /// Deletes documents from the store and, before it returns, from every index.
    pub async fn delete(
        &self,
        principal: &Principal,
        ids: Vec<DocumentId>,
    ) -> Result<Vec<DocumentId>, EngineError> {
        let object = match ids.as_slice() {
            [id] => id.to_string(),
            ids => format!("{} documents", ids.len()),
        };
        let audit = self.audit(principal, "document.delete", &object);
        let gone = self.parts.documents.delete(&principal.tenant, ids, audit).await?;
        if !gone.is_empty() {
            self.indexed(&principal.tenant, None).await?;
        }
        Ok(gone)
    }

    pub async fn audit_entries(
        &self,
        tenant: &TenantId,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, EngineError> {
        Ok(self.parts.audit.entries(tenant, limit).await?)
    }

    /// What the serving index of a tenant holds.
    pub async fn index_state(&self, tenant: &TenantId) -> Result<Option<IndexState>, EngineError> {
        Ok(self.parts.index.state(tenant, Lane::Serving).await?)
    }

    /// What keeps any tenant's index from catching up, if something does.
    #[must_use]
    pub fn indexing_trouble(&self) -> Option<String> {
        let indexers = self.indexers.lock().unwrap_or_else(PoisonError::into_inner);
        indexers.values().find_map(|indexer| indexer.trouble())
    }

    /// The one indexer of a tenant, started by its first use.
    pub(crate) fn indexer(&self, tenant: &TenantId) -> Arc<Indexer> {
        let mut indexers = self.indexers.lock().unwrap_or_else(PoisonError::into_inner);
        let indexer = indexers.entry(tenant.clone()).or_insert_with(|| {
            Indexer::start(tenant.clone(), Arc::clone(&self.parts), Arc::clone(&self.rules))
        });
        Arc::clone(indexer)
    }

    pub(crate) fn audit(&self, principal: &Principal, action: &str, object: &str) -> AuditEntry {
        AuditEntry {
            at: self.parts.clock.now(),
            principal: principal.name.clone(),
            action: action.to_owned(),
            object: agent::text::clip(object, 1000).to_owned(),
        }
    }
}
