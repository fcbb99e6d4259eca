//! Answers the requests of one connection by asking the offers, and marks what it answers: where from, how long good.
#![expect(deprecated, reason = "clients of the older era still use what the newer one has dropped")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use ::http::request::Parts;
use agent::identity::Principal;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CompletionInfo, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetTaskParams, GetTaskResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, Resource, ResultType, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::guard::{Caller, Shutdown, scope_name};
use crate::mcp::Shared;
use crate::mcp::early::Early;
use crate::mcp::listening::{self, Sources};
use crate::mcp::offer::{Asked, Completing, Offer, Part};
use crate::mcp::tasks::{Deferred, no_task};

/// Entries of one page of a list.
const PAGE: usize = 100;

/// How long a client may take a list for true, in milliseconds. It is told when one changes.
const LIST_TTL: u64 = 60_000;

/// How long a client may take a resource for true, in milliseconds: documents change while somebody works on them.
const READ_TTL: u64 = 5_000;

/// Addresses that one connection may watch: a person's open documents, many times over.
const WATCHED_MAX: usize = 1000;

/// Values that a completion may hold, as the protocol says.
const COMPLETIONS_MAX: usize = 100;

/// Who makes the requests of a connection.
#[derive(Clone)]
pub(super) enum Whose {
    /// Whoever the guard of the route has found, request by request.
    Each,
    Fixed(Principal),
}

/// One connection. In the stateless era it lives for one request.
pub(crate) struct Handler {
    shared: Arc<Shared>,
    whose: Whose,
    /// Addresses whose changes the client wants to hear of.
    watched: Arc<Mutex<BTreeSet<String>>>,
    ended: CancellationToken,
    _ends: DropGuard,
}

impl Handler {
    pub(super) fn new(shared: Arc<Shared>, whose: Whose) -> Self {
        let ended = CancellationToken::new();
        let ends = ended.clone().drop_guard();
        Self { shared, whose, watched: Arc::default(), ended, _ends: ends }
    }

    fn principal(&self, extensions: &rmcp::model::Extensions) -> Result<Principal, ErrorData> {
        let caller = match &self.whose {
            Whose::Fixed(principal) => Some(principal.clone()),
            Whose::Each => extensions
                .get::<Parts>()
                .and_then(|parts| parts.extensions.get::<Caller>())
                .map(|caller| caller.0.clone()),
        };
        caller.ok_or_else(|| ErrorData::internal_error("nobody is calling", None))
    }

    fn asked(&self, context: RequestContext<RoleServer>) -> Result<Asked, ErrorData> {
        let principal = self.principal(&context.extensions)?;
        Ok(Asked { principal, context })
    }

    /// What the caller is to be told from now on.
    pub(super) async fn early(
        &self,
        extensions: &rmcp::model::Extensions,
    ) -> Result<Early, ErrorData> {
        let principal = self.principal(extensions)?;
        Ok(Early::open(&self.shared.offers, &principal.tenant).await)
    }

    fn owner_of(&self, uri: &str) -> Result<&Arc<dyn Offer>, ErrorData> {
        let found = self.shared.offers.iter().find(|offer| offer.owns(uri));
        found.ok_or_else(|| no_resource(uri))
    }

    /// The first page from there on that holds something, or the last one.
    async fn resources(
        &self,
        mut place: usize,
        mut after: Option<String>,
        asked: &Asked,
    ) -> Result<Part<Resource>, ErrorData> {
        loop {
            let offer = self.shared.offers.get(place).ok_or_else(bad_cursor)?;
            let Part { items, next } = offer.resources(after.take(), asked).await?;
            let is_last = place + 1 >= self.shared.offers.len();
            match next {
                Some(next) => return Ok(Part { items, next: Some(format!("{place}:{next}")) }),
                None if is_last => return Ok(Part { items, next: None }),
                None if items.is_empty() => place += 1,
                None => return Ok(Part { items, next: Some(format!("{}:", place + 1)) }),
            }
        }
    }

    fn tasks(&self) -> impl Iterator<Item = &dyn Deferred> {
        self.shared.offers.iter().filter_map(|offer| offer.tasks())
    }

    /// The mark that results carry: only the newer era has it.
    fn stamp(&self, is_modern: bool) -> Option<MetaObject> {
        is_modern.then(|| self.shared.stamp.clone())
    }

