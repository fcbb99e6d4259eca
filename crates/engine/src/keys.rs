//! API keys: made and revoked, each with its line in the audit log.

mod form;

use std::sync::Arc;

use agent::identity::{ApiKey, AuditEntry, Principal, Scope, Timestamp};
use agent::names::TenantId;
use agent::ports::{Clock, Entropy, Keys};

pub use form::{NewKey, Secret, checked_prefix, looks_like_one, matching, mint};

use crate::error::EngineError;

/// Longest label of a key, in bytes: it stands in one line of a list.
const LABEL_BYTES_MAX: usize = 200;

const DAY_MILLIS: u64 = 86_400_000;

/// What somebody wants a key for.
#[derive(Debug, Clone)]
pub struct KeyOrder {
    pub tenant: TenantId,
    pub label: String,
    pub scopes: Vec<Scope>,
    /// Days until it expires; never, if there are none.
    pub days: Option<u64>,
}

/// The keys of an installation. Cheap to clone.
#[derive(Clone)]
pub struct Keyring {
    pub keys: Arc<dyn Keys>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

impl Keyring {
    /// Makes a key. The secret is kept nowhere: whoever asked for it is shown it this once.
    pub async fn create(
        &self,
        principal: &Principal,
        order: KeyOrder,
    ) -> Result<(Secret, ApiKey), EngineError> {
        let KeyOrder { tenant, label, scopes, days } = order;
        if scopes.is_empty() || label.len() > LABEL_BYTES_MAX {
            return Err(EngineError::Refused(format!(
                "a key needs a scope, and a label of at most {LABEL_BYTES_MAX} bytes"
            )));
        }
        let created_at = self.clock.now();
        let end = |days: u64| created_at.0.saturating_add(days.saturating_mul(DAY_MILLIS));
        let expires_at = days.map(end).map(Timestamp);
        let wanted = NewKey { tenant, label, scopes, created_at, expires_at };
        let (secret, key) = mint(self.entropy.as_ref(), wanted)?;
        let audit = entry(created_at, principal, "key.create", &key.prefix);
        self.keys.put_key(key.clone(), audit).await?;
        Ok((secret, key))
    }

    /// Revokes a key: one of `tenant`'s, or any if none is named. What is revoked already stays as it is.
    pub async fn revoke(
        &self,
        principal: &Principal,
        tenant: Option<&TenantId>,
        prefix: &str,
    ) -> Result<(), EngineError> {
        let found = self.keys.find_key(prefix).await?;
        let found = found.filter(|key| tenant.is_none_or(|tenant| key.tenant == *tenant));
        let mut key = found.ok_or(EngineError::Absent { what: "key of this prefix" })?;
        if key.revoked_at.is_none() {
            let now = self.clock.now();
            key.revoked_at = Some(now);
            self.keys.put_key(key, entry(now, principal, "key.revoke", prefix)).await?;
        }
        Ok(())
    }

    /// The keys of a tenant, or of all if none is named.
    pub async fn list(&self, tenant: Option<&TenantId>) -> Result<Vec<ApiKey>, EngineError> {
        Ok(self.keys.keys(tenant).await?)
    }
}

fn entry(at: Timestamp, principal: &Principal, action: &str, prefix: &str) -> AuditEntry {
    let (principal, action) = (principal.name.clone(), action.to_owned());
    AuditEntry { at, principal, action, object: prefix.to_owned() }
}

#[cfg(test)]
mod tests;
