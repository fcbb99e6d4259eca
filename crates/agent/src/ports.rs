//! What Saem needs of the world, each need a small trait; adapters implement them, `engine` calls them.

mod entries;
mod research;
mod sessions;
mod tasks;
mod tools;

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::filter::Filter;
use crate::identity::{ApiKey, AuditEntry, Timestamp};
use crate::knowledge::{Collection, Document, DocumentChunks, Passage};
use crate::language::Language;
use crate::names::{CollectionName, DocumentId, TenantId};

pub use self::entries::{AgentEntries, Catalogues, EntryList, KeepEntry, KeptEntry};
pub use self::research::{Journals, KeptRun, NewEntries, RunLine, RunList, Searched, Searches};
pub use self::sessions::{
    KeepSession, KeptSession, Ledger, RECORDS_MAX, SAID_MAX, SessionLine, Sessions,
};
pub use self::tasks::{
    AgentTasks, HookKey, KeepTask, KeptTask, NewNotice, Notice, Outbox, Posts, TaskKey, TaskList,
    TaskRows,
};
pub use self::tools::{ActivityList, LoginVault, ToolRecords};

/// Why a port did not do what it was asked; variants by who can do something about it.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The operator: make room, on the disk or in Redis. What was kept is safe, reading goes on.
    #[error(
        "there is no room left: free some space on the disk, or raise the maxmemory of Redis, and try again"
    )]
    Full,
    /// The caller: try again in a moment.
    #[error("{what} is busy: try again in a moment")]
    Busy { what: &'static str },
    /// The operator or time: something outside does not answer.
    #[error("{what} does not answer: {why}")]
    Unavailable { what: String, why: String },
    /// The caller: the input cannot be used.
    #[error("{0}")]
    Refused(String),
    /// Nobody but us.
    #[error("{what} failed")]
    Broken { what: &'static str, source: Box<dyn std::error::Error + Send + Sync> },
}

/// What a port gives back, later.
pub type Later<'a, T> = BoxFuture<'a, Result<T, PortError>>;

/// The time of day, given so that tests can set it.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// Bytes that nobody can guess.
pub trait Entropy: Send + Sync {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError>;
}

/// What a text is embedded for: some models want the two told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedFor {
    Query,
    Passage,
}

/// Turns texts into unit vectors.
pub trait Embedder: Send + Sync {
    /// Changes whenever vectors of before and after must not be compared.
    fn identity(&self) -> &str;
    /// None when no vectors are wanted: then nothing is embedded and keywords have to do.
    fn dimensions(&self) -> usize;
    /// One vector of `dimensions` numbers for each text, in order.
    fn embed<'a>(&'a self, texts: &'a [String], purpose: EmbedFor) -> Later<'a, Vec<Vec<f32>>>;
}

/// One state of a document, as kept: the record and, if it was read, its content.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    pub document: Document,
    /// The reading of it (an `extract::Extracted`, serialised by `engine`); none keeps the one of before.
    pub content: Option<Vec<u8>>,
    /// When it was accepted, in the count of changes; none for now.
    pub accepted: Option<u64>,
    /// Kept together with the change.
    pub audit: AuditEntry,
}

/// What became of a document that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is kept, as the change of this number.
    Kept { sequence: u64 },
    /// A version that was accepted later, or a deletion, has come before it; nothing was changed.
    Superseded,
}

/// A document that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub sequence: u64,
    pub document: DocumentId,
}

/// A page of a list and where the next one starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Pass it as `after` to go on; none at the end.
    pub next: Option<String>,
}

/// Which documents a list shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DocumentList {
    pub collection: Option<CollectionName>,
    pub after: Option<String>,
    pub limit: usize,
}

