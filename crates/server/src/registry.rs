//! The catalogue of agents over HTTP: `/registry/…`, with the API of ARD and its manifest, and our own for owners and keepers.

mod ard;
mod peers;
mod wire;

use a2a::card::{BareCard, at_path};
use a2a::registry::disclosure::Caller as Seeing;
use agent::identity::{Principal, Scope};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::catalogue::{Catalogue, CatalogueError};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, VARY};
use http::{Method, StatusCode};

pub(crate) use self::ard::with_error;
pub use self::wire::{
    AgentBody, AgentChangeBody, AgentFacetBody, AgentVersionBody, AgentsFoundBody, CardChangeBody,
    CrawlBody, DisclosureBody, FindAgentsQuery, HealthBody, ImportedBody, NewAgentBody,
    RegisteredBody,
};

use crate::api::Api;
use crate::guard::{Caller, Visitor};
use crate::input::{Bytes, Json, Path, Query};
use crate::problem::Problem;
use crate::routes::{Access, Route, Row};

/// Where the catalogue is, below the server's address.
pub const PREFIX: &str = "/registry";

/// Largest import, in bytes: it is read in memory.
const IMPORT_BYTES_MAX: u64 = 16 << 20;

/// Largest registration, in bytes: a card, and a little more.
const AGENT_BYTES_MAX: u64 = 512 << 10;

const OPEN: Access = Access::Open;
const WRITE: Access = Access::Needs(Scope::Write);
const ADMIN: Access = Access::Needs(Scope::Admin);

const VERSION: HeaderName = HeaderName::from_static("a2a-version");

/// The routes of the catalogue.
#[must_use]
pub(crate) fn routes() -> Vec<Route<Api>> {
    const OK: StatusCode = StatusCode::OK;
    let mut routes = ard::routes();
    routes.extend(peers::routes());
    routes.extend(vec![
        Route::get("/registry/find", OPEN, "Finds agents by skill, tag, words and more", find)
            .query::<FindAgentsQuery>()
            .gives::<AgentsFoundBody>(OK),
        Route::post("/registry/agents", WRITE, "Registers an agent, or its card anew", register)
            .takes::<NewAgentBody>()
            .body_bytes_max(AGENT_BYTES_MAX)
            .gives::<RegisteredBody>(StatusCode::CREATED)
            .gives::<RegisteredBody>(OK),
        Route::get("/registry/agents/{identifier}", OPEN, "Shows an agent", show)
            .gives::<AgentBody>(OK),
        Route::get("/registry/agents/{identifier}/card", OPEN, "Gives an agent's card", card)
            .gives_other(OK, "application/json"),
        Route::patch(
            "/registry/agents/{identifier}",
            WRITE,
            "Approves or deprecates an agent, or changes who sees it",
            change,
        )
        .takes::<AgentChangeBody>()
        .gives::<AgentBody>(OK),
        Route::delete("/registry/agents/{identifier}", WRITE, "Removes an agent", remove)
            .gives_nothing(StatusCode::NO_CONTENT),
        Route::post("/registry/crawl", WRITE, "Registers the agents that a host publishes", crawl)
            .takes::<CrawlBody>()
            .gives::<ImportedBody>(OK),
        Route::get("/registry/export", ADMIN, "Writes agents down, a line for each", export)
            .gives_other(OK, "application/x-ndjson"),
        Route::post("/registry/import", ADMIN, "Reads agents in that were written down", import)
            .takes_bytes("application/x-ndjson")
            .body_bytes_max(IMPORT_BYTES_MAX)
            .gives::<ImportedBody>(OK),
    ]);
    routes.into_iter().map(|route| route.tag("agents")).collect()
}

/// Whether a route answers in the words of ARD, its errors included.
pub(crate) fn speaks_ard(row: &Row) -> bool {
    match row.path {
        "/registry/search" | "/registry/explore" => true,
        "/registry/agents" => row.method == Method::GET,
        _ => false,
    }
}

impl From<CatalogueError> for Problem {
    fn from(error: CatalogueError) -> Self {
        match error {
            CatalogueError::Absent => Self::not_found("agent"),
            CatalogueError::Refused(why) => Self::refused(why),
            CatalogueError::Conflict(why) => Self::conflict(why),
            CatalogueError::Forbidden(why) => Self::new(
                StatusCode::FORBIDDEN,
                "not_yours",
                "the credentials do not allow this",
                format!("It cannot be done: {why}."),
                "Ask the owner of the agent, or somebody who keeps the catalogue.",
            ),
            CatalogueError::Port(error) => error.into(),
        }
    }
}

