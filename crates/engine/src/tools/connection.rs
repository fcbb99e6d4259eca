//! One connection to one server: greeting, lists, calls; every wait has an end, and nothing is sent twice.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::tools::definition::Offered;
use agent::tools::listing::{self, Listing};
use agent::tools::outcome::ToolOutput;
use agent::tools::{DEFINITIONS_BYTES_MAX, PAGES_MAX, TOOLS_MAX};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest,
    GetPromptRequest, GetPromptRequestParams, InputRequiredResult, InputResponses,
    PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams, RequestId,
    ServerNotification, ServerResult, SubscriptionFilter,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, RunningService, ServiceError};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::child::Program;
use super::convert;
use super::handler::{Asked, Handler, Shared, Stay};
use super::settings::Waits;
use crate::tasks::Tasks;

/// How often a server may ask back before it answers a call.
const ROUNDS_MAX: usize = 10;

/// A list that is older is read anew: not every server says when its tools change.
const LIST_AGE_MAX: Duration = Duration::from_secs(300);

/// How long after the end of a subscription it is opened again.
pub(super) const LISTEN_AGAIN: Duration = Duration::from_secs(5);

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// A resource in a list.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ResourceLine {
    pub address: String,
    pub title: String,
    pub description: String,
    pub media_type: Option<String>,
}

/// A prompt in a list; each argument with whether it has to be given.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PromptLine {
    pub name: String,
    pub description: String,
    pub arguments: Vec<(String, bool)>,
}

/// Why a server gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LinkError {
    /// Nothing was sent.
    #[error("{0}")]
    Down(String),
    /// The server says no; the caller may ask otherwise.
    #[error("{0}")]
    Refused(String),
    #[error("no answer in time")]
    TimedOut,
    /// The connection broke while it was waited for: it may have happened.
    #[error("the connection was lost before the answer came: {0}")]
    Lost(String),
}

/// Whose call it is, for what the server asks back.
pub(super) struct Behalf<'a> {
    pub(super) principal: &'a str,
    pub(super) asked: Asked,
    pub(super) progress: Option<mpsc::Sender<Progress>>,
}

/// A connection that stands.
pub(super) struct Link {
    pub(super) service: RunningService<RoleClient, Handler>,
    pub(super) shared: Arc<Shared>,
    pub(super) program: Mutex<Option<Program>>,
    pub(super) waits: Waits,
    pub(super) tasks: Tasks,
    pub(super) listing: Mutex<Option<(Instant, Arc<Listing>)>>,
}