/// Documents and collections, durable.
///
/// A write is on disk when its future is ready. A document's record, content and change become visible together.
pub trait Documents: Send + Sync {
    /// Keeps a document, unless it comes too late. Its collection is made if it is not there.
    fn put<'a>(&'a self, tenant: &'a TenantId, kept: Kept) -> Later<'a, Put>;
    /// Forgets documents; says which of them were there.
    fn delete<'a>(
        &'a self,
        tenant: &'a TenantId,
        ids: Vec<DocumentId>,
        audit: AuditEntry,
    ) -> Later<'a, Vec<DocumentId>>;
    fn get<'a>(&'a self, tenant: &'a TenantId, id: &'a DocumentId) -> Later<'a, Option<Document>>;
    fn content<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a DocumentId,
    ) -> Later<'a, Option<Vec<u8>>>;
    /// In the order of ids.
    fn list<'a>(&'a self, tenant: &'a TenantId, list: DocumentList) -> Later<'a, Page<Document>>;
    fn collections<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Vec<Collection>>;
    fn put_collection<'a>(
        &'a self,
        tenant: &'a TenantId,
        collection: Collection,
        audit: AuditEntry,
    ) -> Later<'a, ()>;
    /// Removes a collection that holds no document; false if it is not there.
    fn delete_collection<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: CollectionName,
        audit: AuditEntry,
    ) -> Later<'a, bool>;
    /// Changes after `sequence`, oldest first, at most `limit`; a document stands at its latest change only.
    fn changes<'a>(
        &'a self,
        tenant: &'a TenantId,
        after: u64,
        limit: usize,
    ) -> Later<'a, Vec<Change>>;
    /// Forgets the traces of documents deleted at or before `up_to`, once no index needs them.
    fn forget_deleted<'a>(&'a self, tenant: &'a TenantId, up_to: u64) -> Later<'a, u64>;
    fn tenants(&self) -> Later<'_, Vec<TenantId>>;
}

/// Work that was accepted and goes on after the answer, also over a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub id: String,
    /// Who asked for it.
    pub principal: String,
    pub created_at: Timestamp,
    /// Its place in the tenant's count of changes; given by the store.
    pub accepted: u64,
    pub finished_at: Option<Timestamp>,
    pub state: JobState,
    /// What is to be done: the engine's own words, as JSON.
    pub order: serde_json::Value,
    pub documents_done: u32,
    /// How many of those were known already, byte for byte.
    #[serde(default)]
    pub documents_unchanged: u32,
    /// Chunks of the documents that are new or changed.
    #[serde(default)]
    pub chunks: u32,
    pub failures: Vec<JobFailure>,
    pub tries: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Waiting,
    Done,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    pub source: String,
    pub reason: String,
}

/// Accepted work, durable.
pub trait Jobs: Send + Sync {
    /// Keeps the job and its upload together. With an `idempotency` key that is known, gives the job of before.
    fn accept<'a>(
        &'a self,
        tenant: &'a TenantId,
        job: Job,
        upload: Vec<u8>,
        idempotency: Option<String>,
    ) -> Later<'a, Job>;
    /// The upload of a job that is not finished.
    fn upload<'a>(&'a self, tenant: &'a TenantId, id: &'a str) -> Later<'a, Option<Vec<u8>>>;
    /// Keeps the new state; a finished job's upload is let go.
    fn update<'a>(&'a self, tenant: &'a TenantId, job: Job) -> Later<'a, ()>;
    fn job<'a>(&'a self, tenant: &'a TenantId, id: &'a str) -> Later<'a, Option<Job>>;
    /// Newest first.
    fn jobs<'a>(&'a self, tenant: &'a TenantId, limit: usize) -> Later<'a, Vec<Job>>;
    /// All waiting jobs of all tenants, oldest first.
    fn waiting(&self) -> Later<'_, Vec<(TenantId, Job)>>;
    /// Forgets finished jobs that ended before `before`; says how many.
    fn forget_finished<'a>(&'a self, before: Timestamp) -> Later<'a, u64>;
}

/// API keys, durable.
pub trait Keys: Send + Sync {
    fn put_key(&self, key: ApiKey, audit: AuditEntry) -> Later<'_, ()>;
    fn find_key<'a>(&'a self, prefix: &'a str) -> Later<'a, Option<ApiKey>>;
    /// Whether a key was ever made.
    fn has_keys(&self) -> Later<'_, bool>;
    fn keys<'a>(&'a self, tenant: Option<&'a TenantId>) -> Later<'a, Vec<ApiKey>>;
}

/// Who changed what: append-only, each entry chained to the one before by its hash.
///
/// Entries are written together with the change they tell of, by the ports that change something durable here.
pub trait Audit: Send + Sync {
    /// Notes a change of what is kept elsewhere.
    fn note<'a>(&'a self, tenant: &'a TenantId, entry: AuditEntry) -> Later<'a, ()>;
    /// Newest first.
    fn entries<'a>(&'a self, tenant: &'a TenantId, limit: usize) -> Later<'a, Vec<AuditEntry>>;
    /// The position of the first entry whose chain is broken, if any.
    fn first_forged<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Option<u64>>;
}

