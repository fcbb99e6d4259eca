//! The MCP endpoint of a server, for whoever passes messages on to it.

use anyhow::{Context, Result};
use reqwest::header::AUTHORIZATION;
use reqwest::{Method, Request, Response};

use super::Client;

impl Client {
    /// An empty request to the MCP endpoint, with our credentials.
    pub(crate) fn mcp_request(&self, method: Method) -> Result<Request> {
        let url = self.base.join("mcp").context("the address of the server")?;
        let mut request = Request::new(method, url);
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        Ok(request)
    }

    /// Sends it once: what a message does may not be repeated.
    pub(crate) async fn mcp_send(&self, request: Request) -> Result<Response> {
        self.http.execute(request).await.context("the server does not answer")
    }
}
