//! Pins and approvals of tools, and the log of their calls.

use std::sync::Arc;

use agent::identity::{AuditEntry, Timestamp};
use agent::names::TenantId;
use agent::ports::{ActivityList, Later, Page, ToolRecords};
use agent::tools::activity::Activity;
use agent::tools::naming::{ServerId, ToolName};
use agent::tools::policy::{Approval, Pins};
use redb::ReadableTable;

use crate::audit;
use crate::redb_file::Store;
use crate::tables::{self, LAST, from_row, to_row};

/// Lines that are looked at for one page, fitting or not: a filter that fits nothing must not read a year at once.
const LOOKED_AT_MAX: usize = 10_000;

impl ToolRecords for Store {
    fn pins<'a>(&'a self, tenant: &'a TenantId, server: &'a ServerId) -> Later<'a, Option<Pins>> {
        Box::pin(async move {
            let key = (tenant.clone(), server.clone());
            let found = self.known(&self.known_pins, key, |transaction| {
                let pins = transaction.open_table(tables::TOOL_PINS)?;
                let row = pins.get((tenant.as_str(), server.as_str()))?;
                row.map(|row| from_row(row.value())).transpose()
            });
            Ok(found.await?.map(Arc::unwrap_or_clone))
        })
    }

    fn pin<'a>(
        &'a self,
        tenant: &'a TenantId,
        server: &'a ServerId,
        pins: Pins,
        audit: AuditEntry,
    ) -> Later<'a, ()> {
        let (tenant, server, changing) =
            (tenant.clone(), server.clone(), self.known_pins.changing());
        let written = self.writer.write(move |transaction| {
            let mut table = transaction.open_table(tables::TOOL_PINS)?;
            table.insert((tenant.as_str(), server.as_str()), to_row(&pins)?.as_slice())?;
            audit::append(transaction, &tenant, &audit)?;
            Ok(changing)
        });
        Box::pin(async { written.await.map(drop) })
    }

    fn switches<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Vec<(ServerId, bool)>> {
        let tenant = tenant.clone();
        Box::pin(self.look_up(move |transaction| {
            let table = transaction.open_table(tables::TOOL_SWITCHES)?;
            let mut switches = Vec::new();
            for row in table.range((tenant.as_str(), "")..=(tenant.as_str(), LAST))? {
                let (key, is_on) = row?;
                // What is no id any more names nothing that could be switched.
                if let Ok(server) = key.value().1.parse() {
                    switches.push((server, is_on.value()));
                }
            }
            Ok(switches)
        }))
    }

    fn switch<'a>(
        &'a self,
        tenant: &'a TenantId,
        server: &'a ServerId,
        is_on: bool,
        audit: AuditEntry,
    ) -> Later<'a, ()> {
        let (tenant, server) = (tenant.clone(), server.clone());
        Box::pin(self.writer.write(move |transaction| {
            let mut table = transaction.open_table(tables::TOOL_SWITCHES)?;
            table.insert((tenant.as_str(), server.as_str()), is_on)?;
            audit::append(transaction, &tenant, &audit)
        }))
    }

    fn approve<'a>(
        &'a self,
        tenant: &'a TenantId,
        approval: Approval,
        audit: AuditEntry,
    ) -> Later<'a, ()> {
        let (tenant, changing) = (tenant.clone(), self.known_approvals.changing());
        let written = self.writer.write(move |transaction| {
            let mut table = transaction.open_table(tables::TOOL_APPROVALS)?;
            let session = approval.session.as_deref().unwrap_or_default();
            let key = (tenant.as_str(), approval.tool.as_str(), approval.by.as_str(), session);
            table.insert(key, to_row(&approval)?.as_slice())?;
            audit::append(transaction, &tenant, &audit)?;
            Ok(changing)
        });
        Box::pin(async { written.await.map(drop) })
    }

    fn approvals<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Vec<Approval>> {
        Box::pin(async move {
            let found = self.known(&self.known_approvals, tenant.clone(), |transaction| {
                let table = transaction.open_table(tables::TOOL_APPROVALS)?;
                let name = tenant.as_str();
                let rows = table.range((name, "", "", "")..=(name, LAST, LAST, LAST))?;
                rows.map(|row| from_row(row?.1.value())).collect::<Result<_, _>>().map(Some)
            });
            Ok(found.await?.map(Arc::unwrap_or_clone).unwrap_or_default())
        })
    }

    fn disapprove<'a>(
        &'a self,
        tenant: &'a TenantId,
        tool: ToolName,
        audit: AuditEntry,
    ) -> Later<'a, u64> {
        let (tenant, changing) = (tenant.clone(), self.known_approvals.changing());
        let written = self.writer.write(move |transaction| {
            let mut table = transaction.open_table(tables::TOOL_APPROVALS)?;
            let (name, tool) = (tenant.as_str(), tool.as_str());
            let mut taken_back = 0;
            table.retain_in((name, tool, "", "")..=(name, tool, LAST, LAST), |_, _| {
                taken_back += 1;
                false
            })?;
            audit::append(transaction, &tenant, &audit)?;
            Ok((taken_back, changing))
        });
        Box::pin(async { written.await.map(|(taken_back, _)| taken_back) })
    }

    fn note_activity<'a>(&'a self, tenant: &'a TenantId, lines: Vec<Activity>) -> Later<'a, ()> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| {
            let mut table = transaction.open_table(tables::ACTIVITY)?;
            let name = tenant.as_str();
            let last = table.range((name, 0)..=(name, u64::MAX))?.next_back().transpose()?;
            let mut position = last.map_or(0, |(key, _)| key.value().1);
            for line in lines {
                position += 1;
                table.insert((name, position), to_row(&line)?.as_slice())?;
            }
            Ok(())
        }))
    }

    fn activity<'a>(
        &'a self,
        tenant: &'a TenantId,
        list: ActivityList,
    ) -> Later<'a, Page<Activity>> {
        let tenant = tenant.clone();
        Box::pin(self.read(move |transaction| {
            let table = transaction.open_table(tables::ACTIVITY)?;
            let name = tenant.as_str();
            let before: u64 = list.after.and_then(|after| after.parse().ok()).unwrap_or(u64::MAX);
            let mut page = Page { items: Vec::new(), next: None };
            for (looked_at, row) in table.range((name, 0)..(name, before))?.rev().enumerate() {
                let (key, value) = row?;
                let line: Activity = from_row(value.value())?;
                let is_past = list.filter.since.is_some_and(|since| line.at < since);
                if is_past {
                    break;
                }
                if list.filter.fits(&line) {
                    page.items.push(line);
                }
                if page.items.len() >= list.limit || looked_at + 1 >= LOOKED_AT_MAX {
                    page.next = Some(key.value().1.to_string());
                    break;
                }
            }
            Ok(page)
        }))
    }

    fn forget_tool_records(&self, activity_before: Timestamp, now: Timestamp) -> Later<'_, u64> {
        Box::pin(self.writer.write(move |transaction| {
            let mut forgotten = 0;
            let mut failed = None;
            let mut keep = |is_old: Result<bool, redb::Error>| match is_old {
                Ok(is_old) => {
                    forgotten += u64::from(is_old);
                    !is_old
                }
                Err(error) => {
                    failed = Some(error);
                    true
                }
            };
            transaction
                .open_table(tables::TOOL_APPROVALS)?
                .retain(|_, row| keep(from_row(row).map(|yes: Approval| yes.expires_at <= now)))?;
            transaction.open_table(tables::ACTIVITY)?.retain(|_, row| {
                keep(from_row(row).map(|line: Activity| line.at < activity_before))
            })?;
            failed.map_or(Ok(forgotten), Err)
        }))
    }
}
