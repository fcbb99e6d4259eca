//! The catalogue of agents over HTTP.

use anyhow::{Result, bail};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Request};
use server::registry::{
    AgentBody, AgentChangeBody, AgentsFoundBody, CrawlBody, FindAgentsQuery, ImportedBody,
    NewAgentBody, RegisteredBody,
};
use url::Url;

use super::{Client, found};

impl Client {
    pub(crate) async fn register_agent(&self, new: &NewAgentBody) -> Result<RegisteredBody> {
        self.read(self.registry_request(Method::POST, &["agents"], new)?).await
    }

    pub(crate) async fn find_agents(&self, query: &FindAgentsQuery) -> Result<AgentsFoundBody> {
        let mut url = self.registry(&["find"])?;
        let fields = serde_json::to_value(query)?;
        let mut pairs = url.query_pairs_mut();
        for (name, value) in fields.as_object().into_iter().flatten() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            pairs.append_pair(name, &text);
        }
        drop(pairs);
        self.read(Request::new(Method::GET, url)).await
    }

    pub(crate) async fn agent(&self, identifier: &str) -> Result<Option<AgentBody>> {
        let url = self.registry(&["agents", identifier])?;
        found(self.read(Request::new(Method::GET, url)).await)
    }

    pub(crate) async fn change_agent(
        &self,
        identifier: &str,
        change: &AgentChangeBody,
    ) -> Result<Option<AgentBody>> {
        let request = self.registry_request(Method::PATCH, &["agents", identifier], change)?;
        found(self.read(request).await)
    }

    pub(crate) async fn remove_agent(&self, identifier: &str) -> Result<Option<()>> {
        let url = self.registry(&["agents", identifier])?;
        Ok(found(self.ask(Request::new(Method::DELETE, url)).await)?.map(|_| ()))
    }

    pub(crate) async fn export_agents(&self) -> Result<String> {
        let url = self.registry(&["export"])?;
        Ok(String::from_utf8(self.ask(Request::new(Method::GET, url)).await?)?)
    }

    pub(crate) async fn crawl_agents(&self, body: &CrawlBody) -> Result<ImportedBody> {
        self.read(self.registry_request(Method::POST, &["crawl"], body)?).await
    }

    pub(crate) async fn import_agents(&self, lines: String) -> Result<ImportedBody> {
        let mut request = Request::new(Method::POST, self.registry(&["import"])?);
        let kind = HeaderValue::from_static("application/x-ndjson");
        request.headers_mut().insert(CONTENT_TYPE, kind);
        *request.body_mut() = Some(lines.into());
        self.read(request).await
    }

    fn registry(&self, path: &[&str]) -> Result<Url> {
        let mut url = self.base.join("registry/")?;
        match url.path_segments_mut() {
            Ok(mut segments) => segments.pop_if_empty().extend(path),
            Err(()) => bail!("{} is no address of a server", self.base),
        };
        Ok(url)
    }

    fn registry_request(
        &self,
        method: Method,
        path: &[&str],
        body: &impl serde::Serialize,
    ) -> Result<Request> {
        let mut request = Request::new(method, self.registry(path)?);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(serde_json::to_vec(body)?.into());
        Ok(request)
    }
}
