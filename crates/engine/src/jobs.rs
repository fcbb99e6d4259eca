//! Work that was accepted over the wire: it is on disk before the caller hears of it, and goes on after a restart.

use std::time::Duration;

use agent::identity::{Principal, Scope};
use agent::names::{CollectionName, TenantId};
use agent::ports::{Job, JobFailure, JobState, PortError};
use extract::Mapping;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::ingest::{NewDocument, Outcome};
use crate::knowledge::Knowledge;

/// A document that takes its reader down is tried again this often: the fault may have been ours.
const TRIES_MAX: u32 = 3;

/// Wait before the second try, and how it grows.
const RETRY_WAIT_MIN: Duration = Duration::from_secs(1);
const RETRY_WAIT_GROWTH: u32 = 4;

/// Longest idempotency key.
const IDEMPOTENCY_BYTES_MAX: usize = 200;

/// Documents of running jobs that are in memory at once, in MiB: four of the largest, or some hundred usual ones.
pub(crate) const MEBIBYTES_AT_ONCE: u32 = 256;

/// What a document counts for whose size is not known before it is fetched.
const MEBIBYTES_OF_ADDRESS: u32 = 8;

/// What a job is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub collection: CollectionName,
    /// The upload's name; for an address, the address.
    pub source: String,
    pub media_type: Option<String>,
    pub doc_type: Option<String>,
    pub mapping: Option<Mapping>,
    /// The bytes are to be fetched from `source`.
    pub is_address: bool,
    /// When the source was changed last, in ISO form, if the document does not say.
    #[serde(default)]
    pub updated_at: Option<String>,
}

/// An order with the bytes it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Upload {
    pub order: Order,
    pub bytes: Vec<u8>,
    /// The same key gives the same job, however often it is sent.
    pub idempotency: Option<String>,
}

/// What a job did in the end.
enum Taken {
    Kept { chunks: u32 },
    Unchanged,
    Failed { reason: String },
}

impl Knowledge {
    /// Accepts a document; what is returned survives a crash.
    pub async fn accept(&self, principal: &Principal, upload: Upload) -> Result<Job, EngineError> {
        let too_long = upload.idempotency.as_ref().map_or(0, String::len) > IDEMPOTENCY_BYTES_MAX;
        if too_long {
            let why = format!("an idempotency key has at most {IDEMPOTENCY_BYTES_MAX} bytes");
            return Err(EngineError::Refused(why));
        }
        let mut order = serde_json::to_value(&upload.order)
            .map_err(|error| EngineError::Refused(error.to_string()))?;
        if let (Some(order), false) = (order.as_object_mut(), upload.order.is_address) {
            order.insert("bytes".to_owned(), upload.bytes.len().into());
        }
        let now = self.parts.clock.now();
        let job = Job {
            id: self.new_id()?,
            principal: principal.name.clone(),
            created_at: now,
            accepted: 0,
            finished_at: None,
            state: JobState::Waiting,
            order,
            documents_done: 0,
            documents_unchanged: 0,
            chunks: 0,
            failures: Vec::new(),
            tries: 0,
        };
        let id = job.id.clone();
        let tenant = &principal.tenant;
        let job = self.parts.jobs.accept(tenant, job, upload.bytes, upload.idempotency).await?;
        if job.id == id {
            self.run_job(tenant.clone(), job.clone());
        }
        Ok(job)
    }

    pub async fn job(&self, tenant: &TenantId, id: &str) -> Result<Job, EngineError> {
        let found = self.parts.jobs.job(tenant, id).await?;
        found.ok_or(EngineError::Absent { what: "job of this id" })
    }

    /// The job once it is finished, or when it cannot go on in this process.
    pub async fn finished(&self, tenant: &TenantId, id: &str) -> Result<Job, EngineError> {
        let mut ended = self.jobs_ended.subscribe();
        loop {
            ended.borrow_and_update();
            let job = self.job(tenant, id).await?;
            if job.state != JobState::Waiting || ended.changed().await.is_err() {
                return Ok(job);
            }
        }
    }

    pub async fn jobs(&self, tenant: &TenantId, limit: usize) -> Result<Vec<Job>, EngineError> {
        Ok(self.parts.jobs.jobs(tenant, limit).await?)
    }

    /// Runs a job in the background; if the process ends first, the next one takes it up.
    pub(crate) fn run_job(&self, tenant: TenantId, job: Job) {
        let (this, stopping) = (self.clone(), self.parts.tasks.stopping());
        self.parts.tasks.spawn(async move {
            let (id, mebibytes) = (job.id.clone(), mebibytes_of(&job));
            let doing = async {
                // Closed never, so that there always is room at last.
                let _room = this.job_room.acquire_many(mebibytes).await;
                this.do_job(&tenant, job).await
            };
            tokio::select! {
                () = stopping.cancelled() => {}
                outcome = doing => {
                    if let Err(error) = outcome {
                        tracing::warn!(%tenant, job = id, %error, "a job has to wait");
                    }
                    this.jobs_ended.send_modify(|count| *count += 1);
                }
            }
        });
    }

