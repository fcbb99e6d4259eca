//! The parent's side: a few children, each reading one document at a time, replaced when they die.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::names::TenantId;
use agent::ports::PortError;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;

use super::wire::{ANSWER_BYTES_MAX, Answer, HEADER_BYTES_MAX, ReadOrder, Request};

/// Documents a child reads before it is replaced: what it may have hoarded goes with it.
const DOCUMENTS_PER_CHILD: u32 = 2000;

/// After a document of more than this, or one that could not be read, a child is replaced at once: the addresses
/// that its allocator keeps count against the next document.
const HOARDED_BYTES_MAX: usize = 1 << 20;

/// Documents up to this many bytes fit into a pipe together with their header.
const SMALL_BYTES_MAX: usize = 32 << 10;

/// What a pipe holds: a whole answer, mostly, is read at once.
const PIPE_BYTES: usize = 64 << 10;

/// How children are started and what they get.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// This program, and the argument that makes it a child.
    pub program: PathBuf,
    pub argument: String,
    pub children_max: usize,
    /// From sending a document to its reading, by the wall clock.
    pub read_wait_max: Duration,
}

/// Why a document has no reading.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The document: its reader says why.
    #[error("{0}")]
    Unreadable(String),
    /// The document: it took the reader down.
    #[error(
        "reading it {0}: it may be damaged or made to do harm; leave it out, or save it anew in another format"
    )]
    Deadly(&'static str),
    /// Us: no child could be started.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Children that read documents. Cheap to clone.
#[derive(Clone)]
pub struct Pool {
    settings: Arc<PoolSettings>,
    turns: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Reader>>>,
}

/// A living child.
struct Reader {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Whose documents it has seen: no child sees those of two tenants.
    tenant: TenantId,
    documents_left: u32,
}

impl Pool {
    /// Children are started when they are needed.
    #[must_use]
    pub fn new(settings: PoolSettings) -> Self {
        let turns = Arc::new(Semaphore::new(settings.children_max.max(1)));
        Self { settings: Arc::new(settings), turns, idle: Arc::default() }
    }

    /// The reading of a document, as the bytes of an `extract::Extracted`.
    ///
    /// Dropping the future kills the child that was reading.
    pub async fn read(
        &self,
        tenant: &TenantId,
        order: ReadOrder,
        bytes: &[u8],
    ) -> Result<Vec<u8>, ReadError> {
        let turn = self.turns.acquire().await.map_err(|error| PortError::Broken {
            what: "reading documents",
            source: Box::new(error),
        })?;
        let mut reader = match self.idle_reader(tenant) {
            Some(reader) => reader,
            None => self.start(tenant)?,
        };
        let asked = tokio::time::timeout(self.settings.read_wait_max, reader.ask(order, bytes));
        let outcome = match asked.await {
            Ok(Ok(answer)) => answer.map_err(ReadError::Unreadable),
            // Its pipes broke: the child is dead or dying.
            Ok(Err(_)) => Err(ReadError::Deadly(reader.cause_of_death().await)),
            Err(_) => {
                return Err(ReadError::Deadly("took too long"));
            }
        };
        reader.documents_left = reader.documents_left.saturating_sub(1);
        let hoards = |answer: &Vec<u8>| bytes.len().max(answer.len()) > HOARDED_BYTES_MAX;
        if !outcome.as_ref().map_or(true, hoards) && reader.documents_left > 0 {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        }
        drop(turn);
        outcome
    }

    fn idle_reader(&self, tenant: &TenantId) -> Option<Reader> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let place = idle.iter().position(|reader| reader.tenant == *tenant);
        match place {
            Some(place) => Some(idle.swap_remove(place)),
            None => {
                // Whoever is idle works for another tenant: let it go, so that children stay few.
                idle.pop();
                None
            }
        }
    }

    fn start(&self, tenant: &TenantId) -> Result<Reader, PortError> {
        let failed = |error: std::io::Error| PortError::Broken {
            what: "starting a process to read documents",
            source: Box::new(error),
        };
        let mut child = Command::new(&self.settings.program)
            .arg(&self.settings.argument)
            .env_clear()
            // The allocator asks for a gigabyte of addresses at once, and the child's limit counts addresses.
            .env("MIMALLOC_ARENA_RESERVE", "16MiB")
            // Pages that one document leaves are kept a moment for the next.
            .env("MIMALLOC_PURGE_DELAY", "1000")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let missing = || failed(std::io::ErrorKind::BrokenPipe.into());
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let output = BufReader::with_capacity(PIPE_BYTES, output);
        let tenant = tenant.clone();
        Ok(Reader { child, input, output, tenant, documents_left: DOCUMENTS_PER_CHILD })
    }
}

impl Reader {
    /// Sends a document and takes the answer: a reading, or the reader's word why not.
    async fn ask(
        &mut self,
        order: ReadOrder,
        bytes: &[u8],
    ) -> std::io::Result<Result<Vec<u8>, String>> {
        let mut message = serde_json::to_vec(&Request { order, bytes: bytes.len() })?;
        message.push(b'\n');
        // A small document goes in one piece with its header: each write wakes the child.
        let (small, large) =
            if bytes.len() <= SMALL_BYTES_MAX { (bytes, &[][..]) } else { (&[][..], bytes) };
        message.extend(small);
        self.input.write_all(&message).await?;
        self.input.write_all(large).await?;
        self.input.flush().await?;
        let mut line = Vec::new();
        (&mut self.output).take(HEADER_BYTES_MAX as u64).read_until(b'\n', &mut line).await?;
        let answer: Answer = serde_json::from_slice(&line)?;
        if answer.bytes > ANSWER_BYTES_MAX {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        let mut body = vec![0; answer.bytes];
        self.output.read_exact(&mut body).await?;
        Ok(if answer.is_read { Ok(body) } else { Err(String::from_utf8_lossy(&body).into_owned()) })
    }

    async fn cause_of_death(&mut self) -> &'static str {
        // A child whose pipe broke is about to be gone; one that lingers is made to go.
        let waited = tokio::time::timeout(Duration::from_secs(1), self.child.wait()).await;
        match waited {
            Ok(Ok(status)) => cause(status),
            _ => "broke off",
        }
    }
}

fn cause(status: ExitStatus) -> &'static str {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        // SIGXCPU.
        Some(24) => "took too much processor time",
        // SIGABRT: memory that cannot be had, or a stack that is too deep. SIGSEGV: likewise.
        Some(6 | 11) => "took too much memory",
        Some(_) => "was killed",
        None => "crashed the reader",
    }
}
