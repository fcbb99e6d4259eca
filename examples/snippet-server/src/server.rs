//! The snippets as MCP sees them: tools, a resource for each snippet, and a prompt; in both eras of the protocol.

mod changes;
mod input;
mod prompt;
mod resources;
mod tools;

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};

use crate::folder::{Fault, Folder};
use changes::Changes;
use input::Input;

const INSTRUCTIONS: &str = "Keeps the user's editor snippets. Look with list_snippets before you add one: names and prefixes \
    should be new. The prompt write_snippet says what a good snippet looks like.";

/// The server of one client.
#[derive(Debug, Clone)]
pub(crate) struct SnippetServer {
    folder: Folder,
    changes: Arc<Changes>,
}

impl SnippetServer {
    pub(crate) fn new(folder: Folder) -> Self {
        Self { folder, changes: Arc::new(Changes::new()) }
    }

    /// The server's input, which tells it when the client has gone.
    pub(crate) fn input<R>(&self, input: R) -> Input<R> {
        Input::new(input, self.changes.clone())
    }

    /// Works on the folder where waiting for the disk holds nobody up.
    async fn on_folder<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folder) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let folder = self.folder.clone();
        let done = tokio::task::spawn_blocking(move || work(&folder)).await;
        done.map_err(|_| {
            ErrorData::internal_error("the folder of snippets cannot be reached", None)
        })
    }
}

impl ServerHandler for SnippetServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .build();
        let implementation = Implementation::new("snippet-server", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(implementation.with_title("Editor snippets"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let Some(call) = tools::Call::read(&request.name, arguments) else {
            let message = format!("there is no tool {}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let outcome = match call {
            Ok(call) => self.on_folder(|folder| call.run(folder)).await?,
            Err(message) => Err(message),
        };
        let result = match outcome {
            Ok(done) => {
                if let Some(uri) = &done.changed {
                    self.changes.tell(uri, &context).await;
                }
                done.result
            }
            // The model reads this and can do better.
            Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listing =
            self.on_folder(|folder| folder.list(None)).await?.map_err(|fault| broken(&fault))?;
        Ok(ListResourcesResult::with_all_items(resources::all(&listing)))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        self.on_folder(|folder| resources::read(folder, uri)).await?.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let listing =
            self.on_folder(|folder| folder.list(None)).await?.map_err(|fault| broken(&fault))?;
        resources::complete(&listing, &request)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(vec![prompt::definition()]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.on_folder(move |folder| prompt::fill(folder, &request)).await?.map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.changes.subscribe(request.uri)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.changes.unsubscribe(&request.uri)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.changes.follow(&context).await
    }
}

/// A fault that no other argument would mend.
fn broken(fault: &Fault) -> ErrorData {
    ErrorData::internal_error(fault.to_string(), None)
}
