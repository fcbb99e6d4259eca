//! Tests of what becomes of documents that cannot be taken in, on a store that knows nothing but the last answer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::identity::AuditEntry;
use agent::knowledge::{Collection, DocumentChunks};
use agent::names::TenantId;
use agent::ports::{
    Audit, Change, DocumentList, Documents, EmbedFor, Embedder, Entropy, Fetched, Find, Finding,
    Index, IndexState, Job, Jobs, Lane, Later, Page, Pages,
};
use testkit::clock::HandClock;
use testkit::samples;

use super::*;
use crate::knowledge::{Parts, Rules};
use crate::tasks::Tasks;
use crate::worker::{Pool, PoolSettings};

/// Answers every put the same, and nothing else is there.
struct Stub {
    answer: Put,
    put: Mutex<Vec<Document>>,
}

fn none<'a, T: Default + Send + 'a>() -> Later<'a, T> {
    Box::pin(async { Ok(T::default()) })
}

fn unasked<'a, T: Send + 'a>() -> Later<'a, T> {
    Box::pin(async { Err(PortError::Refused("nobody asks for this here".to_owned())) })
}

impl Documents for Stub {
    fn put<'a>(&'a self, _tenant: &'a TenantId, kept: Kept) -> Later<'a, Put> {
        self.put.lock().unwrap().push(kept.document);
        Box::pin(async { Ok(self.answer) })
    }
    fn delete<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _ids: Vec<DocumentId>,
        _audit: AuditEntry,
    ) -> Later<'a, Vec<DocumentId>> {
        none()
    }
    fn get<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _id: &'a DocumentId,
    ) -> Later<'a, Option<Document>> {
        none()
    }
    fn content<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _id: &'a DocumentId,
    ) -> Later<'a, Option<Vec<u8>>> {
        none()
    }
    fn list<'a>(&'a self, _tenant: &'a TenantId, _list: DocumentList) -> Later<'a, Page<Document>> {
        unasked()
    }
    fn collections<'a>(&'a self, _tenant: &'a TenantId) -> Later<'a, Vec<Collection>> {
        none()
    }
    fn put_collection<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _collection: Collection,
        _audit: AuditEntry,
    ) -> Later<'a, ()> {
        none()
    }
    fn delete_collection<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _name: CollectionName,
        _audit: AuditEntry,
    ) -> Later<'a, bool> {
        none()
    }
    fn changes<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _after: u64,
        _limit: usize,
    ) -> Later<'a, Vec<Change>> {
        none()
    }
    fn forget_deleted<'a>(&'a self, _tenant: &'a TenantId, _up_to: u64) -> Later<'a, u64> {
        none()
    }
    fn tenants(&self) -> Later<'_, Vec<TenantId>> {
        none()
    }
}

impl Jobs for Stub {
    fn accept<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _job: Job,
        _upload: Vec<u8>,
        _idempotency: Option<String>,
    ) -> Later<'a, Job> {
        unasked()
    }
    fn upload<'a>(&'a self, _tenant: &'a TenantId, _id: &'a str) -> Later<'a, Option<Vec<u8>>> {
        none()
    }
    fn update<'a>(&'a self, _tenant: &'a TenantId, _job: Job) -> Later<'a, ()> {
        none()
    }
    fn job<'a>(&'a self, _tenant: &'a TenantId, _id: &'a str) -> Later<'a, Option<Job>> {
        none()
    }
    fn jobs<'a>(&'a self, _tenant: &'a TenantId, _limit: usize) -> Later<'a, Vec<Job>> {
        none()
    }
    fn waiting(&self) -> Later<'_, Vec<(TenantId, Job)>> {
        none()
    }
    fn forget_finished<'a>(&'a self, _before: agent::identity::Timestamp) -> Later<'a, u64> {
        none()
    }
}

impl Audit for Stub {
    fn note<'a>(&'a self, _tenant: &'a TenantId, _entry: AuditEntry) -> Later<'a, ()> {
        none()
    }

    fn entries<'a>(&'a self, _tenant: &'a TenantId, _limit: usize) -> Later<'a, Vec<AuditEntry>> {
        none()
    }
    fn first_forged<'a>(&'a self, _tenant: &'a TenantId) -> Later<'a, Option<u64>> {
        none()
    }
}

