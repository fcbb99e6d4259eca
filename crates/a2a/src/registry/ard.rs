//! ARD: how catalogues of agents are asked by others, and how they publish themselves. The wire types of version 0.9, with
//! what 0.91 is known to change.

mod filter;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use filter::{AgentsFilter, FilterError, matches, parse, values};

use super::disclosure::View;
use super::facets::Counts;
use crate::limits::NAME_BYTES_MAX;
use crate::timestamp::Timestamp;
use crate::version::Version;
use crate::wire::write_card;

/// The manifest's path in 0.9.
pub const MANIFEST_PATH: &str = "/.well-known/ai-catalog.json";

/// The manifest's path in 0.91.
pub const NEW_MANIFEST_PATH: &str = "/.well-known/ard.json";

pub const CARD_TYPE: &str = "application/a2a-agent-card+json";
pub const REGISTRY_TYPE: &str = "application/ai-registry+json";

/// Entries of a page that nobody may exceed, and those of a search and a list when nobody says how many.
pub const PAGE_SIZE_MAX: u32 = 100;
pub const SEARCH_PAGE_SIZE: u32 = 10;
pub const AGENTS_PAGE_SIZE: u32 = 20;

/// Values of a facet when nobody says how many, and most that are given.
pub const FACET_VALUES: u32 = 20;
pub const FACET_VALUES_MAX: u32 = 200;

/// Longest question, in bytes.
pub const QUESTION_BYTES_MAX: usize = 4096;

/// Facets and filter paths of one question.
pub const PATHS_MAX: usize = 16;

/// One thing in a catalogue. Unknown types and fields are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogEntry {
    pub identifier: String,
    pub display_name: String,
    /// AI Catalog calls it `mediaType`; either is read.
    #[serde(rename = "type", alias = "mediaType")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub representative_queries: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust_manifest: Option<Value>,
}

/// What is wrong with an entry of another catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error("identifier is urn:air:<domain>:<name>, and the domain is not plain localhost")]
    Identifier,
    #[error("displayName and type are not empty")]
    Names,
    #[error("an entry has exactly one of url and data")]
    Place,
    #[error("representativeQueries has 2 to 5 items, if any")]
    Queries,
    #[error("metadata has values that are texts, numbers, true or false")]
    Metadata,
}

impl CatalogEntry {
    /// Checks an entry by the rules of the specification.
    ///
    /// # Errors
    /// With the first rule that it breaks.
    pub fn check(&self) -> Result<(), EntryError> {
        publisher(&self.identifier).ok_or(EntryError::Identifier)?;
        if self.display_name.is_empty() || self.kind.is_empty() {
            return Err(EntryError::Names);
        }
        if self.url.is_some() == self.data.is_some() {
            return Err(EntryError::Place);
        }
        let queries = self.representative_queries.len();
        if queries != 0 && !(2..=5).contains(&queries) {
            return Err(EntryError::Queries);
        }
        if self
            .metadata
            .values()
            .any(|value| value.is_array() || value.is_object() || value.is_null())
        {
            return Err(EntryError::Metadata);
        }
        Ok(())
    }
}

/// The domain in an identifier; `None` if it is no legal identifier.
#[must_use]
pub fn publisher(identifier: &str) -> Option<&str> {
    let mut parts = identifier.strip_prefix("urn:air:")?.split(':');
    let domain = parts.next()?;
    let names: Vec<&str> = parts.collect();
    let legal = |text: &str, more: &[u8]| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
    };
    let is_legal = identifier.len() <= NAME_BYTES_MAX
        && legal(domain, b".-")
        && !names.is_empty()
        && names.iter().all(|name| legal(name, b"._-"))
        && !domain.eq_ignore_ascii_case("localhost");
    is_legal.then_some(domain)
}

/// An agent of ours as an entry, by what the caller sees of it. The card goes into the entry, so that a caller who may
/// see less than the agent's own server shows is not sent there.
#[must_use]
pub fn entry(view: &View) -> CatalogEntry {
    let card = &view.card;
    let mut tags: Vec<String> = card.skills.iter().flat_map(|skill| skill.tags.clone()).collect();
    tags.sort();
    tags.dedup();
    let mut queries: Vec<String> =
        card.skills.iter().flat_map(|skill| skill.examples.clone()).collect();
    queries.truncate(5);
    if queries.len() < 2 {
        queries.clear();
    }
    let has = [
        (card.capabilities.streaming, "streaming"),
        (card.capabilities.push_notifications, "pushNotifications"),
        (card.capabilities.extended_card, "extendedAgentCard"),
    ];
    let provider = card.provider.as_ref();
    CatalogEntry {
        identifier: view.identifier.clone(),
        display_name: card.name.clone(),
        kind: CARD_TYPE.to_owned(),
        url: None,
        data: Some(write_card(Version::V1_0, card)),
        description: Some(card.description.clone()).filter(|text| !text.is_empty()),
        tags,
        capabilities: has
            .into_iter()
            .filter(|(has, _)| *has == Some(true))
            .map(|(_, name)| name.to_owned())
            .collect(),
        representative_queries: queries,
        version: Some(card.version.clone()),
        updated_at: Some(view.updated_at.to_string()),
        metadata: provider
            .map(|one| ("provider".to_owned(), json!(one.organization)))
            .into_iter()
            .collect(),
        trust_manifest: None,
    }
}

