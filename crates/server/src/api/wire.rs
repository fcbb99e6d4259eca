//! The API's own words: what goes over the wire, apart from what we think in. Commands that ask a server read them back.

pub mod attachments;
pub mod chat;
pub mod chunks;
pub mod cost;
mod keys;
pub mod logins;
pub mod research;
pub mod tools;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use agent::filter::TagValue;
use agent::identity::AuditEntry;
use agent::knowledge::{Collection, Document, Found, Passage, Section, Status};
use agent::ports::{Job, JobState};
use engine::CleanupReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::keys::{KeyBody, KeysBody, MintedBody, NewKeyBody, TenantKeyBody};

/// A document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentBody {
    pub id: String,
    pub collection: String,
    pub source: String,
    pub title: String,
    pub doc_type: String,
    pub format: String,
    pub status: DocumentState,
    /// Why it failed and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub bytes: u64,
    pub sections: u32,
    pub chunks: u32,
    pub tags: BTreeMap<String, Vec<TagBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Milliseconds since 1970.
    pub ingested_at: u64,
    pub warnings: Vec<String>,
}

/// Whether a document can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DocumentState {
    Ready,
    Failed,
}

/// A tag's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TagBody {
    Flag(bool),
    Number(f64),
    Text(String),
}

impl From<TagValue> for TagBody {
    fn from(value: TagValue) -> Self {
        match value {
            TagValue::Flag(flag) => Self::Flag(flag),
            TagValue::Number(number) => Self::Number(number),
            TagValue::Text(text) => Self::Text(text),
        }
    }
}

impl fmt::Display for TagBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

fn tags(tags: agent::filter::Tags) -> BTreeMap<String, Vec<TagBody>> {
    let values = |values: Vec<TagValue>| values.into_iter().map(Into::into).collect();
    tags.into_iter().map(|(name, of)| (name, values(of))).collect()
}

impl From<Document> for DocumentBody {
    fn from(document: Document) -> Self {
        let (status, reason) = match document.status {
            Status::Ready => (DocumentState::Ready, None),
            Status::Failed { reason } => (DocumentState::Failed, Some(reason)),
        };
        Self {
            id: document.id.into(),
            collection: document.collection.into(),
            source: document.source,
            title: document.title,
            doc_type: document.doc_type,
            format: document.format,
            status,
            reason,
            bytes: document.bytes,
            sections: document.sections,
            chunks: document.chunks,
            tags: tags(document.tags),
            updated_at: document.updated_at,
            ingested_at: document.ingested_at.0,
            warnings: document.warnings,
        }
    }
}

/// A page of documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentsBody {
    pub documents: Vec<DocumentBody>,
    /// Pass it as `after` for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A passage as found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassageBody {
    pub document: String,
    pub section: String,
    pub chunk: u32,
    pub title: String,
    pub source: String,
    pub heading_path: Vec<String>,
    pub text: String,
    /// First byte of the document's text that the passage stands for, and the byte after the last.
    pub start: usize,
    pub end: usize,
    pub tags: BTreeMap<String, Vec<TagBody>>,
    /// 0 to 1, comparable within one answer only.
    pub score: f32,
    /// How it was found, when `explain` was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundBody>,
}

/// The ranks and scores that each side of the search gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundBody {
    pub keyword_rank: Option<u32>,
    pub keyword_score: Option<f32>,
    /// How much of what was asked its words say, rare ones counting more: 0 to 1.
    #[serde(default)]
    pub coverage: Option<f32>,
    pub vector_rank: Option<u32>,
    pub similarity: Option<f32>,
}

impl From<Found> for FoundBody {
    fn from(found: Found) -> Self {
        Self {
            keyword_rank: found.keyword_rank,
            keyword_score: found.keyword_score,
            coverage: found.coverage,
            vector_rank: found.vector_rank,
            similarity: found.similarity,
        }
    }
}

impl PassageBody {
    pub fn new(passage: Passage, explain: bool) -> Self {
        let Passage { excerpt, score, found } = passage;
        let excerpt = Arc::unwrap_or_clone(excerpt);
        Self {
            document: excerpt.document.into(),
            section: excerpt.section.to_string(),
            chunk: excerpt.chunk,
            title: excerpt.title,
            source: excerpt.source,
            heading_path: excerpt.heading_path,
            text: excerpt.text,
            start: excerpt.range.start,
            end: excerpt.range.end,
            tags: tags(excerpt.tags),
            score,
            found: explain.then(|| found.into()),
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchBody {
    pub passages: Vec<PassageBody>,
    /// What the caller should know, such as that only keywords were searched.
    pub warnings: Vec<String>,
}

/// Conditions as one `filter` of a search.
#[must_use]
pub fn join_conditions(conditions: &[String]) -> String {
    let doubled: Vec<String> = conditions.iter().map(|part| part.replace(';', ";;")).collect();
    doubled.join(";")
}

/// The conditions of one `filter`.
#[must_use]
pub fn split_conditions(filter: &str) -> Vec<String> {
    let mut conditions = vec![String::new()];
    let mut rest = filter.chars().peekable();
    while let Some(next) = rest.next() {
        if next == ';' && rest.next_if_eq(&';').is_none() {
            conditions.push(String::new());
        } else if let Some(last) = conditions.last_mut() {
            last.push(next);
        }
    }
    conditions
}

/// A section of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SectionBody {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    pub level: u8,
    pub heading: String,
    pub heading_path: Vec<String>,
    pub start: usize,
    pub end: usize,
    /// Left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The section is longer than what was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_cut: Option<bool>,
}

impl SectionBody {
    pub fn with_text(section: Section) -> Self {
        let (text, is_cut) = (Some(section.text.clone()), Some(section.is_cut));
        Self { text, is_cut, ..Self::in_list(section) }
    }

    pub fn in_list(section: Section) -> Self {
        Self {
            id: section.id.to_string(),
            parent: section.parent.map(|parent| parent.to_string()),
            level: section.level,
            heading: section.heading,
            heading_path: section.heading_path,
            start: section.range.start,
            end: section.range.end,
            text: None,
            is_cut: None,
        }
    }
}

/// The heading tree of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SectionsBody {
    pub sections: Vec<SectionBody>,
}

/// A collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CollectionBody {
    pub name: String,
    pub doc_type: String,
    pub created_at: u64,
}

