//! The store's file: opened by one process, with a version, and opened anew after the disk was full.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use agent::identity::ApiKey;
use agent::knowledge::Document;
use agent::names::{DocumentId, TenantId};
use agent::ports::{Failpoints, NoFailpoints, PortError};
use agent::tools::naming::ServerId;
use agent::tools::policy::{Approval, Pins};
use redb::{Database, DatabaseError, ReadTransaction, ReadableDatabase, ReadableTable};
use tokio::sync::watch;

use crate::ahead::Ahead;
use crate::log::Log;
use crate::migrations;
use crate::shelf::{Rows, Shelf};
use crate::tables;
use crate::writer::{Health, Writer};

/// Everything kept, behind the ports of `agent`. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) file: Arc<File>,
    pub(crate) writer: Writer,
    pub(crate) known_keys: Shelf<Rows<(), HashMap<String, ApiKey>>>,
    pub(crate) known_documents: Shelf<Rows<(TenantId, DocumentId), Document>>,
    pub(crate) known_pins: Shelf<Rows<(TenantId, ServerId), Pins>>,
    pub(crate) known_approvals: Shelf<Rows<TenantId, Vec<Approval>>>,
}

/// Memory for a first look at the version: a few pages.
const LOOK_CACHE_BYTES: usize = 1 << 20;

/// How a store is opened.
pub struct Options {
    /// The disk counts as full when less than this is left, so that nothing breaks half-way.
    pub disk_reserve_bytes: u64,
    /// Memory for pages of the file. What is asked for with every request is kept in memory as it is, so that few pages are
    /// read twice; the system has the others.
    pub cache_bytes: usize,
    pub failpoints: Arc<dyn Failpoints>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            disk_reserve_bytes: 64 << 20,
            cache_bytes: 4 << 20,
            failpoints: Arc::new(NoFailpoints),
        }
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("another saem is using {path}: stop it, or choose another folder with --data")]
    InUse { path: PathBuf },
    #[error(
        "{path} was written by a newer saem (schema {found}, this one knows {known}): use that version"
    )]
    Newer { path: PathBuf, found: u64, known: u64 },
    #[error("{path} cannot be opened: {why}")]
    Unusable { path: PathBuf, why: String },
}

impl Store {
    /// Opens the file or makes it, and brings an older one up to date.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let file = Arc::new(File::open(path, &options)?);
        let unusable = |why: String| OpenError::Unusable { path: path.to_owned(), why };
        let ahead = file.open_log().map_err(|error| unusable(error.to_string()))?;
        let writer = Writer::start(Arc::clone(&file), ahead, options.failpoints)
            .map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            file,
            writer,
            known_keys: Shelf::default(),
            known_documents: Shelf::default(),
            known_pins: Shelf::default(),
            known_approvals: Shelf::default(),
        })
    }

    /// How the writer is, now and whenever it changes.
    #[must_use]
    pub fn health(&self) -> watch::Receiver<Health> {
        self.writer.health()
    }

    /// Whether there is room for another write right now.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.file.has_room()
    }

    /// Looks a few rows up where it is called: less work than handing it to another thread.
    pub(crate) async fn look_up<T, F>(&self, work: F) -> Result<T, PortError>
    where
        F: FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    {
        let looked = self.file.with(|database| work(&database.begin_read()?));
        std::future::ready(looked.map_err(|error| broken(Box::new(error)))).await
    }

    /// As [`look_up`](Self::look_up), of rows that a session's write may have changed.
    pub(crate) async fn look_up_settled<T, F>(&self, work: F) -> Result<T, PortError>
    where
        F: FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    {
        self.writer.settled().await?;
        self.look_up(work).await
    }

    /// As [`read`](Self::read), of rows that a session's write may have changed.
    pub(crate) async fn read_settled<T, F>(&self, work: F) -> Result<T, PortError>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTransaction) -> Result<T, redb::Error> + Send + 'static,
    {
        self.writer.settled().await?;
        self.read(work).await
    }

    /// Reads on a thread that may wait for the disk.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, PortError>
    where
        T: Send + 'static,
        F: FnOnce(&ReadTransaction) -> Result<T, redb::Error> + Send + 'static,
    {
        let file = Arc::clone(&self.file);
        let reading = move || file.with(|database| work(&database.begin_read()?));
        match tokio::task::spawn_blocking(reading).await {
            Ok(outcome) => outcome.map_err(|error| broken(Box::new(error))),
            Err(error) => Err(broken(Box::new(error))),
        }
    }
}

