//! What a server may ask of us: a person's answer, our model's, the folders it may work in; and what it tells us.
#![expect(
    deprecated,
    reason = "sampling, roots and logging are to leave the protocol in 2027; servers of today use them"
)]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent::ledger::{Account, Booking, Component, Day, Spent};
use agent::model::{Completion, LanguageModel, Message, ModelError, ModelRequest, Usage, gather};
use agent::names::TenantId;
use agent::ports::{Clock, Ledger};
use agent::price::PriceList;
use agent::tools::naming::ServerId;
use agent::tools::question::{Person, Question, Reply, form_fault, secret_field};
use agent::tools::suspicion::clean;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode,
    ErrorData, FormElicitationCapability, Implementation, InputRequest, ListRootsResult,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
    RequestId, ResourceUpdatedNotificationParam, Role, Root, RootsCapabilities, SamplingCapability,
    SamplingMessage, UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use super::connection::Progress;
use super::following::Followings;

/// Bytes of a prompt that a server wants our model to answer.
const PROMPT_BYTES_MAX: usize = 64 << 10;

/// What is spent outside of any session is booked under this.
const NO_SESSION: &str = "tools";

/// Most tokens that one answer for a server may have.
const SAMPLE_TOKENS_MAX: u32 = 2_000;

/// A model that servers may ask, after a yes, and where it is booked.
#[derive(Clone)]
pub struct Lending {
    pub model: Arc<dyn LanguageModel>,
    pub ledger: Arc<dyn Ledger>,
    pub prices: PriceList,
}

/// Our model, lent to the servers of one tenant.
#[derive(Clone)]
pub(super) struct Lent {
    pub(super) lending: Lending,
    pub(super) tenant: TenantId,
    pub(super) clock: Arc<dyn Clock>,
    /// Tokens that servers may still use, all together.
    pub(super) tokens_left: Arc<AtomicU64>,
}

impl Lent {
    /// Asks the model, and books what that cost to the session of the call, or to none.
    async fn ask(
        &self,
        request: ModelRequest,
        session: Option<&str>,
    ) -> Result<Completion, ModelError> {
        let bytes = request.text_bytes();
        let model = self.lending.model.as_ref();
        let (usage, answer) = gather(model.name(), model.stream(request)).await;
        let (name, usage) = match &answer {
            Ok(answer) => (answer.model.as_str(), usage),
            // What was read has to be paid for, whether it was counted or not.
            Err(_) if usage == Usage::default() => (model.name(), Usage::about(bytes, 0)),
            Err(_) => (model.name(), usage),
        };
        let account = Account {
            day: Day::of(self.clock.now()),
            session: session.unwrap_or(NO_SESSION).to_owned(),
            component: Component::Tools,
            model: name.to_owned(),
        };
        let spent = Spent::call(usage, self.lending.prices.cost(name, &usage));
        let booked = self.lending.ledger.book(&self.tenant, vec![Booking { account, spent }]).await;
        if let Err(error) = booked {
            tracing::error!(%error, "what a server of tools cost could not be booked");
        }
        answer
    }
}

/// Who is asked what a server wants to know, and in which session.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) person: Arc<dyn Person>,
    pub(super) session: Option<String>,
}

/// A call that is running, and whose it is.
struct Running {
    ticket: u64,
    principal: String,
    asked: Asked,
    request: Option<RequestId>,
}

/// What a connection's handler and its callers share.
pub(super) struct Shared {
    pub(super) server: ServerId,
    pub(super) roots: Vec<PathBuf>,
    pub(super) lent: Option<Lent>,
    /// A list has changed since it was last read.
    pub(super) is_stale: AtomicBool,
    pub(super) followings: Followings,
    tickets: AtomicU64,
    running: Mutex<Vec<Running>>,
    /// Rung when a request is known to be sent, or will not be.
    sent: Notify,
    progress: Mutex<HashMap<ProgressToken, mpsc::Sender<Progress>>>,
}

impl Shared {
    pub(super) fn new(server: ServerId, roots: Vec<PathBuf>, lent: Option<Lent>) -> Self {
        Self {
            server,
            roots,
            lent,
            is_stale: AtomicBool::new(false),
            followings: Followings::default(),
            tickets: AtomicU64::new(0),
            running: Mutex::default(),
            sent: Notify::new(),
            progress: Mutex::default(),
        }
    }

    /// Notes that somebody's call is running, until what it gives is dropped.
    pub(super) fn enter(self: &Arc<Self>, principal: &str, asked: &Asked) -> Stay {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let running = Running {
            ticket,
            principal: principal.to_owned(),
            asked: asked.clone(),
            request: None,
        };
        self.running.lock().unwrap_or_else(PoisonError::into_inner).push(running);
        Stay { shared: Arc::clone(self), ticket, token: None }
    }

