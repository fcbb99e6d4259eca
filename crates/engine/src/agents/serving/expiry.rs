//! Lets tasks go whose time is over.

use agent::ports::PortError;

use super::TaskService;

/// Expired tasks that are deleted in one commit.
const AT_ONCE: usize = 1000;

impl TaskService {
    /// Deletes tasks whose time is over; says how many.
    pub async fn forget_expired(&self) -> Result<u64, PortError> {
        let (mut count, now) = (0, self.inner.parts.clock.now());
        loop {
            let gone = self.inner.parts.tasks.forget_expired_tasks(now, AT_ONCE).await?;
            count += gone;
            if gone < AT_ONCE as u64 {
                return Ok(count);
            }
        }
    }
}
