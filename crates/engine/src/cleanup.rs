//! Clean-up: forgets what has expired and gives the disk back what nobody needs.

use agent::identity::Timestamp;
use agent::ledger::Day;
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
    pub sessions_forgotten: u64,
    pub bookings_forgotten: u64,
    /// Calls of tools, and yeses to them.
    pub tool_records_forgotten: u64,
    /// Tasks of other agents.
    pub agent_tasks_forgotten: u64,
}

/// Sessions, or tasks of other agents, that are forgotten in one commit.
const AT_A_TIME: usize = 500;

impl Knowledge {
    /// Forgets old jobs, conversations, bookings, calls of tools, tasks of other agents and the traces of deleted documents, and compacts every index.
    pub async fn clean_up(&self) -> Result<CleanupReport, EngineError> {
        let mut report = CleanupReport::default();
        let kept = self.rules.jobs_kept_hours.saturating_mul(3_600_000);
        let before = Timestamp(self.parts.clock.now().0.saturating_sub(kept));
        report.jobs_forgotten = self.parts.jobs.forget_finished(before).await?;
        let now = self.parts.clock.now();
        loop {
            let gone = self.parts.sessions.forget_expired(now, AT_A_TIME).await?;
            report.sessions_forgotten += gone;
            if gone < AT_A_TIME as u64 {
                break;
            }
        }
        let before = Day(Day::of(now).0.saturating_sub(self.rules.costs_kept_days));
        report.bookings_forgotten = self.parts.ledger.forget_booked(before).await?;
        let kept = u64::from(self.rules.activity_kept_days).saturating_mul(24 * 3_600_000);
        let before = Timestamp(now.0.saturating_sub(kept));
        let forgotten = self.parts.tool_records.forget_tool_records(before, now).await?;
        report.tool_records_forgotten = forgotten;
        loop {
            let gone = self.parts.agent_tasks.forget_expired_tasks(now, AT_A_TIME).await?;
            report.agent_tasks_forgotten += gone;
            if gone < AT_A_TIME as u64 {
                break;
            }
        }
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
