//! What an MCP server offers, as one small trait: Saem's own knowledge, and whatever else is served beside it.

use agent::identity::{Principal, Scope};
use agent::names::{DocumentId, TenantId};
use engine::Knowledge;
use futures_util::future::BoxFuture;
use rmcp::model::{
    ArgumentInfo, CallToolRequestParams, CallToolResponse, CompletionContext, ErrorData,
    GetPromptRequestParams, GetPromptResponse, Prompt, ReadResourceRequestParams,
    ReadResourceResponse, Reference, Resource, ResourceTemplate, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tokio::sync::broadcast;

use crate::mcp::tasks::Deferred;

/// What answers a request, or why there is no answer.
pub(crate) type Answer<'a, T> = BoxFuture<'a, Result<T, ErrorData>>;

/// A request with the one who makes it.
pub(crate) struct Asked {
    pub(crate) principal: Principal,
    pub(crate) context: RequestContext<RoleServer>,
}

impl Asked {
    pub(crate) fn tenant(&self) -> &TenantId {
        &self.principal.tenant
    }

    pub(crate) fn peer(&self) -> &Peer<RoleServer> {
        &self.context.peer
    }
}

/// Some of a list, and where the rest begins.
pub(crate) struct Part<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

/// Somebody who offers tools, resources and prompts. Lists are in a stable order, and the same on every connection.
pub(crate) trait Offer: Send + Sync + 'static {
    fn tools(&self) -> &[Tool];
    /// What calling a tool of this offer needs.
    fn scope(&self, tool: &str) -> Scope;
    fn call<'a>(
        &'a self,
        call: CallToolRequestParams,
        asked: &'a Asked,
    ) -> Answer<'a, CallToolResponse>;

    fn resources<'a>(
        &'a self,
        after: Option<String>,
        asked: &'a Asked,
    ) -> Answer<'a, Part<Resource>>;
    fn templates(&self) -> &[ResourceTemplate];
    /// Whether the address is one of this offer's, there or not.
    fn owns(&self, uri: &str) -> bool;
    fn read<'a>(
        &'a self,
        read: ReadResourceRequestParams,
        asked: &'a Asked,
    ) -> Answer<'a, ReadResourceResponse>;

    fn prompts(&self) -> &[Prompt];
    fn prompt<'a>(
        &'a self,
        get: GetPromptRequestParams,
        asked: &'a Asked,
    ) -> Answer<'a, GetPromptResponse>;

    /// What the argument may be, best first; nothing for what is not this offer's.
    fn complete<'a>(
        &'a self,
        completing: Completing,
        asked: &'a Asked,
    ) -> Answer<'a, Option<Vec<String>>>;

    /// What happens to its lists besides the documents.
    fn news(&self) -> Option<broadcast::Receiver<News>> {
        None
    }

    /// The documents whose changes are told, if it has some.
    fn knowledge(&self) -> Option<&Knowledge> {
        None
    }

    /// Work that goes on after a call has been answered, if it has some.
    fn tasks(&self) -> Option<&dyn Deferred> {
        None
    }

    /// Whether it sends log messages.
    fn logs(&self) -> bool {
        false
    }
}

/// An argument that somebody is typing.
pub(crate) struct Completing {
    pub(crate) of: Reference,
    pub(crate) argument: ArgumentInfo,
    pub(crate) context: Option<CompletionContext>,
}

/// What clients are told of without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    ToolsChanged,
    PromptsChanged,
    /// Documents have come, changed or gone.
    Documents(Vec<DocumentId>),
}
