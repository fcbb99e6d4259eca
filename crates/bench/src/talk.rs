//! Callers of a server: each has a connection that stays open, and sends one request after the other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::http::{Connection, encoded};
use crate::report::percentile;

/// Conversations that there are; who has several goes from one to the next, so that each has its history.
pub(crate) const SESSIONS: usize = 64;

/// What a run of turns took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Played {
    /// Processor time of whoever answers, for each turn.
    pub(crate) cpu_ms: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) turns_per_second: f64,
    pub(crate) resident_mebibytes: f64,
}

/// Whom the callers call, as whom and with what.
pub(crate) struct Talk {
    pub(crate) listen: String,
    /// The number of its process.
    pub(crate) process: u32,
    pub(crate) key: String,
    pub(crate) questions: Vec<String>,
}

impl Talk {
    /// Asks questions in all sessions, so many at the same time.
    pub(crate) fn turns(&self, turns: usize, at_once: usize) -> Result<Played> {
        self.run(turns, at_once, |to, session, number| {
            let question = self.questions.get(number % self.questions.len());
            ask(to, session, question.context("a question")?, r#""persisted":true"#)
        })
    }

    /// Says hello: nothing is searched for, and no model is asked.
    pub(crate) fn small_talk(&self, turns: usize) -> Result<Played> {
        self.run(turns, 1, |to, session, _| {
            ask(to, session + SESSIONS, "안녕하세요", r#""outcome":"small_talk""#)
        })
    }

    /// The least that a request can be.
    pub(crate) fn exchanges(&self, times: usize) -> Result<Played> {
        self.run(times, 1, |to, _, _| to.get("/v1/models").map(|_| ()))
    }

    pub(crate) fn searches(&self, times: usize) -> Result<Played> {
        self.run(times, 1, |to, _, number| {
            let question = self.questions.get(number % self.questions.len());
            let question = encoded(question.context("a question")?);
            to.get(&format!("/api/search?q={question}")).map(|_| ())
        })
    }

    /// Has so many callers send requests until all are answered; `request` is given a session and a number.
    fn run(
        &self,
        times: usize,
        at_once: usize,
        request: impl Fn(&mut Connection, usize, usize) -> Result<()> + Sync,
    ) -> Result<Played> {
        let open = |_| Ok(Connection::open(&self.listen)?.with_key(&self.key));
        let connections: Vec<Connection> = (0..at_once).map(open).collect::<Result<_>>()?;
        let next = AtomicUsize::new(0);
        let call = |caller: usize, mut to: Connection| -> Result<Vec<Duration>> {
            let (mut took, mut session) = (Vec::new(), caller);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= times {
                    return Ok(took);
                }
                let start = Instant::now();
                request(&mut to, session, number)?;
                took.push(start.elapsed());
                session = if session + at_once < SESSIONS { session + at_once } else { caller };
            }
        };
        let start = Instant::now();
        let took = std::thread::scope(|scope| -> Result<Vec<Duration>> {
            let callers: Vec<_> = connections
                .into_iter()
                .enumerate()
                .map(|(caller, to)| scope.spawn(move || call(caller, to)))
                .collect();
            let mut all = Vec::with_capacity(times);
            for caller in callers {
                let took = caller.join().map_err(|_| anyhow::anyhow!("a caller broke"))?;
                all.extend(took?);
            }
            Ok(all)
        })?;
        Ok(Played {
            p50_ms: percentile(&took, 0.5),
            p99_ms: percentile(&took, 0.99),
            turns_per_second: times as f64 / start.elapsed().as_secs_f64(),
            ..Played::default()
        })
    }
}

/// Asks in the session of a user; the answer has to have this in it.
fn ask(to: &mut Connection, session: usize, question: &str, expected: &str) -> Result<()> {
    let messages = [json!({"role": "user", "content": question})];
    let body = json!({"model": "saem", "user": format!("user-{session}"), "messages": messages});
    let answer = to.post("/v1/chat/completions", &body.to_string())?;
    let answer = String::from_utf8_lossy(&answer);
    ensure!(answer.contains(expected), "{expected} is not in {answer}");
    Ok(())
}
