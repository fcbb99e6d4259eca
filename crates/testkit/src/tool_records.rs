//! What is kept about tools, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use agent::identity::{AuditEntry, Timestamp};
use agent::names::TenantId;
use agent::ports::{ActivityList, Later, Page, PortError, ToolRecords};
use agent::tools::activity::Activity;
use agent::tools::naming::{ServerId, ToolName};
use agent::tools::policy::{Approval, Pins};

/// Keeps everything until it is dropped.
#[derive(Debug, Default)]
pub struct MemoryToolRecords(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    pins: BTreeMap<(TenantId, ServerId), Pins>,
    switches: BTreeMap<(TenantId, ServerId), bool>,
    approvals: Vec<(TenantId, Approval)>,
    activity: Vec<(TenantId, Activity)>,
    broken: BTreeSet<ServerId>,
}

impl MemoryToolRecords {
    /// The pins of a server cannot be read from now on.
    pub fn break_pins(&self, server: ServerId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).broken.insert(server);
    }

    fn with<T: Send + 'static>(&self, work: impl FnOnce(&mut Rows) -> T) -> Later<'static, T> {
        let value = work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Box::pin(std::future::ready(Ok::<_, PortError>(value)))
    }
}

impl ToolRecords for MemoryToolRecords {
    fn pins<'a>(&'a self, tenant: &'a TenantId, server: &'a ServerId) -> Later<'a, Option<Pins>> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).broken.contains(server) {
            return Box::pin(std::future::ready(Err(PortError::Broken {
                what: "reading the pins",
                source: "a row that nobody can read".into(),
            })));
        }
        self.with(|rows| rows.pins.get(&(tenant.clone(), server.clone())).cloned())
    }

    fn pin<'a>(
        &'a self,
        tenant: &'a TenantId,
        server: &'a ServerId,
        pins: Pins,
        _audit: AuditEntry,
    ) -> Later<'a, ()> {
        self.with(|rows| drop(rows.pins.insert((tenant.clone(), server.clone()), pins)))
    }

    fn switches<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Vec<(ServerId, bool)>> {
        self.with(|rows| {
            let own = rows.switches.iter().filter(|((of, _), _)| of == tenant);
            own.map(|((_, server), is_on)| (server.clone(), *is_on)).collect()
        })
    }

    fn switch<'a>(
        &'a self,
        tenant: &'a TenantId,
        server: &'a ServerId,
        is_on: bool,
        _audit: AuditEntry,
    ) -> Later<'a, ()> {
        self.with(|rows| {
            rows.switches.insert((tenant.clone(), server.clone()), is_on);
        })
    }

    fn approve<'a>(
        &'a self,
        tenant: &'a TenantId,
        approval: Approval,
        _audit: AuditEntry,
    ) -> Later<'a, ()> {
        self.with(|rows| {
            let key = |yes: &Approval| (yes.tool.clone(), yes.by.clone(), yes.session.clone());
            rows.approvals.retain(|(of, yes)| of != tenant || key(yes) != key(&approval));
            rows.approvals.push((tenant.clone(), approval));
        })
    }

    fn approvals<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Vec<Approval>> {
        self.with(|rows| {
            let own = rows.approvals.iter().filter(|(of, _)| of == tenant);
            own.map(|(_, yes)| yes.clone()).collect()
        })
    }

    fn disapprove<'a>(
        &'a self,
        tenant: &'a TenantId,
        tool: ToolName,
        _audit: AuditEntry,
    ) -> Later<'a, u64> {
        self.with(|rows| {
            let before = rows.approvals.len();
            rows.approvals.retain(|(of, yes)| of != tenant || yes.tool != tool);
            (before - rows.approvals.len()) as u64
        })
    }

    fn note_activity<'a>(&'a self, tenant: &'a TenantId, lines: Vec<Activity>) -> Later<'a, ()> {
        self.with(|rows| {
            rows.activity.extend(lines.into_iter().map(|line| (tenant.clone(), line)));
        })
    }

    fn activity<'a>(
        &'a self,
        tenant: &'a TenantId,
        list: ActivityList,
    ) -> Later<'a, Page<Activity>> {
        self.with(|rows| {
            let before = list.after.map_or(usize::MAX, |after| after.parse().unwrap());
            let numbered = rows.activity.iter().enumerate().rev();
            let own = numbered.filter(|(number, (of, _))| of == tenant && *number < before);
            let mut fitting = own.filter(|(_, (_, line))| list.filter.fits(line)).peekable();
            let mut page = Page { items: Vec::new(), next: None };
            while let Some((number, (_, line))) = fitting.next() {
                page.items.push(line.clone());
                if page.items.len() == list.limit {
                    page.next = fitting.peek().map(|_| number.to_string());
                    break;
                }
            }
            page
        })
    }

    fn forget_tool_records(&self, activity_before: Timestamp, now: Timestamp) -> Later<'_, u64> {
        self.with(|rows| {
            let before = rows.approvals.len() + rows.activity.len();
            rows.approvals.retain(|(_, yes)| now < yes.expires_at);
            rows.activity.retain(|(_, line)| activity_before <= line.at);
            (before - rows.approvals.len() - rows.activity.len()) as u64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_fake_keeps_the_contract_too() {
        crate::contracts::tools::keeps_its_promise(&MemoryToolRecords::default()).await;
    }
}
