//! A2A as JSON-RPC: one address for all versions, told apart by method and header.

use std::sync::Arc;

use ::a2a::error::{Error, ErrorKind};
use ::a2a::http::is_readable;
use ::a2a::ids::TaskId;
use ::a2a::jsonrpc::{self, Id, Malformed};
use ::a2a::model::OperationKind;
use ::a2a::version::{self, Refused, Selected, Version};
use ::a2a::wire::{self, Form};
use axum::extract::Request;
use axum::response::Response;
use serde_json::Value;

use super::calls::Outcome;
use super::{Agent, Asked, json, streams, with_extensions};
use crate::problem::Problem;

/// JSON-RPC answers 200, whatever happens.
const OK: u16 = 200;
const JSON: &str = "application/json";

impl Agent {
    pub(super) async fn rpc(self: Arc<Self>, request: Request) -> Result<Response, Problem> {
        let asked = Asked::read(&self, request).await?;
        self.answer_rpc(&asked).await
    }

    pub(super) async fn answer_rpc(&self, asked: &Asked) -> Result<Response, Problem> {
        let version = asked.version_of_errors();
        let refused = |id: &Id, version, error: &Error| {
            Ok(json(OK, JSON, &jsonrpc::write_error(id, version, error)))
        };
        if !is_readable(asked.content_type.as_deref()) {
            let error = Error::of(ErrorKind::ContentTypeNotSupported);
            return refused(&Id::Null, version, &error);
        }
        let request = match jsonrpc::read_request(&asked.body) {
            Ok(request) => request,
            Err(Malformed { id, error }) => return refused(&id, version, &error),
        };
        let selected = self.selected(asked, &request).await;
        let (version, kind) = match selected {
            Ok(selected) => selected,
            Err(Refused { version, error }) => return refused(&request.id, version, &error),
        };
        let form = Form::from(version);
        let call =
            self.fresh().and_then(|fresh| wire::read_call(form, kind, &request.params, &fresh));
        let outcome = match call {
            Ok(call) => self.perform(asked, version, call).await,
            Err(error) => Err(error),
        };
        let active = self.active(asked);
        let id = request.id;
        let response = match outcome {
            Ok(Outcome::Answer(answer)) => {
                let result = wire::write_answer(form, &answer);
                json(OK, JSON, &jsonrpc::write_result(&id, result))
            }
            Ok(Outcome::Stream(watching)) => {
                let write = move |event: &_| {
                    Some(jsonrpc::write_result(&id, wire::write_event(form, event)?))
                };
                streams::events(watching, write, asked)
            }
            // Clients of 0.x take nothing but a stream for an answer to these.
            Err(error) if kind.streams() && version < Version::V1_0 => {
                streams::single(&jsonrpc::write_error(&id, version, &error))
            }
            Err(error) => json(OK, JSON, &jsonrpc::write_error(&id, version, &error)),
        };
        Ok(with_extensions(response, version, &active))
    }

    /// The version and the operation of a request.
    async fn selected(
        &self,
        asked: &Asked,
        request: &jsonrpc::Request,
    ) -> Result<(Version, OperationKind), Refused> {
        let bare = self.settings.bare_calls;
        let selected = version::select(&request.method, asked.version.as_deref(), bare)?;
        let version = match selected {
            Selected::Version(version) => version,
            Selected::OfTask => {
                let id = request.params.get("id").and_then(Value::as_str);
                let id = id.and_then(|id| id.parse::<TaskId>().ok());
                let origin = match id {
                    Some(id) => self.service.origin(&asked.principal, &id).await,
                    None => None,
                };
                if origin == Some(Version::V0_1) { Version::V0_1 } else { Version::V0_3 }
            }
        };
        let error = || Error::of(ErrorKind::MethodNotFound);
        let kind = wire::kind_of(version, &request.method);
        kind.map(|kind| (version, kind)).ok_or_else(|| Refused { version, error: error() })
    }
}
