//! Journals of runs in memory, for tests that are about something else; they can end in the middle of a run.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent::identity::Timestamp;
use agent::names::TenantId;
use agent::ports::{Journals, KeptRun, Later, NewEntries, PortError, RunLine, RunList};
use agent::research::message::Uuid;
use agent::research::order::Order;

type Key = (TenantId, Uuid);

/// Keeps the contract of `Journals` until it is dropped.
#[derive(Default)]
pub struct MemoryJournals {
    rows: Mutex<BTreeMap<Key, KeptRun>>,
    /// Writes that still succeed; none for all.
    left: Mutex<Option<usize>>,
}

impl MemoryJournals {
    /// After so many further writes nothing can be written, as if the process had been killed; none for never.
    pub fn break_after(&self, writes: Option<usize>) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = writes;
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<Key, KeptRun>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_write(&self) -> Result<(), PortError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        match *left {
            Some(0) => {
                let (what, why) = ("the journal".to_owned(), "it is gone".to_owned());
                Err(PortError::Unavailable { what, why })
            }
            Some(count) => {
                *left = Some(count - 1);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn add(&self, key: &Key, new: NewEntries) -> bool {
        let mut rows = self.rows();
        let is_next = |run: &&mut KeptRun| {
            run.epoch == new.epoch && run.entries.len() as u64 == new.after && run.ended.is_none()
        };
        let Some(run) = rows.get_mut(key).filter(is_next) else { return false };
        run.entries.extend(new.entries);
        run.ended = new.ended;
        true
    }
}

fn later<'a, T: Send + 'a>(outcome: Result<T, PortError>) -> Later<'a, T> {
    Box::pin(std::future::ready(outcome))
}

impl Journals for MemoryJournals {
    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        order: Order,
        principal: String,
        at: Timestamp,
    ) -> Later<'a, ()> {
        let key = (tenant.clone(), order.id);
        let run =
            KeptRun { order, principal, begun_at: at, epoch: 0, entries: Vec::new(), ended: None };
        let begun = self.may_write().and_then(|()| {
            let mut rows = self.rows();
            if rows.contains_key(&key) {
                return Err(PortError::Refused("there is a run of this id already".to_owned()));
            }
            rows.insert(key, run);
            Ok(())
        });
        later(begun)
    }

    fn take_over<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<KeptRun>> {
        let taken = self.may_write().map(|()| {
            let mut rows = self.rows();
            let run = rows.get_mut(&(tenant.clone(), run)).filter(|run| run.ended.is_none())?;
            run.epoch += 1;
            Some(run.clone())
        });
        later(taken)
    }

    fn append<'a>(&'a self, tenant: &'a TenantId, new: NewEntries) -> Later<'a, bool> {
        let key = (tenant.clone(), new.run);
        later(self.may_write().map(|()| self.add(&key, new)))
    }

    fn run<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, Option<KeptRun>> {
        later(Ok(self.rows().get(&(tenant.clone(), run)).cloned()))
    }

    fn runs<'a>(&'a self, tenant: &'a TenantId, list: RunList) -> Later<'a, Vec<RunLine>> {
        let rows = self.rows();
        let mine = rows.iter().filter(|((owner, _), run)| {
            owner == tenant && list.principal.as_ref().is_none_or(|wanted| *wanted == run.principal)
        });
        let mut lines: Vec<RunLine> = mine
            .map(|(_, run)| {
                RunLine::new(&run.order, run.principal.clone(), run.begun_at, run.ended)
            })
            .collect();
        lines.retain(|line| list.after.is_none_or(|after| (line.begun_at, line.id) < after));
        lines.sort_by_key(|line| std::cmp::Reverse((line.begun_at, line.id)));
        lines.truncate(list.limit);
        later(Ok(lines))
    }

    fn unfinished(&self) -> Later<'_, Vec<(TenantId, Uuid)>> {
        let rows = self.rows();
        let open = rows.iter().filter(|(_, run)| run.ended.is_none());
        later(Ok(open.map(|(key, _)| key.clone()).collect()))
    }

    fn forget_run<'a>(&'a self, tenant: &'a TenantId, run: Uuid) -> Later<'a, bool> {
        let forgotten = self.rows().remove(&(tenant.clone(), run)).is_some();
        later(Ok(forgotten))
    }
}
