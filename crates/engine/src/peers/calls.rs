//! One call of an agent: written in its binding and version, sent, and its answer read.

use std::time::Duration;

use a2a::card::Choice;
use a2a::error::{Error, ErrorKind};
use a2a::hops::HOPS_HEADER;
use a2a::http::Verb;
use a2a::jsonrpc::{self, Id};
use a2a::model::{Answer, Call, Event, Operation, OperationKind};
use a2a::version::{VERSION_HEADER, Version};
use a2a::wire::{self, Form};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use reqwest::Url;
use serde_json::Value;

use super::error::{PeerError, shown};
use super::events::{ANSWER_BYTES_MAX, Told, read_all};
use super::grpc;
use super::outside::Opened;
use super::peer::Agent;

/// The bindings that are spoken, in JSON, and where none of these is offered.
pub(super) const BINDINGS: [&str; 2] = [JSON_RPC, HTTP_JSON];
pub(super) const LAST_BINDING: &str = GRPC;
const GRPC: &str = "GRPC";
const JSON_RPC: &str = "JSONRPC";
const HTTP_JSON: &str = "HTTP+JSON";

/// How an answer is wrapped and spelled.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Manner {
    form: Form,
    kind: OperationKind,
    /// Of the request, if JSON-RPC wraps it.
    id: Option<Id>,
    /// The card does not say which version: what is no 0.3 may be 0.1.
    may_be_oldest: bool,
}

/// What a call that streams is answered with.
pub(super) enum Streamed {
    Events(Telling),
    /// The server answers at once instead.
    Whole(Event),
}

/// The events of a stream, in whichever binding.
pub(super) enum Telling {
    Json(Told, Manner),
    Grpc(grpc::Told),
}

impl Telling {
    /// The next event; none at the end.
    pub(super) async fn next(&mut self, silence_max: Duration) -> Result<Option<Event>, PeerError> {
        match self {
            Self::Json(told, manner) => {
                let data = told.next(silence_max).await?;
                data.map(|data| manner.event(&data)).transpose()
            }
            Self::Grpc(told) => told.next(silence_max).await,
        }
    }
}

impl Agent {
    /// Calls, and waits for the whole answer.
    pub(super) async fn call(
        &self,
        operation: Operation,
        hops: Option<u32>,
        wait_max: Duration,
    ) -> Result<Answer, PeerError> {
        let calling = async {
            if self.is_grpc() {
                let (opened, method) = self.open_grpc(operation, hops, wait_max).await?;
                return grpc::answer(opened, method, &self.settings().name).await;
            }
            let (opened, manner) = self.open(operation, hops, wait_max).await?;
            let status = opened.status;
            let body = read_all(opened.body, ANSWER_BYTES_MAX).await?;
            manner.answer(status, &body)
        };
        tokio::time::timeout(wait_max, calling).await.unwrap_or(Err(PeerError::TimedOut))
    }

    /// Calls, and gives the answer as it comes.
    pub(super) async fn stream(
        &self,
        operation: Operation,
        hops: Option<u32>,
        wait_max: Duration,
    ) -> Result<Streamed, PeerError> {
        if self.is_grpc() {
            let (opened, method) = self.open_grpc(operation, hops, wait_max).await?;
            let told = grpc::Told::new(opened, method, &self.settings().name)?;
            return Ok(Streamed::Events(Telling::Grpc(told)));
        }
        let (opened, manner) = self.open(operation, hops, wait_max).await?;
        let kind = opened.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_stream = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
        if is_stream && opened.status.is_success() {
            return Ok(Streamed::Events(Telling::Json(Told::new(opened.body), manner)));
        }
        let status = opened.status;
        let body = tokio::time::timeout(wait_max, read_all(opened.body, ANSWER_BYTES_MAX));
        let body = body.await.map_err(|_| PeerError::TimedOut)??;
        manner.whole_event(status, &body).map(Streamed::Whole)
    }

    async fn open(
        &self,
        operation: Operation,
        hops: Option<u32>,
        wait_max: Duration,
    ) -> Result<(Opened, Manner), PeerError> {
        let id = Id::Text(self.peers().fresh()?);
        let (url, request, manner) =
            written(self.choice(), self.version(), self.url(), &self.of(operation), id)?;
        Ok((self.sent(&url, request, hops, wait_max).await?, manner))
    }

    async fn open_grpc(
        &self,
        operation: Operation,
        hops: Option<u32>,
        wait_max: Duration,
    ) -> Result<(Opened, a2a::grpc::Method), PeerError> {
        let (url, request, method) =
            grpc::written(self.version(), self.url(), &self.of(operation))?;
        Ok((self.sent(&url, request, hops, wait_max).await?, method))
    }

    fn of(&self, operation: Operation) -> Call {
        Call { tenant: self.choice().interface.tenant.clone(), operation }
    }

    fn is_grpc(&self) -> bool {
        self.choice().interface.binding == GRPC
    }

