//! API keys: what is needed to recognise one, never the key itself.

use std::collections::HashMap;
use std::sync::Arc;

use agent::identity::{ApiKey, AuditEntry};
use agent::names::TenantId;
use agent::ports::{Keys, Later, PortError};
use redb::ReadableTable;

use crate::audit;
use crate::redb_file::Store;
use crate::tables::{self, from_row, to_row};

impl Store {
    /// All keys, by their prefixes.
    async fn all_keys(&self) -> Result<Arc<HashMap<String, ApiKey>>, PortError> {
        let all = self.known(&self.known_keys, (), |transaction| {
            let keys = transaction.open_table(tables::KEYS)?;
            let row = |row: Result<_, redb::StorageError>| {
                let (prefix, key): (redb::AccessGuard<'_, &str>, redb::AccessGuard<'_, &[u8]>) =
                    row?;
                Ok((prefix.value().to_owned(), from_row(key.value())?))
            };
            keys.iter()?.map(row).collect::<Result<_, redb::Error>>().map(Some)
        });
        Ok(all.await?.unwrap_or_default())
    }
}

impl Keys for Store {
    fn put_key(&self, key: ApiKey, audit: AuditEntry) -> Later<'_, ()> {
        let changing = self.known_keys.changing();
        let written = self.writer.write(move |transaction| {
            let mut keys = transaction.open_table(tables::KEYS)?;
            keys.insert(key.prefix.as_str(), to_row(&key)?.as_slice())?;
            audit::append(transaction, &key.tenant, &audit)?;
            Ok(changing)
        });
        Box::pin(async { written.await.map(drop) })
    }

    fn find_key<'a>(&'a self, prefix: &'a str) -> Later<'a, Option<ApiKey>> {
        Box::pin(async move { Ok(self.all_keys().await?.get(prefix).cloned()) })
    }

    fn has_keys(&self) -> Later<'_, bool> {
        Box::pin(async { Ok(!self.all_keys().await?.is_empty()) })
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