/// Which of a tenant's two indexes is meant: a new one is built while the old one serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    Serving,
    Building,
}

/// What an index holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct IndexState {
    /// The last change of the store that is in it.
    pub applied: u64,
    /// The embedder whose vectors it holds; empty for keywords only.
    pub embedder: String,
    /// The recipe of analysis and splitting that it was made with.
    pub recipe: String,
    pub chunks: u64,
    pub vectors: u64,
}

/// What is searched for; a side without input finds nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Find {
    pub text: Option<String>,
    pub vector: Option<Vec<f32>>,
    pub filter: Filter,
    /// Most hits of each side.
    pub count: usize,
}

/// Names a chunk within one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkKey(pub u64);

/// One hit of one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub key: ChunkKey,
    pub score: f32,
    pub language: Language,
}

/// The two lists of one moment of the index, and the passages behind them.
pub trait Finding: Send + Sync {
    /// Best first, by keyword score.
    fn keyword(&self) -> &[Hit];
    /// Best first, by similarity.
    fn vector(&self) -> &[Hit];
    /// How much of what was asked the best keyword hit says, by weight: 0 to 1.
    fn coverage(&self) -> f32;
    /// All that pass the filter, newest first, when neither text nor vector was given.
    fn listed(&self) -> &[Hit];
    /// The passages of these keys, in this order, from the same moment; score and `found` are left at zero.
    fn load<'a>(&'a self, keys: &'a [ChunkKey]) -> Later<'a, Vec<Passage>>;
}

/// Hybrid search over chunks. Tenants never meet.
///
/// All of one `apply` becomes visible at once and is durable then. Searching never waits for it.
pub trait Index: Send + Sync {
    fn state<'a>(&'a self, tenant: &'a TenantId, lane: Lane) -> Later<'a, Option<IndexState>>;
    /// Readies the chunks of these documents: the next `apply` shows them, or one that is under way. What fails or ends
    /// before it loses them.
    fn stage<'a>(
        &'a self,
        tenant: &'a TenantId,
        lane: Lane,
        documents: Vec<DocumentChunks>,
    ) -> Later<'a, ()>;
    /// Replaces the chunks of these documents and notes that changes up to `applied` are in.
    fn apply<'a>(
        &'a self,
        tenant: &'a TenantId,
        lane: Lane,
        documents: Vec<DocumentChunks>,
        applied: u64,
    ) -> Later<'a, ()>;
    /// Starts an empty index beside the serving one, or as the serving one if there is none.
    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        embedder: &'a str,
        dimensions: usize,
        recipe: &'a str,
    ) -> Later<'a, Lane>;
    /// Makes the building index the serving one and lets the old one go.
    fn promote<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, ()>;
    fn find<'a>(&'a self, tenant: &'a TenantId, find: &'a Find) -> Later<'a, Box<dyn Finding>>;
    /// The tags that a filter may name, besides the built-in ones.
    fn known_tags<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, BTreeSet<String>>;
    /// Merges what has become small or full of deletions; says how many bytes the disk got back.
    fn compact<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, u64>;
}

/// A stranger's page or file, fetched through the egress guard.
#[derive(Debug, Clone, PartialEq)]
pub struct Fetched {
    /// Where it was found in the end, redirects followed.
    pub address: String,
    pub media_type: Option<String>,
    pub bytes: Vec<u8>,
}

/// Opens addresses that came from outside. What may be reached is decided at the moment of use.
pub trait Pages: Send + Sync {
    fn fetch<'a>(&'a self, address: &'a str) -> Later<'a, Fetched>;
    /// The same, past whatever is remembered of the page.
    fn fetch_anew<'a>(&'a self, address: &'a str) -> Later<'a, Fetched> {
        self.fetch(address)
    }
}

/// Steps of keeping something that a test may interrupt. Outside of tests nothing happens there.
pub trait Failpoints: Send + Sync {
    /// Returns, or does not return.
    fn reached(&self, point: &'static str);
}

/// Goes on at every point.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFailpoints;

impl Failpoints for NoFailpoints {
    fn reached(&self, _point: &'static str) {}
}
