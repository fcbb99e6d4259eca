//! Asking, and conversations, over the wire.

use agent::ledger::{By, Day, Spent, project, sum};
use agent::memory::{MemoryEdit, SessionId};
use agent::turn::TurnId;
use axum::extract::State;
use axum::response::Response;
use engine::chat::{Question, Talk, ToolUser, TurnEvent, Whom};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::wire::attachments::AttachBody;
use super::wire::chat::{
    AskBody, DoingBody, MemoryBody, MemoryEditBody, RenameBody, RollBackBody, SessionBody,
    SessionsBody, TextBody, TurnBody,
};
use super::wire::cost::CostBody;
use super::{ADMIN, Api, OK, READ, WRITE};
use crate::events::{self, Telling, event};
use crate::guard::{Caller, Shutdown, Standing};
use crate::input::{Json, Path, Query};
use crate::problem::Problem;
use crate::rich::Growing;
use crate::routes::Route;

/// Largest question, as JSON, in bytes: letters may be written as six.
const ASK_BYTES_MAX: u64 = 256 << 10;

/// Sessions of a page, unless fewer are asked for.
const PAGE: usize = 50;

/// Turns of a conversation, unless fewer are asked for.
const TURNS: usize = 200;

/// Days that costs are added up over, unless others are asked for, and at most.
const DAYS: u32 = 30;
const DAYS_MAX: u32 = 3_660;

pub(super) fn routes() -> Vec<Route<Api>> {
    let routes = vec![
        Route::post("/api/chat", READ, "Answers a question, as it comes", ask)
            .takes::<AskBody>()
            .body_bytes_max(ASK_BYTES_MAX)
            .gives_other(OK, "text/event-stream"),
        Route::get("/api/turns/{id}", READ, "Shows how a turn came about", turn)
            .query::<HtmlQuery>()
            .gives::<TurnBody>(OK),
        Route::get("/api/sessions", READ, "Lists conversations, the latest first", list)
            .query::<ListQuery>()
            .gives::<SessionsBody>(OK),
        Route::get("/api/sessions/{id}", READ, "Shows a conversation, a page of its turns", show)
            .query::<TurnsQuery>()
            .gives::<SessionBody>(OK),
        Route::patch("/api/sessions/{id}", WRITE, "Gives a conversation another title", rename)
            .takes::<RenameBody>()
            .gives::<SessionBody>(OK),
        Route::delete("/api/sessions/{id}", WRITE, "Forgets a conversation", forget)
            .gives_nothing(StatusCode::NO_CONTENT),
        Route::get("/api/sessions/{id}/memory", READ, "Shows what is remembered", memory)
            .gives::<MemoryBody>(OK),
        Route::put("/api/sessions/{id}/memory", WRITE, "Corrects what is remembered", edit)
            .takes::<MemoryEditBody>()
            .gives::<MemoryBody>(OK),
        Route::post(
            "/api/sessions/{id}/memory/roll-back",
            WRITE,
            "Brings back what was remembered before",
            roll_back,
        )
        .takes::<RollBackBody>()
        .gives::<MemoryBody>(OK),
        Route::get("/api/cost", ADMIN, "Says what was spent, and what a month would cost", cost)
            .query::<CostQuery>()
            .gives::<CostBody>(OK),
    ];
    routes.into_iter().map(|route| route.tag("chat")).collect()
}

/// Which conversations are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// Where the page before has ended.
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

/// How answers are shown.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HtmlQuery {
    /// As safe HTML too.
    #[serde(default)]
    html: bool,
}

/// Which turns of a conversation are shown, and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TurnsQuery {
    /// Answers as safe HTML too.
    #[serde(default)]
    html: bool,
    /// Turns before this number; the newest, if left out.
    #[serde(default)]
    before: Option<u64>,
    /// At most 200.
    #[serde(default)]
    count: Option<usize>,
}

/// What costs are added up by, and over how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CostQuery {
    #[serde(default)]
    by: CostBy,
    /// Days up to today, today included.
    #[serde(default)]
    days: Option<u32>,
    /// Sessions in a day to project a month with; as many as there were, if left out.
    #[serde(default)]
    sessions: Option<f64>,
    /// Turns in a session to project a month with; as many as there were, if left out.
    #[serde(default)]
    turns: Option<f64>,
}

/// What costs are added up by.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CostBy {
    #[default]
    Component,
    Session,
    Day,
    Model,
}

async fn ask(
    State(api): State<Api>,
    caller: Caller,
    Shutdown(shutdown): Shutdown,
    standing: Standing,
    Json(body): Json<AskBody>,
) -> Result<Response, Problem> {
    let conversation = match body.session {
        None => Talk::New,
        Some(name) => Talk::Known(
            name.parse::<SessionId>().map_err(|error| Problem::refused(error.to_string()))?,
        ),
    };
    let user = ToolUser { principal: caller.0.clone(), asked: Whom::Desk(api.desk.clone()) };
    let attach = body.attach.into_iter().map(AttachBody::read).collect::<Option<Vec<_>>>();
    let attach = attach.ok_or_else(|| {
        Problem::refused("what is attached needs a server, and either a uri or a prompt".to_owned())
    })?;
    let question =
        Question::new(body.question, conversation).with_tools(user).with_attachments(attach);
    let native = Native { html: body.html.then(Growing::default) };
    let asking = api.copilot.ask(&caller.tenant, question)?;
    Ok(events::stream(asking, native, shutdown, standing))
}

