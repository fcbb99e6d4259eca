//! Tasks of other agents in memory, for an agent whose tasks may end with its process: bounded, the longest unchanged go first.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use agent::identity::Timestamp;
use agent::names::TenantId;
use agent::ports::{
    AgentTasks, HookKey, KeepTask, KeptTask, Later, Notice, Outbox, TaskKey, TaskList, TaskRows,
};

/// Tasks that are kept: a day of one every two seconds.
const TASKS_MAX: usize = 50_000;

/// Bytes of tasks that are kept.
const BYTES_MAX: usize = 256 << 20;

/// Keeps tasks until the process ends. Clones share them.
#[derive(Clone, Default)]
pub struct MemoryTasks(Arc<Mutex<Rows>>);

#[derive(Default)]
struct Rows {
    tasks: HashMap<Arc<TaskKey>, Row>,
    /// By when they were last changed.
    ages: BTreeMap<u64, Arc<TaskKey>>,
    outbox: HashMap<HookKey, VecDeque<Notice>>,
    bytes: usize,
    /// Counts changes and notices.
    number: u64,
}

struct Row {
    body: Vec<u8>,
    revision: u64,
    /// Its place among the ages.
    age: u64,
    context: String,
    state: String,
    updated_at: Timestamp,
    is_running: bool,
    expires_at: Timestamp,
}

impl MemoryTasks {
    fn with<T: Send + 'static>(&self, work: impl FnOnce(&mut Rows) -> T) -> Later<'static, T> {
        let value = work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Box::pin(std::future::ready(Ok(value)))
    }
}

impl Rows {
    fn keep(&mut self, keep: KeepTask) -> bool {
        let known = self.tasks.get_key_value(&keep.key);
        let live = known.filter(|(_, row)| keep.now < row.expires_at);
        if live.map_or(0, |(_, row)| row.revision) != keep.revision {
            return false;
        }
        let key = match live {
            Some((key, _)) => Arc::clone(key),
            None => {
                // What is left of an expired task of this name is not the new one's.
                self.remove(&keep.key);
                Arc::new(keep.key)
            }
        };
        self.number += 1;
        let row = Row {
            revision: keep.revision + 1,
            age: self.number,
            context: keep.context,
            state: keep.state,
            updated_at: keep.updated_at,
            is_running: keep.is_running,
            expires_at: keep.expires_at,
            body: keep.body,
        };
        self.bytes += row.body.len();
        self.ages.insert(row.age, Arc::clone(&key));
        if let Some(before) = self.tasks.insert(Arc::clone(&key), row) {
            self.bytes -= before.body.len();
            self.ages.remove(&before.age);
        }
        for notice in keep.notices {
            self.number += 1;
            let hook = HookKey { task: TaskKey::clone(&key), hook: notice.hook };
            let not_before = Timestamp(0);
            let notice = Notice { number: self.number, body: notice.body, failures: 0, not_before };
            self.outbox.entry(hook).or_default().push_back(notice);
        }
        self.shrink();
        true
    }

