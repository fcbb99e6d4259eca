//! Research over the wire: runs are begun, watched, steered and read.

mod socket;
mod streams;

use agent::research::message::to_camel;
use agent::research::report::Report;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use engine::EngineError;
use engine::research::Line;
use http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::socket::Visit;
use super::wire::research::{ControlBody, MessagesBody, PlanBody, ResearchBody, RunBody, RunsBody};
use super::{Api, OK, READ, WRITE, read_id};
use crate::guard::{Caller, Shutdown, Standing};
use crate::input::{Json, Path, Query};
use crate::problem::Problem;
use crate::routes::Route;
use crate::websocket::{Handshake, handshake};

/// Largest question, plan or instruction, as JSON, in bytes: letters may be written as six.
const BODY_BYTES_MAX: u64 = 256 << 10;

/// Runs of a page, and messages of an answer, unless other numbers are asked for.
const PAGE: usize = 50;
const MESSAGES: usize = 500;

/// A report as a page: it looks like something, loads nothing and runs nothing.
const REPORT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

pub(super) fn routes() -> Vec<Route<Api>> {
    let routes = vec![
        Route::post("/api/research", READ, "Begins a research run", create)
            .takes::<ResearchBody>()
            .body_bytes_max(BODY_BYTES_MAX)
            .query::<CaseQuery>()
            .gives::<RunBody>(StatusCode::CREATED),
        Route::get("/api/research", READ, "Lists runs, the latest first", list)
            .query::<ListQuery>()
            .gives::<RunsBody>(OK),
        Route::get("/api/research/{id}", READ, "Shows where a run stands", show)
            .query::<CaseQuery>()
            .gives::<RunBody>(OK),
        Route::delete("/api/research/{id}", WRITE, "Forgets a run, and stops it first", forget)
            .gives_nothing(StatusCode::NO_CONTENT),
        Route::get("/api/research/{id}/messages", READ, "Shows what was said in a run", messages)
            .query::<MessagesQuery>()
            .gives::<MessagesBody>(OK),
        Route::get("/api/research/{id}/events", READ, "Tells what is said in a run", events)
            .query::<EventsQuery>()
            .gives_other(OK, "text/event-stream"),
        Route::get("/api/research/{id}/socket", READ, "Tells and steers a run", talk)
            .query::<EventsQuery>()
            .gives_nothing(StatusCode::SWITCHING_PROTOCOLS),
        Route::post("/api/research/{id}/control", READ, "Steers a run", control)
            .takes::<ControlBody>()
            .body_bytes_max(BODY_BYTES_MAX)
            .query::<CaseQuery>()
            .gives::<RunBody>(OK),
        Route::post("/api/research/{id}/plan", READ, "Approves, edits or refuses a plan", plan)
            .takes::<PlanBody>()
            .body_bytes_max(BODY_BYTES_MAX)
            .query::<CaseQuery>()
            .gives::<RunBody>(OK),
        Route::post(
            "/api/research/{id}/steps/{step}/again",
            READ,
            "Begins a run that does one step of a finished one anew",
            again,
        )
        .query::<CaseQuery>()
        .gives::<RunBody>(StatusCode::CREATED),
        Route::get("/api/research/{id}/report", READ, "Gives what a run came to", report)
            .query::<ReportQuery>()
            .gives_other(OK, "text/markdown")
            .gives_other(OK, "text/html")
            .gives_other(OK, "application/json"),
    ];
    routes.into_iter().map(|route| route.tag("research")).collect()
}

/// How fields are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Case {
    /// `query_id`.
    #[default]
    Snake,
    /// `queryId`.
    Camel,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CaseQuery {
    #[serde(default)]
    case: Case,
}

/// Which runs are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// Where the page before has ended.
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    case: Case,
}

/// Which messages are shown.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessagesQuery {
    /// The place of the last message that is known already.
    #[serde(default)]
    after: u64,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    case: Case,
}

/// From where on a run is told.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EventsQuery {
    /// The place of the last message that is known already; the header Last-Event-ID comes before it.
    #[serde(default)]
    after: u64,
    #[serde(default)]
    case: Case,
}

/// How a report is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReportQuery {
    /// `md`, `html`, `pdf`, `docx` or `json`.
    #[serde(default)]
    format: Option<String>,
    #[serde(default)]
    case: Case,
}

