//! The way of a request through the server's door: with a token if there is one, and again with a better one.

use std::collections::HashMap;
use std::sync::Arc;

use agent::tools::login::{Refusals, Remedy};
use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::access::Access;
use super::http::{ANSWER_BYTES_MAX, BoundedClient, HttpError};

type Failure = StreamableHttpError<HttpError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// A client that can get in. Without a door it goes as it is.
#[derive(Clone)]
pub(super) struct Doorway {
    pub(super) client: BoundedClient,
    pub(super) access: Option<Arc<Access>>,
}

impl Doorway {
    /// Sends a request until the server is content or it has been tried often enough. A request that was refused at the
    /// door has not happened, so sending it again is no repetition.
    async fn pass<T, F, Answer>(&self, call: F) -> Result<T, Failure>
    where
        F: Fn(Option<String>) -> Answer,
        Answer: Future<Output = Result<T, Failure>>,
    {
        let Some(access) = &self.access else { return call(None).await };
        let mut refusals = Refusals::default();
        let mut token = access.token().await.map_err(HttpError::from)?;
        loop {
            let refused = match call(token.clone()).await {
                Err(error) => error,
                Ok(answer) => return Ok(answer),
            };
            let (remedy, challenge, scope) = match &refused {
                StreamableHttpError::AuthRequired(wanted) => {
                    let remedy = refusals.unauthorized(token.is_some());
                    (remedy, wanted.www_authenticate_header.clone(), None)
                }
                StreamableHttpError::Client(HttpError::Status { status: 401, .. }) => {
                    (refusals.unauthorized(token.is_some()), String::new(), None)
                }
                StreamableHttpError::InsufficientScope(wanted) => {
                    let scope = wanted.required_scope.clone();
                    let challenge = wanted.www_authenticate_header.clone();
                    (refusals.insufficient(), challenge, scope)
                }
                _ => return Err(refused),
            };
            let renewed = match (remedy, &token) {
                (Remedy::Refresh, Some(old)) => {
                    access.instead_of(old).await.map_err(HttpError::from)?
                }
                (Remedy::GiveUp, _) => return Err(refused),
                (Remedy::Refresh | Remedy::LogIn | Remedy::StepUp, _) => None,
            };
            token = Some(match renewed {
                Some(token) => token,
                None => {
                    let login = access.log_in(&challenge, scope.as_deref());
                    Box::pin(login).await.map_err(HttpError::from)?
                }
            });
        }
    }
}

impl StreamableHttpClient for Doorway {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let (session, headers, bytes_max) = (session_id, custom_headers, ANSWER_BYTES_MAX);
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session,
            auth_header,
            headers,
            bytes_max,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.pass(|token| {
            self.client.post_message_with_max_sse_event_size(
                Arc::clone(&uri),
                message.clone(),
                session_id.clone(),
                token,
                custom_headers.clone(),
                max_sse_event_size,
            )
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        // Nobody logs in to say goodbye.
        let token = match &self.access {
            Some(access) => access.token().await.unwrap_or_default(),
            None => None,
        };
        self.client.delete_session(uri, session_id, token, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let (session, last, headers) = (session_id, last_event_id, custom_headers);
        let bytes_max = ANSWER_BYTES_MAX;
        self.get_stream_with_max_sse_event_size(uri, session, last, auth_header, headers, bytes_max)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        self.pass(|token| {
            self.client.get_stream_with_max_sse_event_size(
                Arc::clone(&uri),
                session_id.clone(),
                last_event_id.clone(),
                token,
                custom_headers.clone(),
                max_sse_event_size,
            )
        })
        .await
    }
}
