//! Asking a server, and reading its answer as it comes.

use agent::memory::SessionId;
use agent::tools::attachment::Attachment;
use anyhow::{Context, Result, bail};
use reqwest::{Method, Request, Response};
use serde::Deserialize;
use server::api::chat::CostWanted;
use server::api::wire::chat::{
    AskBody, DoingBody, MemoryBody, MemoryEditBody, RenameBody, RollBackBody, SessionBody,
    SessionsBody, TextBody, TurnBody,
};
use server::api::wire::cost::CostBody;

use super::{Client, found};
use crate::backend::Told;

/// Longest event of a stream, in bytes: a turn with all that belongs to it.
const EVENT_BYTES_MAX: usize = 8 << 20;

/// An answer on its way from a server.
pub(crate) struct RemoteAsking {
    response: Response,
    /// Bytes that are no whole event yet.
    waiting: Vec<u8>,
}

/// What went wrong on the other side.
#[derive(Deserialize)]
struct Failed {
    detail: String,
    action: String,
}

impl RemoteAsking {
    pub(crate) async fn next(&mut self) -> Result<Option<Told>> {
        loop {
            while let Some(end) = self.waiting.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.waiting.drain(..end + 2).collect();
                if let Some(told) = read(&String::from_utf8_lossy(&event))? {
                    return Ok(Some(told));
                }
            }
            let Some(piece) = self.response.chunk().await.context("the answer broke off")? else {
                return Ok(None);
            };
            if self.waiting.len() + piece.len() > EVENT_BYTES_MAX {
                bail!("the server sends more than {} MiB at once", EVENT_BYTES_MAX >> 20);
            }
            self.waiting.extend_from_slice(&piece);
        }
    }
}

/// What an event says; none for a sign of life.
fn read(event: &str) -> Result<Option<Told>> {
    let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
    let Some(data) = line("data: ") else { return Ok(None) };
    let strange = "the server speaks another version";
    Ok(match line("event: ").unwrap_or_default() {
        "doing" => Some(Told::Doing(serde_json::from_str::<DoingBody>(data).context(strange)?)),
        "text" => Some(Told::Text(serde_json::from_str::<TextBody>(data).context(strange)?.text)),
        "done" => Some(Told::Done(serde_json::from_str::<Box<TurnBody>>(data).context(strange)?)),
        "failed" => {
            let Failed { detail, action } = serde_json::from_str(data).context(strange)?;
            bail!("{detail} {action}");
        }
        // Later versions may tell more.
        _ => None,
    })
}

impl Client {
    pub(crate) async fn ask_question(
        &self,
        question: String,
        attach: Vec<Attachment>,
        session: Option<&SessionId>,
    ) -> Result<RemoteAsking> {
        let attach = attach.into_iter().map(Into::into).collect();
        let session = session.map(ToString::to_string);
        let body = AskBody { question, session, html: false, attach };
        let response = self.send(self.post(&["chat"], &body)?).await?;
        Ok(RemoteAsking { response, waiting: Vec::new() })
    }

    pub(crate) async fn sessions(&self, count: usize) -> Result<SessionsBody> {
        let mut url = self.url(&["sessions"])?;
        url.query_pairs_mut().append_pair("limit", &count.to_string());
        self.read(Request::new(Method::GET, url)).await
    }

    pub(crate) async fn session(&self, id: &SessionId) -> Result<Option<SessionBody>> {
        let url = self.url(&["sessions", id.as_str()])?;
        found(self.read(Request::new(Method::GET, url)).await)
    }

    pub(crate) async fn memory(&self, id: &SessionId) -> Result<Option<MemoryBody>> {
        let url = self.url(&["sessions", id.as_str(), "memory"])?;
        found(self.read(Request::new(Method::GET, url)).await)
    }

    pub(crate) async fn edit_memory(
        &self,
        id: &SessionId,
        edit: &MemoryEditBody,
    ) -> Result<Option<MemoryBody>> {
        let mut request = self.post(&["sessions", id.as_str(), "memory"], edit)?;
        *request.method_mut() = Method::PUT;
        found(self.read(request).await)
    }

    pub(crate) async fn roll_back(
        &self,
        id: &SessionId,
        version: u64,
    ) -> Result<Option<MemoryBody>> {
        let path = ["sessions", id.as_str(), "memory", "roll-back"];
        found(self.read(self.post(&path, &RollBackBody { version })?).await)
    }

    pub(crate) async fn rename(&self, id: &SessionId, title: &str) -> Result<Option<SessionBody>> {
        let body = RenameBody { title: title.to_owned() };
        let mut request = self.post(&["sessions", id.as_str()], &body)?;
        *request.method_mut() = Method::PATCH;
        found(self.read(request).await)
    }

    pub(crate) async fn forget(&self, id: &SessionId) -> Result<Option<()>> {
        let url = self.url(&["sessions", id.as_str()])?;
        Ok(found(self.ask(Request::new(Method::DELETE, url)).await)?.map(|_| ()))
    }

    pub(crate) async fn cost(&self, wanted: &CostWanted) -> Result<CostBody> {
        let mut url = self.url(&["cost"])?;
        let by = serde_json::to_value(wanted.by)?;
        let mut query = url.query_pairs_mut();
        query.append_pair("by", by.as_str().unwrap_or_default());
        query.append_pair("days", &wanted.days.to_string());
        for (name, number) in [("sessions", wanted.sessions), ("turns", wanted.turns)] {
            if let Some(number) = number {
                query.append_pair(name, &number.to_string());
            }
        }
        drop(query);
        self.read(Request::new(Method::GET, url)).await
    }
}
