//! The API's client: asks a server to do what a command would do on the data folder itself.

mod agents;
mod chat;
mod mcp;
mod research;
mod tools;

use std::fmt;
use std::time::Duration;

use agent::names::DocumentId;
use agent::ports::DocumentList;
use anyhow::{Context, Result, bail};
use engine::search::Mode;
use engine::{NewDocument, Order};
use futures_util::{StreamExt, TryStreamExt};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use server::api::jobs::WAIT_SECONDS_MAX;
use server::api::wire::{
    CleanupBody, DocumentBody, DocumentsBody, JobBody, KeyBody, KeysBody, MintedBody, NewKeyBody,
    SearchBody, SectionBody, SectionsBody, TenantKeyBody, WorkState, join_conditions,
};
use url::Url;

pub(crate) use self::chat::RemoteAsking;
pub(crate) use self::research::RemoteWatching;
use super::form::Form;
use super::{Search, WantedKey};
use crate::config::RemoteServer;
use crate::presence::Running;
use crate::system::SystemEntropy;

/// How long to wait for a connection.
const CONNECT_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long a server may be silent: a clean-up of a large index is the longest thing it is asked for.
const SILENCE_MAX: Duration = Duration::from_secs(600);

/// Largest answer that is read, in bytes: a page of documents with all their tags fits.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// How often a server that is busy is asked, and how long it may ask us to wait.
const TRIES_MAX: u32 = 20;
const RETRY_WAIT_MAX: Duration = Duration::from_secs(30);

/// Deletions on their way at the same time.
const DELETIONS_AT_ONCE: usize = 16;

/// Speaks to one server.
pub(crate) struct Client {
    http: reqwest::Client,
    /// With a slash at its end, so that paths can be joined to it.
    base: Url,
    authorization: Option<HeaderValue>,
    /// Whether the server takes us for the owner of its data folder.
    is_owner: bool,
}

