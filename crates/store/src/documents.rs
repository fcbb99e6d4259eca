//! Documents, their readings, their collections and the order in which they changed.

use std::sync::Arc;

use agent::identity::{AuditEntry, Timestamp};
use agent::knowledge::{Collection, Document};
use agent::names::{CollectionName, DocumentId, TenantId};
use agent::ports::{Change, DocumentList, Documents, Kept, Later, Page, Put};
use redb::{ReadableTable, Table, WriteTransaction};

use crate::audit;
use crate::redb_file::Store;
use crate::tables::{self, LAST, from_row, to_row};

/// Most documents in one page of a list.
const PAGE_DOCUMENTS_MAX: usize = 1000;

impl Documents for Store {
    fn put<'a>(&'a self, tenant: &'a TenantId, kept: Kept) -> Later<'a, Put> {
        let (tenant, changing) = (tenant.clone(), self.known_documents.changing());
        let written = self.writer.write(move |transaction| {
            put(transaction, &tenant, kept).map(|outcome| (outcome, changing))
        });
        Box::pin(async { written.await.map(|(outcome, _)| outcome) })
    }

    fn delete<'a>(
        &'a self,
        tenant: &'a TenantId,
        ids: Vec<DocumentId>,
        audit: AuditEntry,
    ) -> Later<'a, Vec<DocumentId>> {
        let (tenant, changing) = (tenant.clone(), self.known_documents.changing());
        let written = self.writer.write(move |transaction| {
            let mut gone = Vec::new();
            for id in ids {
                if delete(transaction, &tenant, &id)? {
                    gone.push(id);
                }
            }
            if !gone.is_empty() {
                audit::append(transaction, &tenant, &audit)?;
            }
            Ok((gone, changing))
        });
        Box::pin(async { written.await.map(|(gone, _)| gone) })
    }

    fn get<'a>(&'a self, tenant: &'a TenantId, id: &'a DocumentId) -> Later<'a, Option<Document>> {
        Box::pin(async move {
            let key = (tenant.clone(), id.clone());
            let found = self.known(&self.known_documents, key, |transaction| {
                let documents = transaction.open_table(tables::DOCUMENTS)?;
                let row = documents.get((tenant.as_str(), id.as_str()))?;
                row.map(|row| from_row(row.value())).transpose()
            });
            Ok(found.await?.map(Arc::unwrap_or_clone))
        })
    }

    fn content<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a DocumentId,
    ) -> Later<'a, Option<Vec<u8>>> {
        let (tenant, id) = (tenant.to_string(), id.to_string());
        Box::pin(self.read(move |transaction| {
            let reading_of = transaction.open_table(tables::READING_OF)?;
            let Some(sequence) = reading_of.get((tenant.as_str(), id.as_str()))? else {
                return Ok(None);
            };
            let readings = transaction.open_table(tables::READINGS)?;
            let row = readings.get((tenant.as_str(), sequence.value()))?;
            Ok(row.map(|row| row.value().to_vec()))
        }))
    }

    fn list<'a>(&'a self, tenant: &'a TenantId, list: DocumentList) -> Later<'a, Page<Document>> {
        let tenant = tenant.clone();
        Box::pin(self.read(move |transaction| {
            page(&transaction.open_table(tables::DOCUMENTS)?, &tenant, &list)
        }))
    }

    fn collections<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Vec<Collection>> {
        let tenant = tenant.clone();
        Box::pin(self.look_up(move |transaction| {
            let collections = transaction.open_table(tables::COLLECTIONS)?;
            let rows = collections.range((tenant.as_str(), "")..(tenant.as_str(), LAST))?;
            rows.map(|row| from_row(row?.1.value())).collect()
        }))
    }

    fn put_collection<'a>(
        &'a self,
        tenant: &'a TenantId,
        collection: Collection,
        audit: AuditEntry,
    ) -> Later<'a, ()> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| {
            let mut collections = transaction.open_table(tables::COLLECTIONS)?;
            let key = (tenant.as_str(), collection.name.as_str());
            collections.insert(key, to_row(&collection)?.as_slice())?;
            audit::append(transaction, &tenant, &audit)
        }))
    }

    fn delete_collection<'a>(
        &'a self,
        tenant: &'a TenantId,
        name: CollectionName,
        audit: AuditEntry,
    ) -> Later<'a, bool> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| {
            let mut collections = transaction.open_table(tables::COLLECTIONS)?;
            let was_there = collections.remove((tenant.as_str(), name.as_str()))?.is_some();
            if was_there {
                audit::append(transaction, &tenant, &audit)?;
            }
            Ok(was_there)
        }))
    }

    fn changes<'a>(
        &'a self,
        tenant: &'a TenantId,
        after: u64,
        limit: usize,
    ) -> Later<'a, Vec<Change>> {
        let tenant = tenant.clone();
        Box::pin(self.read(move |transaction| {
            let changes = transaction.open_table(tables::CHANGES)?;
            let from = after.saturating_add(1);
            let rows = changes.range((tenant.as_str(), from)..=(tenant.as_str(), u64::MAX))?;
            rows.take(limit)
                .map(|row| {
                    let (key, id) = row?;
                    Ok(Change { sequence: key.value().1, document: read_id(id.value())? })
                })
                .collect()
        }))
    }

    fn forget_deleted<'a>(&'a self, tenant: &'a TenantId, up_to: u64) -> Later<'a, u64> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| {
            let mut deleted = transaction.open_table(tables::DELETED)?;
            let mut changes = transaction.open_table(tables::CHANGES)?;
            let range = (tenant.as_str(), "")..(tenant.as_str(), LAST);
            let mut forgotten = 0;
            for row in deleted.extract_from_if(range, |_, sequence| sequence <= up_to)? {
                changes.remove((tenant.as_str(), row?.1.value()))?;
                forgotten += 1;
            }
            Ok(forgotten)
        }))
    }

    fn tenants(&self) -> Later<'_, Vec<TenantId>> {
        Box::pin(self.read(|transaction| {
            let sequences = transaction.open_table(tables::SEQUENCES)?;
            sequences.iter()?.map(|row| read_name(row?.0.value())).collect()
        }))
    }
}

