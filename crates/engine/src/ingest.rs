//! Takes one document in: reads it in a child, keeps it, and wakes the indexer.

use agent::identity::Principal;
use agent::knowledge::{Document, Status};
use agent::names::{CollectionName, DocumentId};
use agent::ports::{Kept, PortError, Put};
use agent::text::clip;
use extract::{Extracted, Mapping};

use crate::error::EngineError;
use crate::knowledge::Knowledge;
use crate::reading::{self, Cut, Want, sha256_hex};
use crate::worker::{ReadError, ReadOrder};

#[cfg(test)]
mod tests;

/// Longest source name, in bytes.
const SOURCE_BYTES_MAX: usize = 2048;

/// Readings up to this many bytes are cut where they arrive: well under a millisecond's work.
const INLINE_BYTES_MAX: usize = 64 << 10;

/// Warnings kept of one document.
const WARNINGS_MAX: usize = 20;

/// A document as it arrives.
#[derive(Debug, Clone)]
pub struct NewDocument {
    pub collection: CollectionName,
    /// Where it comes from; the same source in the same collection is the same document.
    pub source: String,
    pub bytes: Vec<u8>,
    pub media_type: Option<String>,
    /// Overrides what the document, its path and its collection say.
    pub doc_type: Option<String>,
    pub mapping: Option<Mapping>,
    /// When the source was changed last, in ISO form, if the document does not say.
    pub updated_at: Option<String>,
    /// Its place in the count of changes, if it was accepted earlier than now.
    pub accepted: Option<u64>,
}

/// A document that was taken in, or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Ingested {
    pub document: DocumentId,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The same bytes are known already, since this change: nothing was done.
    Unchanged { sequence: u64 },
    /// A later version or a deletion has come before it: nothing was done.
    Superseded,
    /// It is kept; the change's number says when it can be found.
    Kept { sequence: u64, chunks: u32, warnings: Vec<String> },
    /// It cannot be read; the reason says what to do. An earlier version stays.
    Failed { reason: String },
}

impl Knowledge {
    /// Takes a document in. What it returns is on disk; see [`Knowledge::indexed`] for when it can be found.
    pub async fn ingest(
        &self,
        principal: &Principal,
        new: NewDocument,
    ) -> Result<Ingested, EngineError> {
        check_source(&new.source)?;
        let tenant = &principal.tenant;
        let id = reading::document_id(&new.collection, &new.source)?;
        let content_hash = sha256_hex(&[&new.bytes]);
        let before = self.parts.documents.get(tenant, &id).await?;
        let recipe = recipe(&new);
        if let Some(same) = before.as_ref().filter(|before| is_same(before, &content_hash, &recipe))
        {
            let outcome = Outcome::Unchanged { sequence: same.sequence };
            return Ok(Ingested { document: id, outcome });
        }
        let _coming = self.indexer(tenant).expect();
        let read = self.read(principal, &new).await?;
        let mut document = self.record(principal, &new, id.clone(), before).await?;
        document.content_hash = content_hash;
        document.recipe = recipe;
        match read {
            Ok(content) => self.keep(principal, document, &new, content).await,
            Err(reason) => self.keep_failure(principal, document, reason, new.accepted).await,
        }
    }

