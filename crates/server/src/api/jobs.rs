//! Accepted work over the wire.

use axum::extract::State;

use super::wire::{JobBody, JobsBody};
use super::{Api, OK, READ};
use crate::guard::Caller;
use crate::input::{Json, Path};
use crate::problem::Problem;
use crate::routes::Route;

/// Jobs that are listed.
const LISTED: usize = 100;

pub(super) fn routes() -> Vec<Route<Api>> {
    let routes = vec![
        Route::get("/api/jobs", READ, "Lists the latest jobs", list).gives::<JobsBody>(OK),
        Route::get("/api/jobs/{id}", READ, "Shows how far a job is", show).gives::<JobBody>(OK),
    ];
    routes.into_iter().map(|route| route.tag("jobs")).collect()
}

async fn list(State(api): State<Api>, principal: Caller) -> Result<Json<JobsBody>, Problem> {
    let jobs = api.knowledge.jobs(&principal.tenant, LISTED).await?;
    Ok(Json(JobsBody { jobs: jobs.into_iter().map(Into::into).collect() }))
}

async fn show(
    State(api): State<Api>,
    principal: Caller,
    Path(id): Path<String>,
) -> Result<Json<JobBody>, Problem> {
    Ok(Json(api.knowledge.job(&principal.tenant, &id).await?.into()))
}
