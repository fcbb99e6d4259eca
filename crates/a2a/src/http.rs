//! HTTP+JSON: which verb and path ask for what, in 1.0 and in 0.3.

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind};
use crate::ids::MessageId;
use crate::model::{Call, Operation, OperationKind};
use crate::percent::{self, decoded};
use crate::version::{Bare, Refused, Version};
use crate::wire::{self, Form};

/// Query parameters that are read: more than any operation has.
const PARAMETERS_MAX: usize = 32;

/// The verbs that the protocol uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Get,
    Post,
    Delete,
}

/// What a verb and a path ask for; the rest stands in the query and the body.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    pub form: Form,
    pub kind: OperationKind,
    tenant: Option<String>,
    task: Option<String>,
    config: Option<String>,
}

/// A request to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpCall {
    pub verb: Verb,
    /// Below the interface's URL, with its leading slash, and encoded.
    pub path: String,
    /// Names and values, not yet encoded.
    pub query: Vec<(String, String)>,
    pub body: Option<Value>,
}

/// Says what a path below the interface's URL asks for, with or without a slash at its end.
///
/// 0.3 has its paths under `/v1`. A caller that names 1.0 is never taken for one of 0.3: `v1` is a tenant then.
///
/// # Errors
/// In the version that the caller speaks, if there is no such path or nobody speaks that version.
pub fn route(verb: Verb, path: &str, header: Option<&str>, bare: Bare) -> Result<Route, Refused> {
    let header = header.map(str::trim).filter(|header| !header.is_empty());
    let refused = |version, kind: ErrorKind| Refused { version, error: Error::of(kind) };
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let old = match segments.split_first() {
        Some((&"v1", rest)) => find(Form::V0_3Proto, verb, rest),
        _ => None,
    };
    match header.map(Version::read) {
        Some(None) => Err(refused(Version::V1_0, ErrorKind::VersionNotSupported)),
        Some(Some(Version::V1_0)) => find(Form::V1_0, verb, &segments)
            .ok_or_else(|| refused(Version::V1_0, ErrorKind::MethodNotFound)),
        Some(Some(_)) => old.ok_or_else(|| refused(Version::V0_3, ErrorKind::MethodNotFound)),
        None => match (old, find(Form::V1_0, verb, &segments), bare) {
            (Some(route), _, _) | (None, Some(route), Bare::Serve) => Ok(route),
            (None, Some(_), Bare::Refuse) => {
                Err(refused(Version::V1_0, ErrorKind::VersionNotSupported))
            }
            (None, None, _) => Err(refused(Version::V0_3, ErrorKind::MethodNotFound)),
        },
    }
}

/// The media type of an answer: 1.0 has its own, unless the caller asks for plain JSON; older versions have plain JSON.
#[must_use]
pub fn media_type(version: Version, accept: Option<&str>) -> &'static str {
    const OWN: &str = "application/a2a+json";
    const PLAIN: &str = "application/json";
    let accepted = accept.unwrap_or_default().split(',');
    let accepted: Vec<&str> =
        accepted.map(|range| range.split(';').next().unwrap_or_default().trim()).collect();
    let asks = |wanted: &str| accepted.iter().any(|range| range.eq_ignore_ascii_case(wanted));
    if version == Version::V1_0 && (asks(OWN) || !asks(PLAIN)) { OWN } else { PLAIN }
}

/// Whether the body of a request may be of a media type. Some clients send none, and some of either version the other's.
#[must_use]
pub fn is_readable(content_type: Option<&str>) -> bool {
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let known = ["", "application/json", "application/a2a+json"];
    known.iter().any(|known| known.eq_ignore_ascii_case(essence))
}

fn find(form: Form, verb: Verb, segments: &[&str]) -> Option<Route> {
    if let Some(route) = find_untenanted(form, verb, segments) {
        return Some(route);
    }
    let (tenant, rest) = segments.split_first()?;
    let route = find_untenanted(form, verb, rest).filter(|_| form == Form::V1_0)?;
    Some(Route { tenant: Some(decoded(tenant)?), ..route })
}

