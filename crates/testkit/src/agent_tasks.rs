//! Tasks of other agents and their webhooks, in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agent::identity::Timestamp;
use agent::names::TenantId;
use agent::ports::{
    AgentTasks, HookKey, KeepTask, KeptTask, Later, Notice, Outbox, PortError, TaskKey, TaskList,
    TaskRows,
};

/// Keeps everything until it is dropped.
#[derive(Debug, Default)]
pub struct MemoryAgentTasks(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    /// Each as it was last kept: its revision is the one that it has now.
    tasks: BTreeMap<TaskKey, KeepTask>,
    outbox: BTreeMap<(HookKey, u64), Notice>,
    numbers: u64,
}

impl MemoryAgentTasks {
    fn with<T: Send + 'static>(&self, work: impl FnOnce(&mut Rows) -> T) -> Later<'static, T> {
        let value = work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Box::pin(std::future::ready(Ok::<_, PortError>(value)))
    }
}

impl Rows {
    fn keep(&mut self, mut keep: KeepTask) -> bool {
        let live = self.tasks.get(&keep.key).filter(|task| keep.now < task.expires_at);
        if live.map_or(0, |task| task.revision) != keep.revision {
            return false;
        }
        if live.is_none() {
            self.outbox.retain(|(hook, _), _| hook.task != keep.key);
        }
        for notice in std::mem::take(&mut keep.notices) {
            self.numbers += 1;
            let hook = HookKey { task: keep.key.clone(), hook: notice.hook };
            let notice = Notice {
                number: self.numbers,
                body: notice.body,
                failures: 0,
                not_before: Timestamp(0),
            };
            self.outbox.insert((hook, self.numbers), notice);
        }
        keep.revision += 1;
        self.tasks.insert(keep.key.clone(), keep);
        true
    }

    fn list(&self, tenant: &TenantId, owner: &str, list: &TaskList, now: Timestamp) -> TaskRows {
        let fits = |task: &&KeepTask| {
            task.key.tenant == *tenant
                && task.key.owner == owner
                && now < task.expires_at
                && list.context.as_ref().is_none_or(|wanted| *wanted == task.context)
                && list.state.as_ref().is_none_or(|wanted| *wanted == task.state)
                && list.updated_from.is_none_or(|from| task.updated_at >= from)
        };
        let mut found: Vec<&KeepTask> = self.tasks.values().filter(fits).collect();
        let place = |task: &KeepTask| (u64::MAX - task.updated_at.0, task.key.id.clone());
        found.sort_by_key(|task| place(task));
        let total = found.len() as u64;
        let after = list.after.as_ref().map(|(moment, id)| (u64::MAX - moment.0, id.clone()));
        found.retain(|task| after.as_ref().is_none_or(|after| place(task) > *after));
        let has_more = found.len() > list.limit;
        let bodies = found.into_iter().take(list.limit).map(|task| task.body.clone()).collect();
        TaskRows { bodies, total, has_more }
    }
}

impl AgentTasks for MemoryAgentTasks {
    fn task<'a>(&'a self, key: &'a TaskKey, now: Timestamp) -> Later<'a, Option<KeptTask>> {
        self.with(|rows| {
            let live = rows.tasks.get(key).filter(|task| now < task.expires_at);
            live.map(|task| KeptTask { body: task.body.clone(), revision: task.revision })
        })
    }

    fn keep(&self, keep: KeepTask) -> Later<'_, bool> {
        self.with(|rows| rows.keep(keep))
    }

    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
        owner: &'a str,
        list: TaskList,
        now: Timestamp,
    ) -> Later<'a, TaskRows> {
        self.with(|rows| rows.list(tenant, owner, &list, now))
    }

    fn running(&self) -> Later<'_, Vec<TaskKey>> {
        self.with(|rows| {
            let running = rows.tasks.values().filter(|task| task.is_running);
            running.map(|task| task.key.clone()).collect()
        })
    }

    fn forget_expired_tasks(&self, now: Timestamp, limit: usize) -> Later<'_, u64> {
        self.with(|rows| {
            let expired = rows.tasks.values().filter(|task| task.expires_at <= now).take(limit);
            let expired: Vec<TaskKey> = expired.map(|task| task.key.clone()).collect();
            rows.tasks.retain(|key, _| !expired.contains(key));
            rows.outbox.retain(|(hook, _), _| !expired.contains(&hook.task));
            expired.len() as u64
        })
    }
}

impl Outbox for MemoryAgentTasks {
    fn hooks_waiting(&self) -> Later<'_, Vec<HookKey>> {
        self.with(|rows| {
            let mut hooks: Vec<HookKey> =
                rows.outbox.keys().map(|(hook, _)| hook.clone()).collect();
            hooks.dedup();
            hooks
        })
    }

    fn next_notice<'a>(&'a self, hook: &'a HookKey) -> Later<'a, Option<Notice>> {
        self.with(|rows| {
            let range = (hook.clone(), 0)..=(hook.clone(), u64::MAX);
            rows.outbox.range(range).next().map(|(_, notice)| notice.clone())
        })
    }

    fn put_off<'a>(
        &'a self,
        hook: &'a HookKey,
        number: u64,
        failures: u32,
        not_before: Timestamp,
    ) -> Later<'a, ()> {
        self.with(|rows| {
            if let Some(notice) = rows.outbox.get_mut(&(hook.clone(), number)) {
                (notice.failures, notice.not_before) = (failures, not_before);
            }
        })
    }

    fn told<'a>(&'a self, hook: &'a HookKey, up_to: u64) -> Later<'a, ()> {
        self.with(|rows| rows.outbox.retain(|(of, number), _| of != hook || *number > up_to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_kept_in_memory_keeps_the_promise() {
        crate::contracts::tasks::keeps_its_promise(&MemoryAgentTasks::default()).await;
    }
}
