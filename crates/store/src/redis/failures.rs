//! What Redis's failures mean: who can do something about each, and whether it may pass.

use std::time::Duration;

use agent::ports::PortError;
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// What errors call it.
const REDIS: &str = "Redis";

/// Longest answer of a server that is repeated in an error, in characters: a line.
const ANSWER_CHARS_MAX: usize = 200;

/// The error of a command, for the caller.
pub(super) fn port_error(error: RedisError, reply_time_max: Duration) -> PortError {
    if error.code() == Some("OOM") {
        return PortError::Full;
    }
    match error.kind() {
        ErrorKind::UnexpectedReturnType | ErrorKind::Parse | ErrorKind::Client => {
            PortError::Broken { what: REDIS, source: Box::new(error) }
        }
        _ if error.code() == Some("WRONGTYPE") => PortError::Broken {
            what: "a key of Saem's that something else has written",
            source: Box::new(error),
        },
        _ => unavailable(why(&error, reply_time_max)),
    }
}

pub(super) fn unavailable(why: impl Into<String>) -> PortError {
    PortError::Unavailable { what: REDIS.to_owned(), why: why.into() }
}

pub(super) fn broken(source: impl std::error::Error + Send + Sync + 'static) -> PortError {
    PortError::Broken { what: "a session in Redis", source: Box::new(source) }
}

/// Whether the same command may succeed in a moment. What we send can be repeated: it has the same effect twice.
pub(super) fn may_pass(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => true,
        ErrorKind::Server(kind) => matches!(
            kind,
            ServerErrorKind::BusyLoading
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
                | ServerErrorKind::TryAgain
        ),
        _ => false,
    }
}

/// Whether the connection had its part in it, so that the next command should have a new one. A timeout counts: the
/// machine at the other end may be gone. So does a read-only server: its name may stand for another one by now.
pub(super) fn wears_out_the_connection(error: &RedisError) -> bool {
    may_pass(error) || matches!(error.kind(), ErrorKind::AuthenticationFailed | ErrorKind::Parse)
}

/// One line that says what is wrong and, where somebody can do something, what.
fn why(error: &RedisError, reply_time_max: Duration) -> String {
    if error.is_timeout() {
        return format!("there was no reply within {} ms", reply_time_max.as_millis());
    }
    let known = match error.kind() {
        ErrorKind::Server(ServerErrorKind::ReadOnly) => {
            "it is a replica and takes no writes: name the primary in the settings, or wait for the failover"
        }
        ErrorKind::Server(ServerErrorKind::BusyLoading) => "it is still loading its data: wait",
        ErrorKind::Server(ServerErrorKind::MasterDown) => {
            "it is a replica that has lost its primary"
        }
        ErrorKind::Server(ServerErrorKind::ClusterDown) => {
            "some of the cluster's slots are served by nobody: see CLUSTER INFO"
        }
        ErrorKind::ClusterConnectionNotFound => "no node of the cluster can be reached",
        ErrorKind::AuthenticationFailed => {
            "it refuses the user or the password: check the address in the settings"
        }
        _ if error.code() == Some("NOAUTH") => {
            "it wants a password: put it into the address in the settings"
        }
        _ if error.is_connection_refusal() => {
            "nothing listens at the address: start it, or check the settings"
        }
        _ => return answer(error),
    };
    known.to_owned()
}

/// What the server or the network has said, without the place in our script.
fn answer(error: &RedisError) -> String {
    let text = error.to_string();
    let text = text.split(" script: ").next().unwrap_or_default();
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(ANSWER_CHARS_MAX).collect()
}
