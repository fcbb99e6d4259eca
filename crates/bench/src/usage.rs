//! What a process has used, as Linux tells it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// Processor time and memory of a living process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Its own and that of its children that have ended.
    pub(crate) processor: Duration,
    pub(crate) resident_mebibytes: f64,
    /// The most that it ever had.
    pub(crate) resident_mebibytes_max: f64,
}

/// Linux counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

pub(crate) fn of_process(id: u32) -> Result<Usage> {
    let processor = TICK * ticks(&format!("/proc/{id}/stat"), 0..4)?;
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let mebibytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes = line.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
        kibibytes.unwrap_or(0.0) / 1024.0
    };
    let (resident, resident_max) = (mebibytes("VmRSS:"), mebibytes("VmHWM:"));
    Ok(Usage { processor, resident_mebibytes: resident, resident_mebibytes_max: resident_max })
}

/// Processor time of this process's children that have ended, and of theirs.
pub(crate) fn of_ended_children() -> Result<Duration> {
    Ok(TICK * ticks("/proc/self/stat", 2..4)?)
}

/// The sum of some of the four counts: in the program and in the kernel, its own and its ended children's.
fn ticks(file: &str, which: std::ops::Range<usize>) -> Result<u32> {
    let stat = std::fs::read_to_string(file).context("is it still running?")?;
    // The name in brackets may hold anything: fields are counted after it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let counts = fields.skip(11 + which.start).take(which.len());
    Ok(counts.filter_map(|field| field.parse::<u32>().ok()).sum())
}

/// Waits until all that was written is on disk: nobody is to wait for what another has left.
pub(crate) fn settle() -> Result<()> {
    let done = Command::new("sync").status().context("`sync` cannot be run")?;
    ensure!(done.success(), "`sync` failed");
    Ok(())
}

/// Bytes of all files below a folder.
pub(crate) fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        bytes += if meta.is_dir() { folder_bytes(&entry.path())? } else { meta.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory() {
        let usage = of_process(std::process::id()).unwrap();
        assert!(usage.resident_mebibytes > 1.0, "{usage:?}");
    }
}
