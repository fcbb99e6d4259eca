//! The promise of `Keys`.

use agent::identity::{ApiKey, Scope, Timestamp};
use agent::ports::Keys;

use crate::samples::{audit, tenant};

/// Runs on a fresh store.
pub async fn keeps_its_promise(keys: &dyn Keys) {
    let key = |prefix: &str, of: &str| ApiKey {
        prefix: prefix.to_owned(),
        hash: format!("hash of {prefix}"),
        tenant: tenant(of),
        label: String::new(),
        scopes: vec![Scope::Read],
        created_at: Timestamp(1),
        expires_at: None,
        revoked_at: None,
    };
    assert!(!keys.has_keys().await.unwrap());
    keys.put_key(key("a", "one"), audit("key.create")).await.unwrap();
    assert!(keys.has_keys().await.unwrap());
    keys.put_key(key("b", "two"), audit("key.create")).await.unwrap();
    assert_eq!(keys.find_key("a").await.unwrap(), Some(key("a", "one")));
    assert_eq!(keys.find_key("c").await.unwrap(), None);
    assert_eq!(keys.find_key("").await.unwrap(), None);
    assert_eq!(keys.keys(Some(&tenant("two"))).await.unwrap(), [key("b", "two")]);
    assert_eq!(keys.keys(None).await.unwrap().len(), 2);
    let revoked = ApiKey { revoked_at: Some(Timestamp(2)), ..key("a", "one") };
    keys.put_key(revoked.clone(), audit("key.revoke")).await.unwrap();
    assert_eq!(keys.find_key("a").await.unwrap(), Some(revoked));
}