    /// The reading, or the reason why there is none; an error only if it is ours.
    async fn read(
        &self,
        principal: &Principal,
        new: &NewDocument,
    ) -> Result<Result<Vec<u8>, String>, EngineError> {
        let most = self.rules.document_bytes_max;
        if let Some(reason) = too_large(new.bytes.len() as u64, most) {
            return Ok(Err(reason));
        }
        let order = ReadOrder {
            file_name: Some(clip(&new.source, SOURCE_BYTES_MAX).to_owned()),
            media_type: new.media_type.clone(),
            mapping: new.mapping.clone(),
        };
        match self.parts.readers.read(&principal.tenant, order, &new.bytes).await {
            Ok(content) => Ok(Ok(content)),
            Err(ReadError::Port(error)) => Err(error.into()),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    /// The record as far as it is known without the reading.
    async fn record(
        &self,
        principal: &Principal,
        new: &NewDocument,
        id: DocumentId,
        before: Option<Document>,
    ) -> Result<Document, EngineError> {
        let collections = self.parts.documents.collections(&principal.tenant).await?;
        let collection = collections.into_iter().find(|known| known.name == new.collection);
        let collection_type = collection.map(|known| known.doc_type);
        let fresh = || Document {
            id,
            collection: new.collection.clone(),
            source: new.source.clone(),
            title: new.source.clone(),
            doc_type: String::new(),
            format: String::new(),
            content_hash: String::new(),
            recipe: String::new(),
            bytes: 0,
            sections: 0,
            chunks: 0,
            tags: agent::filter::Tags::new(),
            updated_at: None,
            ingested_at: self.parts.clock.now(),
            status: Status::Ready,
            warnings: Vec::new(),
            sequence: 0,
            accepted: 0,
        };
        let mut document = before.unwrap_or_else(fresh);
        let asked = new.doc_type.clone().or(collection_type);
        document.doc_type = asked.unwrap_or(document.doc_type);
        document.bytes = new.bytes.len() as u64;
        document.ingested_at = self.parts.clock.now();
        Ok(document)
    }

    async fn keep(
        &self,
        principal: &Principal,
        document: Document,
        new: &NewDocument,
        content: Vec<u8>,
    ) -> Result<Ingested, EngineError> {
        let (rules, new_type) = (std::sync::Arc::clone(&self.rules), new.doc_type.clone());
        let updated_at = new.updated_at.clone();
        let content_bytes = content.len();
        let want = Want::for_embedder(&*self.parts.embedder);
        let describing = move || {
            let extracted = Extracted::from_bytes(&content)?;
            let asked = Asked { doc_type: new_type.as_deref(), updated_at, want };
            let described = describe(document, &extracted, asked, &rules);
            Ok::<_, serde_json::Error>((described, content))
        };
        // Handing a small document to another thread costs more than cutting it.
        let described = if content_bytes <= INLINE_BYTES_MAX {
            Ok(describing())
        } else {
            tokio::task::spawn_blocking(describing).await
        };
        let ((document, cut), content) = match described {
            Ok(Ok(described)) => described,
            Ok(Err(error)) => return Err(broken(error)),
            Err(error) => return Err(broken(error)),
        };
        let (id, chunks) = (document.id.clone(), document.chunks);
        let warnings = document.warnings.clone();
        let audit = self.audit(principal, "document.put", &document.source);
        let announced = self.indexer(&principal.tenant).announce(document.clone(), cut);
        let kept = Kept { document, content: Some(content), accepted: new.accepted, audit };
        let outcome = match self.parts.documents.put(&principal.tenant, kept).await? {
            Put::Kept { sequence } => {
                announced.confirm(sequence);
                Outcome::Kept { sequence, chunks, warnings }
            }
            Put::Superseded => Outcome::Superseded,
        };
        Ok(Ingested { document: id, outcome })
    }

    async fn keep_failure(
        &self,
        principal: &Principal,
        mut document: Document,
        reason: String,
        accepted: Option<u64>,
    ) -> Result<Ingested, EngineError> {
        let reason = clip(&reason, 2000).to_owned();
        document.status = Status::Failed { reason: reason.clone() };
        if document.doc_type.is_empty() {
            reading::GUIDE.clone_into(&mut document.doc_type);
        }
        let id = document.id.clone();
        let audit = self.audit(principal, "document.fail", &document.source);
        let kept = Kept { document, content: None, accepted, audit };
        let outcome = match self.parts.documents.put(&principal.tenant, kept).await? {
            Put::Kept { .. } => Outcome::Failed { reason },
            Put::Superseded => Outcome::Superseded,
        };
        Ok(Ingested { document: id, outcome })
    }
}

/// Why a document of so many bytes is not taken, if it is not.
#[must_use]
pub fn too_large(bytes: u64, bytes_max: usize) -> Option<String> {
    (bytes > bytes_max as u64).then(|| {
        let most = bytes_max >> 20;
        format!("it has {bytes} bytes and {most} MiB are allowed: split it, or raise ingest.document_mebibytes_max")
    })
}

/// Our own child wrote the reading: nobody else can have spoilt it.
fn broken(source: impl std::error::Error + Send + Sync + 'static) -> EngineError {
    PortError::Broken { what: "the reading of a document", source: Box::new(source) }.into()
}

fn check_source(source: &str) -> Result<(), EngineError> {
    let is_legal = !source.trim().is_empty()
        && source.len() <= SOURCE_BYTES_MAX
        && !source.contains(char::is_control);
    if is_legal {
        return Ok(());
    }
    Err(EngineError::Refused(format!(
        "the document's name cannot be used: give it one of 1 to {SOURCE_BYTES_MAX} bytes without control characters"
    )))
}

/// What shapes the reading besides the bytes.
fn recipe(new: &NewDocument) -> String {
    let mapping = serde_json::to_vec(&new.mapping).unwrap_or_default();
    let asked = format!("{:?} {:?}", new.doc_type, new.media_type);
    sha256_hex(&[reading::RECIPE.as_bytes(), &mapping, asked.as_bytes()])
}

fn is_same(before: &Document, content_hash: &str, recipe: &str) -> bool {
    before.status == Status::Ready && before.content_hash == content_hash && before.recipe == recipe
}

/// What the caller says of a document.
struct Asked<'a> {
    doc_type: Option<&'a str>,
    updated_at: Option<String>,
    want: Want,
}

/// Fills in what only the reading tells, and cuts it into chunks.
fn describe(
    mut document: Document,
    extracted: &Extracted,
    asked: Asked<'_>,
    rules: &crate::knowledge::Rules,
) -> (Document, Cut) {
    let collection_type = Some(document.doc_type.as_str()).filter(|kind| !kind.is_empty());
    document.doc_type = reading::doc_type(
        asked.doc_type,
        extracted,
        &document.source,
        &rules.path_types,
        collection_type,
    );
    document.title = reading::title(extracted, &document.source);
    document.format = extracted.format.to_string();
    document.tags = reading::own_tags(&extracted.front_matter);
    let own_date = document.tags.get("updated_at").and_then(|values| values.first());
    document.updated_at = own_date.map(ToString::to_string).or(asked.updated_at);
    document.status = Status::Ready;
    document.warnings = extracted.warnings.iter().take(WARNINGS_MAX).cloned().collect();
    let cut = reading::chunks(&document, extracted, &rules.split, asked.want);
    let (of, _) = &cut;
    document.chunks = u32::try_from(of.chunks.len()).unwrap_or(u32::MAX);
    let sections = of.chunks.iter().map(|chunk| chunk.section).max().unwrap_or(0);
    document.sections = sections + 1;
    (document, cut)
}
