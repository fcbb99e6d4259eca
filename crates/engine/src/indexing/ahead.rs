//! Looks at changes ahead of those that are put into the index, and makes batches of what they bring.

use std::sync::Arc;

use agent::knowledge::DocumentChunks;
use agent::ports::{Change, PortError};

use super::batch::Batch;
use super::{STAGE_BYTES, Work};
use crate::reading::{self, Cut, Want};

/// Changes looked at in one go.
const CHANGES_MAX: usize = 4096;

/// Pieces embedded in one go: at the end of each, some processors wait for the last.
const PIECES_MAX: usize = 8192;

/// How far the changes have been looked at.
pub(super) struct Ahead {
    /// The last that is in a batch.
    seen: u64,
    found: std::vec::IntoIter<Change>,
}

impl Ahead {
    /// Nothing yet of what comes after this change.
    pub(super) fn of(seen: u64) -> Self {
        Self { seen, found: Vec::new().into_iter() }
    }
}

impl Work {
    /// What some of the changes bring; none if there are no more, or too few to be worth a batch while others are under way.
    pub(super) async fn batch(
        &self,
        ahead: &mut Ahead,
        with_pieces: bool,
        is_idle: bool,
    ) -> Result<Option<Batch>, PortError> {
        if ahead.found.as_slice().is_empty() {
            if !is_idle && self.is_gathering() {
                return Ok(None);
            }
            let documents = &self.parts.documents;
            let changes = documents.changes(&self.tenant, ahead.seen, CHANGES_MAX).await?;
            ahead.found = changes.into_iter();
        }
        let mut batch = Batch::default();
        for change in ahead.found.by_ref() {
            let (of, pieces) = self.chunks(&change).await?;
            batch.add(change.sequence, of, if with_pieces { pieces } else { Vec::new() });
            if batch.pieces() >= PIECES_MAX || batch.bytes >= STAGE_BYTES {
                break;
            }
        }
        ahead.seen = ahead.seen.max(batch.last);
        Ok((batch.last > 0).then_some(batch))
    }

    /// The chunks that a changed document has now: none if it is gone or was never read.
    async fn chunks(&self, change: &Change) -> Result<Cut, PortError> {
        if let Some(fresh) = self.indexer.fresh().take(change) {
            return Ok(fresh);
        }
        let id = &change.document;
        let document = self.parts.documents.get(&self.tenant, id).await?;
        if let Some(document) = &document
            && let Some(fresh) = self.indexer.fresh().take_announced(document)
        {
            return Ok(fresh);
        }
        let content = self.parts.documents.content(&self.tenant, id).await?;
        let (Some(document), Some(content)) = (document, content) else {
            let nothing = DocumentChunks {
                document: id.clone(),
                title: String::new(),
                source: String::new(),
                tags: agent::filter::Tags::new(),
                chunks: Vec::new(),
            };
            return Ok((nothing, Vec::new()));
        };
        let rules = Arc::clone(&self.rules);
        let splitting = move || {
            let extracted = extract::Extracted::from_bytes(&content)?;
            Ok::<_, serde_json::Error>(reading::chunks(
                &document,
                &extracted,
                &rules.split,
                Want::Pieces,
            ))
        };
        let broken = |source: Box<dyn std::error::Error + Send + Sync>| PortError::Broken {
            what: "splitting a document",
            source,
        };
        match tokio::task::spawn_blocking(splitting).await {
            Ok(Ok(chunks)) => Ok(chunks),
            Ok(Err(error)) => Err(broken(Box::new(error))),
            Err(error) => Err(broken(Box::new(error))),
        }
    }
}
