//! Tasks of other agents, with lists by owner that change in the same commit, and what their webhooks are to be told.

use agent::identity::Timestamp;
use agent::names::TenantId;
use agent::ports::{
    AgentTasks, HookKey, KeepTask, KeptTask, Later, NewNotice, Notice, Outbox, TaskKey, TaskList,
    TaskRows,
};
use redb::{ReadTransaction, ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};

use crate::redb_file::Store;
use crate::tables::{self, LAST, from_row, to_row};

/// The name under which notices are counted.
const NOTICES: &str = "notices";

/// What is known of a task besides itself.
#[derive(Serialize, Deserialize)]
struct Head {
    revision: u64,
    updated_at: Timestamp,
    is_running: bool,
    expires_at: Timestamp,
}

impl AgentTasks for Store {
    fn task<'a>(&'a self, key: &'a TaskKey, now: Timestamp) -> Later<'a, Option<KeptTask>> {
        Box::pin(self.look_up(move |transaction| {
            let tasks = transaction.open_table(tables::TASKS)?;
            let Some(row) = tasks.get(place(key))? else { return Ok(None) };
            let (head, body) = row.value();
            let head: Head = from_row(head)?;
            let kept = KeptTask { body: body.to_vec(), revision: head.revision };
            Ok(Some(kept).filter(|_| now < head.expires_at))
        }))
    }

    fn keep(&self, keep: KeepTask) -> Later<'_, bool> {
        Box::pin(self.writer.write_by_itself(move |transaction| write(transaction, &keep)))
    }

    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
        owner: &'a str,
        list: TaskList,
        now: Timestamp,
    ) -> Later<'a, TaskRows> {
        let (tenant, owner) = (tenant.clone(), owner.to_owned());
        Box::pin(self.read(move |transaction| page(transaction, &tenant, &owner, &list, now)))
    }

    fn running(&self) -> Later<'_, Vec<TaskKey>> {
        Box::pin(self.read(|transaction| {
            let running = transaction.open_table(tables::TASKS_RUNNING)?;
            running.iter()?.map(|row| named(row?.0.value())).collect()
        }))
    }

    fn forget_expired_tasks(&self, now: Timestamp, limit: usize) -> Later<'_, u64> {
        Box::pin(self.writer.write(move |transaction| {
            let expired = expired(transaction, now, limit)?;
            for key in &expired {
                remove(transaction, key)?;
            }
            Ok(expired.len() as u64)
        }))
    }
}

impl Outbox for Store {
    fn hooks_waiting(&self) -> Later<'_, Vec<HookKey>> {
        Box::pin(self.read(|transaction| {
            let outbox = transaction.open_table(tables::OUTBOX)?;
            let mut hooks: Vec<HookKey> = Vec::new();
            for row in outbox.iter()? {
                let row = row?;
                let (tenant, owner, id, hook, _) = row.0.value();
                let hook = HookKey { task: named((tenant, owner, id))?, hook: hook.to_owned() };
                // Rows of one webhook stand together.
                if hooks.last() != Some(&hook) {
                    hooks.push(hook);
                }
            }
            Ok(hooks)
        }))
    }

    fn next_notice<'a>(&'a self, hook: &'a HookKey) -> Later<'a, Option<Notice>> {
        Box::pin(self.look_up(move |transaction| {
            let outbox = transaction.open_table(tables::OUTBOX)?;
            let first = outbox.range(slot(hook, 0)..=slot(hook, u64::MAX))?.next().transpose()?;
            Ok(first.map(|(key, row)| {
                let (failures, not_before, body) = row.value();
                let (number, body) = (key.value().4, body.to_vec());
                Notice { number, body, failures, not_before: Timestamp(not_before) }
            }))
        }))
    }

    fn put_off<'a>(
        &'a self,
        hook: &'a HookKey,
        number: u64,
        failures: u32,
        not_before: Timestamp,
    ) -> Later<'a, ()> {
        let hook = hook.clone();
        Box::pin(self.writer.write(move |transaction| {
            let mut outbox = transaction.open_table(tables::OUTBOX)?;
            let row = outbox.get(slot(&hook, number))?;
            // It may be gone: its task has expired, or somebody has deleted the webhook.
            let Some(body) = row.map(|row| row.value().2.to_vec()) else { return Ok(()) };
            outbox.insert(slot(&hook, number), (failures, not_before.0, body.as_slice()))?;
            Ok(())
        }))
    }

    fn told<'a>(&'a self, hook: &'a HookKey, up_to: u64) -> Later<'a, ()> {
        let hook = hook.clone();
        Box::pin(self.writer.write(move |transaction| {
            let mut outbox = transaction.open_table(tables::OUTBOX)?;
            outbox.retain_in(slot(&hook, 0)..=slot(&hook, up_to), |_, _| false)?;
            Ok(())
        }))
    }
}