/// A problem that a server answered with (RFC 9457).
#[derive(Debug, Deserialize)]
struct Problem {
    status: u16,
    #[serde(default)]
    code: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    action: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What we asked for is the fault, and the detail says it: the same words as without a server.
        if self.code == "invalid_request" {
            return f.write_str(self.detail.trim_end_matches('.'));
        }
        write!(f, "{} {}", self.detail, self.action)?;
        if self.status == StatusCode::UNAUTHORIZED {
            f.write_str(" Put the key into the environment as SAEM_API_KEY.")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

impl Client {
    /// The server at an address, with the key that goes with it.
    pub(crate) fn of_address(server: &RemoteServer) -> Result<Self> {
        let mut base = server.address.clone();
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let authorization = server.key.as_ref().map(|key| bearer(key.reveal())).transpose()?;
        let http = builder().build().or_else(|error| {
            // Without the system's certificates nothing can be built; an empty set keeps plain http working.
            tracing::warn!(%error, "no https from here: install the system's CA certificates");
            builder().tls_certs_only([]).build()
        })?;
        Ok(Self { http, base, authorization, is_owner: false })
    }

    /// The server that has our data folder open.
    pub(crate) fn of_owner(server: &Running) -> Result<Self> {
        let http = builder().no_proxy().tls_certs_only([]).build()?;
        let base = format!("http://{}/", server.address).parse()?;
        let authorization = Some(bearer(server.token.expose())?);
        Ok(Self { http, base, authorization, is_owner: true })
    }

    pub(crate) async fn search(&self, search: &Search) -> Result<SearchBody> {
        let request = &search.request;
        let mut url = self.url(&["search"])?;
        let mut query = url.query_pairs_mut();
        query.append_pair("q", &request.text);
        query.append_pair("mode", mode(request.mode));
        if !search.conditions.is_empty() {
            query.append_pair("filter", &join_conditions(&search.conditions));
        }
        if let Some(collection) = &request.collection {
            query.append_pair("collection", collection.as_str());
        }
        if let Some(count) = request.count {
            query.append_pair("count", &count.to_string());
        }
        if search.explain {
            query.append_pair("explain", "true");
        }
        drop(query);
        self.read(Request::new(Method::GET, url)).await
    }

    /// Sends a document and waits until it can be found, or why it cannot.
    pub(crate) async fn ingest(&self, new: &NewDocument) -> Result<JobBody> {
        let mut form = Form::new(&SystemEntropy)?;
        form.text("name", &new.source);
        form.text("collection", new.collection.as_str());
        let mapping = new.mapping.as_ref();
        for (name, value) in [
            ("type", new.doc_type.as_ref()),
            ("media_type", new.media_type.as_ref()),
            ("question", mapping.and_then(|mapping| mapping.question.as_ref())),
            ("answer", mapping.and_then(|mapping| mapping.answer.as_ref())),
            ("updated_at", new.updated_at.as_ref()),
        ] {
            if let Some(value) = value {
                form.text(name, value);
            }
        }
        form.file("file", &new.bytes);
        let (content_type, body) = form.finish();
        let mut request = Request::new(Method::POST, self.url(&["documents"])?);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_str(&content_type)?);
        *request.body_mut() = Some(body.into());
        self.finished(self.read(request).await?).await
    }

    /// Has a web address fetched by the server, through its guard.
    pub(crate) async fn fetch(&self, order: &Order) -> Result<JobBody> {
        let mapping = order.mapping.as_ref();
        let body = serde_json::json!({
            "url": order.source,
            "collection": order.collection,
            "type": order.doc_type,
            "question": mapping.and_then(|mapping| mapping.question.as_ref()),
            "answer": mapping.and_then(|mapping| mapping.answer.as_ref()),
        });
        let job = self.read(self.post(&["documents"], &body)?).await?;
        self.finished(job).await
    }

    async fn finished(&self, mut job: JobBody) -> Result<JobBody> {
        while job.state == WorkState::Waiting {
            let mut url = self.url(&["jobs", &job.id])?;
            url.query_pairs_mut().append_pair("wait", &WAIT_SECONDS_MAX.to_string());
            job = self.read(Request::new(Method::GET, url)).await?;
        }
        Ok(job)
    }

    pub(crate) async fn documents(&self, list: &DocumentList) -> Result<DocumentsBody> {
        let mut url = self.url(&["documents"])?;
        let mut query = url.query_pairs_mut();
        query.append_pair("limit", &list.limit.to_string());
        if let Some(collection) = &list.collection {
            query.append_pair("collection", collection.as_str());
        }
        if let Some(after) = &list.after {
            query.append_pair("after", after);
        }
        drop(query);
        self.read(Request::new(Method::GET, url)).await
    }

    pub(crate) async fn document(&self, id: &DocumentId) -> Result<Option<DocumentBody>> {
        let url = self.url(&["documents", id.as_str()])?;
        found(self.read(Request::new(Method::GET, url)).await)
    }

    pub(crate) async fn sections(&self, id: &DocumentId) -> Result<Vec<SectionBody>> {
        let url = self.url(&["documents", id.as_str(), "sections"])?;
        let SectionsBody { sections } = self.read(Request::new(Method::GET, url)).await?;
        Ok(sections)
    }

    pub(crate) async fn delete(&self, ids: Vec<DocumentId>) -> Result<Vec<DocumentId>> {
        let deleting = ids.into_iter().map(|id| async move {
            let url = self.url(&["documents", id.as_str()])?;
            let gone = found(self.ask(Request::new(Method::DELETE, url)).await)?;
            Ok::<_, anyhow::Error>(gone.map(|_| id))
        });
        let deleting = futures_util::stream::iter(deleting).buffered(DELETIONS_AT_ONCE);
        let gone: Vec<Option<DocumentId>> = deleting.try_collect().await?;
        Ok(gone.into_iter().flatten().collect())
    }

    pub(crate) async fn create_key(&self, wanted: WantedKey) -> Result<MintedBody> {
        let WantedKey { tenant, label, scopes, days } = wanted;
        if self.is_owner {
            let tenant = tenant.unwrap_or_else(|| "local".to_owned());
            let body = TenantKeyBody { tenant, label, scopes, days };
            return self.read(self.post(&["owner", "keys"], &body)?).await;
        }
        if tenant.is_some() {
            bail!(
                "--tenant is for the machine of the server: a key made with another one has its tenant"
            );
        }
        self.read(self.post(&["keys"], &NewKeyBody { label, scopes, days })?).await
    }

    pub(crate) async fn list_keys(&self) -> Result<Vec<KeyBody>> {
        let url = self.url(self.keys_path())?;
        let KeysBody { keys } = self.read(Request::new(Method::GET, url)).await?;
        Ok(keys)
    }

    /// None if there is no such key.
    pub(crate) async fn revoke_key(&self, prefix: &str) -> Result<Option<()>> {
        let url = self.url(&[self.keys_path(), &[prefix]].concat())?;
        Ok(found(self.ask(Request::new(Method::DELETE, url)).await)?.map(|_| ()))
    }

    pub(crate) async fn clean_up(&self) -> Result<CleanupBody> {
        let url = self.url(&["owner", "cleanup"])?;
        self.read(Request::new(Method::POST, url)).await
    }

    /// What keeps the server from working, part by part; empty if nothing does.
    pub(crate) async fn troubles(&self) -> Result<Vec<String>> {
        let url = self.base.join("health/ready")?;
        let response = self.http.execute(Request::new(Method::GET, url)).await?;
        let health: Health = serde_json::from_slice(&bytes(response).await?)?;
        let parts = health.parts.into_iter();
        Ok(parts.filter_map(|(name, part)| Some(format!("{name}: {}", part.reason?))).collect())
    }

    /// The owner sees the keys of every tenant, others those of their own.
    fn keys_path(&self) -> &'static [&'static str] {
        if self.is_owner { &["owner", "keys"] } else { &["keys"] }
    }

