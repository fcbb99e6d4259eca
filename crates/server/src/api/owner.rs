//! What only the owner of the data folder may do, because it concerns every tenant.

use agent::identity::Scope;
use agent::names::TenantId;
use axum::extract::State;
use engine::keys::KeyOrder;
use http::StatusCode;

use super::wire::{CleanupBody, KeysBody, MintedBody, TenantKeyBody};
use super::{Api, OK, OWNER};
use crate::guard::Caller;
use crate::input::{Json, Path};
use crate::problem::Problem;
use crate::routes::Route;

pub(super) fn routes() -> Vec<Route<Api>> {
    let routes = vec![
        Route::get("/api/owner/keys", OWNER, "Lists the API keys of all tenants", list)
            .gives::<KeysBody>(OK),
        Route::post("/api/owner/keys", OWNER, "Makes an API key of any tenant", create)
            .takes::<TenantKeyBody>()
            .gives::<MintedBody>(StatusCode::CREATED),
        Route::delete(
            "/api/owner/keys/{prefix}",
            OWNER,
            "Revokes an API key of any tenant",
            revoke,
        )
        .gives_nothing(StatusCode::NO_CONTENT),
        Route::post("/api/owner/cleanup", OWNER, "Forgets what has expired, compacts", clean_up)
            .gives::<CleanupBody>(OK),
    ];
    routes.into_iter().map(|route| route.tag("owner")).collect()
}

async fn list(State(api): State<Api>) -> Result<Json<KeysBody>, Problem> {
    let keys = api.keys.list(None).await?;
    Ok(Json(KeysBody { keys: keys.into_iter().map(Into::into).collect() }))
}

async fn create(
    State(api): State<Api>,
    owner: Caller,
    Json(body): Json<TenantKeyBody>,
) -> Result<(StatusCode, Json<MintedBody>), Problem> {
    let tenant: TenantId = body.tenant.parse()?;
    let scopes = body.scopes.iter().map(|scope| scope.parse()).collect::<Result<Vec<Scope>, _>>();
    let scopes = scopes.map_err(|error| Problem::refused(error.to_string()))?;
    let order = KeyOrder { tenant, label: body.label, scopes, days: body.days };
    let (secret, key) = api.keys.create(&owner, order).await?;
    let secret = secret.expose().to_owned();
    Ok((StatusCode::CREATED, Json(MintedBody { secret, key: key.into() })))
}

async fn revoke(
    State(api): State<Api>,
    owner: Caller,
    Path(prefix): Path<String>,
) -> Result<StatusCode, Problem> {
    api.keys.revoke(&owner, None, &prefix).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn clean_up(State(api): State<Api>) -> Result<Json<CleanupBody>, Problem> {
    Ok(Json(api.knowledge.clean_up().await?.into()))
}
