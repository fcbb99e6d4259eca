//! `saem key`: creates, lists and revokes API keys.

use std::process::ExitCode;

use agent::identity::{ApiKey, Principal, Scope};
use agent::ports::Clock;
use anyhow::{Result, anyhow};
use engine::EngineError;
use engine::keys::KeyOrder;
use serde_json::json;

use crate::args::Key;
use crate::config::Config;
use crate::output::Output;
use crate::system::SystemClock;
use crate::wiring;

pub(crate) async fn run(config: Config, key: Key, output: &Output) -> Result<ExitCode> {
    let store = wiring::open_store_of(&config)?;
    let (ring, owner) = (wiring::keyring(&store), Principal::local_owner());
    match key {
        Key::Create { label, tenant, scopes, days } => {
            let scopes =
                scopes.iter().map(|scope| scope.parse()).collect::<Result<Vec<Scope>, _>>()?;
            let order = KeyOrder { tenant: tenant.parse()?, label, scopes, days };
            let (secret, key) = ring.create(&owner, order).await?;
            output.json(&json!({ "key": secret.expose(), "prefix": key.prefix }))?;
            output.line(secret.expose())?;
            output
                .line("Keep it now: it is not shown again. Send it as Authorization: Bearer …")?;
        }
        Key::List => {
            for key in ring.list(None).await? {
                output.json(&json!({
                    "prefix": key.prefix, "tenant": key.tenant, "label": key.label, "scopes": key.scopes,
                    "live": key.is_live(SystemClock.now()),
                }))?;
                output.line(&line(&key))?;
            }
        }
        Key::Revoke { prefix } => {
            ring.revoke(&owner, None, &prefix).await.map_err(|error| match error {
                EngineError::Absent { .. } => {
                    anyhow!("there is no key {prefix}; `saem key list` shows the prefixes")
                }
                error => error.into(),
            })?;
            output.json(&json!({ "revoked": prefix }))?;
            output.line(&format!("revoked {prefix}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(key: &ApiKey) -> String {
    let state = if key.is_live(SystemClock.now()) { "live" } else { "dead" };
    let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    format!("{}  {}  {}  {state}  {}", key.prefix, key.tenant, scopes.join(","), key.label)
}
