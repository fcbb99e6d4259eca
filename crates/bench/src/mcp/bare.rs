//! Bare rmcp with the tools of `bench mcp`: what serving them costs at the least.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use axum::serve::ListenerExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};
use serde::Deserialize;
use serde_json::json;

use crate::peer::answer_lines;

/// What is served.
#[derive(Deserialize)]
struct Material {
    tools: Vec<Tool>,
    answer: CallToolResult,
}

#[derive(Clone)]
struct Bare(Arc<Material>);

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.tools.clone()))
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(self.0.answer.clone().into())
    }
}

/// Serves until it is killed; each line on standard input is answered with where it listens.
pub(crate) fn run(material: &Path) -> Result<()> {
    let material: Material = serde_json::from_slice(&std::fs::read(material)?)?;
    let bare = Bare(Arc::new(material));
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let answer = json!({ "address": address, "version": "rmcp 3.8.0" });
        std::thread::spawn(move || answer_lines(&answer));
        let listener = listener.tap_io(|stream| {
            // Only a delay would be the consequence.
            _ = stream.set_nodelay(true);
        });
        let config = StreamableHttpServerConfig::default().with_json_response(true);
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(bare.clone()), sessions, config);
        axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
        Ok(())
    })
}
