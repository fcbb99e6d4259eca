//! Reads the text of strangers' pages for research.

use std::sync::Arc;

use agent::names::TenantId;
use agent::ports::Pages;
use agent::research::call::Freshness;
use extract::Extracted;
use futures_util::future::BoxFuture;

use crate::error::EngineError;
use crate::knowledge::Knowledge;
use crate::worker::{ReadError, ReadOrder};

/// Gives the text of what stands at an address.
pub trait PageTexts: Send + Sync {
    fn text<'a>(
        &'a self,
        tenant: &'a TenantId,
        address: &'a str,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<String, EngineError>>;
}

/// Pages of strangers, fetched through `pages` and read in a child, as documents are.
pub struct StrangersPages {
    pub pages: Arc<dyn Pages>,
    pub knowledge: Arc<Knowledge>,
}

impl PageTexts for StrangersPages {
    fn text<'a>(
        &'a self,
        tenant: &'a TenantId,
        address: &'a str,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<String, EngineError>> {
        Box::pin(self.read(tenant, address, freshness))
    }
}

impl StrangersPages {
    async fn read(
        &self,
        tenant: &TenantId,
        address: &str,
        freshness: Freshness,
    ) -> Result<String, EngineError> {
        let fetched = match freshness {
            Freshness::MayBeRemembered => self.pages.fetch(address).await?,
            Freshness::MustBeFresh => self.pages.fetch_anew(address).await?,
        };
        let order = ReadOrder {
            file_name: Some(fetched.address),
            media_type: fetched.media_type,
            mapping: None,
        };
        let content = match self.knowledge.parts.readers.read(tenant, order, &fetched.bytes).await {
            Ok(content) => content,
            Err(ReadError::Port(error)) => return Err(error.into()),
            Err(error) => return Err(EngineError::Refused(error.to_string())),
        };
        let extracted = Extracted::from_bytes(&content)
            .map_err(|error| EngineError::Refused(format!("the page cannot be read: {error}")))?;
        Ok(extracted.text)
    }
}
