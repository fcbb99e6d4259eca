//! Searching and reading on, over the wire.

use agent::filter::Filter;
use agent::names::SectionId;
use axum::extract::State;
use engine::search::{Mode, SECTION_TOKENS_MAX, SearchRequest, Widen};
use schemars::JsonSchema;
use serde::Deserialize;

use super::wire::{PassageBody, SearchBody, SectionBody, split_conditions};
use super::{Api, OK, READ, read_id};
use crate::guard::Caller;
use crate::input::{Json, Path, Query};
use crate::problem::Problem;
use crate::routes::Route;

pub(super) fn routes() -> Vec<Route<Api>> {
    let routes = vec![
        Route::get("/api/search", READ, "Finds passages", search)
            .query::<SearchQuery>()
            .gives::<SearchBody>(OK),
        Route::get("/api/sections/{id}", READ, "Reads the section around a passage", section)
            .query::<SectionQuery>()
            .gives::<SectionBody>(OK),
    ];
    routes.into_iter().map(|route| route.tag("search")).collect()
}

/// What is searched for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchQuery {
    /// The words; may be left out when there is a filter.
    #[serde(default)]
    q: String,
    #[serde(default)]
    collection: Option<String>,
    /// Conditions separated by `;`: `has_steps=true;plan=pro|team;updated_at>=2026-01-01`. A `;` of a value is
    /// written twice.
    #[serde(default)]
    filter: String,
    /// This many passages, instead of the shares of FAQs and guides.
    #[serde(default)]
    count: Option<usize>,
    #[serde(default)]
    mode: SearchMode,
    /// Say how each passage was found.
    #[serde(default)]
    explain: bool,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SearchMode {
    #[default]
    Hybrid,
    Keyword,
    Vector,
}

/// How much around a passage is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SectionQuery {
    /// Levels to climb: 1 for the section above.
    #[serde(default)]
    up: u8,
    /// Sections of the same level before and after it.
    #[serde(default)]
    neighbours: u8,
    /// Most tokens of text.
    #[serde(default)]
    tokens: Option<usize>,
}

async fn search(
    State(api): State<Api>,
    principal: Caller,
    Query(query): Query<SearchQuery>,
) -> Result<Json<SearchBody>, Problem> {
    let conditions = split_conditions(&query.filter);
    let conditions = conditions.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    let request = SearchRequest {
        text: query.q,
        filter: Filter::read(conditions).map_err(|error| Problem::refused(error.to_string()))?,
        collection: query.collection.as_deref().map(str::parse).transpose()?,
        mode: match query.mode {
            SearchMode::Hybrid => Mode::Hybrid,
            SearchMode::Keyword => Mode::Keyword,
            SearchMode::Vector => Mode::Vector,
        },
        count: query.count,
    };
    let answer = api.knowledge.search(&principal.tenant, request).await?;
    let body = |passage| PassageBody::new(passage, query.explain);
    let passages = answer.passages.into_iter().map(body).collect();
    Ok(Json(SearchBody { passages, warnings: answer.warnings }))
}

async fn section(
    State(api): State<Api>,
    principal: Caller,
    Path(id): Path<String>,
    Query(query): Query<SectionQuery>,
) -> Result<Json<SectionBody>, Problem> {
    let id: SectionId = read_id(&id, "section")?;
    let widen = Widen {
        up: query.up,
        neighbours: query.neighbours,
        tokens_max: query.tokens.unwrap_or(SECTION_TOKENS_MAX),
    };
    let section = api.knowledge.section(&principal.tenant, &id, widen).await?;
    Ok(Json(SectionBody::with_text(section)))
}