    fn url(&self, path: &[&str]) -> Result<Url> {
        let mut url = self.base.join("api/")?;
        match url.path_segments_mut() {
            Ok(mut segments) => segments.pop_if_empty().extend(path),
            Err(()) => bail!("{} is no address of a server", self.base),
        };
        Ok(url)
    }

    fn post(&self, path: &[&str], body: &impl serde::Serialize) -> Result<Request> {
        let mut request = Request::new(Method::POST, self.url(path)?);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(serde_json::to_vec(body)?.into());
        Ok(request)
    }

    async fn read<T: DeserializeOwned>(&self, request: Request) -> Result<T> {
        let bytes = self.ask(request).await?;
        serde_json::from_slice(&bytes)
            .with_context(|| format!("the answer of {} is not a Saem's of this version", self.base))
    }

    /// The body of a good answer.
    async fn ask(&self, request: Request) -> Result<Vec<u8>> {
        bytes(self.send(request).await?).await
    }

    /// A good answer, its body still to be read. A server that is busy is asked again when it says so.
    async fn send(&self, mut request: Request) -> Result<Response> {
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        let mut tries = 1;
        loop {
            let again = request.try_clone().filter(|_| tries < TRIES_MAX);
            let sent = self.http.execute(request).await;
            let response = sent.with_context(|| format!("{} does not answer", self.base))?;
            let status = response.status();
            let is_busy =
                matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
            if let (true, Some(wait), Some(next)) = (is_busy, retry_after(&response), again) {
                tokio::time::sleep(wait).await;
                (request, tries) = (next, tries + 1);
                continue;
            }
            if status.is_success() {
                return Ok(response);
            }
            let bytes = bytes(response).await?;
            let problem: Problem = serde_json::from_slice(&bytes).with_context(|| {
                format!("{} answered {status}: is it the address of a Saem?", self.base)
            })?;
            return Err(problem.into());
        }
    }
}

/// What readiness says.
#[derive(Deserialize)]
struct Health {
    parts: std::collections::BTreeMap<String, Part>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    reason: Option<String>,
}

fn builder() -> reqwest::ClientBuilder {
    // Whoever comes first decides for the process; everybody here decides the same.
    _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        // Credentials go to the server that was named and nowhere else.
        .redirect(reqwest::redirect::Policy::none())
        .http1_only()
        .connect_timeout(CONNECT_WAIT_MAX)
        .read_timeout(SILENCE_MAX)
}

fn bearer(credential: &str) -> Result<HeaderValue> {
    let value = HeaderValue::from_str(&format!("Bearer {credential}"));
    let mut value = value.context("the key holds characters that no key has: copy it again")?;
    value.set_sensitive(true);
    Ok(value)
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Hybrid => "hybrid",
        Mode::Keyword => "keyword",
        Mode::Vector => "vector",
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_WAIT_MAX))
}

async fn bytes(mut response: Response) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.context("the answer broke off")? {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            bail!("the answer has more than {} MiB", ANSWER_BYTES_MAX >> 20);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// What is not there is none; other errors stay.
fn found<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(error) => match error.downcast_ref::<Problem>() {
            Some(problem) if problem.code == "not_found" => Ok(None),
            Some(_) | None => Err(error),
        },
    }
}
