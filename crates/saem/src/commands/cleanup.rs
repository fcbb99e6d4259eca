//! `saem cleanup`: forgets what has expired and compacts the index.

use std::process::ExitCode;

use anyhow::Result;

use crate::backend::Backend;
use crate::config::Config;
use crate::output::Output;

pub(crate) async fn run(config: Config, output: &Output) -> Result<ExitCode> {
    let backend = Backend::open(&config).await?;
    let report = backend.clean_up().await?;
    backend.close().await;
    output.json(&report)?;
    output.line(&format!(
        "cleaned up {} tenants: {} jobs, {} deletions and {} conversations forgotten, {} KiB of index freed",
        report.tenants,
        report.jobs_forgotten,
        report.deletions_forgotten,
        report.sessions_forgotten,
        report.index_bytes_freed >> 10,
    ))?;
    Ok(ExitCode::SUCCESS)
}