/// `POST /search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchRequest {
    pub query: SearchQuery,
    #[serde(default)]
    pub federation: Federation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchQuery {
    pub text: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub filter: Filter,
}

/// Values by dotted path into an entry: one of the values of each path has to be there.
pub type Filter = BTreeMap<String, Vec<String>>;

/// Whether other catalogues are asked too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Federation {
    /// They are asked, and what they have is merged.
    Auto,
    /// They are named, and the caller asks.
    Referrals,
    #[default]
    None,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchResponse {
    pub results: Vec<SearchResult>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub referrals: Vec<Referral>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    #[serde(flatten)]
    pub entry: CatalogEntry,
    /// Relevance from 0 to 100; it says nothing about trust.
    pub score: u8,
    /// The catalogue that it is from.
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Referral {
    pub identifier: String,
    pub display_name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub url: String,
}

/// `POST /explore`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExploreRequest {
    #[serde(default)]
    pub query: ExploreQuery,
    pub result_type: ExploreFacets,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ExploreQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub filter: Filter,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExploreFacets {
    pub facets: Vec<FacetRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FacetRequest {
    pub field: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_count: Option<u64>,
}

/// Writes the answer to `POST /explore`.
#[must_use]
pub fn explore_response(facets: &BTreeMap<String, Counts>) -> Value {
    let facet = |counts: &Counts| {
        let bucket = |(value, count): &(String, u64)| json!({ "value": value, "count": count });
        let buckets: Vec<Value> = counts.buckets.iter().map(bucket).collect();
        json!({ "buckets": buckets, "otherCount": counts.other })
    };
    let facets: serde_json::Map<String, Value> =
        facets.iter().map(|(field, counts)| (field.clone(), facet(counts))).collect();
    json!({ "resultType": "facets", "facets": facets })
}

/// `GET /agents`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentsResponse {
    pub items: Vec<CatalogEntry>,
    pub total: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
}

/// The manifest that a host publishes. It is a closed object; 0.91 needs the entries alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Value>,
    pub entries: Vec<CatalogEntry>,
}

/// What went wrong, as ARD says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArdError {
    InvalidArgument,
    Unauthenticated,
    NotFound,
    RateLimitExceeded,
    Internal,
}

impl ArdError {
    #[must_use]
    pub fn http(self) -> u16 {
        match self {
            Self::InvalidArgument => 400,
            Self::Unauthenticated => 401,
            Self::NotFound => 404,
            Self::RateLimitExceeded => 429,
            Self::Internal => 500,
        }
    }

    #[must_use]
    pub fn body(self, message: &str) -> Value {
        let code = match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::NotFound => "NOT_FOUND",
            Self::RateLimitExceeded => "RATE_LIMIT_EXCEEDED",
            Self::Internal => "INTERNAL_ERROR",
        };
        json!({ "errorCode": code, "message": message })
    }
}

/// What is wrong with a request of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("query.text is a question of at most {QUESTION_BYTES_MAX} bytes")]
    Text,
    #[error("pageSize is 1 to {PAGE_SIZE_MAX}")]
    PageSize,
    #[error("at most {PATHS_MAX} facets and filter paths")]
    Paths,
    #[error("the filter names a field that entries do not have")]
    Field,
}

impl SearchRequest {
    /// Checks the request, and returns how many results a page has.
    ///
    /// # Errors
    /// With the first thing that is wrong.
    pub fn check(&self) -> Result<u32, RequestError> {
        let text = self.query.text.trim();
        if text.is_empty() || text.len() > QUESTION_BYTES_MAX {
            return Err(RequestError::Text);
        }
        check_filter(&self.query.filter)?;
        page_size(self.page_size, SEARCH_PAGE_SIZE)
    }
}

impl ExploreRequest {
    /// Checks the request.
    ///
    /// # Errors
    /// With the first thing that is wrong.
    pub fn check(&self) -> Result<(), RequestError> {
        if self.query.text.as_ref().is_some_and(|text| text.len() > QUESTION_BYTES_MAX) {
            return Err(RequestError::Text);
        }
        if self.result_type.facets.len() > PATHS_MAX {
            return Err(RequestError::Paths);
        }
        check_filter(&self.query.filter)
    }
}

/// Whether entries have a field at a dotted path, whatever is in it.
#[must_use]
pub fn is_field(path: &str) -> bool {
    filter::is_known(path)
}

fn check_filter(filter: &Filter) -> Result<(), RequestError> {
    if filter.len() > PATHS_MAX || filter.values().any(|values| values.len() > PATHS_MAX) {
        return Err(RequestError::Paths);
    }
    if filter.keys().all(|path| filter::is_known(path)) { Ok(()) } else { Err(RequestError::Field) }
}

/// The size of a page, if it is legal.
///
/// # Errors
/// If it is 0 or too large.
pub fn page_size(asked: Option<u32>, default: u32) -> Result<u32, RequestError> {
    let size = asked.unwrap_or(default);
    if (1..=PAGE_SIZE_MAX).contains(&size) { Ok(size) } else { Err(RequestError::PageSize) }
}

/// The moment of an entry, if it says one that can be read.
pub(super) fn updated(entry: &CatalogEntry) -> Option<Timestamp> {
    entry.updated_at.as_ref()?.parse().ok()
}