fn find_untenanted(form: Form, verb: Verb, segments: &[&str]) -> Option<Route> {
    use OperationKind as Kind;
    use Verb::{Delete, Get, Post};
    let (card, has_list) =
        if form == Form::V1_0 { ("extendedAgentCard", true) } else { ("card", false) };
    let (kind, task, config) = match (verb, segments) {
        (Post, ["message:send"]) => (Kind::Send, None, None),
        (Post, ["message:stream"]) => (Kind::Stream, None, None),
        (Get, ["tasks"]) if has_list => (Kind::List, None, None),
        (Get, [name]) if *name == card => (Kind::ExtendedCard, None, None),
        // A proto of 0.3 has the singular.
        (verb, ["tasks" | "task", task]) => {
            let (task, action) =
                task.rsplit_once(':').map_or((*task, ""), |(task, action)| (task, action));
            match (verb, action) {
                (Get, "") => (Kind::Get, Some(task), None),
                (Post, "cancel") => (Kind::Cancel, Some(task), None),
                // The proto says GET, the text POST.
                (Get | Post, "subscribe") => (Kind::Subscribe, Some(task), None),
                _ => return None,
            }
        }
        (Post, ["tasks" | "task", task, "pushNotificationConfigs"]) => {
            (Kind::CreatePush, Some(*task), None)
        }
        (Get, ["tasks" | "task", task, "pushNotificationConfigs"]) => {
            (Kind::ListPush, Some(*task), None)
        }
        (Get, ["tasks" | "task", task, "pushNotificationConfigs", config]) => {
            (Kind::GetPush, Some(*task), Some(*config))
        }
        (Delete, ["tasks" | "task", task, "pushNotificationConfigs", config]) => {
            (Kind::DeletePush, Some(*task), Some(*config))
        }
        _ => return None,
    };
    let task = task.map(decoded);
    let config = config.map(decoded);
    if task == Some(None) || config == Some(None) {
        return None;
    }
    Some(Route { form, kind, tenant: None, task: task.flatten(), config: config.flatten() })
}

/// Reads what is asked, with the query as it stands in the URL.
///
/// # Errors
/// If a parameter is missing, wrong or beyond a limit; the error says which.
pub fn read_call(
    route: &Route,
    query: &str,
    body: Option<Value>,
    fresh: &MessageId,
) -> Result<Call, Error> {
    let mut params = match body {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(Error::violation("body", "is an object")),
    };
    for pair in query.split('&').filter(|pair| !pair.is_empty()).take(PARAMETERS_MAX) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")));
        let (Some(name), Some(value)) = (name, value) else {
            return Err(Error::violation("query", "is percent-encoded UTF-8"));
        };
        params.entry(name).or_insert(Value::String(value));
    }
    place(route, &mut params)?;
    wire::read_call(route.form, route.kind, &Value::Object(params), fresh)
}

/// Puts what the path says where the version's messages have it.
fn place(route: &Route, params: &mut Map<String, Value>) -> Result<(), Error> {
    let mut put = |name: &str, value: String| {
        let said = params.insert(name.to_owned(), Value::String(value.clone()));
        match said {
            Some(Value::String(said)) if !said.is_empty() && said != value => {
                Err(Error::violation(name, "is the one of the path"))
            }
            _ => Ok(()),
        }
    };
    if let Some(tenant) = &route.tenant {
        put("tenant", tenant.clone())?;
    }
    let Some(task) = &route.task else { return Ok(()) };
    let of_task =
        matches!(route.kind, OperationKind::Get | OperationKind::Cancel | OperationKind::Subscribe);
    match (route.form, &route.config) {
        (Form::V0_3Proto, Some(config)) => {
            put("name", format!("tasks/{task}/pushNotificationConfigs/{config}"))
        }
        (Form::V0_3Proto, None) if of_task => put("name", format!("tasks/{task}")),
        (Form::V0_3Proto, None) => {
            // The request's own parent may name the collection; the path is what counts.
            put("parent", format!("tasks/{task}")).or(Ok(()))
        }
        (_, Some(config)) => put("taskId", task.clone()).and_then(|()| put("id", config.clone())),
        (_, None) if of_task => put("id", task.clone()),
        (_, None) => put("taskId", task.clone()),
    }
}

