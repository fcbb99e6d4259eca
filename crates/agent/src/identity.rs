//! Who is calling and what that caller may do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::names::TenantId;

/// What an action needs. A scope is granted by name and implies no other, but for `Admin`, which implies all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Ask and search, and read documents, sections, jobs and conversations.
    Read,
    /// Add, change and delete documents; correct and forget conversations.
    Write,
    /// Keys, costs, the audit log and everything else of the tenant.
    Admin,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Admin];

    /// The scope's name, as keys and tokens carry it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A scope that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no scope {0:?}: use read, write or admin")]
pub struct ScopeError(String);

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| ScopeError(text.chars().take(32).collect()))
    }
}

/// A caller whose identity has been checked. It has no default: nobody is somebody by accident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    pub tenant: TenantId,
    /// Who, for quotas and the audit log: `owner`, `key:ab12cd34`, `jwt:subject`.
    pub name: String,
    pub scopes: Vec<Scope>,
}

impl Principal {
    /// The one owner of an installation on loopback without keys.
    #[must_use]
    pub fn local_owner() -> Self {
        Self { tenant: TenantId::local(), name: "owner".to_owned(), scopes: vec![Scope::Admin] }
    }

    /// Whether this caller may do what needs `scope`.
    #[must_use]
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.iter().any(|held| *held == scope || *held == Scope::Admin)
    }
}

/// An API key as it is kept: the secret itself is shown once and never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// The public part, by which it is found and named.
    pub prefix: String,
    /// SHA-256 of the whole key, in hexadecimal.
    pub hash: String,
    pub tenant: TenantId,
    pub label: String,
    pub scopes: Vec<Scope>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl ApiKey {
    /// Whether the key still opens anything at `now`.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// Milliseconds since 1970 in UTC.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
pub struct Timestamp(pub u64);

/// One line of the audit log: who changed what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    pub at: Timestamp,
    pub principal: String,
    /// Such as `document.put`, `key.revoke`.
    pub action: String,
    pub object: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_implies_no_other_but_admin_implies_all() {
        let mut principal = Principal::local_owner();
        assert!(Scope::ALL.into_iter().all(|scope| principal.may(scope)));
        principal.scopes = vec![Scope::Write];
        assert!(principal.may(Scope::Write));
        assert!(!principal.may(Scope::Read) && !principal.may(Scope::Admin));
        principal.scopes.clear();
        assert!(!Scope::ALL.into_iter().any(|scope| principal.may(scope)));
    }

    #[test]
    fn a_key_dies_when_it_is_revoked_or_expires() {
        let mut key = ApiKey {
            prefix: "ab".to_owned(),
            hash: String::new(),
            tenant: TenantId::local(),
            label: String::new(),
            scopes: vec![],
            created_at: Timestamp(0),
            expires_at: Some(Timestamp(10)),
            revoked_at: None,
        };
        assert!(key.is_live(Timestamp(9)));
        assert!(!key.is_live(Timestamp(10)));
        key.expires_at = None;
        assert!(key.is_live(Timestamp(10)));
        key.revoked_at = Some(Timestamp(3));
        assert!(!key.is_live(Timestamp(4)));
    }
}