impl From<Collection> for CollectionBody {
    fn from(collection: Collection) -> Self {
        Self {
            name: collection.name.into(),
            doc_type: collection.doc_type,
            created_at: collection.created_at.0,
        }
    }
}

/// All collections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CollectionsBody {
    pub collections: Vec<CollectionBody>,
}

/// What a collection is to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCollection {
    /// `faq`, `guide` or any other word.
    pub doc_type: String,
}

/// How much was deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedBody {
    pub documents: usize,
}

/// Accepted work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobBody {
    pub id: String,
    pub state: WorkState,
    pub source: String,
    pub created_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<u64>,
    pub documents_done: u32,
    /// How many of those were known already, byte for byte.
    #[serde(default)]
    pub documents_unchanged: u32,
    /// Chunks of the documents that are new or changed.
    #[serde(default)]
    pub chunks: u32,
    pub failures: Vec<FailureBody>,
}

/// How far accepted work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkState {
    Waiting,
    Done,
    Failed,
}

/// A document that could not be taken in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureBody {
    pub source: String,
    pub reason: String,
}

impl From<Job> for JobBody {
    fn from(job: Job) -> Self {
        let source = job.order.get("source").and_then(|source| source.as_str());
        Self {
            state: match job.state {
                JobState::Waiting => WorkState::Waiting,
                JobState::Done => WorkState::Done,
                JobState::Failed => WorkState::Failed,
            },
            source: source.unwrap_or_default().to_owned(),
            id: job.id,
            created_at: job.created_at.0,
            finished_at: job.finished_at.map(|at| at.0),
            documents_done: job.documents_done,
            documents_unchanged: job.documents_unchanged,
            chunks: job.chunks,
            failures: job
                .failures
                .into_iter()
                .map(|failure| FailureBody { source: failure.source, reason: failure.reason })
                .collect(),
        }
    }
}

/// The latest jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobsBody {
    pub jobs: Vec<JobBody>,
}

/// What a clean-up did, over all tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CleanupBody {
    pub tenants: u64,
    pub jobs_forgotten: u64,
    pub deletions_forgotten: u64,
    pub index_bytes_freed: u64,
    pub sessions_forgotten: u64,
    pub bookings_forgotten: u64,
    /// Calls of tools, and approvals.
    pub tool_records_forgotten: u64,
    /// Tasks of other agents.
    pub agent_tasks_forgotten: u64,
}

impl From<CleanupReport> for CleanupBody {
    fn from(report: CleanupReport) -> Self {
        Self {
            tenants: report.tenants,
            jobs_forgotten: report.jobs_forgotten,
            deletions_forgotten: report.deletions_forgotten,
            index_bytes_freed: report.index_bytes_freed,
            sessions_forgotten: report.sessions_forgotten,
            bookings_forgotten: report.bookings_forgotten,
            tool_records_forgotten: report.tool_records_forgotten,
            agent_tasks_forgotten: report.agent_tasks_forgotten,
        }
    }
}

/// One line of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditBody {
    pub at: u64,
    pub principal: String,
    pub action: String,
    pub object: String,
}

impl From<AuditEntry> for AuditBody {
    fn from(entry: AuditEntry) -> Self {
        let AuditEntry { at, principal, action, object } = entry;
        Self { at: at.0, principal, action, object }
    }
}

/// The latest changes, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditsBody {
    pub entries: Vec<AuditBody>,
}

#[cfg(test)]
mod tests {
    use super::{join_conditions, split_conditions};

    #[test]
    fn conditions_read_back_as_they_were_written_whatever_they_hold() {
        for conditions in
            [&["plan=pro|team"][..], &["a=1", "b=2"], &["title=one; two", "b=2"], &["a=;;", "b=;"]]
        {
            let conditions: Vec<String> = conditions.iter().map(|&part| part.to_owned()).collect();
            assert_eq!(split_conditions(&join_conditions(&conditions)), conditions);
        }
        assert_eq!(split_conditions("a=1;b=2"), ["a=1", "b=2"]);
        assert_eq!(split_conditions(""), [""]);
    }
}
