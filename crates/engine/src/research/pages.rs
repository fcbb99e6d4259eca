//! Reads the text of strangers' pages for research.

use agent::names::TenantId;
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
    ) -> BoxFuture<'a, Result<String, EngineError>>;
}

impl PageTexts for Knowledge {
    fn text<'a>(
        &'a self,
        tenant: &'a TenantId,
        address: &'a str,
    ) -> BoxFuture<'a, Result<String, EngineError>> {
        Box::pin(read(self, tenant, address))
    }
}

/// Fetched through the egress guard and read in a child, as documents are.
async fn read(
    knowledge: &Knowledge,
    tenant: &TenantId,
    address: &str,
) -> Result<String, EngineError> {
    let fetched = knowledge.parts.pages.fetch(address).await?;
    let order = ReadOrder {
        file_name: Some(fetched.address),
        media_type: fetched.media_type,
        mapping: None,
    };
    let content = match knowledge.parts.readers.read(tenant, order, &fetched.bytes).await {
        Ok(content) => content,
        Err(ReadError::Port(error)) => return Err(error.into()),
        Err(error) => return Err(EngineError::Refused(error.to_string())),
    };
    let extracted: Extracted = serde_json::from_slice(&content)
        .map_err(|error| EngineError::Refused(format!("the page cannot be read: {error}")))?;
    Ok(extracted.text)
}