async fn create(
    State(api): State<Api>,
    caller: Caller,
    Query(query): Query<CaseQuery>,
    Json(body): Json<ResearchBody>,
) -> Result<Response, Problem> {
    let run = api.research.create(&caller, body.read()?).await?;
    let body = cased(query.case, &RunBody::from(run))?;
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

async fn list(
    State(api): State<Api>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<Value>, Problem> {
    let page = api.research.list(&caller, query.after, query.limit.unwrap_or(PAGE)).await?;
    let runs = page.items.into_iter().map(Into::into).collect();
    cased(query.case, &RunsBody { runs, next: page.next }).map(Json)
}

async fn show(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<CaseQuery>,
) -> Result<Json<Value>, Problem> {
    let run = api.research.view(&caller, read_id(&id, "run")?).await?;
    cased(query.case, &RunBody::from(run)).map(Json)
}

async fn forget(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    api.research.forget(&caller, read_id(&id, "run")?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn messages(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<MessagesQuery>,
) -> Result<Json<Value>, Problem> {
    let id = read_id(&id, "run")?;
    let run = api.research.view(&caller, id).await?.into();
    let limit = query.limit.unwrap_or(MESSAGES);
    let lines = api.research.messages(&caller, id, query.after, limit).await?;
    let messages = lines.iter().map(|line| message(line, Case::Snake)).collect();
    cased(query.case, &MessagesBody { messages, run }).map(Json)
}

async fn events(
    State(api): State<Api>,
    caller: Caller,
    Shutdown(shutdown): Shutdown,
    standing: Standing,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let after = streams::last_event(&headers)?.unwrap_or(query.after);
    let watching = api.research.watch(&caller, read_id(&id, "run")?, after).await?;
    Ok(streams::events(watching, query.case, shutdown, standing))
}

async fn talk(
    State(api): State<Api>,
    caller: Caller,
    Shutdown(shutdown): Shutdown,
    standing: Standing,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
    mut request: Request,
) -> Result<Response, Problem> {
    let id = read_id(&id, "run")?;
    let Handshake { answer, opening } = handshake(&mut request)?;
    let watching = api.research.watch(&caller, id, query.after).await?;
    let (research, principal, case) = (api.research.clone(), caller.0, query.case);
    let visit = Visit { research, principal, id, watching, case, shutdown, standing };
    api.tasks.spawn_here(visit.talk(opening));
    Ok(answer)
}

async fn control(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<CaseQuery>,
    Json(body): Json<ControlBody>,
) -> Result<Json<Value>, Problem> {
    let run = api.research.steer(&caller, read_id(&id, "run")?, body.read()?).await?;
    cased(query.case, &RunBody::from(run)).map(Json)
}

async fn plan(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<CaseQuery>,
    Json(body): Json<PlanBody>,
) -> Result<Json<Value>, Problem> {
    let run = api.research.steer(&caller, read_id(&id, "run")?, body.read()).await?;
    cased(query.case, &RunBody::from(run)).map(Json)
}

async fn again(
    State(api): State<Api>,
    caller: Caller,
    Path((id, step)): Path<(String, String)>,
    Query(query): Query<CaseQuery>,
) -> Result<Response, Problem> {
    // What is no number is no step, as is one that the plan does not have.
    let step = step.parse().map_err(|_| EngineError::Absent { what: "step" })?;
    let run = api.research.again(&caller, read_id(&id, "run")?, step).await?;
    let body = cased(query.case, &RunBody::from(run))?;
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

async fn report(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<ReportQuery>,
) -> Result<Response, Problem> {
    let format = query.format.as_deref().unwrap_or("md");
    let report = api.research.report(&caller, read_id(&id, "run")?).await?;
    written(&report, format, query.case)
}

/// What Word writes.
const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/// A report in one of its forms.
fn written(report: &Report, format: &str, case: Case) -> Result<Response, Problem> {
    let (media_type, bytes) = match format {
        "md" => ("text/markdown; charset=utf-8", report.to_markdown().into_bytes()),
        "html" => ("text/html; charset=utf-8", report.to_html().into_bytes()),
        "json" => ("application/json", cased(case, report)?.to_string().into_bytes()),
        "pdf" => ("application/pdf", report.to_pdf()),
        "docx" => (DOCX, report.to_docx()),
        _ => return Err(Problem::refused("format is md, html, pdf, docx or json.")),
    };
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY));
    // The name of the run is made of digits and letters alone.
    let name = format!("attachment; filename=\"research-{}.{format}\"", report.id);
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

fn cased(case: Case, body: &impl Serialize) -> Result<Value, Problem> {
    let value =
        serde_json::to_value(body).map_err(|error| Problem::broken("writing an answer", &error))?;
    Ok(match case {
        Case::Snake => value,
        Case::Camel => to_camel(&value),
    })
}

/// A message as a value; every line was made from one.
fn message(line: &Line, case: Case) -> Value {
    let value = serde_json::from_str(&line.json).unwrap_or_default();
    match case {
        Case::Snake => value,
        Case::Camel => to_camel(&value),
    }
}
