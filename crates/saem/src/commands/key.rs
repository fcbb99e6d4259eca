//! `saem key`: creates, lists and revokes API keys.

use std::process::ExitCode;

use agent::identity::{ApiKey, AuditEntry, Scope, Timestamp};
use agent::ports::{Clock, Keys};
use anyhow::{Context, Result};
use engine::keys::{NewKey, mint};
use serde_json::json;

use crate::args::Key;
use crate::config::Config;
use crate::output::Output;
use crate::system::{SystemClock, SystemEntropy};
use crate::wiring;

const DAY_MILLIS: u64 = 86_400_000;

pub(crate) async fn run(config: Config, key: Key, output: &Output) -> Result<ExitCode> {
    let store = wiring::open_store_of(&config)?;
    match key {
        Key::Create { label, tenant, scopes, days } => {
            let now = SystemClock.now();
            let expires_at = days.map(|days| Timestamp(now.0 + days.saturating_mul(DAY_MILLIS)));
            let scopes =
                scopes.iter().map(|scope| scope.parse()).collect::<Result<Vec<Scope>, _>>()?;
            let wanted =
                NewKey { tenant: tenant.parse()?, label, scopes, created_at: now, expires_at };
            let (secret, key) = mint(&SystemEntropy, wanted)?;
            store.put_key(key.clone(), entry(now, "key.create", &key.prefix)).await?;
            output.json(&json!({ "key": secret.expose(), "prefix": key.prefix }))?;
            output.line(secret.expose())?;
            output
                .line("Keep it now: it is not shown again. Send it as Authorization: Bearer …")?;
        }
        Key::List => {
            for key in store.keys(None).await? {
                output.json(&json!({
                    "prefix": key.prefix, "tenant": key.tenant, "label": key.label, "scopes": key.scopes,
                    "live": key.is_live(SystemClock.now()),
                }))?;
                output.line(&line(&key))?;
            }
        }
        Key::Revoke { prefix } => {
            let found = store.find_key(&prefix).await?;
            let mut key = found.with_context(|| {
                format!("there is no key {prefix}; `saem key list` shows the prefixes")
            })?;
            let now = SystemClock.now();
            key.revoked_at = key.revoked_at.or(Some(now));
            store.put_key(key, entry(now, "key.revoke", &prefix)).await?;
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

fn entry(at: Timestamp, action: &str, prefix: &str) -> AuditEntry {
    AuditEntry {
        at,
        principal: "owner".to_owned(),
        action: action.to_owned(),
        object: prefix.to_owned(),
    }
}