fn seeing(api: &Api, visitor: &Visitor) -> Seeing {
    api.catalogue.caller(visitor.0.as_ref())
}

async fn find(
    State(api): State<Api>,
    visitor: Visitor,
    Query(query): Query<FindAgentsQuery>,
) -> Result<Json<AgentsFoundBody>, Problem> {
    let find = query.read().map_err(Problem::refused)?;
    let page = api.catalogue.find(&seeing(&api, &visitor), &find).await?;
    Ok(Json(page.into()))
}

async fn register(
    State(api): State<Api>,
    caller: Caller,
    Json(body): Json<NewAgentBody>,
) -> Result<(StatusCode, Json<RegisteredBody>), Problem> {
    let new = body.read().map_err(Problem::refused)?;
    let registered = RegisteredBody::from(api.catalogue.register(&caller, new).await?);
    let status = if registered.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(registered)))
}

async fn crawl(
    State(api): State<Api>,
    caller: Caller,
    Json(body): Json<CrawlBody>,
) -> Result<Json<ImportedBody>, Problem> {
    let disclosure = body.disclosure().map_err(Problem::refused)?;
    Ok(Json(api.catalogue.crawl(&caller, &body.url, disclosure).await?.into()))
}

async fn show(
    State(api): State<Api>,
    visitor: Visitor,
    Path(identifier): Path<String>,
) -> Result<Json<AgentBody>, Problem> {
    let (found, own) = api.catalogue.show_one(&seeing(&api, &visitor), &identifier).await?;
    Ok(Json(AgentBody::whole(found, own)))
}

/// The card in the form of the version that the caller names.
async fn card(
    State(api): State<Api>,
    visitor: Visitor,
    Path(identifier): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (found, _) = api.catalogue.show_one(&seeing(&api, &visitor), &identifier).await?;
    let version = headers.get(VERSION).and_then(|value| value.to_str().ok());
    let card = at_path(&found.view.card, version, BareCard::Strict)
        .map_err(|error| Problem::refused(error.to_string()))?;
    let vary = HeaderValue::from_static("A2A-Version, Authorization, X-Api-Key");
    Ok(([(VARY, vary)], Json(card)).into_response())
}

async fn change(
    State(api): State<Api>,
    caller: Caller,
    Path(identifier): Path<String>,
    Json(body): Json<AgentChangeBody>,
) -> Result<Json<AgentBody>, Problem> {
    let change = body.read().map_err(Problem::refused)?;
    api.catalogue.change(&caller, &identifier, change).await?;
    let seeing = api.catalogue.caller(Some(&caller));
    let (found, own) = api.catalogue.show_one(&seeing, &identifier).await?;
    Ok(Json(AgentBody::whole(found, own)))
}

async fn remove(
    State(api): State<Api>,
    caller: Caller,
    Path(identifier): Path<String>,
) -> Result<StatusCode, Problem> {
    api.catalogue.remove(&caller, &identifier).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn export(State(api): State<Api>, caller: Caller) -> Response {
    let mut lines = String::new();
    for written in api.catalogue.export(&caller) {
        lines.push_str(&serde_json::to_string(&written).unwrap_or_default());
        lines.push('\n');
    }
    ([(CONTENT_TYPE, "application/x-ndjson")], lines).into_response()
}

async fn import(
    State(api): State<Api>,
    caller: Caller,
    Bytes(body): Bytes,
) -> Result<Json<ImportedBody>, Problem> {
    let text =
        std::str::from_utf8(&body).map_err(|_| Problem::refused("the lines are no UTF-8"))?;
    Ok(Json(import_lines(&api.catalogue, &caller, text).await?))
}

/// Reads agents in, a line for each; a line that cannot be used does not stop the others.
///
/// # Errors
/// If the caller may not, or the store cannot be written.
pub async fn import_lines(
    catalogue: &Catalogue,
    who: &Principal,
    lines: &str,
) -> Result<ImportedBody, CatalogueError> {
    let mut imported = ImportedBody::default();
    for (number, line) in (1..).zip(lines.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let written = match serde_json::from_str(line) {
            Ok(written) => written,
            Err(error) => {
                imported.fail(number, &error.to_string());
                continue;
            }
        };
        match catalogue.import(who, written).await {
            Ok(registered) => imported.agents.push(registered.into()),
            Err(error @ (CatalogueError::Refused(_) | CatalogueError::Conflict(_))) => {
                imported.fail(number, &error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(imported)
}
