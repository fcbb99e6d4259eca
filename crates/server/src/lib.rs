//! What calls us: HTTP, its limits, identity and the API.

use std::sync::Arc;

use axum::Router;
use bytes::Bytes;

pub use jsonwebtoken::Algorithm;

use crate::listen::OpenStrands;
pub use crate::listen::{Drained, Strands, Tls, TlsError};
pub use crate::networks::{PathNetworks, PathNetworksError};

use crate::gate::{Gate, GateError};
use crate::health::ReadyCheck;
use crate::identity::Identity;
use crate::limits::Limits;
use crate::metrics::{HttpMetrics, Metrics};
use crate::quota::Quota;
use crate::routes::Table;

pub mod a2a;
mod ag_ui;
pub mod api;
pub mod body;
mod cors;
mod events;
pub mod gate;
pub mod guard;
pub mod health;
pub mod identity;
pub mod input;
pub mod limits;
mod listen;
pub mod mcp;
pub mod metrics;
mod networks;
pub mod openai;
mod openapi;
mod operations;
mod page;
pub mod problem;
mod quota;
pub mod registry;
pub mod rich;
pub mod routes;
mod visiting;
mod websocket;

/// How a server behaves: plain values.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub limits: Limits,
    /// Names under which the server may be called besides the loopback ones, with a port if only that one is meant.
    pub hosts: Vec<String>,
    /// Pages of other servers that may call this one, such as `https://portal.example.com`.
    pub origins: Vec<String>,
    /// Paths that are there for some networks alone.
    pub networks: Vec<PathNetworks>,
    /// The version that the API's description names.
    pub version: String,
}

/// What a server asks others for.
pub struct Parts {
    pub identity: Identity,
    pub metrics: Arc<Metrics>,
    pub ready: Vec<Arc<dyn ReadyCheck>>,
}

/// A server, ready to serve any number of listeners.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    router: Router,
    strands: OpenStrands,
}

/// What every request of a server shares.
pub(crate) struct Shared {
    limits: Limits,
    gate: Gate,
    networks: Vec<PathNetworks>,
    identity: Identity,
    quota: Quota,
    metrics: Arc<Metrics>,
    http: HttpMetrics,
    ready: Vec<Arc<dyn ReadyCheck>>,
    description: Bytes,
    version: String,
    connections: listen::Connections,
}

impl Server {
    /// A server with the routes of the table; `state` is handed to their handlers.
    pub fn new<S: Clone + Send + Sync + 'static>(
        settings: Settings,
        parts: Parts,
        table: Table<S>,
        state: S,
    ) -> Result<Self, GateError> {
        let Settings { limits, hosts, origins, networks, version } = settings;
        let Parts { identity, metrics, ready } = parts;
        let shared = Arc::new(Shared {
            gate: Gate::new(&hosts, &origins)?,
            networks,
            identity,
            quota: Quota::new(&limits),
            http: HttpMetrics::new(Arc::clone(&metrics)),
            metrics,
            ready,
            description: table.openapi(&version).to_string().into(),
            version,
            connections: listen::Connections::default(),
            limits,
        });
        let router = table.router(&shared, state);
        Ok(Self { shared, router, strands: OpenStrands::default() })
    }

    /// Serves connections in strands from now on, instead of where its listeners are.
    #[must_use]
    pub fn in_strands(self, strands: &Strands) -> Self {
        Self { strands: strands.open(), ..self }
    }
}
