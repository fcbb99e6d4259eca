//! HTTP to a server of tools: no redirects, no decompression, and no answer larger than its bound.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::access::LoginError;

/// Bytes of one answer or event: a list of the largest size that is taken, twice.
pub(super) const ANSWER_BYTES_MAX: usize = 8 << 20;

/// Bytes of an error page that are looked at.
const ERROR_BYTES_MAX: usize = 64 << 10;

const SESSION: &str = "Mcp-Session-Id";
const LAST_EVENT: &str = "Last-Event-Id";

/// A client for one server.
#[derive(Debug, Clone)]
pub(super) struct BoundedClient(reqwest::Client);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error("{}", plain(.0))]
    Request(#[from] reqwest::Error),
    #[error("the answer is larger than {} MiB", ANSWER_BYTES_MAX >> 20)]
    TooLarge,
    #[error(
        "the address answers with a redirect, which is not followed: configure the address it leads to"
    )]
    Redirect,
    #[error("HTTP {status}: {body}")]
    Status { status: u16, body: String },
    #[error(transparent)]
    Login(#[from] LoginError),
}

/// An error without the address: its query may hold a key.
fn plain(error: &reqwest::Error) -> String {
    let kind = if error.is_connect() {
        "no connection"
    } else if error.is_timeout() {
        "no answer in time"
    } else {
        "the connection broke"
    };
    kind.to_owned()
}

type Failure = StreamableHttpError<HttpError>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl BoundedClient {
    pub(super) fn new(connect_time_max: Duration) -> Result<Self, HttpError> {
        _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_gzip()
            .no_proxy()
            .http1_only()
            .connect_timeout(connect_time_max)
            .build()?;
        Ok(Self(client))
    }

    /// What a server says to a request without a token: how to log in, if that is what it wants.
    pub(super) async fn challenge(&self, uri: &str) -> Result<Option<String>, HttpError> {
        let message = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let request = self.0.post(uri).header(ACCEPT, "text/event-stream, application/json");
        let response = request.json(&message).send().await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(None);
        }
        Ok(Some(text_header(&response, WWW_AUTHENTICATE.as_str()).unwrap_or_default()))
    }

    async fn post(
        &self,
        uri: &str,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        event_bytes_max: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let is_in_session = session.is_some();
        let mut request = self.0.post(uri).header(ACCEPT, "text/event-stream, application/json");
        if let Some(session) = &session {
            request = request.header(SESSION, session.as_ref());
        }
        let request = finished(request, token, headers).json(&message);
        let response = request.send().await.map_err(HttpError::from)?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && is_in_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let response = admitted(response)?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = text_header(&response, SESSION);
        let kind = text_header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        if !status.is_success() {
            let body = body(response, ERROR_BYTES_MAX).await.unwrap_or_default();
            return rejected(&message, is_in_session, status, &kind, &body, session);
        }
        if kind.starts_with("text/event-stream") {
            return Ok(StreamableHttpPostResponse::Sse(events(response, event_bytes_max), session));
        }
        let body = body(response, ANSWER_BYTES_MAX).await?;
        let expects_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) if kind.starts_with("application/json") => {
                let answer = unless_evasive(&message, answer);
                Ok(StreamableHttpPostResponse::Json(answer, session))
            }
            _ if !expects_answer => Ok(StreamableHttpPostResponse::Accepted),
            Ok(_) => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
            Err(error) => Err(StreamableHttpError::UnexpectedServerResponse(
                format!("no JSON-RPC: {error}").into(),
            )),
        }
    }
}

/// A server of the old era may answer what it does not know with nothing, instead of saying that it does not know it.
fn unless_evasive(
    message: &ClientJsonRpcMessage,
    answer: ServerJsonRpcMessage,
) -> ServerJsonRpcMessage {
    match (message, &answer) {
        (ClientJsonRpcMessage::Request(request), ServerJsonRpcMessage::Response(response))
            if matches!(request.request, ClientRequest::DiscoverRequest(_))
                && matches!(response.result, ServerResult::EmptyResult(_)) =>
        {
            let why = "the greeting of the new era was answered with nothing";
            let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None);
            ServerJsonRpcMessage::error(error, Some(request.id.clone()))
        }
        _ => answer,
    }
}

