//! Keys and the audit log over the wire.

use agent::identity::{AuditEntry, Principal, Scope, Timestamp};
use axum::extract::State;
use engine::keys::{NewKey, mint};
use http::StatusCode;

use super::wire::{AuditsBody, KeysBody, MintedBody, NewKeyBody};
use super::{ADMIN, Api, OK};
use crate::guard::Caller;
use crate::input::{Json, Path};
use crate::problem::Problem;
use crate::routes::Route;

/// Entries of the audit log that are shown.
const ENTRIES: usize = 200;

/// Longest label of a key, in bytes.
const LABEL_BYTES_MAX: usize = 200;

const DAY_MILLIS: u64 = 86_400_000;

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
    let keys = api.keys.keys(Some(&principal.tenant)).await?;
    Ok(Json(KeysBody { keys: keys.into_iter().map(Into::into).collect() }))
}

async fn create(
    State(api): State<Api>,
    principal: Caller,
    Json(body): Json<NewKeyBody>,
) -> Result<(StatusCode, Json<MintedBody>), Problem> {
    let scopes = body.scopes.iter().map(|scope| scope.parse()).collect::<Result<Vec<Scope>, _>>();
    let scopes = scopes.map_err(|error| Problem::refused(error.to_string()))?;
    if scopes.is_empty() || body.label.len() > LABEL_BYTES_MAX {
        let why = format!("A key needs a scope, and a label of at most {LABEL_BYTES_MAX} bytes.");
        return Err(Problem::refused(why));
    }
    let now = api.clock.now();
    let expires_at =
        body.days.map(|days| Timestamp(now.0.saturating_add(days.saturating_mul(DAY_MILLIS))));
    let tenant = principal.tenant.clone();
    let wanted = NewKey { tenant, label: body.label, scopes, created_at: now, expires_at };
    let (secret, key) = mint(api.entropy.as_ref(), wanted)?;
    let audit = entry(now, &principal, "key.create", &key.prefix);
    api.keys.put_key(key.clone(), audit).await?;
    let secret = secret.expose().to_owned();
    Ok((StatusCode::CREATED, Json(MintedBody { secret, key: key.into() })))
}

async fn revoke(
    State(api): State<Api>,
    principal: Caller,
    Path(prefix): Path<String>,
) -> Result<StatusCode, Problem> {
    let key = api.keys.find_key(&prefix).await?.filter(|key| key.tenant == principal.tenant);
    let Some(mut key) = key else { return Err(Problem::not_found("key")) };
    let now = api.clock.now();
    if key.revoked_at.is_none() {
        key.revoked_at = Some(now);
        api.keys.put_key(key, entry(now, &principal, "key.revoke", &prefix)).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn audit(State(api): State<Api>, principal: Caller) -> Result<Json<AuditsBody>, Problem> {
    let entries = api.knowledge.audit_entries(&principal.tenant, ENTRIES).await?;
    Ok(Json(AuditsBody { entries: entries.into_iter().map(Into::into).collect() }))
}

fn entry(at: Timestamp, principal: &Principal, action: &str, object: &str) -> AuditEntry {
    let (principal, action) = (principal.name.clone(), action.to_owned());
    AuditEntry { at, principal, action, object: object.to_owned() }
}
