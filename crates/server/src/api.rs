//! The native API: documents, search, conversations, research, tools, jobs, keys, costs and the audit log.

mod admin;
pub mod chat;
mod documents;
pub mod jobs;
mod owner;
mod research;
mod search;
pub mod start;
pub mod tools;
pub mod wire;

use std::ops::Deref;
use std::sync::Arc;

use agent::identity::Scope;
use engine::catalogue::Catalogue;
use engine::chat::Copilot;
use engine::keys::Keyring;
use engine::research::Research;
use engine::tasks::Tasks;
use engine::tools::{Desk, Host};
use engine::{EngineError, Knowledge};
use http::StatusCode;

use crate::api::start::{Doctor, Sample};
use crate::problem::Problem;
use crate::routes::{Access, Route};

/// What the handlers of the API work with: each request has it for itself, so that there is one of it for all.
#[derive(Clone)]
pub struct Api(Arc<ApiParts>);

impl Deref for Api {
    type Target = ApiParts;

    fn deref(&self) -> &ApiParts {
        &self.0
    }
}

impl From<ApiParts> for Api {
    fn from(parts: ApiParts) -> Self {
        Self(Arc::new(parts))
    }
}

/// What an [`Api`] is made of.
pub struct ApiParts {
    pub knowledge: Knowledge,
    pub keys: Keyring,
    pub copilot: Copilot,
    pub research: Research,
    /// Runs what goes on after its request has been answered.
    pub tasks: Tasks,
    pub host: Host,
    /// Where questions about tools wait for those who call over the wire.
    pub desk: Desk,
    pub doctor: Arc<dyn Doctor>,
    /// Documents to try Saem with.
    pub samples: Arc<[Sample]>,
    pub catalogue: Catalogue,
    /// The address of this server as others know it, for what the catalogue publishes.
    pub registry_address: Option<String>,
    /// Whether this server is an agent itself, with a card of its own.
    pub is_agent: bool,
}

const READ: Access = Access::Needs(Scope::Read);
const WRITE: Access = Access::Needs(Scope::Write);
const ADMIN: Access = Access::Needs(Scope::Admin);
const OWNER: Access = Access::Owner;

/// All routes of the API. `upload_bytes_max` bounds the body of an upload.
#[must_use]
pub fn routes(upload_bytes_max: u64) -> Vec<Route<Api>> {
    let mut routes = documents::routes(upload_bytes_max);
    routes.extend(search::routes());
    routes.extend(chat::routes());
    routes.extend(research::routes());
    routes.extend(crate::ag_ui::routes());
    routes.extend(crate::openai::routes());
    routes.extend(tools::routes());
    routes.extend(crate::registry::routes());
    routes.extend(jobs::routes());
    routes.extend(start::routes());
    routes.extend(admin::routes());
    routes.extend(owner::routes());
    routes
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Absent { what } => Self::not_found(what),
            EngineError::Refused(why) => Self::refused(why),
            EngineError::Conflict(why) => Self::conflict(why),
            EngineError::Port(error) => error.into(),
        }
    }
}

/// A path that cannot be an id names nothing: it looks like an id that is not there.
fn read_id<T: std::str::FromStr>(text: &str, what: &'static str) -> Result<T, Problem> {
    text.parse().map_err(|_| Problem::not_found(what))
}

const OK: StatusCode = StatusCode::OK;
