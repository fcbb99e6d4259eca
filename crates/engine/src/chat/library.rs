//! Where a turn looks things up.

use agent::filter::Filter;
use agent::knowledge::Section;
use agent::names::{SectionId, TenantId};
use agent::text::clip;
use futures_util::future::BoxFuture;

use crate::error::EngineError;
use crate::knowledge::Knowledge;
use crate::search::{QUERY_BYTES_MAX, SearchAnswer, SearchRequest, Widen};

/// Most tokens of a section that a turn reads on: the passages' share of a context.
const SECTION_TOKENS_MAX: usize = 1_500;

/// Finds passages and reads sections.
pub trait Library: Send + Sync {
    /// The best passages of each kind that pass the filter.
    fn search<'a>(
        &'a self,
        tenant: &'a TenantId,
        query: &'a str,
        filter: Filter,
    ) -> BoxFuture<'a, Result<SearchAnswer, EngineError>>;
    fn section<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SectionId,
    ) -> BoxFuture<'a, Result<Section, EngineError>>;
}

impl Library for Knowledge {
    fn search<'a>(
        &'a self,
        tenant: &'a TenantId,
        query: &'a str,
        filter: Filter,
    ) -> BoxFuture<'a, Result<SearchAnswer, EngineError>> {
        let text = clip(query, QUERY_BYTES_MAX).to_owned();
        let request = SearchRequest { text, filter, ..SearchRequest::default() };
        Box::pin(Self::search(self, tenant, request))
    }

    fn section<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a SectionId,
    ) -> BoxFuture<'a, Result<Section, EngineError>> {
        let widen = Widen { tokens_max: SECTION_TOKENS_MAX, ..Widen::default() };
        Box::pin(Self::section(self, tenant, id, widen))
    }
}
