//! `saem mcp logs`: what a server's program has said on standard error.

use std::io::{Read, Seek, SeekFrom};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::backend::tools::server_named;
use crate::config::Config;
use crate::output::Output;
use crate::wiring::tools::LOGS;

/// Bytes of a log that are read for its last lines.
const TAIL_BYTES_MAX: u64 = 1 << 20;

pub(crate) fn run(
    config: &Config,
    server: &str,
    count: usize,
    output: &Output,
) -> Result<ExitCode> {
    if config.remote.is_some() {
        bail!("logs are files on the machine of the server: run this there, without --server");
    }
    let server = server_named(server);
    let path = config.data_folder()?.join(LOGS).join(format!("{server}.log"));
    let mut file = std::fs::File::open(&path)
        .with_context(|| format!("{server} has said nothing yet: {}", path.display()))?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES_MAX)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.iter().skip(lines.len().saturating_sub(count)) {
        output.json(&json!({ "server": server, "line": line }))?;
        output.line(line)?;
    }
    Ok(ExitCode::SUCCESS)
}
