//! API keys: what is needed to recognise one, never the key itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent::identity::{ApiKey, AuditEntry};
use agent::names::TenantId;
use agent::ports::{Keys, Later, PortError};
use redb::ReadableTable;

use crate::audit;
use crate::redb_file::Store;
use crate::tables::{self, from_row, to_row};

/// All keys in memory: every request asks for one. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct KeyShelf(Arc<Mutex<Shelved>>);

#[derive(Default)]
struct Shelved {
    /// Counts the beginnings and ends of writes.
    changes: u64,
    /// None until somebody asks.
    keys: Option<Arc<HashMap<String, ApiKey>>>,
}

impl KeyShelf {
    fn with<T>(&self, work: impl FnOnce(&mut Shelved) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn clear(&self) {
        self.with(|shelved| {
            shelved.changes += 1;
            shelved.keys = None;
        });
    }
}

/// A write of a key on its way. The writer drops it when the write is over, whether or not anybody waits for that.
struct Changing(KeyShelf);

impl Changing {
    fn begin(shelf: &KeyShelf) -> Self {
        shelf.clear();
        Self(shelf.clone())
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        self.0.clear();
    }
}

impl Store {
    async fn shelved(&self) -> Result<Arc<HashMap<String, ApiKey>>, PortError> {
        let (changes, known) =
            self.shelf.with(|shelved| (shelved.changes, shelved.keys.as_ref().map(Arc::clone)));
        if let Some(known) = known {
            return Ok(known);
        }
        let keys = self.look_up(|transaction| {
            let keys = transaction.open_table(tables::KEYS)?;
            let row = |row: Result<_, redb::StorageError>| {
                let (prefix, key): (redb::AccessGuard<'_, &str>, redb::AccessGuard<'_, &[u8]>) =
                    row?;
                Ok((prefix.value().to_owned(), from_row(key.value())?))
            };
            keys.iter()?.map(row).collect::<Result<HashMap<String, ApiKey>, redb::Error>>()
        });
        let keys = Arc::new(keys.await?);
        self.shelf.with(|shelved| {
            // What was read before or during a write may be older than it.
            if shelved.changes == changes {
                shelved.keys = Some(Arc::clone(&keys));
            }
        });
        Ok(keys)
    }
}

impl Keys for Store {
    fn put_key(&self, key: ApiKey, audit: AuditEntry) -> Later<'_, ()> {
        let changing = Changing::begin(&self.shelf);
        let written = self.writer.write(move |transaction| {
            let mut keys = transaction.open_table(tables::KEYS)?;
            keys.insert(key.prefix.as_str(), to_row(&key)?.as_slice())?;
            audit::append(transaction, &key.tenant, &audit)?;
            Ok(changing)
        });
        Box::pin(async { written.await.map(drop) })
    }

    fn find_key<'a>(&'a self, prefix: &'a str) -> Later<'a, Option<ApiKey>> {
        Box::pin(async move { Ok(self.shelved().await?.get(prefix).cloned()) })
    }

    fn has_keys(&self) -> Later<'_, bool> {
        Box::pin(async { Ok(!self.shelved().await?.is_empty()) })
    }

    fn keys<'a>(&'a self, tenant: Option<&'a TenantId>) -> Later<'a, Vec<ApiKey>> {
        let tenant = tenant.cloned();
        Box::pin(self.read(move |transaction| {
            let keys = transaction.open_table(tables::KEYS)?;
            let all = keys.iter()?.map(|row| from_row::<ApiKey>(row?.1.value()));
            let wanted = |key: &ApiKey| tenant.as_ref().is_none_or(|tenant| key.tenant == *tenant);
            all.filter(|key| key.as_ref().map_or(true, wanted)).collect()
        }))
    }
}
