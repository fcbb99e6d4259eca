//! The catalogue of agents and its log, in memory; pages and other catalogues that say what a test has written.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agent::identity::AuditEntry;
use agent::names::TenantId;
use agent::ports::{
    AgentEntries, Audit, Catalogues, EntryList, Fetched, KeepEntry, KeptEntry, Later, Pages,
    PortError,
};

/// Keeps everything until it is dropped.
#[derive(Debug, Default)]
pub struct MemoryEntries(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    entries: BTreeMap<String, KeptEntry>,
    audit: Vec<(TenantId, AuditEntry)>,
}

impl MemoryEntries {
    fn with<T: Send + 'static>(&self, work: impl FnOnce(&mut Rows) -> T) -> Later<'static, T> {
        let value = work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Box::pin(std::future::ready(Ok::<_, PortError>(value)))
    }
}

impl AgentEntries for MemoryEntries {
    fn entry<'a>(&'a self, identifier: &'a str) -> Later<'a, Option<KeptEntry>> {
        self.with(|rows| rows.entries.get(identifier).cloned())
    }

    fn entries(&self, list: EntryList) -> Later<'_, Vec<KeptEntry>> {
        self.with(|rows| {
            let after = |name: &&String| list.after.as_ref().is_none_or(|after| *name > after);
            let names = rows.entries.keys().filter(after).take(list.limit);
            names.map(|name| rows.entries[name].clone()).collect()
        })
    }

    fn keep_entry(&self, keep: KeepEntry) -> Later<'_, bool> {
        self.with(|rows| {
            let known = rows.entries.get(&keep.identifier);
            if known.map_or(0, |entry| entry.revision) != keep.revision {
                return false;
            }
            let health = known.map(|entry| entry.health.clone()).unwrap_or_default();
            let KeepEntry { identifier, revision, body, tenant, audit } = keep;
            let entry =
                KeptEntry { identifier: identifier.clone(), body, health, revision: revision + 1 };
            rows.entries.insert(identifier, entry);
            rows.audit.push((tenant, audit));
            true
        })
    }

    fn note_health(&self, found: Vec<(String, Vec<u8>)>) -> Later<'_, ()> {
        self.with(|rows| {
            for (identifier, health) in found {
                if let Some(entry) = rows.entries.get_mut(&identifier) {
                    entry.health = health;
                }
            }
        })
    }

    fn remove_entry<'a>(
        &'a self,
        identifier: &'a str,
        revision: u64,
        tenant: &'a TenantId,
        audit: AuditEntry,
    ) -> Later<'a, bool> {
        self.with(|rows| {
            if rows.entries.get(identifier).map(|entry| entry.revision) != Some(revision) {
                return false;
            }
            rows.entries.remove(identifier);
            rows.audit.push((tenant.clone(), audit));
            true
        })
    }
}

impl Audit for MemoryEntries {
    fn note<'a>(&'a self, tenant: &'a TenantId, entry: AuditEntry) -> Later<'a, ()> {
        self.with(|rows| rows.audit.push((tenant.clone(), entry)))
    }

    fn entries<'a>(&'a self, tenant: &'a TenantId, limit: usize) -> Later<'a, Vec<AuditEntry>> {
        self.with(|rows| {
            let own = rows.audit.iter().rev().filter(|(of, _)| of == tenant);
            own.take(limit).map(|(_, entry)| entry.clone()).collect()
        })
    }

    fn first_forged<'a>(&'a self, _tenant: &'a TenantId) -> Later<'a, Option<u64>> {
        self.with(|_| None)
    }
}

/// Pages and other catalogues by address; a test may change them at any time.
#[derive(Debug, Default)]
pub struct WrittenPages {
    pages: Mutex<BTreeMap<String, Page>>,
    asked: Mutex<Vec<String>>,
}

#[derive(Debug, Clone)]
struct Page {
    /// Where it is found in the end.
    address: String,
    bytes: Vec<u8>,
}

impl WrittenPages {
    pub fn write(&self, address: &str, text: impl Into<Vec<u8>>) {
        self.redirect(address, address, text);
    }

    /// A page that is found at another address than the one that was asked for.
    pub fn redirect(&self, from: &str, to: &str, text: impl Into<Vec<u8>>) {
        let page = Page { address: to.to_owned(), bytes: text.into() };
        self.pages.lock().unwrap().insert(from.to_owned(), page);
    }

    pub fn remove(&self, address: &str) {
        self.pages.lock().unwrap().remove(address);
    }

    /// The addresses that were asked for, in order, with what was sent there.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn find(&self, address: &str, sent: &[u8]) -> Result<Page, PortError> {
        let asked = format!("{address} {}", String::from_utf8_lossy(sent));
        self.asked.lock().unwrap().push(asked.trim_end().to_owned());
        let page = self.pages.lock().unwrap().get(address).cloned();
        page.ok_or_else(|| PortError::Refused(format!("{address} is not there (404)")))
    }
}

impl Pages for WrittenPages {
    fn fetch<'a>(&'a self, address: &'a str) -> Later<'a, Fetched> {
        let found = self.find(address, b"").map(|page| Fetched {
            address: page.address,
            media_type: Some("application/json".to_owned()),
            bytes: page.bytes,
        });
        Box::pin(std::future::ready(found))
    }
}

impl Catalogues for WrittenPages {
    fn ask<'a>(&'a self, address: &'a str, question: Vec<u8>) -> Later<'a, Vec<u8>> {
        Box::pin(std::future::ready(self.find(address, &question).map(|page| page.bytes)))
    }
}