/// Writes a request. The tenant goes into the path, as a gateway in between may route by it.
///
/// # Errors
/// If the version has no HTTP+JSON, or cannot say it.
pub fn write_call(version: Version, call: &Call) -> Result<HttpCall, Error> {
    let form = match version {
        Version::V1_0 => Form::V1_0,
        Version::V0_3 => Form::V0_3Proto,
        Version::V0_1 | Version::V0_2 => {
            let words = format!("A2A {version} has no HTTP+JSON");
            return Err(Error::new(ErrorKind::UnsupportedOperation, words));
        }
    };
    let (verb, path) = verb_and_path(form, &call.operation);
    let prefix = match (form, &call.tenant) {
        (Form::V1_0, Some(tenant)) => format!("/{}", encoded(tenant)),
        (Form::V1_0, None) => String::new(),
        _ => "/v1".to_owned(),
    };
    let Value::Object(mut params) = wire::write_call(form, call)? else {
        return Ok(HttpCall { verb, path: prefix + &path, query: Vec::new(), body: None });
    };
    if matches!(verb, Verb::Post) && !wire::names_only_a_task(&call.operation) {
        if form == Form::V1_0 {
            params.remove("tenant");
        }
        return Ok(HttpCall {
            verb,
            path: prefix + &path,
            query: Vec::new(),
            body: Some(Value::Object(params)),
        });
    }
    let in_path = ["tenant", "id", "taskId", "name", "parent"];
    let query = params.into_iter().filter(|(name, _)| !in_path.contains(&name.as_str()));
    let query = query.map(|(name, value)| (name, as_text(value))).collect();
    Ok(HttpCall { verb, path: prefix + &path, query, body: None })
}

fn verb_and_path(form: Form, operation: &Operation) -> (Verb, String) {
    let configs = |task: &crate::ids::TaskId| {
        format!("/tasks/{}/pushNotificationConfigs", encoded(task.as_str()))
    };
    match operation {
        Operation::Send(_) => (Verb::Post, "/message:send".to_owned()),
        Operation::Stream(_) => (Verb::Post, "/message:stream".to_owned()),
        Operation::Get { task, .. } => (Verb::Get, format!("/tasks/{}", encoded(task.as_str()))),
        Operation::List(_) => (Verb::Get, "/tasks".to_owned()),
        Operation::Cancel { task, .. } => {
            (Verb::Post, format!("/tasks/{}:cancel", encoded(task.as_str())))
        }
        Operation::Subscribe { task, .. } => {
            (Verb::Get, format!("/tasks/{}:subscribe", encoded(task.as_str())))
        }
        Operation::CreatePush(config) => {
            (Verb::Post, config.task.as_ref().map_or_else(String::new, configs))
        }
        Operation::GetPush { task, config, .. } => {
            let config = config.as_ref().map_or_else(String::new, |id| encoded(id.as_str()));
            (Verb::Get, format!("{}/{config}", configs(task)))
        }
        Operation::ListPush { task, .. } => (Verb::Get, configs(task)),
        Operation::DeletePush { task, config, .. } => {
            (Verb::Delete, format!("{}/{}", configs(task), encoded(config.as_str())))
        }
        Operation::ExtendedCard if form == Form::V1_0 => {
            (Verb::Get, "/extendedAgentCard".to_owned())
        }
        Operation::ExtendedCard => (Verb::Get, "/card".to_owned()),
    }
}

fn as_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A segment of a path: everything but RFC 3986's unreserved characters is encoded.
fn encoded(text: &str) -> String {
    percent::encoded(text, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

#[cfg(test)]
mod tests;
