//! API keys: what is needed to recognise one, never the key itself.

use agent::identity::{ApiKey, AuditEntry};
use agent::names::TenantId;
use agent::ports::{Keys, Later};
use redb::{ReadableTable, ReadableTableMetadata};

use crate::audit;
use crate::redb_file::Store;
use crate::tables::{self, from_row, to_row};

impl Keys for Store {
    fn put_key(&self, key: ApiKey, audit: AuditEntry) -> Later<'_, ()> {
        Box::pin(self.writer.write(move |transaction| {
            let mut keys = transaction.open_table(tables::KEYS)?;
            keys.insert(key.prefix.as_str(), to_row(&key)?.as_slice())?;
            audit::append(transaction, &key.tenant, &audit)
        }))
    }

    fn find_key<'a>(&'a self, prefix: &'a str) -> Later<'a, Option<ApiKey>> {
        let prefix = prefix.to_owned();
        // Every request of a caller with a key comes by here.
        Box::pin(self.look_up(move |transaction| {
            let row = transaction.open_table(tables::KEYS)?.get(prefix.as_str())?;
            row.map(|row| from_row(row.value())).transpose()
        }))
    }

    fn has_keys(&self) -> Later<'_, bool> {
        Box::pin(self.look_up(|transaction| Ok(!transaction.open_table(tables::KEYS)?.is_empty()?)))
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