fn place(key: &TaskKey) -> (&str, &str, &str) {
    (key.tenant.as_str(), &key.owner, &key.id)
}

fn slot(hook: &HookKey, number: u64) -> (&str, &str, &str, &str, u64) {
    let (tenant, owner, id) = place(&hook.task);
    (tenant, owner, id, &hook.hook, number)
}

fn named((tenant, owner, id): (&str, &str, &str)) -> Result<TaskKey, redb::Error> {
    let tenant =
        tenant.parse().map_err(|_| redb::Error::Corrupted("the tenant of a task".to_owned()))?;
    Ok(TaskKey { tenant, owner: owner.to_owned(), id: id.to_owned() })
}

/// Where a task stands in its owner's list.
fn listed(key: &TaskKey, updated_at: Timestamp) -> (&str, &str, u64, &str) {
    (key.tenant.as_str(), &key.owner, u64::MAX - updated_at.0, &key.id)
}

fn write(transaction: &WriteTransaction, keep: &KeepTask) -> Result<bool, redb::Error> {
    let key = &keep.key;
    let mut tasks = transaction.open_table(tables::TASKS)?;
    let before: Option<Head> =
        tasks.get(place(key))?.map(|row| from_row(row.value().0)).transpose()?;
    let live = before.as_ref().filter(|head| keep.now < head.expires_at);
    if live.map_or(0, |head| head.revision) != keep.revision {
        return Ok(false);
    }
    if let (None, Some(expired)) = (live, &before) {
        // What is left of an expired task of this name is not the new one's.
        unlist(transaction, key, expired)?;
    }
    index(transaction, keep, live)?;
    let head = Head {
        revision: keep.revision + 1,
        updated_at: keep.updated_at,
        is_running: keep.is_running,
        expires_at: keep.expires_at,
    };
    let row = (to_row(&head)?, keep.body.as_slice());
    tasks.insert(place(key), (row.0.as_slice(), row.1))?;
    add_notices(transaction, key, &keep.notices)?;
    Ok(true)
}

/// Brings lists up to date, as far as something has changed.
fn index(
    transaction: &WriteTransaction,
    keep: &KeepTask,
    before: Option<&Head>,
) -> Result<(), redb::Error> {
    let key = &keep.key;
    let mut list = transaction.open_table(tables::TASKS_LISTED)?;
    if let Some(before) = before.filter(|head| head.updated_at != keep.updated_at) {
        list.remove(listed(key, before.updated_at))?;
    }
    let row = (keep.context.as_str(), keep.state.as_str(), keep.expires_at.0);
    list.insert(listed(key, keep.updated_at), row)?;
    if before.is_some_and(|head| head.is_running) != keep.is_running {
        let mut running = transaction.open_table(tables::TASKS_RUNNING)?;
        if keep.is_running {
            running.insert(place(key), ())?;
        } else {
            running.remove(place(key))?;
        }
    }
    if before.is_none_or(|head| head.expires_at != keep.expires_at) {
        let mut expiry = transaction.open_table(tables::TASKS_EXPIRY)?;
        let (tenant, owner, id) = place(key);
        if let Some(before) = before {
            expiry.remove((before.expires_at.0, tenant, owner, id))?;
        }
        expiry.insert((keep.expires_at.0, tenant, owner, id), ())?;
    }
    Ok(())
}

