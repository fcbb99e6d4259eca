//! What was spent, added up by day, session, component and model.

use agent::ledger::{Account, Booking, Component, Day, Spent};
use agent::names::TenantId;
use agent::ports::{Later, Ledger};
use redb::{ReadableTable, WriteTransaction};

use crate::redb_file::Store;
use crate::tables::{self, LAST, from_row, to_row};

const COMPONENTS: [Component; 5] =
    [Component::Judge, Component::Answer, Component::Memory, Component::Research, Component::Tools];

impl Ledger for Store {
    fn book<'a>(&'a self, tenant: &'a TenantId, bookings: Vec<Booking>) -> Later<'a, ()> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| book(transaction, &tenant, &bookings)))
    }

    fn booked<'a>(
        &'a self,
        tenant: &'a TenantId,
        first: Day,
        last: Day,
    ) -> Later<'a, Vec<Booking>> {
        let tenant = tenant.clone();
        Box::pin(self.read_settled(move |transaction| {
            let ledger = transaction.open_table(tables::LEDGER)?;
            let name = tenant.as_str();
            let range = (name, first.0, "", "", "")..=(name, last.0, LAST, LAST, LAST);
            let rows = ledger.range(range)?.map(|row| {
                let (key, value) = row?;
                let (_, day, session, component, model) = key.value();
                let account = Account {
                    day: Day(day),
                    session: session.to_owned(),
                    component: named(component)?,
                    model: model.to_owned(),
                };
                Ok(Booking { account, spent: from_row(value.value())? })
            });
            rows.collect()
        }))
    }

    fn forget_booked(&self, before: Day) -> Later<'_, u64> {
        Box::pin(self.writer.write(move |transaction| {
            let mut ledger = transaction.open_table(tables::LEDGER)?;
            let mut forgotten = 0;
            ledger.retain(|(_, day, ..), _| {
                let is_old = day < before.0;
                forgotten += u64::from(is_old);
                !is_old
            })?;
            Ok(forgotten)
        }))
    }
}

/// Adds to what is booked, in a commit of whoever calls.
pub(crate) fn book(
    transaction: &WriteTransaction,
    tenant: &TenantId,
    bookings: &[Booking],
) -> Result<(), redb::Error> {
    let mut ledger = transaction.open_table(tables::LEDGER)?;
    for Booking { account, spent } in bookings {
        let Account { day, session, component, model } = account;
        let what = (session.as_str(), component.as_str(), model.as_str());
        let key = (tenant.as_str(), day.0, what.0, what.1, what.2);
        let before = ledger.get(key)?.map(|row| from_row(row.value())).transpose()?;
        let mut sum: Spent = before.unwrap_or_default();
        sum.add(spent);
        ledger.insert(key, to_row(&sum)?.as_slice())?;
    }
    Ok(())
}

fn named(name: &str) -> Result<Component, redb::Error> {
    let known = COMPONENTS.into_iter().find(|component| component.as_str() == name);
    known.ok_or_else(|| redb::Error::Corrupted(format!("a booking for {name}")))
}
