//! Keeping the tasks that other agents have given to Saem, and what their webhooks are still to be told.

use super::Later;
use crate::identity::Timestamp;
use crate::names::TenantId;

/// Names a task: its id counts for its owner alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskKey {
    pub tenant: TenantId,
    /// The principal that gave it.
    pub owner: String,
    pub id: String,
}

/// A task as it is kept, and how often it has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTask {
    /// The engine's own words.
    pub body: Vec<u8>,
    pub revision: u64,
}

/// A task to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepTask {
    pub key: TaskKey,
    /// The revision that it was made from; 0 for a task that is not there yet.
    pub revision: u64,
    pub body: Vec<u8>,
    pub context: String,
    pub state: String,
    /// When it got its state: lists show the latest first.
    pub updated_at: Timestamp,
    /// Somebody works on it: [`AgentTasks::running`] names it until it is kept without this.
    pub is_running: bool,
    pub now: Timestamp,
    pub expires_at: Timestamp,
    /// What webhooks are to be told of this, in order.
    pub notices: Vec<NewNotice>,
}

/// Something that a webhook is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotice {
    /// The webhook, among those of its task.
    pub hook: String,
    /// The engine's own words.
    pub body: Vec<u8>,
}

/// Which tasks of an owner are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskList {
    pub context: Option<String>,
    pub state: Option<String>,
    /// This moment and later.
    pub updated_from: Option<Timestamp>,
    /// The last task of the page before: when it got its state, and its id.
    pub after: Option<(Timestamp, String)>,
    pub limit: usize,
}

/// Some of an owner's tasks, the latest state first, and then by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskRows {
    pub bodies: Vec<Vec<u8>>,
    /// How many there are in all, on whatever page.
    pub total: u64,
    /// There are more after these.
    pub has_more: bool,
}

/// Tasks of other agents, durable. Neither tenants nor owners ever meet.
///
/// All of one `keep` becomes visible at once, notices included, and is durable then. An expired task is absent, whether
/// it has been deleted or not.
pub trait AgentTasks: Send + Sync {
    fn task<'a>(&'a self, key: &'a TaskKey, now: Timestamp) -> Later<'a, Option<KeptTask>>;
    /// Keeps a task if it is still as it was; false if somebody else has written it since, and nothing is changed.
    fn keep(&self, keep: KeepTask) -> Later<'_, bool>;
    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
        owner: &'a str,
        list: TaskList,
        now: Timestamp,
    ) -> Later<'a, TaskRows>;
    /// The tasks of all tenants that somebody works on, or worked on when a process ended.
    fn running(&self) -> Later<'_, Vec<TaskKey>>;
    /// Deletes tasks that have expired, at most `limit`, with what their webhooks were to be told; says how many.
    fn forget_expired_tasks(&self, now: Timestamp, limit: usize) -> Later<'_, u64>;
}

/// Names a webhook of a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HookKey {
    pub task: TaskKey,
    pub hook: String,
}

/// The oldest thing that a webhook has not been told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Later ones have larger numbers.
    pub number: u64,
    pub body: Vec<u8>,
    /// How often in a row it was not taken.
    pub failures: u32,
    /// When it may be tried again.
    pub not_before: Timestamp,
}

/// What webhooks are still to be told, durable, for each in its order.
pub trait Outbox: Send + Sync {
    /// The webhooks of all tenants that something waits for.
    fn hooks_waiting(&self) -> Later<'_, Vec<HookKey>>;
    fn next_notice<'a>(&'a self, hook: &'a HookKey) -> Later<'a, Option<Notice>>;
    /// Notes that the notice was not taken.
    fn put_off<'a>(
        &'a self,
        hook: &'a HookKey,
        number: u64,
        failures: u32,
        not_before: Timestamp,
    ) -> Later<'a, ()>;
    /// Forgets what has been told: all up to this number.
    fn told<'a>(&'a self, hook: &'a HookKey, up_to: u64) -> Later<'a, ()>;
}

/// Sends something to addresses that came from outside. What may be reached is decided at the moment of use.
pub trait Posts: Send + Sync {
    /// Whether the address could be reached, as far as can be told without asking for its name's addresses.
    fn check(&self, address: &str) -> Result<(), super::PortError>;
    /// Sends the body, follows no redirect, and gives the status of the answer.
    fn post<'a>(
        &'a self,
        address: &'a str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Later<'a, u16>;
}