    /// The person whom a server's question is for: of the call it came with; else of the only one there is. A question
    /// that could be for two people is for nobody.
    pub(super) async fn asked(&self, origin: Option<&InboundStreamOrigin>) -> Option<Asked> {
        if let Some(InboundStreamOrigin::OutboundRequest(id)) = origin {
            return self.asked_by(id).await;
        }
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let first = running.first()?;
        let is_theirs = running.iter().all(|call| call.principal == first.principal);
        is_theirs.then(|| first.asked.clone())
    }

    /// The person of the call that is this request. A server may ask back before whoever sent a request has heard of its
    /// number.
    async fn asked_by(&self, id: &RequestId) -> Option<Asked> {
        loop {
            let sent = self.sent.notified();
            {
                let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(own) = running.iter().find(|call| call.request.as_ref() == Some(id)) {
                    return Some(own.asked.clone());
                }
                if running.iter().all(|call| call.request.is_some()) {
                    return None;
                }
            }
            sent.await;
        }
    }

    /// Answers what a call needs to go on, for its own caller.
    pub(super) async fn supply(
        &self,
        request: InputRequest,
        asked: &Asked,
    ) -> Result<Value, ErrorData> {
        let answer = match request {
            InputRequest::Elicitation(request) => {
                serde_json::to_value(self.elicit(request.params, asked.person.as_ref()).await)
            }
            InputRequest::CreateMessage(request) => {
                serde_json::to_value(self.sample(request.params, asked).await?)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(self.list_of_roots()),
            _ => return Err(unsupported("this request")),
        };
        answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn elicit(&self, params: ElicitRequestParams, person: &dyn Person) -> ElicitResult {
        let server = self.server.clone();
        let question = match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).unwrap_or_default();
                if let Some(field) = secret_field(&schema) {
                    tracing::warn!(%server, field, "a form that asks for a secret is not shown");
                    return ElicitResult::new(ElicitationAction::Decline);
                }
                Question::Form { server, message: clean(&message), schema }
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                let Some(host) = host_of(&url) else {
                    return ElicitResult::new(ElicitationAction::Decline);
                };
                Question::link(server, clean(&message), url, host)
            }
            _ => return ElicitResult::new(ElicitationAction::Decline),
        };
        match (question.settle(person.ask(&question).await), &question) {
            (Reply::Filled(values), Question::Form { schema, .. }) => {
                if let Some(fault) = form_fault(schema, &values) {
                    tracing::info!(server = %self.server, fault, "a form was not as asked for");
                    return ElicitResult::new(ElicitationAction::Cancel);
                }
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(values))
            }
            (Reply::Yes(_), _) => ElicitResult::new(ElicitationAction::Accept),
            (Reply::No | Reply::Filled(_), _) => ElicitResult::new(ElicitationAction::Decline),
        }
    }

    async fn sample(
        &self,
        params: CreateMessageRequestParams,
        asked: &Asked,
    ) -> Result<CreateMessageResult, ErrorData> {
        let Some(lent) = &self.lent else { return Err(unsupported("sampling/createMessage")) };
        let mut messages = Vec::new();
        messages.extend(params.system_prompt.map(|text| Message::system(clean(&text))));
        for message in params.messages {
            let blocks = message.content.into_vec();
            let texts = blocks.iter().filter_map(|block| block.as_text());
            let text = clean(&texts.map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n"));
            messages.push(match message.role {
                Role::Assistant => Message::assistant(text),
                Role::User => Message::user(text),
            });
        }
        let tokens_max = params.max_tokens.clamp(1, SAMPLE_TOKENS_MAX);
        let mut request = ModelRequest::new(messages);
        request.tokens_max = Some(tokens_max);
        if request.text_bytes() > PROMPT_BYTES_MAX {
            return Err(ErrorData::invalid_params("the prompt is too long", None));
        }
        let prompt = shown(&request.messages);
        let question = Question::Sample { server: self.server.clone(), prompt, tokens_max };
        if question.settle(asked.person.ask(&question).await) == Reply::No {
            return Err(ErrorData::new(ErrorCode(-1), "the user refused the request", None));
        }
        let expected = (request.text_bytes() / 3) as u64 + u64::from(tokens_max);
        let left = &lent.tokens_left;
        let take = |left: u64| left.checked_sub(expected);
        if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_err() {
            return Err(ErrorData::internal_error("the budget for servers is used up", None));
        }
        let answer = lent.ask(request, asked.session.as_deref()).await;
        let answer = answer.map_err(|error| {
            tracing::warn!(server = %self.server, %error, "a model gave no answer for a server");
            ErrorData::internal_error("the model gave no answer", None)
        })?;
        let message = SamplingMessage::assistant_text(answer.text);
        let result = CreateMessageResult::new(message, answer.model);
        Ok(result.with_stop_reason(CreateMessageResult::STOP_REASON_END_TURN))
    }

    fn list_of_roots(&self) -> ListRootsResult {
        let roots = self.roots.iter().map(|path| Root::new(format!("file://{}", path.display())));
        ListRootsResult::new(roots.collect())
    }
}

