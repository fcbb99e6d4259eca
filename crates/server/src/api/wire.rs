//! The API's own words: what goes over the wire, apart from what we think in.

use std::collections::BTreeMap;

use agent::filter::TagValue;
use agent::identity::{ApiKey, AuditEntry, Timestamp};
use agent::knowledge::{Collection, Document, Passage, Section, Status};
use agent::ports::{Job, JobState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A document.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DocumentBody {
    id: String,
    collection: String,
    source: String,
    title: String,
    doc_type: String,
    format: String,
    /// `ready` or `failed`.
    status: &'static str,
    /// Why it failed and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    bytes: u64,
    sections: u32,
    chunks: u32,
    tags: BTreeMap<String, Vec<TagBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
    /// Milliseconds since 1970.
    ingested_at: u64,
    warnings: Vec<String>,
}

/// A tag's value.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum TagBody {
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

fn tags(tags: agent::filter::Tags) -> BTreeMap<String, Vec<TagBody>> {
    let values = |values: Vec<TagValue>| values.into_iter().map(Into::into).collect();
    tags.into_iter().map(|(name, of)| (name, values(of))).collect()
}

impl From<Document> for DocumentBody {
    fn from(document: Document) -> Self {
        let (status, reason) = match document.status {
            Status::Ready => ("ready", None),
            Status::Failed { reason } => ("failed", Some(reason)),
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
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DocumentsBody {
    pub(super) documents: Vec<DocumentBody>,
    /// Pass it as `after` for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

/// A passage as found.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PassageBody {
    document: String,
    section: String,
    chunk: u32,
    title: String,
    source: String,
    heading_path: Vec<String>,
    text: String,
    /// First byte of the document's text that the passage stands for, and the byte after the last.
    start: usize,
    end: usize,
    tags: BTreeMap<String, Vec<TagBody>>,
    /// 0 to 1, comparable within one answer only.
    score: f32,
    /// How it was found, when `explain` was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<FoundBody>,
}

/// The ranks and scores that each side of the search gave.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FoundBody {
    keyword_rank: Option<u32>,
    keyword_score: Option<f32>,
    vector_rank: Option<u32>,
    similarity: Option<f32>,
}

impl PassageBody {
    pub(super) fn new(passage: Passage, explain: bool) -> Self {
        let found = explain.then_some(FoundBody {
            keyword_rank: passage.found.keyword_rank,
            keyword_score: passage.found.keyword_score,
            vector_rank: passage.found.vector_rank,
            similarity: passage.found.similarity,
        });
        Self {
            document: passage.document.into(),
            section: passage.section.to_string(),
            chunk: passage.chunk,
            title: passage.title,
            source: passage.source,
            heading_path: passage.heading_path,
            text: passage.text,
            start: passage.range.start,
            end: passage.range.end,
            tags: tags(passage.tags),
            score: passage.score,
            found,
        }
    }
}

/// What a search found.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SearchBody {
    pub(super) passages: Vec<PassageBody>,
    /// What the caller should know, such as that only keywords were searched.
    pub(super) warnings: Vec<String>,
}

/// A section of a document.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SectionBody {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    level: u8,
    heading: String,
    heading_path: Vec<String>,
    start: usize,
    end: usize,
    /// Left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The section is longer than what was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_cut: Option<bool>,
}

impl SectionBody {
    pub(super) fn with_text(section: Section) -> Self {
        let (text, is_cut) = (Some(section.text.clone()), Some(section.is_cut));
        Self { text, is_cut, ..Self::in_list(section) }
    }

    pub(super) fn in_list(section: Section) -> Self {
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
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SectionsBody {
    pub(super) sections: Vec<SectionBody>,
}

/// A collection.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CollectionBody {
    name: String,
    doc_type: String,
    created_at: u64,
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
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CollectionsBody {
    pub(super) collections: Vec<CollectionBody>,
}

/// What a collection is to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewCollection {
    /// `faq`, `guide` or any other word.
    pub(super) doc_type: String,
}

/// How much was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DeletedBody {
    pub(super) documents: usize,
}

/// Accepted work.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct JobBody {
    id: String,
    /// `waiting`, `done` or `failed`.
    state: &'static str,
    source: String,
    created_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<u64>,
    documents_done: u32,
    failures: Vec<FailureBody>,
}

/// A document that could not be taken in.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FailureBody {
    source: String,
    reason: String,
}

impl From<Job> for JobBody {
    fn from(job: Job) -> Self {
        let source = job.order.get("source").and_then(|source| source.as_str());
        Self {
            state: match job.state {
                JobState::Waiting => "waiting",
                JobState::Done => "done",
                JobState::Failed => "failed",
            },
            source: source.unwrap_or_default().to_owned(),
            id: job.id,
            created_at: job.created_at.0,
            finished_at: job.finished_at.map(|at| at.0),
            documents_done: job.documents_done,
            failures: job
                .failures
                .into_iter()
                .map(|failure| FailureBody { source: failure.source, reason: failure.reason })
                .collect(),
        }
    }
}

/// The latest jobs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct JobsBody {
    pub(super) jobs: Vec<JobBody>,
}

/// A key, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct KeyBody {
    prefix: String,
    label: String,
    scopes: Vec<&'static str>,
    created_at: u64,
    expires_at: Option<u64>,
    revoked_at: Option<u64>,
}

impl From<ApiKey> for KeyBody {
    fn from(key: ApiKey) -> Self {
        let millis = |at: Option<Timestamp>| at.map(|at| at.0);
        Self {
            prefix: key.prefix,
            label: key.label,
            scopes: key.scopes.into_iter().map(agent::identity::Scope::as_str).collect(),
            created_at: key.created_at.0,
            expires_at: millis(key.expires_at),
            revoked_at: millis(key.revoked_at),
        }
    }
}

/// The tenant's keys.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct KeysBody {
    pub(super) keys: Vec<KeyBody>,
}

/// A new key with its secret, which is shown this once.
#[derive(Serialize, JsonSchema)]
pub(super) struct MintedBody {
    pub(super) secret: String,
    pub(super) key: KeyBody,
}

/// What a new key may do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewKeyBody {
    #[serde(default)]
    pub(super) label: String,
    /// Of `read`, `write` and `admin`.
    pub(super) scopes: Vec<String>,
    /// Days until it expires; never, if left out.
    #[serde(default)]
    pub(super) days: Option<u64>,
}

/// One line of the audit log.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuditBody {
    at: u64,
    principal: String,
    action: String,
    object: String,
}

impl From<AuditEntry> for AuditBody {
    fn from(entry: AuditEntry) -> Self {
        let AuditEntry { at, principal, action, object } = entry;
        Self { at: at.0, principal, action, object }
    }
}

/// The latest changes, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuditsBody {
    pub(super) entries: Vec<AuditBody>,
}