fn put(transaction: &WriteTransaction, tenant: &TenantId, kept: Kept) -> Result<Put, redb::Error> {
    let Kept { mut document, content, accepted, audit } = kept;
    let id = document.id.to_string();
    let key = (tenant.as_str(), id.as_str());
    let mut documents = transaction.open_table(tables::DOCUMENTS)?;
    let mut changes = transaction.open_table(tables::CHANGES)?;
    let before = documents.get(key)?.map(|row| from_row::<Document>(row.value())).transpose()?;
    let mut tombs = transaction.open_table(tables::DELETED)?;
    let deleted = tombs.get(key)?.map(|row| row.value());
    let latest = before.iter().map(|document| document.accepted).chain(deleted).max();
    if accepted.is_some_and(|accepted| latest.is_some_and(|latest| accepted < latest)) {
        return Ok(Put::Superseded);
    }
    tombs.remove(key)?;
    for earlier in before.iter().map(|document| document.sequence).chain(deleted) {
        changes.remove((tenant.as_str(), earlier))?;
    }
    document.sequence = next_sequence(transaction, tenant)?;
    document.accepted = accepted.unwrap_or(document.sequence);
    changes.insert((tenant.as_str(), document.sequence), id.as_str())?;
    documents.insert(key, to_row(&document)?.as_slice())?;
    if let Some(content) = content {
        let mut reading_of = transaction.open_table(tables::READING_OF)?;
        let mut readings = transaction.open_table(tables::READINGS)?;
        if let Some(before) = reading_of.insert(key, document.sequence)? {
            readings.remove((tenant.as_str(), before.value()))?;
        }
        readings.insert((tenant.as_str(), document.sequence), content.as_slice())?;
    }
    let mut collections = transaction.open_table(tables::COLLECTIONS)?;
    let named = (tenant.as_str(), document.collection.as_str());
    if collections.get(named)?.is_none() {
        let collection = first_of(&document, audit.at);
        collections.insert(named, to_row(&collection)?.as_slice())?;
    }
    audit::append(transaction, tenant, &audit)?;
    Ok(Put::Kept { sequence: document.sequence })
}

/// The collection that a document makes by being the first in it.
fn first_of(document: &Document, created_at: Timestamp) -> Collection {
    Collection {
        name: document.collection.clone(),
        doc_type: document.doc_type.clone(),
        created_at,
    }
}

fn delete(
    transaction: &WriteTransaction,
    tenant: &TenantId,
    id: &DocumentId,
) -> Result<bool, redb::Error> {
    let key = (tenant.as_str(), id.as_str());
    let mut documents = transaction.open_table(tables::DOCUMENTS)?;
    let before = documents.remove(key)?.map(|row| from_row::<Document>(row.value())).transpose()?;
    let Some(before) = before else { return Ok(false) };
    if let Some(reading) = transaction.open_table(tables::READING_OF)?.remove(key)? {
        let mut readings = transaction.open_table(tables::READINGS)?;
        readings.remove((tenant.as_str(), reading.value()))?;
    }
    let mut changes = transaction.open_table(tables::CHANGES)?;
    changes.remove((tenant.as_str(), before.sequence))?;
    let sequence = next_sequence(transaction, tenant)?;
    changes.insert((tenant.as_str(), sequence), id.as_str())?;
    transaction.open_table(tables::DELETED)?.insert(key, sequence)?;
    Ok(true)
}

pub(crate) fn next_sequence(
    transaction: &WriteTransaction,
    tenant: &TenantId,
) -> Result<u64, redb::Error> {
    let mut sequences: Table<'_, &str, u64> = transaction.open_table(tables::SEQUENCES)?;
    let last = sequences.get(tenant.as_str())?.map_or(0, |row| row.value());
    sequences.insert(tenant.as_str(), last + 1)?;
    Ok(last + 1)
}

fn page(
    documents: &impl ReadableTable<(&'static str, &'static str), &'static [u8]>,
    tenant: &TenantId,
    list: &DocumentList,
) -> Result<Page<Document>, redb::Error> {
    let limit = list.limit.clamp(1, PAGE_DOCUMENTS_MAX);
    let after = list.after.as_deref().unwrap_or("");
    let mut items: Vec<Document> = Vec::new();
    for row in documents.range((tenant.as_str(), after)..(tenant.as_str(), LAST))? {
        let (key, value) = row?;
        if key.value().1 == after {
            continue;
        }
        let document: Document = from_row(value.value())?;
        if list.collection.as_ref().is_some_and(|wanted| *wanted != document.collection) {
            continue;
        }
        if items.len() == limit {
            let next = items.last().map(|last| last.id.to_string());
            return Ok(Page { items, next });
        }
        items.push(document);
    }
    Ok(Page { items, next: None })
}

fn read_id(text: &str) -> Result<DocumentId, redb::Error> {
    text.parse().map_err(|error| redb::Error::Corrupted(format!("a change: {error}")))
}

fn read_name(text: &str) -> Result<TenantId, redb::Error> {
    text.parse().map_err(|error| redb::Error::Corrupted(format!("a tenant: {error}")))
}
