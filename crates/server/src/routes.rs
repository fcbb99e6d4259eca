//! The route table: the router is built from it alone, so that a route outside it cannot exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent::identity::Scope;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{self, MethodRouter};
use http::header::{ALLOW, HeaderValue};
use http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::cors::{self, ForeignPage};
use crate::guard::{Guard, guard};
use crate::problem::Problem;
use crate::{Shared, openapi, operations};

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody, without credentials or a quota: bytes that are in memory and the same for everybody, as the page's own.
    Fixed,
    /// Anybody, without credentials.
    Public,
    /// Anybody; whoever sends credentials is known by them, and may see more.
    Open,
    /// A caller who holds the scope.
    Needs(Scope),
    /// The owner of the data folder, known by the token in it: for what concerns every tenant.
    Owner,
}

/// Gives the schema of a type, once it is asked for.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What a route takes as its body.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    Nothing,
    Json(SchemaOf),
    /// Bytes of this media type.
    Bytes(&'static str),
    /// JSON, or a form with the same fields and a part `file`.
    Upload(SchemaOf),
}

/// What a route answers when all is well.
#[derive(Debug, Clone, Copy)]
pub struct Gives {
    pub status: StatusCode,
    pub content: Content,
}

#[derive(Debug, Clone, Copy)]
pub enum Content {
    Nothing,
    Json(SchemaOf),
    /// Something of this media type.
    Other(&'static str),
}

/// All that is known of a route but its handler.
#[derive(Debug, Clone)]
pub struct Row {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    pub summary: &'static str,
    /// The part of the API it belongs to.
    pub tag: &'static str,
    pub takes: Takes,
    /// Its own limit on the body, if it has one.
    pub body_bytes_max: Option<u64>,
    pub query: Option<SchemaOf>,
    pub gives: Vec<Gives>,
}

/// One row of the table and the function behind it.
pub struct Route<S> {
    pub row: Row,
    handler: MethodRouter<S>,
}

impl<S: Clone + Send + Sync + 'static> Route<S> {
    pub fn get<H: Handler<T, S>, T: 'static>(
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: H,
    ) -> Self {
        Self::new(Method::GET, path, access, summary, routing::get(handler))
    }

    pub fn post<H: Handler<T, S>, T: 'static>(
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: H,
    ) -> Self {
        Self::new(Method::POST, path, access, summary, routing::post(handler))
    }

    pub fn put<H: Handler<T, S>, T: 'static>(
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: H,
    ) -> Self {
        Self::new(Method::PUT, path, access, summary, routing::put(handler))
    }

    pub fn patch<H: Handler<T, S>, T: 'static>(
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: H,
    ) -> Self {
        Self::new(Method::PATCH, path, access, summary, routing::patch(handler))
    }

    pub fn delete<H: Handler<T, S>, T: 'static>(
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: H,
    ) -> Self {
        Self::new(Method::DELETE, path, access, summary, routing::delete(handler))
    }

    fn new(
        method: Method,
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: MethodRouter<S>,
    ) -> Self {
        let row = Row {
            method,
            path,
            access,
            summary,
            tag: "other",
            takes: Takes::Nothing,
            body_bytes_max: None,
            query: None,
            gives: Vec::new(),
        };
        Self { row, handler }
    }

    /// The part of the API it belongs to.
    #[must_use]
    pub fn tag(mut self, tag: &'static str) -> Self {
        self.row.tag = tag;
        self
    }

    /// Takes a JSON body of this type, which its handler reads with [`Json`](crate::input::Json).
    #[must_use]
    pub fn takes<T: JsonSchema>(mut self) -> Self {
        self.row.takes = Takes::Json(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// Takes JSON of this type, or a form with the same fields and a part `file`.
    #[must_use]
    pub fn takes_upload<T: JsonSchema>(mut self) -> Self {
        self.row.takes = Takes::Upload(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// Takes a body of bytes.
    #[must_use]
    pub fn takes_bytes(mut self, media_type: &'static str) -> Self {
        self.row.takes = Takes::Bytes(media_type);
        self
    }

    /// Takes larger, or only smaller, bodies than others.
    #[must_use]
    pub fn body_bytes_max(mut self, bytes_max: u64) -> Self {
        self.row.body_bytes_max = Some(bytes_max);
        self
    }

    /// Takes a query of this type, which its handler reads with [`Query`](crate::input::Query).
    #[must_use]
    pub fn query<T: JsonSchema>(mut self) -> Self {
        self.row.query = Some(SchemaGenerator::root_schema_for::<T>);
        self
    }

    /// Answers with JSON of this type.
    #[must_use]
    pub fn gives<T: JsonSchema>(mut self, status: StatusCode) -> Self {
        let content = Content::Json(SchemaGenerator::subschema_for::<T>);
        self.row.gives.push(Gives { status, content });
        self
    }

    /// Answers with something else than JSON, such as `text/event-stream`.
    #[must_use]
    pub fn gives_other(mut self, status: StatusCode, media_type: &'static str) -> Self {
        self.row.gives.push(Gives { status, content: Content::Other(media_type) });
        self
    }

    /// Answers with an empty body.
    #[must_use]
    pub fn gives_nothing(mut self, status: StatusCode) -> Self {
        self.row.gives.push(Gives { status, content: Content::Nothing });
        self
    }
}

/// A table that cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("{method} {path} is in the route table twice")]
    Twice { method: Method, path: &'static str },
    #[error("the path {path:?} is not one: it starts with / and has names in braces")]
    Path { path: &'static str },
    #[error("the body of {method} {path} is lenient: give its type #[serde(deny_unknown_fields)]")]
    Lenient { method: Method, path: &'static str },
}

/// All routes of a server, the operational ones included.
pub struct Table<S> {
    routes: Vec<Route<S>>,
}

impl<S: Clone + Send + Sync + 'static> Table<S> {
    /// The given routes beside the page, signing in to it, `/health/…`, `/metrics` and `/api/openapi.json`.
    pub fn new(routes: Vec<Route<S>>, metrics_access: Access) -> Result<Self, TableError> {
        let mut all = operations::routes(metrics_access);
        all.extend(crate::visiting::routes());
        all.extend(crate::page::routes());
        all.extend(routes);
        check(all.iter().map(|route| &route.row))?;
        Ok(Self { routes: all })
    }

    /// What the table says of each route.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.routes.iter().map(|route| &route.row)
    }

    /// The OpenAPI document of the table.
    #[must_use]
    pub fn openapi(&self, version: &str) -> serde_json::Value {
        openapi::document(self.rows(), version)
    }

    pub(crate) fn router(self, shared: &Arc<Shared>, state: S) -> Router {
        let mut paths: BTreeMap<&'static str, (MethodRouter<S>, Vec<Method>)> = BTreeMap::new();
        for Route { row, handler } in self.routes {
            let (path, method) = (row.path, row.method.clone());
            let layer =
                from_fn_with_state(Guard { shared: Arc::clone(shared), row: row.into() }, guard);
            let guarded = handler.route_layer(layer);
            let (before, mut methods) = paths.remove(path).unwrap_or_default();
            methods.push(method);
            paths.insert(path, (before.merge(guarded), methods));
        }
        let mut router = Router::new();
        for (path, (handlers, methods)) in paths {
            let other = move |request: Request| std::future::ready(other(&methods, &request));
            router = router.route(path, handlers.fallback(other));
        }
        // The guard limits bodies by route; the framework's own limit would only be a second, hidden one.
        let router = router.layer(DefaultBodyLimit::disable());
        router.fallback(|| std::future::ready(Problem::no_route())).with_state(state)
    }
}

fn check<'a>(rows: impl Iterator<Item = &'a Row>) -> Result<(), TableError> {
    let mut seen = BTreeSet::new();
    for row in rows {
        let (method, path) = (row.method.clone(), row.path);
        let Some(shape) = shape(path) else { return Err(TableError::Path { path }) };
        if !seen.insert((shape, method.to_string())) {
            return Err(TableError::Twice { method, path });
        }
        if let Takes::Json(schema) | Takes::Upload(schema) = row.takes
            && openapi::is_lenient(schema)
        {
            return Err(TableError::Lenient { method, path });
        }
    }
    Ok(())
}

/// The path with its names left out: two paths of one shape answer to the same addresses.
fn shape(path: &str) -> Option<String> {
    let mut shape = String::new();
    for part in path.strip_prefix('/')?.split('/') {
        let name = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let braces = |text: &str| text.contains(['{', '}']);
        shape.push('/');
        match name {
            Some(name) if name.is_empty() || name == "*" || braces(name) => return None,
            Some(name) => shape.push_str(if name.starts_with('*') { "{*}" } else { "{}" }),
            None if braces(part) => return None,
            None => shape.push_str(part),
        }
    }
    Some(shape)
}

/// The answer to a method that the table does not have: to a browser that asks for an allowed page, which it has.
fn other(methods: &[Method], request: &Request) -> Response {
    let mut allowed: Vec<&str> = methods.iter().map(Method::as_str).collect();
    if allowed.contains(&"GET") {
        allowed.push("HEAD");
    }
    let list = allowed.join(", ");
    let value = HeaderValue::from_str(&list).unwrap_or(HeaderValue::from_static(""));
    let is_allowed_page = request.extensions().get::<ForeignPage>().is_some();
    if is_allowed_page && cors::is_preflight(request.method(), request.headers()) {
        return cors::preflight(&value);
    }
    let problem = Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "wrong_method",
        "this address does not take that method",
        format!("It takes {list}."),
        "Use one of those; /api/openapi.json says what each does.",
    );
    problem.with_header(ALLOW, value).into_response()
}
