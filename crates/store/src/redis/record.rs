//! A session in its parts, as they stand in Redis, and back.

use agent::identity::Timestamp;
use agent::memory::{Memory, Session, SessionId, Version};
use agent::ports::{KeepSession, KeptSession, PortError, RECORDS_MAX, SAID_MAX};
use agent::turn::TurnId;
use redis::Cmd;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::failures::{broken, unavailable};
use super::keys::session_keys;

const KEEP: &str = include_str!("keep.lua");
const READ: &str = include_str!("read.lua");

/// The form of what we write; a session of a later form is left alone.
const FORM: u64 = 1;

/// Writes whose names a session remembers: one whose answer was lost is recognised until so many came after it.
const WRITES_MAX: usize = 8;

/// Digits of a write's name: too many to meet by chance.
const WRITE_DIGITS: usize = 32;

/// Longest lifetime that Redis is told, in milliseconds: a hundred years; it refuses what does not fit its clock.
const LIFETIME_MAX: u64 = 100 * 365 * 24 * 3_600_000;

/// The fields of a header, in the order in which they are written and read.
const HEADER: [&str; 7] =
    ["form", "revision", "title", "created_at", "used_at", "turns_said", "turns"];

/// The header's fields as they come.
type Header = (u64, u64, String, u64, u64, u64, String);

/// A session as it comes: header, memory, entities.
pub(super) type Parts = (Header, String, String);

/// The memory's part: the memory, and what it was before.
#[derive(Serialize, Deserialize)]
struct MemoryPart {
    #[serde(flatten)]
    memory: Memory,
    #[serde(default)]
    earlier: Vec<Version>,
}

/// How long a session has to live, in milliseconds; 0 for one that is expired already.
pub(super) fn lifetime(keep: &KeepSession) -> u64 {
    keep.expires_at.0.saturating_sub(keep.now.0).min(LIFETIME_MAX)
}

/// The command that keeps a session.
pub(super) fn keep_command(tenant: &str, keep: &KeepSession) -> Result<Cmd, PortError> {
    let KeepSession { session, revision, turn, is_due, .. } = keep;
    let memory = MemoryPart { memory: session.memory.clone(), earlier: session.earlier.clone() };
    let (memory, entities) = (json(&memory)?, json(&session.entities)?);
    let turns = json(&session.turns)?;
    let (said, record) = match turn {
        Some(turn) => (json(&turn.said())?, json(&**turn)?),
        None => (String::new(), String::new()),
    };
    // Named after what it writes: however often it comes, it is the same write. When it comes is not part of that.
    let name = write_name(&[
        &format!("{revision} {is_due} {} {}", session.used_at.0, session.turns_said),
        &session.title,
        &memory,
        &entities,
        &turns,
        &record,
    ]);
    let mut command = redis::cmd("EVAL");
    let keys = session_keys(tenant, session.id.as_str());
    command.arg(KEEP).arg(keys.len()).arg(&keys);
    command.arg(*revision).arg(name).arg(WRITES_MAX * (WRITE_DIGITS + 1)).arg(lifetime(keep));
    command.arg(memory).arg(entities).arg(said).arg(record).arg(SAID_MAX).arg(RECORDS_MAX);
    let header = [
        FORM.to_string(),
        (revision + 1).to_string(),
        session.title.clone(),
        session.created_at.0.to_string(),
        session.used_at.0.to_string(),
        session.turns_said.to_string(),
        turns,
    ];
    for (field, value) in HEADER.into_iter().zip(header) {
        command.arg(field).arg(value);
    }
    Ok(command)
}

/// The command that reads a session.
pub(super) fn session_command(tenant: &str, id: &str) -> Cmd {
    let mut command = read_command(tenant, id, "session");
    command.arg(&HEADER);
    command
}

/// The command that reads a record.
pub(super) fn record_command(tenant: &str, id: &TurnId) -> Cmd {
    let mut command = read_command(tenant, id.session.as_str(), "record");
    // A turn's name is its first field, and holds nothing that JSON would write otherwise.
    command.arg(format!("{{\"id\":\"{id}\""));
    command
}

/// The command that reads something of a session.
pub(super) fn read_command(tenant: &str, id: &str, what: &str) -> Cmd {
    let keys = session_keys(tenant, id);
    let mut command = redis::cmd("EVAL");
    command.arg(READ).arg(keys.len()).arg(&keys).arg(what);
    command
}

/// The session in these parts.
pub(super) fn session(id: &SessionId, parts: Parts) -> Result<KeptSession, PortError> {
    let (header, memory, entities) = parts;
    let (form, revision, title, created_at, used_at, turns_said, turns) = header;
    if form > FORM {
        return Err(unavailable(format!(
            "the session {id} was kept by a newer saem (form {form}, this one knows {FORM}): use that version"
        )));
    }
    let MemoryPart { memory, earlier } = from_json(&memory)?;
    let session = Session {
        id: id.clone(),
        title,
        created_at: Timestamp(created_at),
        used_at: Timestamp(used_at),
        turns_said,
        memory,
        entities: from_json(&entities)?,
        earlier,
        turns: from_json(&turns)?,
    };
    Ok(KeptSession { session, revision })
}

pub(super) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, PortError> {
    serde_json::from_str(text).map_err(broken)
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<String, PortError> {
    serde_json::to_string(value).map_err(broken)
}

fn write_name(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        // With its length, so that text cannot wander from one part to the next.
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    let digest = format!("{:x}", digest.finalize());
    digest.chars().take(WRITE_DIGITS).collect()
}
