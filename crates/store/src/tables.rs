//! The tables of the store's file and how their rows are written.
//!
//! Every key starts with the tenant, so that no read can cross from one to another.

use redb::TableDefinition;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

/// Version of all that follows; a change of meaning adds one and a migration.
pub(crate) const SCHEMA_VERSION: u64 = 8;

/// Name → number: the schema's version, how many notices there were, and of the log the two below.
pub(crate) const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
/// The number of the log's last entry that the tables have.
pub(crate) const LOGGED: &str = "logged";
/// What entries of this store's log are marked with.
pub(crate) const LOG_KEY: &str = "log_key";
/// (tenant, document) → record.
pub(crate) const DOCUMENTS: TableDefinition<(&str, &str), &[u8]> =
    TableDefinition::new("documents");
/// (tenant, document) → the sequence under which its reading is.
pub(crate) const READING_OF: TableDefinition<(&str, &str), u64> =
    TableDefinition::new("reading_of");
/// (tenant, sequence) → reading. By sequence, so that new ones go to the end: between others, each would have its
/// neighbours written again.
pub(crate) const READINGS: TableDefinition<(&str, u64), &[u8]> = TableDefinition::new("readings");
/// (tenant, document) → reading, until schema 1.
pub(crate) const CONTENTS_OF_1: TableDefinition<(&str, &str), &[u8]> =
    TableDefinition::new("contents");
/// (tenant, sequence) → document, whether it is still there or not.
pub(crate) const CHANGES: TableDefinition<(&str, u64), &str> = TableDefinition::new("changes");
/// (tenant, document) → the sequence of its deletion.
pub(crate) const DELETED: TableDefinition<(&str, &str), u64> = TableDefinition::new("deleted");
/// Tenant → last sequence given.
pub(crate) const SEQUENCES: TableDefinition<&str, u64> = TableDefinition::new("sequences");
/// (tenant, name) → collection.
pub(crate) const COLLECTIONS: TableDefinition<(&str, &str), &[u8]> =
    TableDefinition::new("collections");
/// (tenant, job) → job.
pub(crate) const JOBS: TableDefinition<(&str, &str), &[u8]> = TableDefinition::new("jobs");
/// (tenant, job) → the bytes it is about.
pub(crate) const UPLOADS: TableDefinition<(&str, &str), &[u8]> = TableDefinition::new("uploads");
/// (tenant, idempotency key) → job.
pub(crate) const IDEMPOTENCY: TableDefinition<(&str, &str), &str> =
    TableDefinition::new("idempotency");
/// Prefix → key.
pub(crate) const KEYS: TableDefinition<&str, &[u8]> = TableDefinition::new("keys");
/// (tenant, position) → entry with its chain.
pub(crate) const AUDIT: TableDefinition<(&str, u64), &[u8]> = TableDefinition::new("audit");

/// (tenant, session) → session with its revision and expiry.
pub(crate) const SESSIONS: TableDefinition<(&str, &str), &[u8]> = TableDefinition::new("sessions");
/// (tenant, last use, session) → title.
pub(crate) const SESSIONS_USED: TableDefinition<(&str, u64, &str), &str> =
    TableDefinition::new("sessions_used");
/// (expiry, tenant, session).
pub(crate) const SESSIONS_EXPIRY: TableDefinition<(u64, &str, &str), ()> =
    TableDefinition::new("sessions_expiry");
/// (tenant, session) whose memory is to be rewritten.
pub(crate) const SESSIONS_DUE: TableDefinition<(&str, &str), ()> =
    TableDefinition::new("sessions_due");
/// (tenant, session, number) → the turn word for word.
pub(crate) const SAID: TableDefinition<(&str, &str, u64), &[u8]> = TableDefinition::new("said");
/// (tenant, session, token of the turn) → how it came about.
pub(crate) const RECORDS: TableDefinition<(&str, &str, &str), &[u8]> =
    TableDefinition::new("records");
/// (tenant, day, session, component, model) → what was spent.
pub(crate) const LEDGER: TableDefinition<(&str, u32, &str, &str, &str), &[u8]> =
    TableDefinition::new("ledger");

/// (tenant, server) → pins of its tools.
pub(crate) const TOOL_PINS: TableDefinition<(&str, &str), &[u8]> =
    TableDefinition::new("tool_pins");
