//! Saem as an MCP server: one set of offers behind HTTP, the older HTTP+SSE and stdio, in both eras of the protocol.

mod conformance;
mod early;
mod handler;
mod http;
mod knowledge;
mod listening;
mod lists;
mod offer;
mod prompts;
mod sse;
mod state;
mod stdio;
mod tasks;
mod tools;

use std::sync::Arc;

use agent::identity::Principal;
use agent::ports::{Entropy, PortError};
use engine::Knowledge;
use engine::catalogue::Catalogue;
use engine::chat::Copilot;
use engine::research::Research;
use engine::tasks::Tasks;
use rmcp::model::{Icon, Implementation, MetaObject, ServerCapabilities, ServerConfig};
use serde_json::json;

use self::early::Piped;
use self::handler::{Handler, Whose};
use self::http::Endpoint;
use self::knowledge::Own;
use self::offer::Offer;

pub use self::http::routes;
pub use self::prompts::{PromptFault, PromptFile};
pub use self::sse::sse_routes;
pub use self::stdio::{StdioError, pipes, serve_stdio};

/// What of the protocol's library belongs into a log: not every request, nor every client that leaves.
pub const LOGGED: &str = "rmcp=warn,rmcp::service=off";

/// What a client that shows servers to people shows of this one.
const TITLE: &str = "Saem";
/// A drop of water, as SVG.
const ICON: &str = "data:image/svg+xml;base64,\
    PHN2ZyB4bWxucz0naHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmcnIHZpZXdCb3g9JzAgMCAyNCAyNCc+PHBhdGggZmlsbD0nIzFj\
    N2VkNicgZD0nTTEyIDJjNCA1IDcgOC41IDcgMTIuNWE3IDcgMCAwIDEtMTQgMEM1IDEwLjUgOCA3IDEyIDJ6Jy8+PC9zdmc+";

/// What a client's model is told of this server.
const INSTRUCTIONS: &str = include_str!("mcp/instructions.md");

/// Where the name of a server stands in a result.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// What the server works with.
pub struct McpParts {
    pub knowledge: Knowledge,
    pub copilot: Copilot,
    pub research: Research,
    pub catalogue: Catalogue,
    pub tasks: Tasks,
    pub entropy: Arc<dyn Entropy>,
    /// Prompts besides those that ship; a later one of the same name takes the earlier one's place.
    pub prompts: Vec<PromptFile>,
    /// The version that clients are told.
    pub version: String,
}

/// An MCP server. Cheap to clone.
#[derive(Clone)]
pub struct Mcp {
    shared: Arc<Shared>,
    endpoint: Arc<Endpoint>,
}

/// What every connection shares.
struct Shared {
    offers: Vec<Arc<dyn Offer>>,
    info: ServerConfig,
    /// Says in every result which server it comes from.
    stamp: MetaObject,
    tasks: Tasks,
}

/// A server that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error(transparent)]
    Prompt(#[from] PromptFault),
    #[error(transparent)]
    Port(#[from] PortError),
}

impl Mcp {
    /// A server of Saem's own knowledge.
    pub fn new(parts: McpParts) -> Result<Self, McpError> {
        Self::with_offers(parts, Vec::new())
    }

    fn with_offers(parts: McpParts, more: Vec<Arc<dyn Offer>>) -> Result<Self, McpError> {
        let McpParts { knowledge, copilot, research, catalogue, tasks, entropy, prompts, version } =
            parts;
        let prompts = prompts::Prompts::read(prompts)?;
        let own = Own::new(knowledge, copilot, research, catalogue, prompts);
        let mut offers: Vec<Arc<dyn Offer>> = vec![Arc::new(own)];
        offers.extend(more);
        let server = Implementation::new("saem", version).with_title(TITLE);
        let mut stamp = MetaObject::new();
        stamp.0.insert(SERVER_INFO.to_owned(), json!(server));
        let server = server
            .with_description("Answers from a team's own documents, in Korean and English.")
            .with_icons(icons());
        let info = ServerConfig::new(capabilities(&offers))
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS.trim());
        let shared = Arc::new(Shared { offers, info, stamp, tasks });
        let endpoint = Arc::new(Endpoint::new(&shared, entropy.as_ref())?);
        Ok(Self { shared, endpoint })
    }

    /// A handler for one connection of somebody who is known beforehand.
    fn handler_of(&self, principal: Principal) -> Piped {
        Piped(Handler::new(Arc::clone(&self.shared), Whose::Fixed(principal)))
    }
}

impl Shared {
    /// The offer that has a tool of this name.
    fn tool(&self, name: &str) -> Option<&Arc<dyn Offer>> {
        self.offers.iter().find(|offer| offer.tools().iter().any(|tool| tool.name == name))
    }
}

fn icons() -> Vec<Icon> {
    vec![Icon::new(ICON).with_mime_type("image/svg+xml").with_sizes(vec!["any".to_owned()])]
}

fn capabilities(offers: &[Arc<dyn Offer>]) -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::builder()
        .enable_tools()
        .enable_tool_list_changed()
        .enable_resources()
        .enable_resources_list_changed()
        .enable_resources_subscribe()
        .enable_prompts()
        .enable_prompts_list_changed()
        .enable_completions()
        .build();
    if offers.iter().any(|offer| offer.tasks().is_some()) {
        let tasks = ServerCapabilities::builder().enable_tasks().build();
        capabilities.extensions = tasks.extensions;
    }
    if offers.iter().any(|offer| offer.logs()) {
        capabilities.logging = Some(Default::default());
    }
    capabilities
}