impl Link {
    pub(super) fn is_up(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// The protocol's version that both speak.
    pub(super) fn version(&self) -> String {
        let info = self.service.peer().peer_info();
        info.map(|info| info.protocol_version.to_string()).unwrap_or_default()
    }

    /// Ends the connection in good order, and the program behind it.
    pub(super) async fn close(&self) {
        self.service.cancellation_token().cancel();
        let program = self.program.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(program) = program {
            program.end().await;
        }
    }

    /// The tools of the server, from memory unless they may have changed.
    pub(super) async fn tools(&self) -> Result<Arc<Listing>, LinkError> {
        let is_stale = self.shared.is_stale.swap(false, Ordering::SeqCst);
        let known = self.listing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, listing)) = known
            && !is_stale
            && at.elapsed() < LIST_AGE_MAX
        {
            return Ok(listing);
        }
        let fresh = tokio::time::timeout(self.waits.list, self.list_tools()).await;
        let fresh = fresh.map_err(|_| LinkError::TimedOut).and_then(|listed| listed);
        let listing = Arc::new(fresh.inspect_err(|_| {
            self.shared.is_stale.store(true, Ordering::SeqCst);
        })?);
        *self.listing.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), Arc::clone(&listing)));
        Ok(listing)
    }

    async fn list_tools(&self) -> Result<Listing, LinkError> {
        let mut offered: Vec<Offered> = Vec::new();
        let mut bytes = 0_usize;
        let mut pages = Pages::default();
        while let Some(page) = pages.next() {
            let listed = self.service.peer().list_tools(Some(page)).await.map_err(told)?;
            for tool in listed.tools {
                let tool = convert::offered(tool);
                bytes += tool.description.len() + tool.input_schema.to_string().len();
                offered.push(tool);
            }
            pages.turn(listed.next_cursor);
            if offered.len() > TOOLS_MAX || bytes > DEFINITIONS_BYTES_MAX {
                break;
            }
        }
        Ok(listing::take(&self.shared.server, offered, super::host::digest))
    }

    pub(super) async fn resources(&self) -> Result<Vec<ResourceLine>, LinkError> {
        let all = async {
            let mut found = Vec::new();
            let mut pages = Pages::default();
            while let Some(page) = pages.next() {
                let listed = self.service.peer().list_resources(Some(page)).await.map_err(told)?;
                found.extend(listed.resources.into_iter().map(convert::resource));
                pages.turn(listed.next_cursor);
                if found.len() > TOOLS_MAX {
                    break;
                }
            }
            Ok(found)
        };
        tokio::time::timeout(self.waits.list, all).await.unwrap_or(Err(LinkError::TimedOut))
    }

    pub(super) async fn prompts(&self) -> Result<Vec<PromptLine>, LinkError> {
        let all = async {
            let mut found = Vec::new();
            let mut pages = Pages::default();
            while let Some(page) = pages.next() {
                let listed = self.service.peer().list_prompts(Some(page)).await.map_err(told)?;
                found.extend(listed.prompts.into_iter().map(convert::prompt));
                pages.turn(listed.next_cursor);
                if found.len() > TOOLS_MAX {
                    break;
                }
            }
            Ok(found)
        };
        tokio::time::timeout(self.waits.list, all).await.unwrap_or(Err(LinkError::TimedOut))
    }

    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        behalf: &Behalf<'_>,
    ) -> Result<ToolOutput, LinkError> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let answer = self
            .converse(behalf, |responses, state| {
                params.input_responses = responses;
                params.request_state = state;
                ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()))
            })
            .await?;
        match answer {
            ServerResult::CallToolResult(result) => Ok(convert::output(result)),
            _ => Err(LinkError::Refused("the answer is of another kind".to_owned())),
        }
    }

    pub(super) async fn read(
        &self,
        address: &str,
        behalf: &Behalf<'_>,
    ) -> Result<ToolOutput, LinkError> {
        let mut params = ReadResourceRequestParams::new(address);
        let answer = self
            .converse(behalf, |responses, state| {
                params.input_responses = responses;
                params.request_state = state;
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params.clone()))
            })
            .await?;
        match answer {
            ServerResult::ReadResourceResult(result) => Ok(convert::contents(result)),
            _ => Err(LinkError::Refused("the answer is of another kind".to_owned())),
        }
    }

    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        behalf: &Behalf<'_>,
    ) -> Result<Vec<(String, String)>, LinkError> {
        let mut params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let answer = self
            .converse(behalf, |responses, state| {
                params.input_responses = responses;
                params.request_state = state;
                ClientRequest::GetPromptRequest(GetPromptRequest::new(params.clone()))
            })
            .await?;
        match answer {
            ServerResult::GetPromptResult(result) => Ok(convert::messages(result)),
            _ => Err(LinkError::Refused("the answer is of another kind".to_owned())),
        }
    }

    /// Sends a request, and again with what the server asks back for, until it answers.
    async fn converse(
        &self,
        behalf: &Behalf<'_>,
        mut request: impl FnMut(Option<InputResponses>, Option<String>) -> ClientRequest,
    ) -> Result<ServerResult, LinkError> {
        let mut stay = self.shared.enter(behalf.principal, &behalf.asked);
        let (mut responses, mut state) = (None, None);
        for _ in 0..ROUNDS_MAX {
            let listener = behalf.progress.clone();
            let answer = self.send(request(responses, state), &mut stay, listener).await?;
            let ServerResult::InputRequiredResult(wanted) = answer else { return Ok(answer) };
            (responses, state) = self.supply(wanted, behalf).await?;
        }
        Err(LinkError::Refused(format!("it asked back {ROUNDS_MAX} times without answering")))
    }

    async fn supply(
        &self,
        wanted: InputRequiredResult,
        behalf: &Behalf<'_>,
    ) -> Result<(Option<InputResponses>, Option<String>), LinkError> {
        let requests = wanted.input_requests.unwrap_or_default();
        if requests.is_empty() && wanted.request_state.is_none() {
            return Err(LinkError::Refused("it asks back without saying what".to_owned()));
        }
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            let answer = self.shared.supply(request, &behalf.asked).await;
            let answer = answer.map_err(|error| LinkError::Refused(error.message.into_owned()))?;
            responses.insert(key, answer);
        }
        Ok(((!responses.is_empty()).then_some(responses), wanted.request_state))
    }

    async fn send(
        &self,
        request: ClientRequest,
        stay: &mut Stay,
        listener: Option<mpsc::Sender<Progress>>,
    ) -> Result<ServerResult, LinkError> {
        let options = PeerRequestOptions::with_timeout(self.waits.call)
            .reset_timeout_on_progress()
            .with_max_total_timeout(self.waits.call_total);
        let peer = self.service.peer();
        stay.sending();
        let sent = peer.send_cancellable_request(request, options).await;
        let handle = sent.map_err(|error| LinkError::Down(shortened(&error)))?;
        stay.sent(handle.id.clone(), handle.progress_token.clone(), listener);
        let mut watch = Watch { link: self, request: Some(handle.id.clone()) };
        let answer = handle.await_response().await;
        watch.request = None;
        answer.map_err(told)
    }

    /// Hears of changes from a server of the new era, which tells only those who listen.
    pub(super) fn follow_changes(&self) {
        let peer = self.service.peer().clone();
        let Some(info) = peer.peer_info() else { return };
        let tells = info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        if info.protocol_version.has_initialize() || tells != Some(true) {
            return;
        }
        let (shared, stopping) = (Arc::clone(&self.shared), self.tasks.stopping());
        self.tasks.spawn(async move {
            tokio::select! {
                () = listen(peer, &shared) => {}
                () = stopping.cancelled() => {}
            }
        });
    }
}

