//! The catalogue of agents: entries that are written whole, and the health beside them that is written often.

use agent::identity::AuditEntry;
use agent::names::TenantId;
use agent::ports::{AgentEntries, EntryList, KeepEntry, KeptEntry, Later};
use redb::{ReadTransaction, ReadableTable};

use crate::audit;
use crate::redb_file::Store;
use crate::tables;

impl AgentEntries for Store {
    fn entry<'a>(&'a self, identifier: &'a str) -> Later<'a, Option<KeptEntry>> {
        Box::pin(self.look_up(move |transaction| {
            let entries = transaction.open_table(tables::ENTRIES)?;
            let Some(row) = entries.get(identifier)? else { return Ok(None) };
            let (revision, body) = row.value();
            kept(transaction, identifier, revision, body).map(Some)
        }))
    }

    fn entries(&self, list: EntryList) -> Later<'_, Vec<KeptEntry>> {
        Box::pin(self.read(move |transaction| {
            let entries = transaction.open_table(tables::ENTRIES)?;
            let after = list.after.as_deref().unwrap_or_default();
            let mut page = Vec::new();
            for row in entries.range(after..)? {
                let (key, row) = row?;
                if list.after.as_deref() == Some(key.value()) {
                    continue;
                }
                if page.len() >= list.limit {
                    break;
                }
                let (revision, body) = row.value();
                page.push(kept(transaction, key.value(), revision, body)?);
            }
            Ok(page)
        }))
    }

    fn keep_entry(&self, keep: KeepEntry) -> Later<'_, bool> {
        Box::pin(self.writer.write(move |transaction| {
            let mut entries = transaction.open_table(tables::ENTRIES)?;
            let name = keep.identifier.as_str();
            let known = entries.get(name)?.map_or(0, |row| row.value().0);
            if known != keep.revision {
                return Ok(false);
            }
            entries.insert(name, (known + 1, keep.body.as_slice()))?;
            audit::append(transaction, &keep.tenant, &keep.audit)?;
            Ok(true)
        }))
    }

    fn note_health(&self, found: Vec<(String, Vec<u8>)>) -> Later<'_, ()> {
        Box::pin(self.writer.write(move |transaction| {
            let entries = transaction.open_table(tables::ENTRIES)?;
            let mut healths = transaction.open_table(tables::ENTRY_HEALTH)?;
            for (identifier, health) in &found {
                if entries.get(identifier.as_str())?.is_some() {
                    healths.insert(identifier.as_str(), health.as_slice())?;
                }
            }
            Ok(())
        }))
    }

    fn remove_entry<'a>(
        &'a self,
        identifier: &'a str,
        revision: u64,
        tenant: &'a TenantId,
        audit: AuditEntry,
    ) -> Later<'a, bool> {
        let (identifier, tenant) = (identifier.to_owned(), tenant.clone());
        Box::pin(self.writer.write(move |transaction| {
            let mut entries = transaction.open_table(tables::ENTRIES)?;
            let name = identifier.as_str();
            let known = entries.get(name)?.map(|row| row.value().0);
            if known != Some(revision) {
                return Ok(false);
            }
            entries.remove(name)?;
            transaction.open_table(tables::ENTRY_HEALTH)?.remove(name)?;
            audit::append(transaction, &tenant, &audit)?;
            Ok(true)
        }))
    }
}

fn kept(
    transaction: &ReadTransaction,
    identifier: &str,
    revision: u64,
    body: &[u8],
) -> Result<KeptEntry, redb::Error> {
    let healths = transaction.open_table(tables::ENTRY_HEALTH)?;
    let health = healths.get(identifier)?.map(|row| row.value().to_vec()).unwrap_or_default();
    Ok(KeptEntry { identifier: identifier.to_owned(), body: body.to_vec(), health, revision })
}