    async fn sent(
        &self,
        url: &Url,
        mut request: Request<Vec<u8>>,
        hops: Option<u32>,
        wait_max: Duration,
    ) -> Result<Opened, PeerError> {
        if let Some(hops) = hops {
            request.headers_mut().insert(HOPS_HEADER, HeaderValue::from(hops));
        }
        self.peers().open(self.settings(), url, request, wait_max).await
    }
}

/// Writes a call as the chosen binding and version have it.
pub(super) fn written(
    choice: &Choice,
    version: Version,
    url: &Url,
    call: &Call,
    id: Id,
) -> Result<(Url, Request<Vec<u8>>, Manner), PeerError> {
    let kind = call.operation.kind();
    let is_rpc = choice.interface.binding == JSON_RPC;
    let may_be_oldest = choice.may_be_oldest;
    let (mut request, url, manner) = if is_rpc {
        let form = Form::from(version);
        let params = wire::write_call(form, call).map_err(unsayable)?;
        let method = wire::method(version, kind).unwrap_or_default();
        let body = jsonrpc::write_request(&id, method, params).to_string();
        let mut request = Request::new(body.into_bytes());
        *request.method_mut() = Method::POST;
        (request, url.clone(), Manner { form, kind, id: Some(id), may_be_oldest })
    } else {
        let call = a2a::http::write_call(version, call).map_err(unsayable)?;
        let mut url = url.clone();
        url.set_path(&format!("{}{}", url.path().trim_end_matches('/'), call.path));
        for (name, value) in &call.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let body = call.body.map(|body| body.to_string()).unwrap_or_default();
        let mut request = Request::new(body.into_bytes());
        *request.method_mut() = match call.verb {
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
            Verb::Delete => Method::DELETE,
        };
        let form = if version == Version::V1_0 { Form::V1_0 } else { Form::V0_3Proto };
        (request, url, Manner { form, kind, id: None, may_be_oldest: false })
    };
    let accepted = match (kind.streams(), is_rpc) {
        (true, _) => "text/event-stream, application/json",
        (false, true) => "application/json",
        (false, false) => "application/a2a+json, application/json",
    };
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static(accepted));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // Clients of older versions never had the header, and their servers need not know it.
    if version == Version::V1_0 {
        headers.insert(VERSION_HEADER, HeaderValue::from_static(version.as_str()));
    }
    Ok((url, request, manner))
}

impl Manner {
    fn answer(&self, status: StatusCode, body: &[u8]) -> Result<Answer, PeerError> {
        let result = self.result(status, body)?;
        let answer = wire::read_answer(self.form, self.kind, &result);
        let answer = answer.or_else(|error| match self.oldest() {
            Some(form) => wire::read_answer(form, self.kind, &result),
            None => Err(error),
        });
        Ok(answer?)
    }

    /// An event of a stream.
    pub(super) fn event(&self, data: &str) -> Result<Event, PeerError> {
        let value: Value = serde_json::from_str(data).map_err(|_| no_json())?;
        let value = match &self.id {
            Some(id) => jsonrpc::read_response(id, value)?,
            None if value.get("error").is_some_and(Value::is_object) => {
                return Err(Error::from_http(500, &value).into());
            }
            None => value,
        };
        self.read_event(&value)
    }

    fn whole_event(&self, status: StatusCode, body: &[u8]) -> Result<Event, PeerError> {
        let result = self.result(status, body)?;
        self.read_event(&result)
    }

    fn read_event(&self, value: &Value) -> Result<Event, PeerError> {
        let event = wire::read_event(self.form, value);
        let event = event.or_else(|error| match self.oldest() {
            Some(form) => wire::read_event(form, value),
            None => Err(error),
        });
        Ok(event?)
    }

    /// What is inside an answer, or what it refuses with.
    fn result(&self, status: StatusCode, body: &[u8]) -> Result<Value, PeerError> {
        let value = serde_json::from_slice::<Value>(body);
        match (&self.id, value) {
            (Some(id), Ok(value)) if status.is_success() || value.get("error").is_some() => {
                Ok(jsonrpc::read_response(id, value)?)
            }
            (None, Ok(value)) if status.is_success() => Ok(value),
            (None, Ok(value)) => Err(Error::from_http(status.as_u16(), &value).into()),
            // A delete may be answered with nothing.
            (None, Err(_)) if status.is_success() && body.is_empty() => Ok(Value::Null),
            (_, Err(_)) if status.is_success() => Err(no_json()),
            (_, _) if status.is_server_error() => {
                Err(PeerError::Down(format!("the agent answers with status {status}")))
            }
            (_, _) => {
                let kind = ErrorKind::InvalidAgentResponse;
                let words = shown(&format!("HTTP {status}"));
                Err(PeerError::Refused { kind, words })
            }
        }
    }

    fn oldest(&self) -> Option<Form> {
        self.may_be_oldest.then_some(Form::V0_1)
    }
}

pub(super) fn unsayable(error: Error) -> PeerError {
    PeerError::Unusable(error.message)
}

fn no_json() -> PeerError {
    let kind = ErrorKind::InvalidAgentResponse;
    PeerError::Refused { kind, words: "something that is no JSON".to_owned() }
}