/// Tells a turn as named events: `doing`, `text`, `done` and `failed`.
struct Native {
    /// The answer so far, where its HTML was asked for.
    html: Option<Growing>,
}

impl Telling for Native {
    fn tell(&mut self, told: TurnEvent) -> String {
        match told {
            TurnEvent::Doing(doing) => data("doing", &DoingBody::from(doing)),
            TurnEvent::Text(text) => {
                let html = self.html.as_mut().map(|html| html.push(&text));
                data("text", &TextBody { text, html })
            }
            TurnEvent::Done(record) => data("done", &TurnBody::of(*record, self.html.is_some())),
            TurnEvent::Failed(error) => self.broke_off(&error.into()),
        }
    }

    fn broke_off(&mut self, why: &Problem) -> String {
        let problem = json!({
            "status": why.status.as_u16(),
            "code": why.code,
            "title": why.title,
            "detail": why.detail,
            "action": why.action,
        });
        event(Some("failed"), &problem.to_string())
    }
}

fn data(name: &str, body: &impl Serialize) -> String {
    // A body of ours is always JSON; an event without data says at least that something happened.
    event(Some(name), &serde_json::to_string(body).unwrap_or_default())
}

async fn turn(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<HtmlQuery>,
) -> Result<Json<TurnBody>, Problem> {
    let id: TurnId = id.parse().map_err(|_| Problem::not_found("turn"))?;
    Ok(Json(TurnBody::of(api.copilot.turn(&caller.tenant, &id).await?, query.html)))
}

async fn list(
    State(api): State<Api>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<SessionsBody>, Problem> {
    let limit = query.limit.unwrap_or(PAGE);
    let page = api.copilot.sessions(&caller.tenant, query.after, limit).await?;
    let sessions = page.items.into_iter().map(Into::into).collect();
    Ok(Json(SessionsBody { sessions, next: page.next }))
}

async fn show(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<TurnsQuery>,
) -> Result<Json<SessionBody>, Problem> {
    let count = query.count.unwrap_or(TURNS);
    let id = session(&id)?;
    let page = api.copilot.session_page(&caller.tenant, &id, query.before, count).await?;
    Ok(Json(SessionBody::of(page, query.html)))
}

async fn rename(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<RenameBody>,
) -> Result<Json<SessionBody>, Problem> {
    let session = api.copilot.rename(&caller, &session(&id)?, &body.title).await?;
    Ok(Json(SessionBody::head(session)))
}

async fn forget(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    api.copilot.forget(&caller, &session(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn memory(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<MemoryBody>, Problem> {
    Ok(Json(api.copilot.memory(&caller.tenant, &session(&id)?).await?.into()))
}

async fn edit(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<MemoryEditBody>,
) -> Result<Json<MemoryBody>, Problem> {
    let entities = body.entities.map(|facts| facts.into_iter().map(Into::into).collect());
    let edit = MemoryEdit { text: body.memory, entities };
    Ok(Json(api.copilot.edit_memory(&caller, &session(&id)?, edit).await?.into()))
}

async fn roll_back(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<RollBackBody>,
) -> Result<Json<MemoryBody>, Problem> {
    Ok(Json(api.copilot.roll_back(&caller, &session(&id)?, body.version).await?.into()))
}

async fn cost(
    State(api): State<Api>,
    caller: Caller,
    Query(query): Query<CostQuery>,
) -> Result<Json<CostBody>, Problem> {
    let is_number = |value: &f64| value.is_finite() && *value >= 0.0;
    if ![query.sessions, query.turns].iter().flatten().all(is_number) {
        return Err(Problem::refused("Sessions and turns are numbers of at least 0."));
    }
    let wanted = CostWanted {
        by: query.by,
        days: query.days.unwrap_or(DAYS),
        sessions: query.sessions,
        turns: query.turns,
    };
    Ok(Json(costs(&api.copilot, &caller.tenant, &wanted).await?))
}

/// What somebody wants to know of costs.
#[derive(Debug, Clone)]
pub struct CostWanted {
    pub by: CostBy,
    /// Days up to today, today included.
    pub days: u32,
    pub sessions: Option<f64>,
    pub turns: Option<f64>,
}

/// What was spent, added up and projected.
pub async fn costs(
    copilot: &engine::chat::Copilot,
    tenant: &agent::names::TenantId,
    wanted: &CostWanted,
) -> Result<CostBody, engine::EngineError> {
    let last = copilot.today();
    let days = wanted.days.clamp(1, DAYS_MAX);
    let first = Day(last.0.saturating_sub(days - 1));
    let booked = copilot.booked(tenant, first, last).await?;
    let by = match wanted.by {
        CostBy::Component => By::Component,
        CostBy::Session => By::Session,
        CostBy::Day => By::Day,
        CostBy::Model => By::Model,
    };
    let mut total = Spent::default();
    booked.iter().for_each(|booking| total.add(&booking.spent));
    Ok(CostBody {
        from: first.to_string(),
        to: last.to_string(),
        spent: sum(&booked, by).into_iter().map(|(key, spent)| (key, spent.into())).collect(),
        total: total.into(),
        projection: project(&booked, wanted.sessions, wanted.turns).map(Into::into),
    })
}

/// A path that cannot be a session names none.
fn session(id: &str) -> Result<SessionId, Problem> {
    id.parse().map_err(|_| Problem::not_found("session"))
}
