//! Research at a server: runs, and what is said in them as it comes.

use agent::research::message::{AgentMessage, Uuid};
use agent::research::report::Report;
use anyhow::{Context, Result, bail};
use reqwest::{Method, Request, Response};
use serde::Deserialize;
use serde_json::Value;
use server::api::wire::research::{ResearchBody, RunBody, RunsBody};

use super::Client;
use crate::backend::research::{RunEvent, Word};

/// Longest event of a stream, in bytes: a draft of all sections.
const EVENT_BYTES_MAX: usize = 8 << 20;

/// A run that is watched at a server.
pub(crate) struct RemoteWatching {
    response: Response,
    /// Bytes that are no whole event yet.
    waiting: Vec<u8>,
}

/// How a run ended.
#[derive(Deserialize)]
struct End {
    ended: String,
    has_report: bool,
}

#[derive(Deserialize)]
struct Failed {
    detail: String,
}

impl RemoteWatching {
    pub(crate) async fn next(&mut self) -> Result<RunEvent> {
        loop {
            while let Some(end) = self.waiting.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.waiting.drain(..end + 2).collect();
                if let Some(event) = read(&String::from_utf8_lossy(&event))? {
                    return Ok(event);
                }
            }
            let Ok(Some(piece)) = self.response.chunk().await else { return Ok(RunEvent::Cut) };
            if self.waiting.len() + piece.len() > EVENT_BYTES_MAX {
                bail!("the server sends more than {} MiB at once", EVENT_BYTES_MAX >> 20);
            }
            self.waiting.extend_from_slice(&piece);
        }
    }
}

/// What an event says; none for a sign of life.
fn read(event: &str) -> Result<Option<RunEvent>> {
    let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
    let Some(data) = line("data: ") else { return Ok(None) };
    let strange = "the server speaks another version";
    Ok(match line("event: ").unwrap_or_default() {
        "agent_message" => {
            let value: Value = serde_json::from_str(data).context(strange)?;
            Some(RunEvent::Said(Box::new(AgentMessage::read(&value).context(strange)?)))
        }
        "end" => {
            let End { ended, has_report } = serde_json::from_str(data).context(strange)?;
            Some(RunEvent::Ended { reason: ended, has_report })
        }
        "failed" => {
            let Failed { detail } = serde_json::from_str(data).context(strange)?;
            Some(RunEvent::Failed(detail))
        }
        "gap" => Some(RunEvent::Cut),
        // Later versions may tell more.
        _ => None,
    })
}

impl Client {
    pub(crate) async fn begin_run(&self, body: &ResearchBody) -> Result<RunBody> {
        self.read(self.post(&["research"], body)?).await
    }

    pub(crate) async fn do_step_again(&self, id: Uuid, step: u32) -> Result<RunBody> {
        let url = self.url(&["research", &id.to_string(), "steps", &step.to_string(), "again"])?;
        self.read(Request::new(Method::POST, url)).await
    }

    pub(crate) async fn runs(&self, limit: usize) -> Result<RunsBody> {
        let mut url = self.url(&["research"])?;
        url.query_pairs_mut().append_pair("limit", &limit.to_string());
        self.read(Request::new(Method::GET, url)).await
    }

    pub(crate) async fn run(&self, id: Uuid) -> Result<RunBody> {
        let url = self.url(&["research", &id.to_string()])?;
        self.read(Request::new(Method::GET, url)).await
    }

    pub(crate) async fn watch_run(&self, id: Uuid, after: u64) -> Result<RemoteWatching> {
        let mut url = self.url(&["research", &id.to_string(), "events"])?;
        url.query_pairs_mut().append_pair("after", &after.to_string());
        let response = self.send(Request::new(Method::GET, url)).await?;
        Ok(RemoteWatching { response, waiting: Vec::new() })
    }

    pub(crate) async fn steer_run(&self, id: Uuid, word: &Word) -> Result<RunBody> {
        let id = id.to_string();
        let request = match word {
            Word::Plan(body) => self.post(&["research", &id, "plan"], body)?,
            Word::Control(body) => self.post(&["research", &id, "control"], body)?,
        };
        self.read(request).await
    }

    pub(crate) async fn run_report(&self, id: Uuid) -> Result<Report> {
        let mut url = self.url(&["research", &id.to_string(), "report"])?;
        url.query_pairs_mut().append_pair("format", "json");
        self.read(Request::new(Method::GET, url)).await
    }
}