/// What a person sees of a prompt.
fn shown(messages: &[Message]) -> String {
    let lines = messages.iter().map(|message| match message {
        Message::System { text } => format!("[system] {text}"),
        Message::User { text } | Message::Tool { text, .. } => text.clone(),
        Message::Assistant { text, .. } => format!("[assistant] {text}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The host of an address that may be shown to a person: a web page, and nothing that hides where it leads.
pub(super) fn host_of(address: &str) -> Option<String> {
    let url = reqwest::Url::parse(address).ok()?;
    let host = url.host_str()?.to_owned();
    let is_local = matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]");
    let is_web = url.scheme() == "https" || (url.scheme() == "http" && is_local);
    let is_plain = url.username().is_empty() && url.password().is_none();
    let is_visible = clean(address) == address && !address.contains(char::is_whitespace);
    (is_web && is_plain && is_visible).then_some(host)
}

fn unsupported(what: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("{what} is not supported"), None)
}

/// A call's stay on a connection.
pub(super) struct Stay {
    shared: Arc<Shared>,
    ticket: u64,
    token: Option<ProgressToken>,
}

impl Stay {
    /// Says that the call is about to be a request whose number is not known yet.
    pub(super) fn sending(&self) {
        self.is_request(None);
    }

    fn is_request(&self, request: Option<RequestId>) {
        let mut running = self.shared.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = running.iter_mut().find(|call| call.ticket == self.ticket) {
            call.request = request;
        }
        drop(running);
        self.shared.sent.notify_waiters();
    }

    /// Says which request the call is now, and who wants to hear of its progress.
    pub(super) fn sent(
        &mut self,
        request: RequestId,
        token: ProgressToken,
        listener: Option<mpsc::Sender<Progress>>,
    ) {
        self.is_request(Some(request));
        let mut progress = self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = self.token.take() {
            progress.remove(&old);
        }
        if let Some(listener) = listener {
            progress.insert(token.clone(), listener);
            self.token = Some(token);
        }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let mut running = self.shared.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|call| call.ticket != self.ticket);
        drop(running);
        self.shared.sent.notify_waiters();
        if let Some(token) = self.token.take() {
            let mut progress = self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.remove(&token);
        }
    }
}

/// Answers a server on one connection.
pub(super) struct Handler(pub(super) Arc<Shared>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.sampling = self.0.lent.as_ref().map(|_| SamplingCapability::default());
        let form = FormElicitationCapability::new().with_schema_validation(true);
        capabilities.elicitation = Some(
            ElicitationCapability::new().with_form(form).with_url(UrlElicitationCapability::new()),
        );
        ClientConfig::new(capabilities, Implementation::new("saem", env!("CARGO_PKG_VERSION")))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let answer = async {
            let Some(asked) = self.0.asked(context.extensions.get()).await else {
                return Err(ErrorData::invalid_request("there is nobody to ask", None));
            };
            self.0.sample(params, &asked).await
        };
        tokio::select! {
            answer = answer => answer,
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.0.list_of_roots())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = async {
            match self.0.asked(context.extensions.get()).await {
                Some(asked) => self.0.elicit(request, asked.person.as_ref()).await,
                None => ElicitResult::new(ElicitationAction::Decline),
            }
        };
        tokio::select! {
            answer = answer => Ok(answer),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let progress = self.0.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = progress.get(&params.progress_token) {
            let message = params.message.map(|text| clean(agent::text::clip(&text, 500)));
            // A listener that does not keep up misses some; the last word is the result.
            let _full =
                listener.try_send(Progress { done: params.progress, total: params.total, message });
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let text = match params.data {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let text = clean(agent::text::clip(&text, 1_000));
        let server = &self.0.server;
        match params.level {
            LoggingLevel::Debug | LoggingLevel::Info | LoggingLevel::Notice => {
                tracing::debug!(%server, "{text}");
            }
            _ => tracing::warn!(%server, "{text}"),
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.is_stale.store(true, Ordering::SeqCst);
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.followings.changed(&params.uri);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {}

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {}
}
