//! Keys and the audit log over the wire.

use agent::identity::Scope;
use axum::extract::State;
use engine::keys::KeyOrder;
use http::StatusCode;

use super::wire::{AuditsBody, KeysBody, MintedBody, NewKeyBody};
use super::{ADMIN, Api, OK};
use crate::guard::Caller;
use crate::input::{Json, Path};
use crate::problem::Problem;
use crate::routes::Route;

/// Entries of the audit log that are shown.
const ENTRIES: usize = 200;

pub(super) fn routes() -> Vec<Route<Api>> {
    let routes = vec![
        Route::get("/api/keys", ADMIN, "Lists API keys", list).gives::<KeysBody>(OK),
        Route::post("/api/keys", ADMIN, "Makes an API key, shown this once", create)
            .takes::<NewKeyBody>()
            .gives::<MintedBody>(StatusCode::CREATED),
        Route::delete("/api/keys/{prefix}", ADMIN, "Revokes an API key", revoke)
            .gives_nothing(StatusCode::NO_CONTENT),
        Route::get("/api/audit", ADMIN, "Shows who changed what", audit).gives::<AuditsBody>(OK),
    ];
    routes.into_iter().map(|route| route.tag("administration")).collect()
}

async fn list(State(api): State<Api>, principal: Caller) -> Result<Json<KeysBody>, Problem> {
    let keys = api.keys.list(Some(&principal.tenant)).await?;
    Ok(Json(KeysBody { keys: keys.into_iter().map(Into::into).collect() }))
}

async fn create(
    State(api): State<Api>,
    principal: Caller,
    Json(body): Json<NewKeyBody>,
) -> Result<(StatusCode, Json<MintedBody>), Problem> {
    let scopes = body.scopes.iter().map(|scope| scope.parse()).collect::<Result<Vec<Scope>, _>>();
    let scopes = scopes.map_err(|error| Problem::refused(error.to_string()))?;
    let tenant = principal.tenant.clone();
    let order = KeyOrder { tenant, label: body.label, scopes, days: body.days };
    let (secret, key) = api.keys.create(&principal, order).await?;
    let secret = secret.expose().to_owned();
    Ok((StatusCode::CREATED, Json(MintedBody { secret, key: key.into() })))
}

async fn revoke(
    State(api): State<Api>,
    principal: Caller,
    Path(prefix): Path<String>,
) -> Result<StatusCode, Problem> {
    api.keys.revoke(&principal, Some(&principal.tenant), &prefix).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn audit(State(api): State<Api>, principal: Caller) -> Result<Json<AuditsBody>, Problem> {
    let entries = api.knowledge.audit_entries(&principal.tenant, ENTRIES).await?;
    Ok(Json(AuditsBody { entries: entries.into_iter().map(Into::into).collect() }))
}
