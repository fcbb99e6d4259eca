//! Says which documents have become findable, changed or gone, as it happens, and gives out a document's whole text.

use std::sync::Arc;

use agent::knowledge::Document;
use agent::names::{DocumentId, TenantId};
use agent::ports::{Lane, PortError};
use extract::Extracted;
use tokio_util::sync::CancellationToken;

use crate::error::EngineError;
use crate::indexing::Indexer;
use crate::knowledge::Knowledge;

/// Changes told in one go. Whoever follows asks again at once, so that it bounds memory and nothing else.
const CHANGES_MAX: usize = 1000;

/// Somebody who wants to hear of changes in a tenant's documents. Nothing is missed between two questions.
pub struct Following {
    knowledge: Knowledge,
    tenant: TenantId,
    indexer: Arc<Indexer>,
    /// The last change that was told.
    seen: u64,
    stopping: CancellationToken,
}

/// A document's text as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeText {
    pub document: Document,
    pub text: String,
    /// The text is longer than what was asked for.
    pub is_cut: bool,
}

impl Knowledge {
    /// Begins to follow what happens from now on.
    pub async fn follow(&self, tenant: &TenantId) -> Result<Following, EngineError> {
        let state = self.parts.index.state(tenant, Lane::Serving).await?;
        Ok(Following {
            knowledge: self.clone(),
            tenant: tenant.clone(),
            indexer: self.indexer(tenant),
            seen: state.map_or(0, |state| state.applied),
            stopping: self.parts.tasks.stopping(),
        })
    }

    /// The text of a document, from its beginning, in at most so many bytes.
    pub async fn text(
        &self,
        tenant: &TenantId,
        id: &DocumentId,
        bytes_max: usize,
    ) -> Result<WholeText, EngineError> {
        let document = self.document(tenant, id).await?;
        let content = self.parts.documents.content(tenant, id).await?;
        let content = content.ok_or(EngineError::Absent { what: "text of this document" })?;
        let reading = move || Extracted::from_bytes(&content);
        let broken = |source: Box<dyn std::error::Error + Send + Sync>| PortError::Broken {
            what: "reading a document",
            source,
        };
        let read = tokio::task::spawn_blocking(reading).await;
        let extracted = read
            .map_err(|error| broken(Box::new(error)))?
            .map_err(|error| broken(Box::new(error)))?;
        let text = agent::text::clip(&extracted.text, bytes_max).to_owned();
        let is_cut = text.len() < extracted.text.len();
        Ok(WholeText { document, text, is_cut })
    }
}

impl Following {
    /// The documents of the next changes that searches see; none when everything comes to an end.
    ///
    /// Dropping the future loses nothing: what it has not told is told the next time.
    pub async fn next(&mut self) -> Result<Option<Vec<DocumentId>>, EngineError> {
        loop {
            let seen = self.seen;
            let applied = tokio::select! {
                applied = self.indexer.applied_after(seen) => applied,
                () = self.stopping.cancelled() => None,
            };
            let Some(applied) = applied else { return Ok(None) };
            let documents = &self.knowledge.parts.documents;
            let changes = documents.changes(&self.tenant, seen, CHANGES_MAX).await?;
            let visible: Vec<_> =
                changes.into_iter().take_while(|change| change.sequence <= applied).collect();
            // A document that was changed again meanwhile stands at its later change only.
            self.seen = visible.last().map_or(applied, |change| change.sequence);
            if !visible.is_empty() {
                return Ok(Some(visible.into_iter().map(|change| change.document).collect()));
            }
        }
    }
}
