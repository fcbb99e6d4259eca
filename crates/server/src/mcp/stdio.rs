//! MCP over standard input and output, or any other pair of pipes: one client, whom the owner of the folder has started.

use agent::identity::Principal;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::mcp::Mcp;

/// Why a conversation over pipes did not come to a good end.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("the client has not said hello in a way that MCP knows")]
    Hello(#[source] Box<ServerInitializeError>),
    #[error("the conversation broke off")]
    BrokeOff(#[source] tokio::task::JoinError),
}

/// Standard input and output as pipes that can be waited for.
pub fn pipes() -> (impl AsyncRead + Send + Unpin, impl AsyncWrite + Send + Unpin) {
    rmcp::transport::stdio_pipes()
}

/// Serves the client on standard input and output until it closes its end.
pub async fn serve_stdio(mcp: &Mcp, principal: Principal) -> Result<(), StdioError> {
    let (input, output) = rmcp::transport::stdio_pipes();
    mcp.converse(principal, input, output).await
}

impl Mcp {
    /// Serves one client on a pair of pipes until it closes its end.
    pub(super) async fn converse<R, W>(
        &self,
        principal: Principal,
        input: R,
        output: W,
    ) -> Result<(), StdioError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let running = match rmcp::serve_server(self.handler_of(principal), (input, output)).await {
            Ok(running) => running,
            // A client that goes before it has said anything has nothing to complain about.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(StdioError::Hello(Box::new(error))),
        };
        match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(StdioError::BrokeOff(error)),
            Ok(_) => Ok(()),
        }
    }
}
