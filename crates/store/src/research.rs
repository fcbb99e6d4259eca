//! Research runs: each with its order, and a row for everything that happened in it.

use agent::identity::Timestamp;
use agent::names::TenantId;
use agent::ports::{Journals, KeptRun, Later, NewEntries, PortError, RunLine, RunList};
use agent::research::journal::Entry;
use agent::research::message::Uuid;
use agent::research::order::Order;
use agent::research::report::EndReason;
use redb::{ReadTransaction, ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};

use crate::redb_file::Store;
use crate::tables::{self, LAST, from_row, to_row};

/// A run's own row.
#[derive(Serialize, Deserialize)]
struct Row {
    order: Order,
    principal: String,
    begun_at: Timestamp,
    epoch: u64,
    /// Entries in its journal.
    length: u64,
    ended: Option<EndReason>,
}

impl Row {
    fn with(self, entries: Vec<Entry>) -> KeptRun {
        let Self { order, principal, begun_at, epoch, ended, .. } = self;
        KeptRun { order, principal, begun_at, epoch, entries, ended }
    }
}

impl Journals for Store {
    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        order: Order,
        principal: String,
        at: Timestamp,
    ) -> Later<'a, ()> {
        let tenant = tenant.clone();
        Box::pin(async move {
            let begun = self.writer.write(move |transaction| {
                let id = order.id.to_string();
                let mut runs = transaction.open_table(tables::RUNS)?;
                let key = (tenant.as_str(), id.as_str());
                if runs.get(key)?.is_some() {
                    return Ok(false);
                }
                let row = Row { order, principal, begun_at: at, epoch: 0, length: 0, ended: None };
                runs.insert(key, to_row(&row)?.as_slice())?;
                let mut begun = transaction.open_table(tables::RUNS_BEGUN)?;
                begun.insert((key.0, at.0, key.1), ())?;
                transaction.open_table(tables::RUNS_UNFINISHED)?.insert(key, ())?;
                Ok(true)
            });
            match begun.await? {
                true => Ok(()),
                false => Err(PortError::Refused("there is a run of this id already".to_owned())),
            }
        })
    }

    fn take_over<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<KeptRun>> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| {
            let id = run.to_string();
            let key = (tenant.as_str(), id.as_str());
            let mut runs = transaction.open_table(tables::RUNS)?;
            let row = runs.get(key)?.map(|row| from_row::<Row>(row.value())).transpose()?;
            let Some(mut row) = row.filter(|row| row.ended.is_none()) else { return Ok(None) };
            row.epoch += 1;
            runs.insert(key, to_row(&row)?.as_slice())?;
            let entries = transaction.open_table(tables::RUN_ENTRIES)?;
            let entries = entries_of(&entries, key)?;
            Ok(Some(row.with(entries)))
        }))
    }

    fn append<'a>(&'a self, tenant: &'a TenantId, new: NewEntries) -> Later<'a, bool> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| append(transaction, &tenant, &new)))
    }

    fn run<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<KeptRun>> {
        let tenant = tenant.clone();
        Box::pin(self.read(move |transaction| {
            let id = run.to_string();
            let key = (tenant.as_str(), id.as_str());
            let Some(row) = row(transaction, key)? else { return Ok(None) };
            let entries = transaction.open_table(tables::RUN_ENTRIES)?;
            Ok(Some(row.with(entries_of(&entries, key)?)))
        }))
    }

    fn runs<'a>(&'a self, tenant: &'a TenantId, list: RunList) -> Later<'a, Vec<RunLine>> {
        let tenant = tenant.clone();
        Box::pin(self.read(move |transaction| {
            let begun = transaction.open_table(tables::RUNS_BEGUN)?;
            let name = tenant.as_str();
            let mut lines = Vec::new();
            let after = list.after.map(|(at, id)| (at.0, id.to_string()));
            let (at, id) = after.as_ref().map_or((u64::MAX, LAST), |(at, id)| (*at, id.as_str()));
            for found in begun.range((name, 0, "")..(name, at, id))?.rev() {
                if lines.len() >= list.limit {
                    break;
                }
                let (key, _) = found?;
                let (_, at, id) = key.value();
                let Some(row) = row(transaction, (name, id))? else { continue };
                if list.principal.as_ref().is_none_or(|wanted| *wanted == row.principal) {
                    let Row { order, principal, ended, .. } = row;
                    lines.push(RunLine::new(&order, principal, Timestamp(at), ended));
                }
            }
            Ok(lines)
        }))
    }

    fn unfinished(&self) -> Later<'_, Vec<(TenantId, Uuid)>> {
        Box::pin(self.read(move |transaction| {
            let unfinished = transaction.open_table(tables::RUNS_UNFINISHED)?;
            let mut runs = Vec::new();
            for found in unfinished.iter()? {
                let (key, _) = found?;
                let (tenant, id) = key.value();
                let named = tenant.parse().ok().zip(id.parse().ok());
                let lost = || redb::Error::Corrupted(format!("a run named {id}"));
                runs.push(named.ok_or_else(lost)?);
            }
            Ok(runs)
        }))
    }

    fn forget_run<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, bool> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| {
            let id = run.to_string();
            let key = (tenant.as_str(), id.as_str());
            let mut runs = transaction.open_table(tables::RUNS)?;
            let row = runs.remove(key)?.map(|row| from_row::<Row>(row.value())).transpose()?;
            let Some(row) = row else { return Ok(false) };
            let mut begun = transaction.open_table(tables::RUNS_BEGUN)?;
            begun.remove((key.0, row.begun_at.0, key.1))?;
            transaction.open_table(tables::RUNS_UNFINISHED)?.remove(key)?;
            let mut entries = transaction.open_table(tables::RUN_ENTRIES)?;
            entries.retain_in((key.0, key.1, 0)..=(key.0, key.1, u64::MAX), |_, _| false)?;
            Ok(true)
        }))
    }
}

fn append(
    transaction: &WriteTransaction,
    tenant: &TenantId,
    new: &NewEntries,
) -> Result<bool, redb::Error> {
    let id = new.run.to_string();
    let key = (tenant.as_str(), id.as_str());
    let mut runs = transaction.open_table(tables::RUNS)?;
    let row = runs.get(key)?.map(|row| from_row::<Row>(row.value())).transpose()?;
    let is_next =
        |row: &Row| row.epoch == new.epoch && row.length == new.after && row.ended.is_none();
    let Some(mut row) = row.filter(is_next) else { return Ok(false) };
    let mut entries = transaction.open_table(tables::RUN_ENTRIES)?;
    for entry in &new.entries {
        entries.insert((key.0, key.1, row.length), to_row(entry)?.as_slice())?;
        row.length += 1;
    }
    row.ended = new.ended;
    if row.ended.is_some() {
        transaction.open_table(tables::RUNS_UNFINISHED)?.remove(key)?;
    }
    runs.insert(key, to_row(&row)?.as_slice())?;
    Ok(true)
}

fn row(transaction: &ReadTransaction, key: (&str, &str)) -> Result<Option<Row>, redb::Error> {
    let runs = transaction.open_table(tables::RUNS)?;
    runs.get(key)?.map(|row| from_row(row.value())).transpose()
}

fn entries_of(
    entries: &impl ReadableTable<(&'static str, &'static str, u64), &'static [u8]>,
    (tenant, run): (&str, &str),
) -> Result<Vec<Entry>, redb::Error> {
    let rows = entries.range((tenant, run, 0)..=(tenant, run, u64::MAX))?;
    rows.map(|row| from_row(row?.1.value())).collect()
}