pub(crate) fn broken(source: Box<dyn std::error::Error + Send + Sync>) -> PortError {
    PortError::Broken { what: "reading from the store", source }
}

/// The open database; none for the moment in which it is opened anew.
pub(crate) struct File {
    path: PathBuf,
    cache_bytes: usize,
    disk_reserve_bytes: u64,
    database: RwLock<Option<Database>>,
}

impl File {
    fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let unusable = |why: String| OpenError::Unusable { path: path.to_owned(), why };
        refuse_newer(path, version_at_rest(path))?;
        let database = open_database(path, options.cache_bytes).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => OpenError::InUse { path: path.to_owned() },
            other => unusable(other.to_string()),
        })?;
        let found = prepare(&database).map_err(|error| unusable(error.to_string()))?;
        refuse_newer(path, Some(found))?;
        Ok(Self {
            path: path.to_owned(),
            cache_bytes: options.cache_bytes,
            disk_reserve_bytes: options.disk_reserve_bytes,
            database: RwLock::new(Some(database)),
        })
    }

    /// Opens the log beside the file, and puts into the tables what a process that was killed has left in it. Where there is
    /// no room for a log, everything goes to the tables at once.
    fn open_log(&self) -> Result<Ahead, redb::Error> {
        let (key, applied) = self.with(|database| {
            let transaction = database.begin_read()?;
            let meta = transaction.open_table(tables::META)?;
            let number = |name: &str| -> Result<u64, redb::Error> {
                Ok(meta.get(name)?.map_or(0, |number| number.value()))
            };
            Ok((number(tables::LOG_KEY)?, number(tables::LOGGED)?))
        })?;
        let (log, found) = match Log::open(&self.path.with_extension("log"), key, applied) {
            Ok(opened) => opened,
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                return Ok(Ahead::none());
            }
            Err(error) => return Err(redb::Error::Io(error)),
        };
        let mut ahead = Ahead::opened(log, &found)?;
        if !ahead.is_empty() {
            self.with(|database| {
                let transaction = database.begin_write()?;
                ahead.put_into_tables(&transaction)?;
                Ok(transaction.commit()?)
            })?;
            tracing::info!(count = found.entries.len(), "writes of the log were caught up with");
            ahead.done();
        }
        Ok(ahead)
    }

    /// Does something with the open database; opening anew waits until it is done.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, redb::Error> {
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        work(guard.as_ref().ok_or(redb::Error::DatabaseClosed)?)
    }

    /// Closes and opens the file: after an input or output error, redb wants nothing else.
    pub(crate) fn reopen(&self) -> Result<(), DatabaseError> {
        let mut guard = self.database.write().unwrap_or_else(PoisonError::into_inner);
        drop(guard.take());
        *guard = Some(open_database(&self.path, self.cache_bytes)?);
        Ok(())
    }

    /// Whether the file is open and the disk has more than the reserve left; an unreadable answer counts as room.
    pub(crate) fn has_room(&self) -> bool {
        let is_closed = self.database.read().unwrap_or_else(PoisonError::into_inner).is_none();
        if is_closed && self.reopen().is_err() {
            return false;
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        rustix::fs::statvfs(folder).map_or(true, |disk| {
            disk.f_bavail.saturating_mul(disk.f_frsize) > self.disk_reserve_bytes
        })
    }
}

fn open_database(path: &Path, cache_bytes: usize) -> Result<Database, DatabaseError> {
    Database::builder().set_cache_size(cache_bytes).create(path)
}

