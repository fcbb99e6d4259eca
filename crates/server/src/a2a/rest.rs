//! A2A as HTTP+JSON: 1.0 right below the agent's address, 0.3 below `v1`.

use std::sync::Arc;

use ::a2a::error::{Error, ErrorKind};
use ::a2a::http::{self as paths, Verb, is_readable, media_type};
use ::a2a::version::{Refused, Version};
use ::a2a::wire;
use axum::extract::Request;
use axum::response::Response;
use http::Method;
use serde_json::Value;

use super::calls::Outcome;
use super::{Agent, Asked, PATH, json, streams, with_extensions};
use crate::problem::Problem;

const OK: u16 = 200;

/// Where clients of 0.1 send JSON-RPC that put the method into the path, as python-a2a does.
const METHODS_BELOW: [&str; 4] =
    ["/tasks/send", "/tasks/sendSubscribe", "/tasks/get", "/tasks/cancel"];

impl Agent {
    pub(super) async fn rest(self: Arc<Self>, request: Request) -> Result<Response, Problem> {
        let asked = Asked::read(&self, request).await?;
        let path = asked.path.strip_prefix(PATH).unwrap_or_default();
        if asked.method == Method::POST && METHODS_BELOW.contains(&path) {
            return self.answer_rpc(&asked).await;
        }
        let refused = |version: Version, error: &Error| {
            let media_type = media_type(version, asked.accept.as_deref());
            json(error.kind.http(version), media_type, &error.to_http(version))
        };
        let verb = match asked.method {
            Method::POST => Verb::Post,
            Method::DELETE => Verb::Delete,
            _ => Verb::Get,
        };
        let bare = self.settings.bare_calls;
        let route = match paths::route(verb, path, asked.version.as_deref(), bare) {
            Ok(route) => route,
            Err(Refused { version, error }) => return Ok(refused(version, &error)),
        };
        let (form, version) = (route.form, route.form.version());
        let call = self.fresh().and_then(|fresh| {
            let body = body(&asked)?;
            paths::read_call(&route, &without_version(&asked.query), body, &fresh)
        });
        let outcome = match call {
            Ok(call) => self.perform(&asked, version, call).await,
            Err(error) => Err(error),
        };
        let response = match outcome {
            Ok(Outcome::Answer(answer)) => {
                let body = match wire::write_answer(form, &answer) {
                    // Some clients cannot read an answer without a body.
                    Value::Null => Value::Object(serde_json::Map::new()),
                    body => body,
                };
                json(OK, media_type(version, asked.accept.as_deref()), &body)
            }
            Ok(Outcome::Stream(watching)) => {
                let write = move |event: &_| wire::write_event(form, event);
                streams::events(watching, write, &asked)
            }
            Err(error) => refused(version, &error),
        };
        Ok(with_extensions(response, version, &self.active(&asked)))
    }
}

fn body(asked: &Asked) -> Result<Option<Value>, Error> {
    if asked.body.is_empty() {
        return Ok(None);
    }
    if !is_readable(asked.content_type.as_deref()) {
        return Err(Error::of(ErrorKind::ContentTypeNotSupported));
    }
    serde_json::from_slice(&asked.body).map(Some).map_err(|_| Error::of(ErrorKind::Parse))
}

/// The query without what is no parameter of an operation.
fn without_version(query: &str) -> String {
    let is_version = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        name.eq_ignore_ascii_case(::a2a::version::VERSION_HEADER)
    };
    query.split('&').filter(|pair| !is_version(pair)).collect::<Vec<_>>().join("&")
}
