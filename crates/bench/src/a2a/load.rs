//! Callers of an A2A agent: messages over JSON-RPC of 1.0 on connections that stay open, answered whole or as events.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::crowd;
use crate::http::Connection;
use crate::report::percentile;

/// What stands in every good answer, which is whole: the artifact, and the state in the end.
const EXPECTED: [&[u8]; 2] = [b"Stream hello from TCK", b"TASK_STATE_COMPLETED"];

/// How a message is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By the task, when it has ended.
    Send,
    /// By everything that becomes of it: the task, two states and an artifact.
    Stream,
}

/// Whom to call.
pub(super) struct Caller {
    pub(super) address: String,
    pub(super) path: String,
}

/// What callers saw of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Played {
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) per_second: f64,
    /// Until the first event was there; of streams alone.
    pub(super) first_p50_ms: f64,
    pub(super) first_p99_ms: f64,
}

/// What one message took, to the first event and to the end.
struct Took {
    first: Duration,
    all: Duration,
}

impl Caller {
    /// Sends so many messages over so many connections at once.
    pub(super) fn play(&self, way: Way, times: usize, at_once: usize) -> Result<Played> {
        let connections: Vec<Connection> =
            (0..at_once).map(|_| self.open()).collect::<Result<_>>()?;
        let send = |to: &mut Connection, number| self.send(to, way, number);
        let (took, wall) = crowd::play(connections, times, send)?;
        let all: Vec<Duration> = took.iter().map(|took| took.all).collect();
        let first: Vec<Duration> = took.iter().map(|took| took.first).collect();
        Ok(Played {
            p50_ms: percentile(&all, 0.5),
            p99_ms: percentile(&all, 0.99),
            per_second: times as f64 / wall.as_secs_f64(),
            first_p50_ms: percentile(&first, 0.5),
            first_p99_ms: percentile(&first, 0.99),
        })
    }

    fn send(&self, to: &mut Connection, way: Way, number: usize) -> Result<Took> {
        let method = match way {
            Way::Send => "SendMessage",
            Way::Stream => "SendStreamingMessage",
        };
        // The beginning of its id says what Saem's agent for kits does; the others do nothing else.
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{{"message":{{"messageId":"tck-stream-001-{number}","role":"ROLE_USER","parts":[{{"text":"When is a budget alert sent?"}}]}}}}}}"#
        );
        let start = Instant::now();
        let (answer, first) = match way {
            Way::Send => (to.post(&self.path, &body)?, Instant::now()),
            Way::Stream => to.post_for_events(&self.path, &body)?,
        };
        let took = Took { first: first - start, all: start.elapsed() };
        let is_good = EXPECTED.iter().all(|part| contains(&answer, part));
        ensure!(is_good, "{}", String::from_utf8_lossy(&answer));
        Ok(took)
    }

    fn open(&self) -> Result<Connection> {
        let headers = "A2A-Version: 1.0\r\nAccept: application/json, text/event-stream\r\n";
        Ok(Connection::open(&self.address)?.with_headers(headers))
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
