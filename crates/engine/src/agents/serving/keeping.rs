//! Tasks from and to the store: read, changed and kept, and only then told of.

use std::collections::HashSet;
use std::sync::Arc;

use a2a::error::Error;
use a2a::machine::Told;
use a2a::timestamp::Timestamp;
use agent::ports::{HookKey, KeepTask, PortError, TaskKey};

use super::live::Live;
use super::record::Record;
use super::{TRIES_MAX, TaskService, failed, stamp};

/// An hour, in milliseconds: expiries are whole hours, so that most changes of a task leave its expiry alone.
const HOUR: u64 = 3_600_000;

impl TaskService {
    /// Changes a task as it is now, and tells of it; tried again when somebody else's change comes before.
    pub(super) async fn change<F>(
        &self,
        live: &Live,
        key: &TaskKey,
        mut change: F,
    ) -> Result<Arc<Record>, Error>
    where
        F: FnMut(&mut Record, Timestamp) -> Result<Vec<Told>, Error>,
    {
        for _ in 0..TRIES_MAX {
            let (mut record, revision) = self.load(key).await?;
            let told: Vec<Arc<Told>> =
                change(&mut record, self.now())?.into_iter().map(Arc::new).collect();
            let record = Arc::new(record);
            if self.keep(live, key, &record, revision, &told).await.map_err(failed)? {
                return Ok(record);
            }
        }
        Err(failed(PortError::Busy { what: "the task" }))
    }

    pub(super) async fn load(&self, key: &TaskKey) -> Result<(Record, u64), Error> {
        let now = self.inner.parts.clock.now();
        let kept = self.inner.parts.tasks.task(key, now).await.map_err(failed)?;
        let kept = kept.ok_or_else(Error::task_not_found)?;
        Ok((Record::read(&kept.body).map_err(failed)?, kept.revision))
    }

    /// Keeps a task, then tells of it. False if it is not as it was any more; then nothing is kept or told.
    pub(super) async fn keep(
        &self,
        live: &Live,
        key: &TaskKey,
        record: &Arc<Record>,
        revision: u64,
        told: &[Arc<Told>],
    ) -> Result<bool, PortError> {
        let (machine, now) = (&record.machine, self.inner.parts.clock.now());
        let task = machine.task();
        let kept = u64::try_from(self.inner.rules.kept.as_millis()).unwrap_or(u64::MAX);
        let notices = record.notices(told);
        let hooks: HashSet<String> = notices.iter().map(|notice| notice.hook.clone()).collect();
        let keep = KeepTask {
            key: key.clone(),
            revision,
            body: record.write()?,
            context: task.context.as_ref().map(ToString::to_string).unwrap_or_default(),
            state: machine.state().name().to_owned(),
            updated_at: task.status.timestamp.map(stamp).unwrap_or_default(),
            is_running: record.is_running,
            now,
            expires_at: agent::identity::Timestamp(
                now.0.saturating_add(kept).div_ceil(HOUR).saturating_mul(HOUR),
            ),
            notices,
        };
        if !self.inner.parts.tasks.keep(keep).await? {
            return Ok(false);
        }
        live.note(record);
        told.iter().for_each(|told| live.tell(told));
        for hook in hooks {
            self.deliver(HookKey { task: key.clone(), hook });
        }
        Ok(true)
    }
}
