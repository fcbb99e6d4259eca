//! What is kept about tools: the definitions that somebody has seen, yeses that are remembered, and every call.

use super::{Later, Page};
use crate::identity::{AuditEntry, Timestamp};
use crate::names::TenantId;
use crate::tools::activity::{Activity, ActivityFilter};
use crate::tools::naming::{ServerId, ToolName};
use crate::tools::policy::{Approval, Pins};

/// Which lines of the activity log are wanted, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActivityList {
    pub filter: ActivityFilter,
    pub after: Option<String>,
    pub limit: usize,
}

/// Pins, switches, approvals and activity, durable. Tenants never meet.
pub trait ToolRecords: Send + Sync {
    /// The pins of a server; none before the first meeting with it.
    fn pins<'a>(&'a self, tenant: &'a TenantId, server: &'a ServerId) -> Later<'a, Option<Pins>>;
    /// Replaces the pins of a server.
    fn pin<'a>(
        &'a self,
        tenant: &'a TenantId,
        server: &'a ServerId,
        pins: Pins,
        audit: AuditEntry,
    ) -> Later<'a, ()>;
    /// The servers that somebody has switched, and whether each is on.
    fn switches<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Vec<(ServerId, bool)>>;
    /// Switches a server on or off.
    fn switch<'a>(
        &'a self,
        tenant: &'a TenantId,
        server: &'a ServerId,
        is_on: bool,
        audit: AuditEntry,
    ) -> Later<'a, ()>;
    /// Remembers a yes, in place of an earlier one of the same person for the same tool and session.
    fn approve<'a>(
        &'a self,
        tenant: &'a TenantId,
        approval: Approval,
        audit: AuditEntry,
    ) -> Later<'a, ()>;
    /// All that is remembered, in the order of tools.
    fn approvals<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Vec<Approval>>;
    /// Takes back every yes to a tool; says how many.
    fn disapprove<'a>(
        &'a self,
        tenant: &'a TenantId,
        tool: ToolName,
        audit: AuditEntry,
    ) -> Later<'a, u64>;
    /// Notes calls, in their order.
    fn note_activity<'a>(&'a self, tenant: &'a TenantId, lines: Vec<Activity>) -> Later<'a, ()>;
    /// Newest first. A page may hold fewer than asked for although there are more: `next` says so.
    fn activity<'a>(
        &'a self,
        tenant: &'a TenantId,
        list: ActivityList,
    ) -> Later<'a, Page<Activity>>;
    /// Forgets calls from before `activity_before`, and yeses that have expired by `now`; says how many of both.
    fn forget_tool_records(&self, activity_before: Timestamp, now: Timestamp) -> Later<'_, u64>;
}

/// Keeps what lets us into a server of tools, sealed. What one tenant has at one server is never given for another.
pub trait LoginVault: Send + Sync {
    fn load<'a>(&'a self, tenant: &'a TenantId, server: &'a ServerId)
    -> Later<'a, Option<Vec<u8>>>;
    fn save<'a>(
        &'a self,
        tenant: &'a TenantId,
        server: &'a ServerId,
        secret: Vec<u8>,
    ) -> Later<'a, ()>;
    /// Says whether there was something.
    fn clear<'a>(&'a self, tenant: &'a TenantId, server: &'a ServerId) -> Later<'a, bool>;
}