/// What an answer that is no success means. A server of the old era refuses the first request of the new one with any
/// 4xx: that is passed on as the error which lets the old greeting be tried.
fn rejected(
    message: &ClientJsonRpcMessage,
    is_in_session: bool,
    status: StatusCode,
    kind: &str,
    body: &[u8],
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, Failure> {
    let error = match serde_json::from_slice::<ServerJsonRpcMessage>(body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let is_closed = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let shown = agent::text::clip(&String::from_utf8_lossy(body), 200).to_owned();
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && !is_in_session
        && status.is_client_error()
        && !is_closed
    {
        let error = error.map_or_else(
            || ErrorData::invalid_request(format!("HTTP {status}"), None),
            |error| error.error,
        );
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match error {
        Some(error) if !is_closed && kind.starts_with("application/json") => {
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), session))
        }
        _ => Err(HttpError::Status { status: status.as_u16(), body: shown }.into()),
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        Self::Client(error)
    }
}

impl StreamableHttpClient for BoundedClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.post(&uri, message, session_id, auth_header, custom_headers, ANSWER_BYTES_MAX).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.post(&uri, message, session_id, auth_header, custom_headers, max_sse_event_size).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        let request = self.0.delete(uri.as_ref()).header(SESSION, session_id.as_ref());
        let request = finished(request, auth_header, custom_headers);
        request.send().await.map_err(HttpError::from)?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let bytes_max = ANSWER_BYTES_MAX;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            bytes_max,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let mut request = self.0.get(uri.as_ref()).header(ACCEPT, "text/event-stream");
        if let Some(session) = session_id {
            request = request.header(SESSION, session.as_ref());
        }
        if let Some(last) = last_event_id {
            request = request.header(LAST_EVENT, last);
        }
        let request = finished(request, auth_header, custom_headers);
        let response = admitted(request.send().await.map_err(HttpError::from)?)?;
        let kind = text_header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => {
                let body = String::new();
                Err(HttpError::Status { status: status.as_u16(), body }.into())
            }
            _ if kind.starts_with("text/event-stream") => Ok(events(response, max_sse_event_size)),
            _ => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
        }
    }
}

fn finished(
    mut request: RequestBuilder,
    token: Option<String>,
    headers: Headers,
) -> RequestBuilder {
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    headers.into_iter().fold(request, |request, (name, value)| request.header(name, value))
}

/// Passes an answer on unless it leads elsewhere or wants credentials.
fn admitted(response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if status.is_redirection() {
        return Err(HttpError::Redirect.into());
    }
    let Some(challenge) = text_header(&response, WWW_AUTHENTICATE.as_str()) else {
        return Ok(response);
    };
    match status {
        StatusCode::UNAUTHORIZED => {
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
        }
        StatusCode::FORBIDDEN => {
            let scope = scope_of(&challenge);
            Err(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(
                challenge, scope,
            )))
        }
        _ => Ok(response),
    }
}

fn scope_of(challenge: &str) -> Option<String> {
    let (_, rest) = challenge.split_once("scope=\"")?;
    rest.split_once('"').map(|(scope, _)| scope.to_owned())
}

fn text_header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

async fn body(mut response: Response, bytes_max: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > bytes_max {
            return Err(HttpError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The events of an answer; one that is too large ends it.
fn events(response: Response, bytes_max: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut since_event = 0_usize;
    let mut before = [0_u8; 2];
    let chunks = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(std::io::Error::other)?;
        for byte in &chunk {
            since_event += 1;
            // An empty line ends an event, however its lines end.
            let ends = matches!(
                (before, *byte),
                ([_, b'\n'], b'\n') | ([b'\n', b'\r'], b'\n') | ([_, b'\r'], b'\r')
            );
            before = [before[1], *byte];
            if ends {
                since_event = 0;
            }
        }
        if since_event > bytes_max {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        Ok::<_, std::io::Error>(chunk)
    });
    SseStream::from_bytes_stream(chunks.boxed()).boxed()
}
