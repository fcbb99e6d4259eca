//! Clean-up: forgets what has expired and gives the disk back what nobody needs.

use agent::identity::Timestamp;
use agent::ports::Lane;

use crate::error::EngineError;
use crate::knowledge::Knowledge;

/// What a clean-up did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct CleanupReport {
    pub tenants: u64,
    pub jobs_forgotten: u64,
    pub deletions_forgotten: u64,
    pub index_bytes_freed: u64,
}

impl Knowledge {
    /// Forgets old jobs and the traces of deleted documents, and compacts every index.
    pub async fn clean_up(&self) -> Result<CleanupReport, EngineError> {
        let mut report = CleanupReport::default();
        let kept = self.rules.jobs_kept_hours.saturating_mul(3_600_000);
        let before = Timestamp(self.parts.clock.now().0.saturating_sub(kept));
        report.jobs_forgotten = self.parts.jobs.forget_finished(before).await?;
        for tenant in self.parts.documents.tenants().await? {
            self.indexed(&tenant, None).await?;
            let building = self.parts.index.state(&tenant, Lane::Building).await?;
            if let (Some(state), None) =
                (self.parts.index.state(&tenant, Lane::Serving).await?, building)
            {
                report.deletions_forgotten +=
                    self.parts.documents.forget_deleted(&tenant, state.applied).await?;
                report.index_bytes_freed += self.parts.index.compact(&tenant).await?;
            }
            report.tenants += 1;
        }
        Ok(report)
    }
}