fn refuse_newer(path: &Path, found: Option<u64>) -> Result<(), OpenError> {
    let known = tables::SCHEMA_VERSION;
    match found {
        Some(found) if found > known => {
            Err(OpenError::Newer { path: path.to_owned(), found, known })
        }
        Some(_) | None => Ok(()),
    }
}

/// The schema's version, seen without opening the file for writing, which would change it. None if it cannot be seen so:
/// there is no file yet, another process has it, or the last one was killed and it has to be repaired first.
fn version_at_rest(path: &Path) -> Option<u64> {
    let mut builder = Database::builder();
    let database = builder.set_cache_size(LOOK_CACHE_BYTES).open_read_only(path).ok()?;
    read_version(&database).ok()
}

/// Makes every table, so that reading never meets a missing one, and gives the schema's version.
fn prepare(database: &Database) -> Result<u64, redb::Error> {
    if let Ok(version) = read_version(database)
        && version >= tables::SCHEMA_VERSION
    {
        return Ok(version);
    }
    let transaction = database.begin_write()?;
    {
        transaction.open_table(tables::DOCUMENTS)?;
        transaction.open_table(tables::READING_OF)?;
        transaction.open_table(tables::READINGS)?;
        transaction.open_table(tables::CHANGES)?;
        transaction.open_table(tables::DELETED)?;
        transaction.open_table(tables::SEQUENCES)?;
        transaction.open_table(tables::COLLECTIONS)?;
        transaction.open_table(tables::JOBS)?;
        transaction.open_table(tables::UPLOADS)?;
        transaction.open_table(tables::IDEMPOTENCY)?;
        transaction.open_table(tables::KEYS)?;
        transaction.open_table(tables::AUDIT)?;
        transaction.open_table(tables::SESSIONS)?;
        transaction.open_table(tables::SESSIONS_USED)?;
        transaction.open_table(tables::SESSIONS_EXPIRY)?;
        transaction.open_table(tables::SESSIONS_DUE)?;
        transaction.open_table(tables::SAID)?;
        transaction.open_table(tables::RECORDS)?;
        transaction.open_table(tables::LEDGER)?;
        transaction.open_table(tables::TOOL_PINS)?;
        transaction.open_table(tables::TOOL_SWITCHES)?;
        transaction.open_table(tables::TOOL_APPROVALS)?;
        transaction.open_table(tables::ACTIVITY)?;
        transaction.open_table(tables::TASKS)?;
        transaction.open_table(tables::TASKS_LISTED)?;
        transaction.open_table(tables::TASKS_RUNNING)?;
        transaction.open_table(tables::TASKS_EXPIRY)?;
        transaction.open_table(tables::OUTBOX)?;
        transaction.open_table(tables::RUNS)?;
        transaction.open_table(tables::RUNS_BEGUN)?;
        transaction.open_table(tables::RUNS_UNFINISHED)?;
        transaction.open_table(tables::RUN_ENTRIES)?;
        transaction.open_table(tables::ENTRIES)?;
        transaction.open_table(tables::ENTRY_HEALTH)?;
        let mut meta = transaction.open_table(tables::META)?;
        let before = meta.get("schema")?.map(|version| version.value());
        if before == Some(1) {
            migrations::number_readings(&transaction)?;
        }
        if meta.get(tables::LOG_KEY)?.is_none() {
            // Each new state of the standard library's hasher is seeded anew.
            meta.insert(tables::LOG_KEY, RandomState::new().hash_one(()))?;
        }
        meta.insert("schema", tables::SCHEMA_VERSION)?;
    }
    transaction.commit()?;
    Ok(tables::SCHEMA_VERSION)
}

fn read_version(database: &impl ReadableDatabase) -> Result<u64, redb::Error> {
    let transaction = database.begin_read()?;
    let meta = transaction.open_table(tables::META)?;
    Ok(meta.get("schema")?.map_or(0, |version| version.value()))
}