async fn listen(peer: Peer<RoleClient>, shared: &Shared) {
    while !peer.is_transport_closed() {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        if let Ok(mut subscription) = peer.listen(filter).await {
            while let Ok(Some(notification)) = subscription.next().await {
                if let ServerNotification::ToolListChangedNotification(_) = notification {
                    shared.is_stale.store(true, Ordering::SeqCst);
                }
            }
        }
        // Whatever was missed in between is found out by listing again.
        shared.is_stale.store(true, Ordering::SeqCst);
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}

/// Tells the server when nobody waits for an answer any more.
struct Watch<'a> {
    link: &'a Link,
    request: Option<RequestId>,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let Some(id) = self.request.take() else { return };
        let peer = self.link.service.peer().clone();
        self.link.tasks.spawn(async move {
            let reason = Some("nobody waits for it any more".to_owned());
            let params = CancelledNotificationParam::new(Some(id), reason);
            let _gone = peer.notify_cancelled(params).await;
        });
    }
}

/// Errors of the protocol may hold whole messages of a server.
pub(super) fn shortened(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    agent::text::clip(&agent::tools::suspicion::clean(&text), 300).to_owned()
}

pub(super) fn told(error: ServiceError) -> LinkError {
    match error {
        ServiceError::McpError(error) => {
            let text = agent::tools::suspicion::clean(&error.message);
            LinkError::Refused(agent::text::clip(&text, 2_000).to_owned())
        }
        ServiceError::Timeout { .. } => LinkError::TimedOut,
        ServiceError::UnexpectedResponse => {
            LinkError::Refused("the answer is of another kind".to_owned())
        }
        other => LinkError::Lost(shortened(&other)),
    }
}

/// The pages of a list, up to the limit; a cursor that repeats ends it.
#[derive(Default)]
struct Pages {
    cursor: Option<String>,
    turned: usize,
    is_done: bool,
}

impl Pages {
    fn next(&mut self) -> Option<PaginatedRequestParams> {
        let is_done = self.is_done || self.turned >= PAGES_MAX;
        self.turned += 1;
        (!is_done).then(|| PaginatedRequestParams::default().with_cursor(self.cursor.clone()))
    }

    fn turn(&mut self, next: Option<String>) {
        self.is_done = next.is_none() || next == self.cursor;
        self.cursor = next;
    }
}