    fn stamped(&self, meta: Option<MetaObject>, is_modern: bool) -> Option<MetaObject> {
        match (meta, is_modern) {
            (Some(mut meta), true) => {
                let stamp = self.shared.stamp.0.clone();
                meta.0.extend(stamp);
                Some(meta)
            }
            (meta @ Some(_), false) => meta,
            (None, is_modern) => self.stamp(is_modern),
        }
    }
}

/// The resource that nobody offers.
pub(super) fn no_resource(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })))
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor)
}

fn bad_cursor() -> ErrorData {
    ErrorData::invalid_params("the cursor is not one of this list's", None)
}

/// A page of a list that is there as a whole.
fn page<T: Clone>(all: Vec<&T>, cursor: Option<String>) -> Result<Part<T>, ErrorData> {
    let from: usize = match cursor {
        None => 0,
        Some(text) => text.parse().map_err(|_| bad_cursor())?,
    };
    if from > all.len() {
        return Err(bad_cursor());
    }
    let next = from + PAGE;
    let is_more = all.len() > next;
    let items = all.into_iter().skip(from).take(PAGE).cloned().collect();
    Ok(Part { items, next: is_more.then(|| next.to_string()) })
}

macro_rules! listed {
    ($self:ident, $Result:ident { $items:ident }, $part:ident, $context:expr) => {{
        let is_modern = is_modern($context);
        $Result {
            result_type: Some(ResultType::COMPLETE),
            meta: $self.stamp(is_modern),
            next_cursor: $part.next,
            ttl_ms: is_modern.then_some(LIST_TTL),
            cache_scope: is_modern.then_some(CacheScope::Private),
            $items: $part.items,
        }
    }};
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.shared.info.clone()
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<rmcp::model::DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = rmcp::model::DiscoverResult::from_server_info(versions, self.get_info());
        (result.ttl_ms, result.cache_scope) = (LIST_TTL, CacheScope::Private);
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut tools = self.shared.offers.iter().flat_map(|offer| offer.tools());
        tools.find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let all = self.shared.offers.iter().flat_map(|offer| offer.tools()).collect();
        let part = page(all, cursor(request))?;
        Ok(listed!(self, ListToolsResult { tools }, part, &context))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asked = self.asked(context)?;
        let Some(offer) = self.shared.tool(&request.name) else {
            return Err(ErrorData::invalid_params(
                format!("there is no tool {}", agent::text::clip(&request.name, 64)),
                None,
            ));
        };
        let scope = offer.scope(&request.name);
        if !asked.principal.may(scope) {
            let name = scope_name(scope);
            return Err(ErrorData::invalid_request(
                format!("this tool needs the scope {name}: use a key or token that has it"),
                Some(json!({ "requiredScopes": [name] })),
            ));
        }
        let is_modern = is_modern(&asked.context);
        let mut answer = offer.call(request, &asked).await?;
        match &mut answer {
            CallToolResponse::Complete(result) => {
                result.meta = self.stamped(result.meta.take(), is_modern);
            }
            CallToolResponse::InputRequired(result) => {
                result.meta = self.stamped(result.meta.take(), is_modern);
            }
            CallToolResponse::Task(result) => {
                result.meta = self.stamped(result.meta.take(), is_modern);
            }
            _ => {}
        }
        Ok(answer)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let asked = self.asked(context)?;
        // A cursor names the offer and a place in it: `1:…`.
        let (place, after) = match cursor(request) {
            None => (0, None),
            Some(text) => {
                let (place, rest) = text.split_once(':').ok_or_else(bad_cursor)?;
                let rest = (!rest.is_empty()).then(|| rest.to_owned());
                (place.parse::<usize>().map_err(|_| bad_cursor())?, rest)
            }
        };
        let part = self.resources(place, after, &asked).await?;
        Ok(listed!(self, ListResourcesResult { resources }, part, &asked.context))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let all = self.shared.offers.iter().flat_map(|offer| offer.templates()).collect();
        let part = page(all, cursor(request))?;
        Ok(listed!(self, ListResourceTemplatesResult { resource_templates }, part, &context))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let asked = self.asked(context)?;
        let is_modern = is_modern(&asked.context);
        let offer = self.owner_of(&request.uri)?;
        let mut answer = offer.read(request, &asked).await?;
        match &mut answer {
            ReadResourceResponse::Complete(result) => {
                result.meta = self.stamped(result.meta.take(), is_modern);
                result.ttl_ms = is_modern.then_some(READ_TTL);
                result.cache_scope = is_modern.then_some(CacheScope::Private);
            }
            ReadResourceResponse::InputRequired(result) => {
                result.meta = self.stamped(result.meta.take(), is_modern);
            }
            _ => {}
        }
        Ok(answer)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let all = self.shared.offers.iter().flat_map(|offer| offer.prompts()).collect();
        let part = page(all, cursor(request))?;
        Ok(listed!(self, ListPromptsResult { prompts }, part, &context))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let asked = self.asked(context)?;
        let has = |offer: &&Arc<dyn Offer>| {
            offer.prompts().iter().any(|prompt| prompt.name == request.name)
        };
        let Some(offer) = self.shared.offers.iter().find(has) else {
            return Err(ErrorData::invalid_params("there is no prompt of this name", None));
        };
        let is_modern = is_modern(&asked.context);
        let mut answer = offer.prompt(request, &asked).await?;
        match &mut answer {
            GetPromptResponse::Complete(result) => {
                result.meta = self.stamped(result.meta.take(), is_modern);
            }
            GetPromptResponse::InputRequired(result) => {
                result.meta = self.stamped(result.meta.take(), is_modern);
            }
            _ => {}
        }
        Ok(answer)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let asked = self.asked(context)?;
        let CompleteRequestParams { r#ref: of, argument, context, .. } = request;
        let mut found = Vec::new();
        for offer in &self.shared.offers {
            let (of, argument, context) = (of.clone(), argument.clone(), context.clone());
            let completing = Completing { of, argument, context };
            if let Some(values) = offer.complete(completing, &asked).await? {
                found = values;
                break;
            }
        }
        let total = u32::try_from(found.len()).ok();
        let has_more = found.len() > COMPLETIONS_MAX;
        found.truncate(COMPLETIONS_MAX);
        let info = CompletionInfo::with_pagination(found, total, has_more);
        let info = info.map_err(|why| ErrorData::internal_error(why, None))?;
        let mut result = CompleteResult::new(info);
        result.meta = self.stamp(is_modern(&asked.context));
        Ok(result)
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // What is sent is sent at one level only, so that there is nothing to leave out.
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.owner_of(&request.uri)?;
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= WATCHED_MAX {
            let why = format!("a connection may watch {WATCHED_MAX} resources: leave one first");
            return Err(ErrorData::invalid_params(why, None));
        }
        watched.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.uri);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let Ok(principal) = self.principal(&context.extensions) else { return };
        let told = listening::Told::Connection {
            peer: context.peer.clone(),
            watched: Arc::clone(&self.watched),
        };
        let sources = Sources::open(&self.shared.offers, &principal.tenant).await;
        let (ended, stopping) = (self.ended.clone(), self.shared.tasks.stopping());
        self.shared.tasks.spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = stopping.cancelled() => {}
                () = listening::tell(sources, &told) => {}
            }
        });
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| self.owner_of(uri).is_ok());
            uris.truncate(WATCHED_MAX);
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let told = listening::Told::Subscription(context.sink().clone());
        let sources = Early::take_from(&context.request_context().extensions);
        // Over HTTP streams end before all else does: a client then knows that it should come again.
        let parts = context.request_context().extensions.get::<Parts>();
        let shutdown = parts.and_then(|parts| parts.extensions.get::<Shutdown>());
        let stopping =
            shutdown.map_or_else(|| self.shared.tasks.stopping(), |shutdown| shutdown.0.clone());
        tokio::select! {
            () = context.cancelled() => {}
            () = stopping.cancelled() => {}
            () = listening::tell(sources, &told) => {}
        }
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let principal = self.principal(&context.extensions)?;
        for tasks in self.tasks() {
            if let Some(task) = tasks.get(&principal, &request.task_id).await? {
                let mut result = GetTaskResult::new(task);
                result.meta = self.stamp(is_modern(&context));
                return Ok(result);
            }
        }
        Err(no_task())
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let principal = self.principal(&context.extensions)?;
        for tasks in self.tasks() {
            let answers = &request.input_responses;
            if tasks.update(&principal, &request.task_id, answers).await?.is_some() {
                return Ok(());
            }
        }
        Err(no_task())
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let principal = self.principal(&context.extensions)?;
        for tasks in self.tasks() {
            if tasks.cancel(&principal, &request.task_id).await?.is_some() {
                return Ok(());
            }
        }
        Err(no_task())
    }
}
