//! Accepted work and the bytes it is about.

use agent::identity::Timestamp;
use agent::names::TenantId;
use agent::ports::{Job, JobState, Jobs, Later};
use redb::{ReadableTable, WriteTransaction};

use crate::documents::next_sequence;
use crate::redb_file::Store;
use crate::tables::{self, LAST, from_row, to_row};

impl Jobs for Store {
    fn accept<'a>(
        &'a self,
        tenant: &'a TenantId,
        mut job: Job,
        upload: Vec<u8>,
        idempotency: Option<String>,
    ) -> Later<'a, Job> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| {
            if let Some(before) = known(transaction, &tenant, idempotency.as_deref())? {
                return Ok(before);
            }
            job.accepted = next_sequence(transaction, &tenant)?;
            let key = (tenant.as_str(), job.id.as_str());
            transaction.open_table(tables::JOBS)?.insert(key, to_row(&job)?.as_slice())?;
            transaction.open_table(tables::UPLOADS)?.insert(key, upload.as_slice())?;
            if let Some(idempotency) = idempotency {
                transaction
                    .open_table(tables::IDEMPOTENCY)?
                    .insert((tenant.as_str(), idempotency.as_str()), job.id.as_str())?;
            }
            Ok(job)
        }))
    }

    fn upload<'a>(&'a self, tenant: &'a TenantId, id: &'a str) -> Later<'a, Option<Vec<u8>>> {
        let key = (tenant.to_string(), id.to_owned());
        Box::pin(self.read(move |transaction| {
            let uploads = transaction.open_table(tables::UPLOADS)?;
            let row = uploads.get((key.0.as_str(), key.1.as_str()))?;
            Ok(row.map(|row| row.value().to_vec()))
        }))
    }

    fn update<'a>(&'a self, tenant: &'a TenantId, job: Job) -> Later<'a, ()> {
        let tenant = tenant.clone();
        Box::pin(self.writer.write(move |transaction| {
            let key = (tenant.as_str(), job.id.as_str());
            transaction.open_table(tables::JOBS)?.insert(key, to_row(&job)?.as_slice())?;
            if job.state != JobState::Waiting {
                transaction.open_table(tables::UPLOADS)?.remove(key)?;
            }
            Ok(())
        }))
    }

    fn job<'a>(&'a self, tenant: &'a TenantId, id: &'a str) -> Later<'a, Option<Job>> {
        let key = (tenant.to_string(), id.to_owned());
        Box::pin(self.read(move |transaction| {
            let jobs = transaction.open_table(tables::JOBS)?;
            let row = jobs.get((key.0.as_str(), key.1.as_str()))?;
            row.map(|row| from_row(row.value())).transpose()
        }))
    }

    fn jobs<'a>(&'a self, tenant: &'a TenantId, limit: usize) -> Later<'a, Vec<Job>> {
        let tenant = tenant.clone();
        Box::pin(self.read(move |transaction| {
            let jobs = transaction.open_table(tables::JOBS)?;
            // Ids start with their time, so the order of keys is the order of acceptance.
            let rows = jobs.range((tenant.as_str(), "")..(tenant.as_str(), LAST))?.rev();
            rows.take(limit).map(|row| from_row(row?.1.value())).collect()
        }))
    }

    fn waiting(&self) -> Later<'_, Vec<(TenantId, Job)>> {
        Box::pin(self.read(|transaction| {
            let mut waiting = Vec::new();
            for row in transaction.open_table(tables::JOBS)?.iter()? {
                let (key, value) = row?;
                let job: Job = from_row(value.value())?;
                if job.state == JobState::Waiting {
                    let tenant = key.value().0.parse().map_err(|error| {
                        redb::Error::Corrupted(format!("the tenant of a job: {error}"))
                    })?;
                    waiting.push((tenant, job));
                }
            }
            waiting.sort_by(|(_, a), (_, b)| a.id.cmp(&b.id));
            Ok(waiting)
        }))
    }

    fn forget_finished<'a>(&'a self, before: Timestamp) -> Later<'a, u64> {
        Box::pin(self.writer.write(move |transaction| {
            let mut jobs = transaction.open_table(tables::JOBS)?;
            let mut keys = transaction.open_table(tables::IDEMPOTENCY)?;
            let is_old = |job: &Job| job.finished_at.is_some_and(|end| end < before);
            let mut forgotten = Vec::new();
            for row in jobs.iter()? {
                let (key, value) = row?;
                let (tenant, id) = key.value();
                if from_row(value.value()).is_ok_and(|job| is_old(&job)) {
                    forgotten.push((tenant.to_owned(), id.to_owned()));
                }
            }
            for (tenant, id) in &forgotten {
                jobs.remove((tenant.as_str(), id.as_str()))?;
                let range = (tenant.as_str(), "")..(tenant.as_str(), LAST);
                keys.retain_in(range, |_, job| job != id)?;
            }
            Ok(forgotten.len() as u64)
        }))
    }
}

/// The job that was accepted earlier under the same key.
fn known(
    transaction: &WriteTransaction,
    tenant: &TenantId,
    idempotency: Option<&str>,
) -> Result<Option<Job>, redb::Error> {
    let Some(idempotency) = idempotency else { return Ok(None) };
    let keys = transaction.open_table(tables::IDEMPOTENCY)?;
    let Some(id) = keys.get((tenant.as_str(), idempotency))? else { return Ok(None) };
    let jobs = transaction.open_table(tables::JOBS)?;
    let row = jobs.get((tenant.as_str(), id.value()))?;
    row.map(|row| from_row(row.value())).transpose()
}
