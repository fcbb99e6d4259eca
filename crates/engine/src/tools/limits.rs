//! What a program that serves tools may take of the machine: set before its first instruction, and inherited by whatever
//! it starts.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

/// Limits of one program and its children; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramLimits {
    /// Memory that can be written to. Addresses alone are free: Node reserves ten gigabytes of them for each module of
    /// WebAssembly and uses none.
    pub memory_mebibytes_max: u64,
    pub files_max: u64,
    /// Processes and threads besides those that the user has when the program starts: the system counts by user. It does
    /// not count those of root.
    pub processes_max: u64,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self { memory_mebibytes_max: 4_096, files_max: 1_024, processes_max: 1_024 }
    }
}

/// What takes limits on and then becomes a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// This program, and the argument that makes it call [`become_program`].
    pub program: PathBuf,
    pub argument: String,
}

/// Takes the limits on and becomes the program. Gives why it could not.
#[must_use]
pub fn become_program(
    limits: &ProgramLimits,
    program: &OsStr,
    arguments: &[OsString],
) -> io::Error {
    match limits.take_on() {
        Ok(()) => Command::new(program).args(arguments).exec(),
        Err(error) => error,
    }
}

impl ProgramLimits {
    fn take_on(&self) -> io::Result<()> {
        // A core is a file full of other people's secrets.
        limit(Resource::Core, 0)?;
        if self.memory_mebibytes_max > 0 {
            limit(Resource::Data, self.memory_mebibytes_max.saturating_mul(1 << 20))?;
        }
        if self.files_max > 0 {
            limit(Resource::Nofile, self.files_max)?;
        }
        match running_tasks() {
            Some(running) if self.processes_max > 0 => {
                limit(Resource::Nproc, running.saturating_add(self.processes_max))
            }
            // Where nobody tells how many there are, any number would be wrong.
            Some(_) | None => Ok(()),
        }
    }
}

/// Sets a limit for good; one that is narrower already stays.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    Ok(())
}

/// Processes and threads of our user.
fn running_tasks() -> Option<u64> {
    let own = getuid().as_raw();
    let mut tasks = 0;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let is_own = entry.metadata().is_ok_and(|about| about.uid() == own);
        if is_own && entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            tasks += threads(&entry.path());
        }
    }
    (tasks > 0).then_some(tasks)
}

/// 0 for a process that has ended meanwhile.
fn threads(process: &Path) -> u64 {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    let count = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}