fn add_notices(
    transaction: &WriteTransaction,
    key: &TaskKey,
    notices: &[NewNotice],
) -> Result<(), redb::Error> {
    if notices.is_empty() {
        return Ok(());
    }
    let mut outbox = transaction.open_table(tables::OUTBOX)?;
    let mut meta = transaction.open_table(tables::META)?;
    // One count for all, which never starts anew: a webhook of the same name that comes later is another.
    let mut number = meta.get(NOTICES)?.map_or(0, |row| row.value());
    for NewNotice { hook, body } in notices {
        number += 1;
        let (tenant, owner, id) = place(key);
        let row = (0, 0, body.as_slice());
        outbox.insert((tenant, owner, id, hook.as_str(), number), row)?;
    }
    meta.insert(NOTICES, number)?;
    Ok(())
}

fn expired(
    transaction: &WriteTransaction,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<TaskKey>, redb::Error> {
    let expiry = transaction.open_table(tables::TASKS_EXPIRY)?;
    let rows = expiry.range((0, "", "", "")..=(now.0, LAST, LAST, LAST))?.take(limit);
    rows.map(|row| {
        let row = row?;
        let (_, tenant, owner, id) = row.0.value();
        named((tenant, owner, id))
    })
    .collect()
}

fn remove(transaction: &WriteTransaction, key: &TaskKey) -> Result<(), redb::Error> {
    let mut tasks = transaction.open_table(tables::TASKS)?;
    let head = tasks.remove(place(key))?.map(|row| from_row(row.value().0)).transpose()?;
    match head {
        Some(head) => unlist(transaction, key, &head),
        None => Ok(()),
    }
}

/// Takes out what stands about a task elsewhere than at its own place.
fn unlist(transaction: &WriteTransaction, key: &TaskKey, head: &Head) -> Result<(), redb::Error> {
    let (tenant, owner, id) = place(key);
    transaction.open_table(tables::TASKS_LISTED)?.remove(listed(key, head.updated_at))?;
    let expiry = (head.expires_at.0, tenant, owner, id);
    transaction.open_table(tables::TASKS_EXPIRY)?.remove(expiry)?;
    transaction.open_table(tables::TASKS_RUNNING)?.remove(place(key))?;
    let notices = (tenant, owner, id, "", 0)..=(tenant, owner, id, LAST, u64::MAX);
    transaction.open_table(tables::OUTBOX)?.retain_in(notices, |_, _| false)?;
    Ok(())
}

fn page(
    transaction: &ReadTransaction,
    tenant: &TenantId,
    owner: &str,
    list: &TaskList,
    now: Timestamp,
) -> Result<TaskRows, redb::Error> {
    let (listed, tasks) =
        (transaction.open_table(tables::TASKS_LISTED)?, transaction.open_table(tables::TASKS)?);
    let tenant = tenant.as_str();
    let oldest = list.updated_from.map_or(u64::MAX, |from| u64::MAX - from.0);
    let after = list.after.as_ref().map(|(moment, id)| (u64::MAX - moment.0, id.as_str()));
    let mut rows = TaskRows::default();
    for row in listed.range((tenant, owner, 0, "")..=(tenant, owner, oldest, LAST))? {
        let (key, value) = row?;
        let (_, _, moment, id) = key.value();
        let (context, state, expires_at) = value.value();
        let fits = now.0 < expires_at
            && list.context.as_deref().is_none_or(|wanted| wanted == context)
            && list.state.as_deref().is_none_or(|wanted| wanted == state);
        if !fits {
            continue;
        }
        rows.total += 1;
        if after.is_some_and(|after| (moment, id) <= after) {
            continue;
        }
        if rows.bodies.len() >= list.limit {
            rows.has_more = true;
            continue;
        }
        if let Some(task) = tasks.get((tenant, owner, id))? {
            rows.bodies.push(task.value().1.to_vec());
        }
    }
    Ok(rows)
}
