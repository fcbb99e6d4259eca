//! For whoever opens a Saem that has nothing in it: what is there and what is missing, and documents to try it with.

use agent::names::TenantId;
use agent::ports::Later;
use axum::extract::State;
use engine::{Order, Upload};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::wire::JobsBody;
use super::{ADMIN, Api, OK, WRITE};
use crate::guard::Caller;
use crate::input::Json;
use crate::problem::Problem;
use crate::routes::Route;

/// Looks at an installation.
pub trait Doctor: Send + Sync {
    /// What is configured, what is missing, and what each missing thing would add.
    fn look<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Vec<FindingBody>>;
}

/// A document to try Saem with.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub collection: &'static str,
    pub source: &'static str,
    pub bytes: &'static [u8],
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingBody {
    pub what: String,
    pub well: bool,
    pub says: String,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingsBody {
    pub findings: Vec<FindingBody>,
}

pub(super) fn routes() -> Vec<Route<Api>> {
    let routes = vec![
        Route::get("/api/doctor", ADMIN, "Says what is configured and what is missing", doctor)
            .gives::<FindingsBody>(OK),
        Route::post("/api/demo", WRITE, "Takes the demo's documents in", demo)
            .gives::<JobsBody>(StatusCode::ACCEPTED),
    ];
    routes.into_iter().map(|route| route.tag("administration")).collect()
}

async fn doctor(State(api): State<Api>, caller: Caller) -> Result<Json<FindingsBody>, Problem> {
    let findings = api.doctor.look(&caller.tenant).await?;
    Ok(Json(FindingsBody { findings }))
}

/// The demo's documents, one job each; those that are known already cost nothing.
async fn demo(
    State(api): State<Api>,
    caller: Caller,
) -> Result<(StatusCode, Json<JobsBody>), Problem> {
    let mut jobs = Vec::new();
    for Sample { collection, source, bytes } in &*api.samples {
        let order = Order {
            collection: collection.parse()?,
            source: (*source).to_owned(),
            media_type: None,
            doc_type: None,
            mapping: None,
            is_address: false,
            updated_at: None,
        };
        let upload = Upload { order, bytes: bytes.to_vec(), idempotency: None };
        jobs.push(api.knowledge.accept(&caller, upload).await?.into());
    }
    Ok((StatusCode::ACCEPTED, Json(JobsBody { jobs })))
}