    /// Lets the longest unchanged go that nobody works on, until the rest fits.
    fn shrink(&mut self) {
        while self.tasks.len() > TASKS_MAX || self.bytes > BYTES_MAX {
            let is_idle =
                |key: &&Arc<TaskKey>| self.tasks.get(*key).is_some_and(|row| !row.is_running);
            let Some(oldest) = self.ages.values().find(is_idle).cloned() else { return };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &TaskKey) {
        let Some(row) = self.tasks.remove(key) else { return };
        self.bytes -= row.body.len();
        self.ages.remove(&row.age);
        if !self.outbox.is_empty() {
            self.outbox.retain(|hook, _| hook.task != *key);
        }
    }

    fn list(&self, tenant: &TenantId, owner: &str, list: &TaskList, now: Timestamp) -> TaskRows {
        let fits = |(key, row): &(&Arc<TaskKey>, &Row)| {
            key.tenant == *tenant
                && key.owner == owner
                && now < row.expires_at
                && list.context.as_ref().is_none_or(|wanted| *wanted == row.context)
                && list.state.as_ref().is_none_or(|wanted| *wanted == row.state)
                && list.updated_from.is_none_or(|from| row.updated_at >= from)
        };
        let place = |key: &TaskKey, row: &Row| (u64::MAX - row.updated_at.0, key.id.clone());
        let mut found: Vec<_> = self.tasks.iter().filter(fits).collect();
        found.sort_by_cached_key(|(key, row)| place(key, row));
        let total = found.len() as u64;
        if let Some((moment, id)) = &list.after {
            let after = (u64::MAX - moment.0, id.clone());
            found.retain(|(key, row)| place(key, row) > after);
        }
        let has_more = found.len() > list.limit;
        let bodies = found.into_iter().take(list.limit).map(|(_, row)| row.body.clone()).collect();
        TaskRows { bodies, total, has_more }
    }
}

impl AgentTasks for MemoryTasks {
    fn task<'a>(&'a self, key: &'a TaskKey, now: Timestamp) -> Later<'a, Option<KeptTask>> {
        self.with(|rows| {
            let live = rows.tasks.get(key).filter(|row| now < row.expires_at);
            live.map(|row| KeptTask { body: row.body.clone(), revision: row.revision })
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
            let running = rows.tasks.iter().filter(|(_, row)| row.is_running);
            running.map(|(key, _)| TaskKey::clone(key)).collect()
        })
    }

    fn forget_expired_tasks(&self, now: Timestamp, limit: usize) -> Later<'_, u64> {
        self.with(|rows| {
            let expired = rows.tasks.iter().filter(|(_, row)| row.expires_at <= now);
            let expired: Vec<_> = expired.take(limit).map(|(key, _)| Arc::clone(key)).collect();
            expired.iter().for_each(|key| rows.remove(key));
            expired.len() as u64
        })
    }
}

impl Outbox for MemoryTasks {
    fn hooks_waiting(&self) -> Later<'_, Vec<HookKey>> {
        self.with(|rows| rows.outbox.keys().cloned().collect())
    }

    fn next_notice<'a>(&'a self, hook: &'a HookKey) -> Later<'a, Option<Notice>> {
        self.with(|rows| rows.outbox.get(hook)?.front().cloned())
    }

    fn put_off<'a>(
        &'a self,
        hook: &'a HookKey,
        number: u64,
        failures: u32,
        not_before: Timestamp,
    ) -> Later<'a, ()> {
        self.with(|rows| {
            let waiting = rows.outbox.get_mut(hook).into_iter().flatten();
            for notice in waiting.filter(|notice| notice.number == number) {
                (notice.failures, notice.not_before) = (failures, not_before);
            }
        })
    }

    fn told<'a>(&'a self, hook: &'a HookKey, up_to: u64) -> Later<'a, ()> {
        self.with(|rows| {
            let Some(waiting) = rows.outbox.get_mut(hook) else { return };
            waiting.retain(|notice| notice.number > up_to);
            if waiting.is_empty() {
                rows.outbox.remove(hook);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tasks_in_memory_keep_the_contract() {
        testkit::contracts::tasks::keeps_its_promise(&MemoryTasks::default()).await;
    }

    #[test]
    fn the_longest_unchanged_task_that_nobody_works_on_goes_first() {
        let keep = |id: usize, is_running| KeepTask {
            key: TaskKey {
                tenant: "t".parse().unwrap(),
                owner: "o".to_owned(),
                id: id.to_string(),
            },
            revision: 0,
            body: vec![0; BYTES_MAX / 4],
            context: String::new(),
            state: String::new(),
            updated_at: Timestamp(0),
            is_running,
            now: Timestamp(0),
            expires_at: Timestamp(9),
            notices: Vec::new(),
        };
        let mut rows = Rows::default();
        for id in 0..6 {
            assert!(rows.keep(keep(id, id == 0)));
        }
        let mut left: Vec<_> = rows.tasks.keys().map(|key| key.id.clone()).collect();
        left.sort();
        assert_eq!(left, ["0", "3", "4", "5"]);
        assert_eq!((rows.ages.len(), rows.bytes), (4, BYTES_MAX));
    }
}
