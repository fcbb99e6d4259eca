//! The audit log: appended with each change, every entry chained to the one before.

use agent::identity::AuditEntry;
use agent::names::TenantId;
use agent::ports::{Audit, Later};
use redb::{ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::redb_file::Store;
use crate::tables::{self, from_row, to_row};

/// An entry and the hash over it and its predecessor's hash: none can be changed or left out unnoticed.
#[derive(Serialize, Deserialize)]
struct Link {
    entry: AuditEntry,
    chain: String,
}

/// Appends within the transaction of the change that the entry tells of.
pub(crate) fn append(
    transaction: &WriteTransaction,
    tenant: &TenantId,
    entry: &AuditEntry,
) -> Result<(), redb::Error> {
    let mut audit = transaction.open_table(tables::AUDIT)?;
    let range = (tenant.as_str(), 0)..=(tenant.as_str(), u64::MAX);
    let last = match audit.range(range)?.next_back() {
        Some(row) => {
            let (key, value) = row?;
            Some((key.value().1, from_row::<Link>(value.value())?.chain))
        }
        None => None,
    };
    let (position, before) = last.map_or((0, String::new()), |(last, chain)| (last + 1, chain));
    let link = Link { chain: chained(&before, entry)?, entry: entry.clone() };
    audit.insert((tenant.as_str(), position), to_row(&link)?.as_slice())?;
    Ok(())
}

fn chained(before: &str, entry: &AuditEntry) -> Result<String, redb::Error> {
    let mut hash = Sha256::new();
    hash.update(before.as_bytes());
    hash.update(to_row(entry)?);
    Ok(format!("{:x}", hash.finalize()))
}

impl Audit for Store {
    fn note<'a>(&'a self, tenant: &'a TenantId, entry: AuditEntry) -> Later<'a, ()> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| append(transaction, &tenant, &entry)))
    }

    fn entries<'a>(&'a self, tenant: &'a TenantId, limit: usize) -> Later<'a, Vec<AuditEntry>> {
        let tenant = tenant.clone();
        Box::pin(self.read(move |transaction| {
            let audit = transaction.open_table(tables::AUDIT)?;
            let rows = audit.range((tenant.as_str(), 0)..=(tenant.as_str(), u64::MAX))?.rev();
            rows.take(limit).map(|row| Ok(from_row::<Link>(row?.1.value())?.entry)).collect()
        }))
    }

    fn first_forged<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Option<u64>> {
        let tenant = tenant.clone();
        Box::pin(self.read(move |transaction| {
            let audit = transaction.open_table(tables::AUDIT)?;
            let mut before = String::new();
            let rows = audit.range((tenant.as_str(), 0)..=(tenant.as_str(), u64::MAX))?;
            for (expected, row) in (0..).zip(rows) {
                let (key, value) = row?;
                let link: Link = from_row(value.value())?;
                if key.value().1 != expected || link.chain != chained(&before, &link.entry)? {
                    return Ok(Some(expected));
                }
                before = link.chain;
            }
            Ok(None)
        }))
    }
}
