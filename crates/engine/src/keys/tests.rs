//! Tests of making and revoking keys, on keys in memory.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use agent::identity::{ApiKey, AuditEntry, Principal, Scope, Timestamp};
use agent::names::TenantId;
use agent::ports::{Entropy, Keys, Later, PortError};
use testkit::clock::HandClock;

use super::*;

/// Every key that was put, with its line in the audit log; the last of a prefix counts.
#[derive(Default)]
struct Memory(Mutex<Vec<(ApiKey, AuditEntry)>>);

impl Keys for Memory {
    fn put_key(&self, key: ApiKey, audit: AuditEntry) -> Later<'_, ()> {
        self.0.lock().unwrap().push((key, audit));
        Box::pin(async { Ok(()) })
    }

    fn find_key<'a>(&'a self, prefix: &'a str) -> Later<'a, Option<ApiKey>> {
        let kept = self.0.lock().unwrap();
        let found = kept.iter().rev().find(|(key, _)| key.prefix == prefix);
        let found = found.map(|(key, _)| key.clone());
        Box::pin(async { Ok(found) })
    }

    fn has_keys(&self) -> Later<'_, bool> {
        let has_some = !self.0.lock().unwrap().is_empty();
        Box::pin(async move { Ok(has_some) })
    }

    fn keys<'a>(&'a self, _tenant: Option<&'a TenantId>) -> Later<'a, Vec<ApiKey>> {
        let all = self.0.lock().unwrap().iter().map(|(key, _)| key.clone()).collect();
        Box::pin(async { Ok(all) })
    }
}

#[derive(Default)]
struct Counting(AtomicU8);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
        bytes.fill_with(|| self.0.fetch_add(7, Ordering::Relaxed));
        Ok(())
    }
}

fn ring() -> (Keyring, Arc<Memory>, Arc<HandClock>) {
    let (keys, clock) = (Arc::new(Memory::default()), Arc::new(HandClock::at(1000)));
    let entropy = Arc::new(Counting::default());
    (Keyring { keys: keys.clone(), clock: clock.clone(), entropy }, keys, clock)
}

fn order(days: Option<u64>) -> KeyOrder {
    let (tenant, label) = ("acme".parse().unwrap(), "the portal".to_owned());
    KeyOrder { tenant, label, scopes: vec![Scope::Read], days }
}

#[tokio::test]
async fn a_key_ends_after_its_days_and_its_making_is_in_the_audit_log() {
    let (ring, memory, _) = ring();
    let (secret, key) = ring.create(&Principal::local_owner(), order(Some(2))).await.unwrap();
    assert_eq!(key.expires_at, Some(Timestamp(1000 + 2 * 86_400_000)));
    assert_eq!(checked_prefix(secret.expose()), Some(key.prefix.as_str()));
    let (kept, audit) = memory.0.lock().unwrap()[0].clone();
    assert_eq!(kept, key);
    let told = (audit.at.0, audit.principal.as_str(), audit.action.as_str(), audit.object);
    assert_eq!(told, (1000, "owner", "key.create", key.prefix));
    let (_, endless) = ring.create(&Principal::local_owner(), order(None)).await.unwrap();
    assert_eq!(endless.expires_at, None);
    let (_, late) = ring.create(&Principal::local_owner(), order(Some(u64::MAX))).await.unwrap();
    assert_eq!(late.expires_at, Some(Timestamp(u64::MAX)), "and does not overflow");
}

#[tokio::test]
async fn a_key_without_a_scope_or_with_an_endless_label_is_refused() {
    let (ring, memory, _) = ring();
    let without = KeyOrder { scopes: vec![], ..order(None) };
    let long = KeyOrder { label: "가".repeat(67), ..order(None) };
    for order in [without, long] {
        let refused = ring.create(&Principal::local_owner(), order).await.unwrap_err();
        assert!(matches!(refused, EngineError::Refused(_)), "{refused}");
    }
    assert!(memory.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_key_is_revoked_once_and_only_by_those_it_belongs_to() {
    let (ring, memory, clock) = ring();
    let owner = Principal::local_owner();
    let (_, key) = ring.create(&owner, order(None)).await.unwrap();
    let other: TenantId = "globex".parse().unwrap();
    let refused = ring.revoke(&owner, Some(&other), &key.prefix).await.unwrap_err();
    assert!(matches!(refused, EngineError::Absent { .. }), "{refused}");
    assert!(ring.revoke(&owner, None, "nothing").await.is_err());
    ring.revoke(&owner, Some(&key.tenant), &key.prefix).await.unwrap();
    clock.advance(5);
    ring.revoke(&owner, None, &key.prefix).await.unwrap();
    let kept = memory.0.lock().unwrap();
    let revoked: Vec<_> = kept.iter().filter(|(_, audit)| audit.action == "key.revoke").collect();
    assert_eq!(revoked.len(), 1, "the second time changes nothing");
    assert_eq!(revoked[0].0.revoked_at, Some(Timestamp(1000)));
}
