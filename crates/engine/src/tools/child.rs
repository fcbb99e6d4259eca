//! A server that is a program of this machine: started in a process group of its own, which ends with us.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use super::limits::{Launcher, ProgramLimits};
use super::settings::Launch;
use crate::tasks::Tasks;

/// Lines of standard error that are remembered, and bytes of each: enough to see why a start failed.
const LINES_MAX: usize = 50;
const LINE_BYTES_MAX: usize = 1_000;

/// Bytes of a server's log file before it begins anew, with the last one kept beside it.
const LOG_BYTES_MAX: u64 = 1 << 20;

/// How long a server that was told to end may take before it is made to.
const END_WAIT_MAX: Duration = Duration::from_millis(1_500);

/// The last words of a server on standard error.
#[derive(Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<VecDeque<String>>>);

impl LastWords {
    fn add(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// The last lines, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// A running program. Dropping it kills its whole process group.
pub(super) struct Program {
    group: Option<Pid>,
    is_gone: watch::Receiver<bool>,
}

/// How programs are started.
#[derive(Clone, Default)]
pub(super) struct Start {
    /// Variables that every program gets.
    pub(super) environment: BTreeMap<String, String>,
    /// The program that takes limits on before it becomes another; without one there are none.
    pub(super) launcher: Option<Launcher>,
    /// Where standard error is kept; none for nowhere.
    pub(super) log: Option<PathBuf>,
}

impl Start {
    fn order(&self, limits: &ProgramLimits, command: &str, arguments: &[String]) -> Command {
        let Some(launcher) = &self.launcher else {
            let mut order = Command::new(command);
            order.args(arguments);
            return order;
        };
        let mut order = Command::new(&launcher.program);
        order.arg(&launcher.argument);
        let ProgramLimits { memory_mebibytes_max, files_max, processes_max } = limits;
        for (name, value) in [
            ("--memory-mib-max", memory_mebibytes_max),
            ("--files-max", files_max),
            ("--processes-max", processes_max),
        ] {
            order.arg(name).arg(value.to_string());
        }
        order.arg("--").arg(command).args(arguments);
        order
    }
}

/// The ends of the pipes to it.
pub(super) type Pipes = (ChildStdout, ChildStdin);

impl Program {
    /// Starts the program; what it says on standard error goes to `words` and to the file `log`.
    pub(super) fn start(
        launch: &Launch,
        limits: &ProgramLimits,
        start: &Start,
        words: &LastWords,
        tasks: &Tasks,
    ) -> std::io::Result<(Self, Pipes)> {
        let Launch::Program { command, arguments, environment, folder } = launch else {
            return Err(std::io::ErrorKind::InvalidInput.into());
        };
        let mut order = start.order(limits, command, arguments);
        order
            .env_clear()
            .envs(&start.environment)
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .process_group(0);
        if let Some(folder) = folder {
            order.current_dir(folder);
        }
        let mut child = order.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let missing = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        if let Some(errors) = child.stderr.take() {
            tasks.spawn(listen(errors, words.clone(), start.log.clone(), tasks.clone()));
        }
        let (tell, is_gone) = watch::channel(false);
        tasks.spawn(async move {
            let _status = child.wait().await;
            // What it has left behind is nobody's any more.
            signal(group, Signal::KILL);
            tell.send_replace(true);
        });
        Ok((Self { group, is_gone }, (output, input)))
    }

    /// Waits a moment for a program whose input has ended, then asks it to go, then makes it.
    pub(super) async fn end(self) {
        let mut is_gone = self.is_gone.clone();
        if tokio::time::timeout(END_WAIT_MAX, is_gone.wait_for(|gone| *gone)).await.is_ok() {
            return;
        }
        signal(self.group, Signal::TERM);
        let _gone = tokio::time::timeout(END_WAIT_MAX, is_gone.wait_for(|gone| *gone)).await;
    }
}

fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // The group may be empty already.
        let _gone = kill_process_group(group, signal);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Whatever the program has started goes too. A group that is gone may be somebody else's by now.
        if !*self.is_gone.borrow() {
            signal(self.group, Signal::KILL);
        }
    }
}

/// Reads standard error to its end, so that a server that talks much does not block; keeps little of it.
async fn listen(errors: ChildStderr, words: LastWords, log: Option<PathBuf>, tasks: Tasks) {
    let stopping = tasks.stopping();
    let mut errors = BufReader::new(errors);
    let mut log = log.map(Log::open);
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut errors).take(LINE_BYTES_MAX as u64);
        let read = tokio::select! {
            read = bounded.read_until(b'\n', &mut line) => read,
            () = stopping.cancelled() => return,
        };
        if !matches!(read, Ok(1..)) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let text = agent::tools::suspicion::clean(text.trim_end());
        if text.is_empty() {
            continue;
        }
        if let Some(log) = &mut log {
            log.add(&text);
        }
        words.add(text);
    }
}

/// A file that never grows beyond its bound.
struct Log {
    path: PathBuf,
    file: Option<std::fs::File>,
    bytes: u64,
}

impl Log {
    fn open(path: PathBuf) -> Self {
        let folder = path.parent().unwrap_or(Path::new("."));
        let _there = std::fs::create_dir_all(folder);
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&path).ok();
        let bytes = file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |of| of.len());
        Self { path, file, bytes }
    }

    fn add(&mut self, line: &str) {
        if self.bytes > LOG_BYTES_MAX {
            let _moved = std::fs::rename(&self.path, self.path.with_extension("log.1"));
            *self = Self::open(std::mem::take(&mut self.path));
        }
        self.bytes += line.len() as u64 + 1;
        if let Some(file) = &mut self.file {
            // A full disk costs lines of a log, nothing else.
            let _written = writeln!(file, "{line}");
        }
    }
}
