//! `saem key`: creates, lists and revokes API keys.

use std::process::ExitCode;

use agent::ports::Clock;
use anyhow::Result;
use serde_json::json;
use server::api::wire::KeyBody;

use crate::args::Key;
use crate::backend::{Backend, WantedKey};
use crate::config::Config;
use crate::output::Output;
use crate::system::SystemClock;

pub(crate) async fn run(config: Config, key: Key, output: &Output) -> Result<ExitCode> {
    let backend = Backend::keys(&config).await?;
    match key {
        Key::Create { label, tenant, scopes, days } => {
            let made = backend.create_key(WantedKey { tenant, label, scopes, days }).await?;
            output.json(&json!({ "key": made.secret, "prefix": made.key.prefix }))?;
            output.line(&made.secret)?;
            output
                .line("Keep it now: it is not shown again. Send it as Authorization: Bearer …")?;
        }
        Key::List => {
            for key in backend.list_keys().await? {
                output.json(&json!({
                    "prefix": key.prefix, "tenant": key.tenant, "label": key.label, "scopes": key.scopes,
                    "live": is_live(&key),
                }))?;
                output.line(&line(&key))?;
            }
        }
        Key::Revoke { prefix } => {
            backend.revoke_key(&prefix).await?;
            output.json(&json!({ "revoked": prefix }))?;
            output.line(&format!("revoked {prefix}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn is_live(key: &KeyBody) -> bool {
    key.revoked_at.is_none() && key.expires_at.is_none_or(|end| SystemClock.now().0 < end)
}

fn line(key: &KeyBody) -> String {
    let state = if is_live(key) { "live" } else { "dead" };
    format!("{}  {}  {}  {state}  {}", key.prefix, key.tenant, key.scopes.join(","), key.label)
}