    async fn do_job(&self, tenant: &TenantId, mut job: Job) -> Result<(), EngineError> {
        let mut wait = RETRY_WAIT_MIN;
        let taken = loop {
            job.tries += 1;
            match self.try_job(tenant, &job).await {
                Ok(taken) => break taken,
                Err(error) if job.tries < TRIES_MAX && is_passing(&error) => {
                    tracing::warn!(%tenant, job = job.id, %error, "a job is tried again");
                    tokio::time::sleep(wait).await;
                    wait *= RETRY_WAIT_GROWTH;
                }
                Err(error) => break Taken::Failed { reason: error.to_string() },
            }
        };
        job.state = JobState::Done;
        job.documents_done = 1;
        match taken {
            Taken::Kept { chunks } => job.chunks = chunks,
            Taken::Unchanged => job.documents_unchanged = 1,
            Taken::Failed { reason } => {
                job.state = JobState::Failed;
                job.documents_done = 0;
                job.failures.push(JobFailure { source: source_of(&job), reason });
            }
        }
        job.finished_at = Some(self.parts.clock.now());
        Ok(self.parts.jobs.update(tenant, job).await?)
    }

    async fn try_job(&self, tenant: &TenantId, job: &Job) -> Result<Taken, EngineError> {
        // Kept before the work, so that a document which takes the whole process down is not tried forever.
        self.parts.jobs.update(tenant, job.clone()).await?;
        self.take_in(tenant, job).await
    }

    /// Reads, keeps and indexes.
    async fn take_in(&self, tenant: &TenantId, job: &Job) -> Result<Taken, EngineError> {
        let order: Order = serde_json::from_value(job.order.clone())
            .map_err(|error| EngineError::Refused(error.to_string()))?;
        let principal = Principal {
            tenant: tenant.clone(),
            name: job.principal.clone(),
            scopes: vec![Scope::Write],
        };
        let (bytes, media_type) = if order.is_address {
            match self.parts.pages.fetch(&order.source).await {
                Ok(fetched) => (fetched.bytes, fetched.media_type.or(order.media_type)),
                Err(error) => return Ok(Taken::Failed { reason: error.to_string() }),
            }
        } else {
            let upload = self.parts.jobs.upload(tenant, &job.id).await?;
            (upload.ok_or(EngineError::Absent { what: "upload" })?, order.media_type)
        };
        let new = NewDocument {
            collection: order.collection,
            source: order.source,
            bytes,
            media_type,
            doc_type: order.doc_type,
            mapping: order.mapping,
            updated_at: order.updated_at,
            accepted: Some(job.accepted),
        };
        match self.ingest(&principal, new).await?.outcome {
            Outcome::Superseded => Ok(Taken::Unchanged),
            // Known already does not mean found already: the process may have died in between.
            Outcome::Unchanged { sequence } => {
                self.indexed(tenant, Some(sequence)).await?;
                Ok(Taken::Unchanged)
            }
            Outcome::Kept { sequence, chunks, .. } => {
                self.indexed(tenant, Some(sequence)).await?;
                Ok(Taken::Kept { chunks })
            }
            Outcome::Failed { reason } => Ok(Taken::Failed { reason }),
        }
    }

    /// A new id: its time first, so that ids sort by age, then chance.
    pub(crate) fn new_id(&self) -> Result<String, EngineError> {
        let mut chance = [0; 10];
        self.parts.entropy.fill(&mut chance)?;
        let chance: String = chance.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{:012x}{chance}", self.parts.clock.now().0))
    }
}

/// Whether the same may work at another time.
fn is_passing(error: &EngineError) -> bool {
    match error {
        EngineError::Port(
            PortError::Full | PortError::Busy { .. } | PortError::Unavailable { .. },
        ) => true,
        EngineError::Port(PortError::Refused(_) | PortError::Broken { .. })
        | EngineError::Absent { .. }
        | EngineError::Refused(_)
        | EngineError::Conflict(_) => false,
    }
}

/// What a job's document takes of the room for all, at least one MiB and at most all of it.
fn mebibytes_of(job: &Job) -> u32 {
    let bytes = job.order.get("bytes").and_then(serde_json::Value::as_u64);
    let mebibytes = bytes.map_or(u64::from(MEBIBYTES_OF_ADDRESS), |bytes| (bytes >> 20) + 1);
    u32::try_from(mebibytes).unwrap_or(MEBIBYTES_AT_ONCE).min(MEBIBYTES_AT_ONCE)
}

fn source_of(job: &Job) -> String {
    let source = job.order.get("source").and_then(serde_json::Value::as_str);
    source.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use agent::identity::Timestamp;
    use serde_json::json;

    use super::*;

    fn room(order: serde_json::Value) -> u32 {
        mebibytes_of(&Job {
            id: String::new(),
            principal: String::new(),
            created_at: Timestamp(0),
            accepted: 0,
            finished_at: None,
            state: JobState::Waiting,
            order,
            documents_done: 0,
            documents_unchanged: 0,
            chunks: 0,
            failures: Vec::new(),
            tries: 0,
        })
    }

    #[test]
    fn a_job_waits_for_as_much_room_as_its_document_takes() {
        assert_eq!(room(json!({ "bytes": 0 })), 1);
        assert_eq!(room(json!({ "bytes": 64 << 20 })), 65);
        assert_eq!(room(json!({ "bytes": u64::MAX })), MEBIBYTES_AT_ONCE);
        assert_eq!(room(json!({})), MEBIBYTES_OF_ADDRESS);
    }
}
