//! The routes for whoever runs the server: health, metrics, the API's description, where tokens come from.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use schemars::JsonSchema;
use serde::Serialize;

use agent::identity::Scope;

use crate::Shared;
use crate::guard::scope_name;
use crate::health::{Health, PartState};
use crate::identity::jwt::{Jwt, MCP_PATH};
use crate::input::Json;
use crate::problem::Problem;
use crate::routes::{Access, Route};

type Server = Extension<Arc<Shared>>;

pub(crate) fn routes<S: Clone + Send + Sync + 'static>(metrics_access: Access) -> Vec<Route<S>> {
    use Access::Public;
    vec![
        Route::get("/health/live", Public, "Says that the process runs", live)
            .tag("operations")
            .gives::<Live>(StatusCode::OK),
        Route::get("/health/ready", Public, "Says whether every part works, and why not", ready)
            .tag("operations")
            .gives::<Health>(StatusCode::OK)
            .gives::<Health>(StatusCode::SERVICE_UNAVAILABLE),
        Route::get("/metrics", metrics_access, "Numbers for Prometheus", metrics)
            .tag("operations")
            .gives_other(StatusCode::OK, "text/plain"),
        Route::get("/api/openapi.json", Public, "Describes this API", description)
            .tag("operations")
            .gives_other(StatusCode::OK, "application/json"),
        Route::get(
            "/.well-known/oauth-protected-resource",
            Public,
            "Says which issuer's tokens are accepted (RFC 9728)",
            resource_metadata,
        )
        .tag("operations")
        .gives::<ResourceMetadata>(StatusCode::OK),
        Route::get(
            "/.well-known/oauth-protected-resource/mcp",
            Public,
            "Says which issuer's tokens the MCP endpoint accepts (RFC 9728)",
            mcp_metadata,
        )
        .tag("operations")
        .gives::<ResourceMetadata>(StatusCode::OK),
    ]
}

/// The process runs.
#[derive(Serialize, JsonSchema)]
struct Live {
    status: &'static str,
}

async fn live() -> Json<Live> {
    Json(Live { status: "ok" })
}

async fn ready(Extension(server): Server) -> Response {
    let parts: BTreeMap<String, PartState> =
        server.ready.iter().map(|part| (part.name().to_owned(), part.check().into())).collect();
    let health = Health::of(parts);
    let status = if health.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(health)).into_response()
}

async fn metrics(Extension(server): Server) -> impl IntoResponse {
    let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(CONTENT_TYPE, format)], server.metrics.render())
}

async fn description(Extension(server): Server) -> impl IntoResponse {
    let json = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, json)], server.description.clone())
}

/// Where tokens for this server come from.
#[derive(Serialize, JsonSchema)]
struct ResourceMetadata {
    resource: String,
    authorization_servers: Vec<String>,
    scopes_supported: Vec<String>,
    bearer_methods_supported: Vec<&'static str>,
}

async fn resource_metadata(Extension(server): Server) -> Result<Json<ResourceMetadata>, Problem> {
    metadata(&server, "")
}

async fn mcp_metadata(Extension(server): Server) -> Result<Json<ResourceMetadata>, Problem> {
    metadata(&server, MCP_PATH)
}

fn metadata(server: &Shared, path: &str) -> Result<Json<ResourceMetadata>, Problem> {
    let settings = server.identity.jwt().map(Jwt::settings);
    let known = settings.and_then(|known| Some((known, known.resource()?)));
    let (settings, resource) = known.ok_or_else(Problem::no_route)?;
    Ok(Json(ResourceMetadata {
        resource: format!("{resource}{path}"),
        authorization_servers: vec![settings.issuer.clone()],
        scopes_supported: Scope::ALL.into_iter().map(scope_name).collect(),
        bearer_methods_supported: vec!["header"],
    }))
}