/// (tenant, server) → whether somebody has switched it on or off.
pub(crate) const TOOL_SWITCHES: TableDefinition<(&str, &str), bool> =
    TableDefinition::new("tool_switches");
/// (tenant, tool, person, session or nothing for always) → yes.
pub(crate) const TOOL_APPROVALS: TableDefinition<(&str, &str, &str, &str), &[u8]> =
    TableDefinition::new("tool_approvals");
/// (tenant, position) → call of a tool.
pub(crate) const ACTIVITY: TableDefinition<(&str, u64), &[u8]> = TableDefinition::new("activity");

/// A tenant, an owner and a task.
type TaskOf = (&'static str, &'static str, &'static str);
/// A tenant, an owner, a time before the end of time and a task.
type ListedTask = (&'static str, &'static str, u64, &'static str);
/// A tenant, an owner, a task, a webhook and a number.
type NoticeOf = (&'static str, &'static str, &'static str, &'static str, u64);

/// (tenant, owner, task) → what is known of a task of another agent, and the task itself.
pub(crate) const TASKS: TableDefinition<TaskOf, (&[u8], &[u8])> = TableDefinition::new("tasks");
/// (tenant, owner, time before the end of time, task) → context, state and expiry: what came last comes first.
pub(crate) const TASKS_LISTED: TableDefinition<ListedTask, (&str, &str, u64)> =
    TableDefinition::new("tasks_listed");
/// (tenant, owner, task) that somebody works on.
pub(crate) const TASKS_RUNNING: TableDefinition<TaskOf, ()> = TableDefinition::new("tasks_running");
/// (expiry, tenant, owner, task).
pub(crate) const TASKS_EXPIRY: TableDefinition<(u64, &str, &str, &str), ()> =
    TableDefinition::new("tasks_expiry");
/// (tenant, owner, task, webhook, number) → failures, when to try again, and what it is to be told.
pub(crate) const OUTBOX: TableDefinition<NoticeOf, (u32, u64, &[u8])> =
    TableDefinition::new("outbox");
/// (tenant, run) → its order and how far it has come.
pub(crate) const RUNS: TableDefinition<(&str, &str), &[u8]> = TableDefinition::new("runs");
/// (tenant, beginning, run).
pub(crate) const RUNS_BEGUN: TableDefinition<(&str, u64, &str), ()> =
    TableDefinition::new("runs_begun");
/// (tenant, run) that has not ended.
pub(crate) const RUNS_UNFINISHED: TableDefinition<(&str, &str), ()> =
    TableDefinition::new("runs_unfinished");
/// (tenant, run, number) → what happened.
pub(crate) const RUN_ENTRIES: TableDefinition<(&str, &str, u64), &[u8]> =
    TableDefinition::new("run_entries");
/// Identifier → revision, and an agent of the catalogue.
pub(crate) const ENTRIES: TableDefinition<&str, (u64, &[u8])> = TableDefinition::new("entries");
/// Identifier → what the checks of the agent have found.
pub(crate) const ENTRY_HEALTH: TableDefinition<&str, &[u8]> = TableDefinition::new("entry_health");

/// What most rows take.
const ROW_BYTES: usize = 128;

/// A row as bytes. Only a map with keys that are no text could fail, and no row has one.
pub(crate) fn to_row<T: Serialize>(value: &T) -> Result<Vec<u8>, redb::Error> {
    let mut row = Vec::with_capacity(ROW_BYTES);
    add_row(&mut row, value)?;
    Ok(row)
}

/// Writes a value behind what stands in `row`.
pub(crate) fn add_row<T: Serialize>(row: &mut Vec<u8>, value: &T) -> Result<(), redb::Error> {
    serde_json::to_writer(row, value).map_err(|error| redb::Error::Corrupted(error.to_string()))
}

/// A value as JSON that can stand in several rows.
pub(crate) fn written<T: Serialize>(value: &T) -> Result<Box<RawValue>, redb::Error> {
    to_raw_value(value).map_err(|error| redb::Error::Corrupted(error.to_string()))
}

/// A row read back.
pub(crate) fn from_row<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, redb::Error> {
    serde_json::from_slice(bytes).map_err(|error| redb::Error::Corrupted(error.to_string()))
}

/// The smallest text that is larger than every text that starts with `prefix`, for ranges of tuples:
/// tenants and ids never hold this character.
pub(crate) const LAST: &str = "\u{10ffff}";
