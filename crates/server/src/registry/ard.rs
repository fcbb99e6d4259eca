//! ARD: how other catalogues and their clients ask this one, and how it publishes itself.

use a2a::registry::ard::{
    ArdError, CatalogEntry, ExploreRequest, MANIFEST_PATH, Manifest, NEW_MANIFEST_PATH,
    REGISTRY_TYPE, SearchRequest, explore_response,
};
use a2a::registry::disclosure::Caller as Seeing;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::catalogue::AgentsQuestion;
use http::StatusCode;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{OPEN, PREFIX, seeing};
use crate::api::Api;
use crate::guard::Visitor;
use crate::input::{Bytes, Json, Query, parse_json};
use crate::problem::{Problem, Refusal};
use crate::routes::{Access, Route};

/// Largest question, in bytes.
const QUESTION_BYTES_MAX: u64 = 64 << 10;

/// Agents in the manifest: it is read by crawlers that want to know what is here; the rest they ask for.
const MANIFEST_AGENTS_MAX: u32 = 100;

/// Largest error that is put into another form, in bytes; ours are far smaller.
const ERROR_BYTES_MAX: usize = 64 << 10;

pub(super) fn routes() -> Vec<Route<Api>> {
    const JSON: &str = "application/json";
    const OK: StatusCode = StatusCode::OK;
    vec![
        Route::post("/registry/search", OPEN, "Searches agents, as ARD has it", search)
            .takes_bytes(JSON)
            .body_bytes_max(QUESTION_BYTES_MAX)
            .gives_other(OK, JSON),
        Route::post("/registry/explore", OPEN, "Counts what agents have, as ARD has it", explore)
            .takes_bytes(JSON)
            .body_bytes_max(QUESTION_BYTES_MAX)
            .gives_other(OK, JSON),
        Route::get("/registry/agents", OPEN, "Lists agents, as ARD has it", agents)
            .query::<AgentsQuery>()
            .gives_other(OK, JSON),
        Route::get(
            MANIFEST_PATH,
            Access::Public,
            "What this host publishes, as ARD has it",
            manifest,
        )
        .gives_other(OK, JSON),
        Route::get(
            NEW_MANIFEST_PATH,
            Access::Public,
            "What this host publishes, as the newer ARD has it",
            manifest,
        )
        .gives_other(OK, JSON),
    ]
}

/// Which agents to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct AgentsQuery {
    /// Such as `type = 'application/a2a-agent-card+json' AND updatedAfter > '2026-01-01T00:00:00Z'`.
    #[serde(default)]
    filter: Option<String>,
    /// `displayName`, `identifier` or `updatedAt`, with ` desc` behind it if wanted.
    #[serde(default)]
    order_by: Option<String>,
    /// At most 100.
    #[serde(default)]
    page_size: Option<u32>,
    #[serde(default)]
    page_token: Option<String>,
}

async fn search(
    State(api): State<Api>,
    visitor: Visitor,
    headers: HeaderMap,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let request: SearchRequest = parse_json(&body)?;
    let address = address(&api, &headers);
    let answer = api.catalogue.search(&seeing(&api, &visitor), &request, &address).await?;
    Ok(Json(answer).into_response())
}

async fn explore(
    State(api): State<Api>,
    visitor: Visitor,
    Bytes(body): Bytes,
) -> Result<Json<Value>, Problem> {
    let request: ExploreRequest = parse_json(&body)?;
    let answer = api.catalogue.explore(&seeing(&api, &visitor), &request).await?;
    Ok(Json(explore_response(&answer)))
}

async fn agents(
    State(api): State<Api>,
    visitor: Visitor,
    Query(query): Query<AgentsQuery>,
) -> Result<Response, Problem> {
    let AgentsQuery { filter, order_by, page_size, page_token } = query;
    let question = AgentsQuestion { filter, order_by, page_size, page_token };
    let answer = api.catalogue.agents(&seeing(&api, &visitor), &question).await?;
    Ok(Json(answer).into_response())
}

/// This catalogue, and the agents that everybody may see.
async fn manifest(State(api): State<Api>, headers: HeaderMap) -> Result<Response, Problem> {
    let address = address(&api, &headers);
    let question =
        AgentsQuestion { page_size: Some(MANIFEST_AGENTS_MAX), ..AgentsQuestion::default() };
    let agents = api.catalogue.agents(&Seeing::Anonymous, &question).await?;
    let mut entries = vec![registry(&address)];
    entries.extend(agents.items);
    let manifest = Manifest { spec_version: Some("1.0".to_owned()), host: None, entries };
    Ok(Json(manifest).into_response())
}

fn registry(address: &str) -> CatalogEntry {
    let host = a2a::registry::registration::host(address).unwrap_or_default();
    // Plain localhost is no publisher, and neither is an address in brackets.
    let is_name = !host.is_empty() && host != "localhost" && !host.starts_with('[');
    let domain = if is_name { host } else { "agent.localhost" };
    CatalogEntry {
        identifier: format!("urn:air:{domain}:registry"),
        display_name: "Saem".to_owned(),
        kind: REGISTRY_TYPE.to_owned(),
        url: Some(address.to_owned()),
        data: None,
        description: Some("A catalogue of agents".to_owned()),
        tags: Vec::new(),
        capabilities: Vec::new(),
        representative_queries: Vec::new(),
        version: None,
        updated_at: None,
        metadata: std::collections::BTreeMap::new(),
        trust_manifest: None,
    }
}

/// The catalogue's base address: the configured one, or the one under which the caller reached us, whose name the gate
/// has checked.
fn address(api: &Api, headers: &HeaderMap) -> String {
    if let Some(address) = &api.registry_address {
        return format!("{}{PREFIX}", address.trim_end_matches('/'));
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("http://{host}{PREFIX}")
}

/// A problem as clients of ARD read it.
pub(crate) async fn with_error(answer: Response) -> Response {
    if answer.extensions().get::<Refusal>().is_none() {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let kind = match parts.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ArdError::Unauthenticated,
        StatusCode::NOT_FOUND => ArdError::NotFound,
        StatusCode::TOO_MANY_REQUESTS => ArdError::RateLimitExceeded,
        status if status.is_client_error() => ArdError::InvalidArgument,
        _ => ArdError::Internal,
    };
    let bytes = axum::body::to_bytes(body, ERROR_BYTES_MAX).await.unwrap_or_default();
    let problem: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |name: &str| problem.get(name).and_then(Value::as_str).unwrap_or_default();
    let told = kind.body(&format!("{} {}", text("detail"), text("action")));
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, told.to_string().into())
}
