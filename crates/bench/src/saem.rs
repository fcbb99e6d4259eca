//! The product as it is packaged, started as a user starts it.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::http::Connection;
use crate::usage::{self, Usage};

/// Longest wait for a server to be ready.
const READY_WAIT_MAX: Duration = Duration::from_secs(60);

/// What one run of a command took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ran {
    pub(crate) wall: Duration,
    /// Of the command and all its children.
    pub(crate) processor: Duration,
}

/// The program and its data folder.
pub(crate) struct Saem {
    pub(crate) program: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) embedder: &'static str,
    /// Where its language model is, up to and including `/v1`.
    pub(crate) model: Option<String>,
}

impl Saem {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env("SAEM_EMBEDDER_KIND", self.embedder)
            .env("SAEM_LOG_LEVEL", "error")
            .arg("--data")
            .arg(&self.data);
        if let Some(model) = &self.model {
            command.env("SAEM_MODELS_BASE_URL", model).env("SAEM_MODELS_MODEL", "stub");
        }
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&OsStr]) -> Result<Ran> {
        let before = usage::of_ended_children()?;
        let start = Instant::now();
        self.output(arguments)?;
        let wall = start.elapsed();
        Ok(Ran { wall, processor: usage::of_ended_children()?.saturating_sub(before) })
    }

    /// What a command prints.
    pub(crate) fn output(&self, arguments: &[&OsStr]) -> Result<Vec<u8>> {
        let output = self.command().args(arguments).stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{arguments:?}: {said}");
        Ok(output.stdout)
    }

    /// Starts the server on a free port and waits until it is ready.
    pub(crate) fn serve(&self) -> Result<Server> {
        let listen = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let start = Instant::now();
        let child = self
            .command()
            .env("SAEM_SERVER_REQUESTS_PER_MINUTE_MAX", "100000000")
            .args(["serve", "--listen", &listen])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| self.program.display().to_string())?;
        let mut server = Server { child, listen, opened: Duration::ZERO };
        loop {
            if let Some(status) = server.child.try_wait()? {
                bail!("the server ended: {status}");
            }
            let ready = Connection::open(&server.listen).and_then(|mut to| to.get("/health/ready"));
            if ready.is_ok() {
                server.opened = start.elapsed();
                return Ok(server);
            }
            ensure!(start.elapsed() < READY_WAIT_MAX, "the server does not get ready");
        }
    }
}

/// A running server; it is killed with this value.
pub(crate) struct Server {
    child: Child,
    pub(crate) listen: String,
    /// From its start to being ready.
    pub(crate) opened: Duration,
}

impl Server {
    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn usage(&self) -> Result<Usage> {
        usage::of_process(self.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A folder that goes with this value.
pub(crate) fn fresh_folder(below: &Path) -> Result<tempfile::TempDir> {
    Ok(tempfile::Builder::new().prefix("saem-bench").tempdir_in(below)?)
}
