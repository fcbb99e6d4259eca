//! Accepted work over the wire.

use std::time::Duration;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use super::wire::{JobBody, JobsBody};
use super::{Api, OK, READ};
use crate::guard::{Caller, Shutdown};
use crate::input::{Json, Path, Query};
use crate::problem::Problem;
use crate::routes::Route;

/// Jobs that are listed.
const LISTED: usize = 100;

/// Longest wait for a job's end, in seconds: proxies give up on a silent answer after 60.
pub const WAIT_SECONDS_MAX: u64 = 30;

pub(super) fn routes() -> Vec<Route<Api>> {
    let routes = vec![
        Route::get("/api/jobs", READ, "Lists the latest jobs", list).gives::<JobsBody>(OK),
        Route::get("/api/jobs/{id}", READ, "Shows how far a job is", show)
            .query::<ShowQuery>()
            .gives::<JobBody>(OK),
    ];
    routes.into_iter().map(|route| route.tag("jobs")).collect()
}

/// When the answer comes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShowQuery {
    /// Seconds to wait for the job's end, at most 30; at once, if left out.
    #[serde(default)]
    wait: u64,
}

async fn list(State(api): State<Api>, principal: Caller) -> Result<Json<JobsBody>, Problem> {
    let jobs = api.knowledge.jobs(&principal.tenant, LISTED).await?;
    Ok(Json(JobsBody { jobs: jobs.into_iter().map(Into::into).collect() }))
}

async fn show(
    State(api): State<Api>,
    principal: Caller,
    Shutdown(shutdown): Shutdown,
    Path(id): Path<String>,
    Query(query): Query<ShowQuery>,
) -> Result<Json<JobBody>, Problem> {
    let wait = Duration::from_secs(query.wait.min(WAIT_SECONDS_MAX));
    tokio::select! {
        finished = api.knowledge.finished(&principal.tenant, &id) => return Ok(Json(finished?.into())),
        () = tokio::time::sleep(wait) => {}
        () = shutdown.cancelled() => {}
    }
    Ok(Json(api.knowledge.job(&principal.tenant, &id).await?.into()))
}
