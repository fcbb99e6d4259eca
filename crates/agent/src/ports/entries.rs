//! Keeping the catalogue of agents: what is written of each, and how it is.

use super::Later;
use crate::identity::AuditEntry;
use crate::names::TenantId;

/// An agent of the catalogue as it is kept. What the words mean is the engine's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptEntry {
    pub identifier: String,
    pub body: Vec<u8>,
    /// What the checks of the agent have found; empty before the first.
    pub health: Vec<u8>,
    /// How often the entry has been written.
    pub revision: u64,
}

/// An entry to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepEntry {
    pub identifier: String,
    /// The revision that it was made from; 0 for an entry that is not there yet.
    pub revision: u64,
    pub body: Vec<u8>,
    /// In whose log the change is told.
    pub tenant: TenantId,
    pub audit: AuditEntry,
}

/// Which entries a page shows, in the order of identifiers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntryList {
    pub after: Option<String>,
    pub limit: usize,
}

/// The catalogue of agents, durable. It is one for all tenants: who sees what of it is decided by whoever reads it.
///
/// A write is on disk when its future is ready, together with the line of the audit log that tells of it.
pub trait AgentEntries: Send + Sync {
    fn entry<'a>(&'a self, identifier: &'a str) -> Later<'a, Option<KeptEntry>>;
    fn entries(&self, list: EntryList) -> Later<'_, Vec<KeptEntry>>;
    /// Keeps an entry if it is still as it was; false if somebody else has written it since, and nothing is changed.
    /// Its health stays.
    fn keep_entry(&self, keep: KeepEntry) -> Later<'_, bool>;
    /// Notes how agents are. One that is not there any more is left out.
    fn note_health(&self, found: Vec<(String, Vec<u8>)>) -> Later<'_, ()>;
    /// Forgets an entry if it is still as it was, with its health; false if somebody else has written it since.
    fn remove_entry<'a>(
        &'a self,
        identifier: &'a str,
        revision: u64,
        tenant: &'a TenantId,
        audit: AuditEntry,
    ) -> Later<'a, bool>;
}

/// Asks other catalogues. What may be reached is decided at the moment of use.
pub trait Catalogues: Send + Sync {
    /// Sends a question as JSON, follows no redirect, and gives the JSON of a good answer.
    fn ask<'a>(&'a self, address: &'a str, question: Vec<u8>) -> Later<'a, Vec<u8>>;
}