impl Index for Stub {
    fn state<'a>(&'a self, _tenant: &'a TenantId, _lane: Lane) -> Later<'a, Option<IndexState>> {
        none()
    }
    fn stage<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _lane: Lane,
        _documents: Vec<DocumentChunks>,
    ) -> Later<'a, ()> {
        none()
    }
    fn apply<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _lane: Lane,
        _documents: Vec<DocumentChunks>,
        _applied: u64,
    ) -> Later<'a, ()> {
        none()
    }
    fn begin<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _embedder: &'a str,
        _dimensions: usize,
        _recipe: &'a str,
    ) -> Later<'a, Lane> {
        unasked()
    }
    fn promote<'a>(&'a self, _tenant: &'a TenantId) -> Later<'a, ()> {
        none()
    }
    fn find<'a>(&'a self, _tenant: &'a TenantId, _find: &'a Find) -> Later<'a, Box<dyn Finding>> {
        unasked()
    }
    fn known_tags<'a>(
        &'a self,
        _tenant: &'a TenantId,
    ) -> Later<'a, std::collections::BTreeSet<String>> {
        none()
    }
    fn compact<'a>(&'a self, _tenant: &'a TenantId) -> Later<'a, u64> {
        none()
    }
}

impl Embedder for Stub {
    fn identity(&self) -> &str {
        "stub"
    }
    fn dimensions(&self) -> usize {
        1
    }
    fn embed<'a>(&'a self, _texts: &'a [String], _purpose: EmbedFor) -> Later<'a, Vec<Vec<f32>>> {
        none()
    }
}

impl Pages for Stub {
    fn fetch<'a>(&'a self, _address: &'a str) -> Later<'a, Fetched> {
        unasked()
    }
}

impl Entropy for Stub {
    fn fill(&self, _bytes: &mut [u8]) -> Result<(), PortError> {
        Ok(())
    }
}

/// Knowledge that takes documents of up to one MiB, on a store that answers like this.
fn knowledge(answer: Put) -> (Knowledge, Arc<Stub>) {
    let stub = Arc::new(Stub { answer, put: Mutex::default() });
    let readers = Pool::new(PoolSettings {
        program: PathBuf::from("/nonexistent"),
        argument: String::new(),
        children_max: 1,
        read_wait_max: Duration::from_secs(1),
    });
    let parts = Parts {
        documents: stub.clone(),
        jobs: stub.clone(),
        audit: stub.clone(),
        sessions: Arc::new(testkit::sessions::MemorySessions::default()),
        ledger: Arc::new(testkit::sessions::MemorySessions::default()),
        tool_records: Arc::new(testkit::tool_records::MemoryToolRecords::default()),
        agent_tasks: Arc::new(testkit::agent_tasks::MemoryAgentTasks::default()),
        index: stub.clone(),
        embedder: stub.clone(),
        other_embedders: Vec::new(),
        pages: stub.clone(),
        readers,
        clock: Arc::new(HandClock::at(1)),
        entropy: stub.clone(),
        tasks: Tasks::new(),
    };
    (Knowledge::new(parts, Rules { document_bytes_max: 1 << 20, ..Rules::default() }), stub)
}

fn new_document(bytes: usize) -> NewDocument {
    NewDocument {
        collection: "things".parse().unwrap(),
        source: "large.txt".to_owned(),
        bytes: vec![b'x'; bytes],
        media_type: None,
        doc_type: None,
        mapping: None,
        updated_at: None,
        accepted: Some(1),
    }
}

#[tokio::test]
async fn a_document_that_is_too_large_fails_with_the_reason_and_gets_a_type() {
    let (knowledge, stub) = knowledge(Put::Kept { sequence: 1 });
    let owner = Principal::local_owner();
    let ingested = knowledge.ingest(&owner, new_document((1 << 20) + 1)).await.unwrap();
    let reason = "it has 1048577 bytes and 1 MiB are allowed: split it, or raise ingest.document_mebibytes_max";
    assert_eq!(ingested.outcome, Outcome::Failed { reason: reason.to_owned() });
    let kept = stub.put.lock().unwrap();
    assert_eq!((kept[0].doc_type.as_str(), kept.len()), (reading::GUIDE, 1));
    assert_eq!(too_large(1 << 20, 1 << 20), None);
}

#[tokio::test]
async fn a_failure_that_came_too_late_is_no_failure() {
    let (knowledge, _) = knowledge(Put::Superseded);
    let owner = Principal::local_owner();
    let ingested = knowledge.ingest(&owner, new_document((1 << 20) + 1)).await.unwrap();
    assert_eq!(ingested.outcome, Outcome::Superseded);
}

#[tokio::test]
async fn a_reading_that_cannot_be_read_is_our_fault_and_not_the_callers() {
    let (knowledge, stub) = knowledge(Put::Kept { sequence: 1 });
    let document = samples::document(&samples::id('a'), "things", "one");
    let content = b"this is no reading".to_vec();
    let owner = Principal::local_owner();
    let error = knowledge.keep(&owner, document, &new_document(1), content).await.unwrap_err();
    assert!(matches!(error, EngineError::Port(PortError::Broken { .. })), "{error:?}");
    assert!(stub.put.lock().unwrap().is_empty());
}
