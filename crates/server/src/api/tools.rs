//! Tools, the questions about them and the log of their calls over the wire.

use std::time::Duration;

use agent::identity::Timestamp;
use agent::ports::ActivityList;
use agent::tools::activity::ActivityFilter;
use agent::tools::naming::{ServerId, ToolName};
use agent::tools::policy::{Attendance, Influence};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::tools::{CallError, Caller as ToolCaller, Return};
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::wire::logins::{
    LoggedInBody, LoggedOutBody, LoginBegunBody, LoginReturnBody, ToolLoginBody,
};
use super::wire::tools::{
    AcceptBody, AcceptedBody, ActivitiesBody, ActivityBody, AnswerBody, ApprovalsBody, FollowBody,
    FollowedBody, OffersBody, PromptBody, PromptMessagesBody, ReadBody, TakenBackBody,
    ToolCallBody, ToolOutputBody, ToolServersBody, ToolsBody,
};
use super::{ADMIN, Api, OK, READ, WRITE, read_id};
use crate::guard::Caller;
use crate::input::{Json, Path, Query};
use crate::problem::Problem;
use crate::routes::Route;

/// Lines of the activity log in one answer.
const LINES: usize = 100;
const LINES_MAX: usize = 1_000;

/// How long an answer about a followed resource takes at most: shorter than anything in between gives up.
pub const FOLLOW_WAIT_MAX: Duration = Duration::from_secs(30);

/// Lines that one export holds: a busy quarter. `until` of the next begins where it ends.
const EXPORTED_MAX: usize = 50_000;

pub(super) fn routes() -> Vec<Route<Api>> {
    let tools = [
        Route::get("/api/tools", READ, "Lists the tools of all servers, which are started", list)
            .query::<ToolsQuery>()
            .gives::<ToolsBody>(OK),
        Route::post(
            "/api/tools/{name}/call",
            WRITE,
            "Calls a tool; may wait for an approval",
            call,
        )
        .takes::<ToolCallBody>()
        .gives::<ToolOutputBody>(OK),
        Route::get("/api/tool-servers", READ, "Lists the servers of tools as they are", servers)
            .gives::<ToolServersBody>(OK),
        Route::patch("/api/tool-servers/{id}", ADMIN, "Switches a server on or off", switch)
            .takes::<SwitchBody>()
            .gives_nothing(StatusCode::NO_CONTENT),
        Route::get("/api/tool-servers/{id}/offers", READ, "Lists resources and prompts", offers)
            .gives::<OffersBody>(OK),
        Route::post("/api/tool-servers/{id}/read", WRITE, "Reads a resource", read)
            .takes::<ReadBody>()
            .gives::<ToolOutputBody>(OK),
        Route::post(
            "/api/tool-servers/{id}/follow",
            WRITE,
            "Reads a resource when it has changed; waits up to half a minute for that",
            follow,
        )
        .takes::<FollowBody>()
        .gives::<FollowedBody>(OK),
        Route::post("/api/tool-servers/{id}/prompt", WRITE, "Gives a prompt's messages", prompt)
            .takes::<PromptBody>()
            .gives::<PromptMessagesBody>(OK),
        Route::post("/api/tool-servers/{id}/accept", ADMIN, "Accepts changed definitions", accept)
            .takes::<AcceptBody>()
            .gives::<AcceptedBody>(OK),
        Route::post("/api/tool-servers/{id}/login", ADMIN, "Begins a login at a server", log_in)
            .takes::<ToolLoginBody>()
            .gives::<LoginBegunBody>(OK),
        Route::post(
            "/api/tool-servers/{id}/login/finish",
            ADMIN,
            "Ends a login with what the browser came back with",
            finish_login,
        )
        .takes::<LoginReturnBody>()
        .gives::<LoggedInBody>(OK),
        Route::delete("/api/tool-servers/{id}/login", ADMIN, "Forgets a login", log_out)
            .gives::<LoggedOutBody>(OK),
        Route::get("/api/approvals", WRITE, "Lists what waits for you, and your yeses", approvals)
            .gives::<ApprovalsBody>(OK),
        Route::post("/api/approvals/{id}", WRITE, "Answers an open question", answer)
            .takes::<AnswerBody>()
            .gives_nothing(StatusCode::NO_CONTENT),
        Route::delete("/api/approvals/{id}", WRITE, "Takes back every yes to a tool", take_back)
            .gives::<TakenBackBody>(OK),
        Route::get("/api/activity", ADMIN, "Lists calls of tools, newest first", activity)
            .query::<ActivityQuery>()
            .gives::<ActivitiesBody>(OK),
        Route::get("/api/activity/export", ADMIN, "Gives calls of tools as JSON lines", export)
            .query::<ActivityQuery>()
            .gives_other(OK, "application/x-ndjson"),
    ];
    tools.into_iter().map(|route| route.tag("tools")).collect()
}

/// Which tools are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolsQuery {
    /// Only of this server.
    #[serde(default)]
    server: Option<String>,
}

/// Whether a server is used.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SwitchBody {
    enabled: bool,
}

/// Which calls are listed; all that is given has to fit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivityQuery {
    #[serde(default)]
    pub server: Option<String>,
    #[serde(default)]
    pub tool: Option<String>,
    #[serde(default)]
    pub session: Option<String>,
    #[serde(default)]
    pub principal: Option<String>,
    /// `done`, `tool_error`, `failed`, `timed_out`, `cancelled` or `denied`.
    #[serde(default)]
    pub outcome: Option<String>,
    /// Milliseconds since 1970, the first and the last that are meant.
    #[serde(default)]
    pub since: Option<u64>,
    #[serde(default)]
    pub until: Option<u64>,
    #[serde(default)]
    pub limit: Option<usize>,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: Option<String>,
}

impl ActivityQuery {
    fn list(self, limit_max: usize) -> ActivityList {
        let filter = ActivityFilter {
            server: self.server,
            tool: self.tool,
            session: self.session,
            principal: self.principal,
            ending: self.outcome,
            since: self.since.map(Timestamp),
            until: self.until.map(Timestamp),
        };
        let limit = self.limit.unwrap_or(LINES).clamp(1, limit_max);
        ActivityList { filter, after: self.after, limit }
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        let said = error.to_string();
        let bad_gateway = |code, action| {
            let title = "the server of the tool did not do it";
            Self::new(StatusCode::BAD_GATEWAY, code, title, said.clone(), action)
        };
        match error {
            CallError::Absent(_) => Self::not_found("tool or server of this name"),
            CallError::Unusable(why) => Self::refused(why),
            CallError::Denied(_) => Self::new(
                StatusCode::FORBIDDEN,
                "tool_denied",
                "the call was not allowed",
                said,
                "Ask for an approval, or have the configuration changed.",
            ),
            CallError::Held(_) => Self::new(
                StatusCode::CONFLICT,
                "tool_changed",
                "the tool is off until somebody has looked at it",
                said,
                "Look at its definition in /api/tools and accept it.",
            ),
            CallError::Refused(_) => bad_gateway("tool_refused", "Change the call as it says."),
            CallError::Down(_) => bad_gateway("tool_server_down", "Start or mend the server."),
            CallError::TimedOut(_) => {
                bad_gateway("tool_timed_out", "Try again, or allow more time.")
            }
            CallError::Lost(_) => {
                bad_gateway("tool_lost", "Find out whether it happened before you try again.")
            }
            CallError::Broken(why) => Self::broken("tools", &std::io::Error::other(why)),
        }
    }
}

/// A caller who is asked over this API.
fn asked_here(api: &Api, caller: &Caller, session: Option<String>) -> ToolCaller {
    let principal = caller.0.clone();
    let (tenant, name) = (principal.tenant.clone(), principal.name.clone());
    ToolCaller {
        person: api.desk.person(tenant, name, session.clone()),
        principal,
        session,
        turn: None,
        attendance: Attendance::Attended,
        influence: Influence::Person,
        hops: 0,
    }
}

async fn list(
    State(api): State<Api>,
    caller: Caller,
    Query(query): Query<ToolsQuery>,
) -> Result<Json<ToolsBody>, Problem> {
    let server = query.server.map(|id| read_id::<ServerId>(&id, "server")).transpose()?;
    Ok(Json(api.host.catalogue(&caller.tenant, server.as_ref()).await.into()))
}

async fn servers(State(api): State<Api>, caller: Caller) -> Result<Json<ToolServersBody>, Problem> {
    let servers = api.host.known_servers(&caller.tenant).into_iter().map(Into::into).collect();
    Ok(Json(ToolServersBody { servers }))
}

async fn switch(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<SwitchBody>,
) -> Result<StatusCode, Problem> {
    let id: ServerId = read_id(&id, "server")?;
    api.host.switch(&caller, &id, body.enabled).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn call(
    State(api): State<Api>,
    caller: Caller,
    Path(name): Path<String>,
    Json(body): Json<ToolCallBody>,
) -> Result<Json<ToolOutputBody>, Problem> {
    let name: ToolName = read_id(&name, "tool")?;
    let who = asked_here(&api, &caller, body.session);
    let output = api.host.call(&who, &name, Value::Object(body.arguments), None).await?;
    Ok(Json(output.into()))
}

async fn offers(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<OffersBody>, Problem> {
    let id: ServerId = read_id(&id, "server")?;
    // A server need not have both; one that has neither says so twice.
    let resources = api.host.resources(&caller.tenant, &id).await;
    let prompts = api.host.prompts(&caller.tenant, &id).await;
    let (resources, prompts) = match (resources, prompts) {
        (Err(error), Err(_)) => return Err(error.into()),
        (resources, prompts) => (resources.unwrap_or_default(), prompts.unwrap_or_default()),
    };
    Ok(Json(OffersBody {
        resources: resources.into_iter().map(Into::into).collect(),
        prompts: prompts.into_iter().map(Into::into).collect(),
    }))
}

async fn read(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<ReadBody>,
) -> Result<Json<ToolOutputBody>, Problem> {
    let id: ServerId = read_id(&id, "server")?;
    let who = asked_here(&api, &caller, None);
    Ok(Json(api.host.read(&who, &id, &body.uri).await?.into()))
}

async fn follow(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<FollowBody>,
) -> Result<Json<FollowedBody>, Problem> {
    let id: ServerId = read_id(&id, "server")?;
    let who = asked_here(&api, &caller, None);
    let followed = api.host.follow(&who, &id, &body.uri, body.seen, FOLLOW_WAIT_MAX).await?;
    Ok(Json(followed.into()))
}

async fn prompt(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<PromptBody>,
) -> Result<Json<PromptMessagesBody>, Problem> {
    let id: ServerId = read_id(&id, "server")?;
    let who = asked_here(&api, &caller, None);
    Ok(Json(api.host.prompt(&who, &id, &body.name, body.arguments).await?.into()))
}

async fn accept(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<AcceptBody>,
) -> Result<Json<AcceptedBody>, Problem> {
    let id: ServerId = read_id(&id, "server")?;
    let tool = body.tool.map(|tool| read_id::<ToolName>(&tool, "tool")).transpose()?;
    let accepted = api.host.accept(&caller, &id, tool.as_ref()).await?;
    Ok(Json(AcceptedBody { accepted: accepted.into_iter().map(Into::into).collect() }))
}

async fn log_in(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(body): Json<ToolLoginBody>,
) -> Result<Json<LoginBegunBody>, Problem> {
    let id: ServerId = read_id(&id, "server")?;
    let comes_back = comes_back(body.redirect, &headers);
    let begun = Box::pin(api.host.begin_login(&caller, &id, &comes_back, body.scopes)).await?;
    Ok(Json(begun.into()))
}

/// Where a browser comes back to: our page, if it is our page that asks, under the name that the guard has found to be ours.
fn comes_back(redirect: String, headers: &HeaderMap) -> Return {
    let said = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (origin, host) = (said(ORIGIN), said(HOST));
    let place = origin.and_then(|origin| origin.split_once("://")).map(|(_, place)| place);
    let is_our_page = place.is_some() && place == host;
    match origin.filter(|_| is_our_page).and_then(|origin| redirect.strip_prefix(origin)) {
        Some("/") => Return::ToPage(redirect),
        _ => Return::ToProgram(redirect),
    }
}

async fn finish_login(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<LoginReturnBody>,
) -> Result<Json<LoggedInBody>, Problem> {
    let id: ServerId = read_id(&id, "server")?;
    let logged_in = api.host.finish_login(&caller, &id, body.returned).await?;
    Ok(Json(LoggedInBody { logged_in }))
}

async fn log_out(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<LoggedOutBody>, Problem> {
    let id: ServerId = read_id(&id, "server")?;
    Ok(Json(LoggedOutBody { logged_out: api.host.log_out(&caller, &id).await? }))
}

async fn approvals(State(api): State<Api>, caller: Caller) -> Result<Json<ApprovalsBody>, Problem> {
    let open = api.desk.open(&caller.tenant, &caller.name);
    let all = api.host.approvals(&caller.tenant).await?;
    let own = all.into_iter().filter(|approval| approval.by == caller.name);
    Ok(Json(ApprovalsBody {
        open: open.into_iter().map(Into::into).collect(),
        remembered: own.map(Into::into).collect(),
    }))
}

async fn answer(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<AnswerBody>,
) -> Result<StatusCode, Problem> {
    let id: u64 = read_id(&id, "open question of this id")?;
    api.desk.answer(&caller.tenant, &caller.name, id, body.into())?;
    Ok(StatusCode::NO_CONTENT)
}

async fn take_back(
    State(api): State<Api>,
    caller: Caller,
    Path(tool): Path<String>,
) -> Result<Json<TakenBackBody>, Problem> {
    let tool: ToolName = read_id(&tool, "tool")?;
    Ok(Json(TakenBackBody { taken_back: api.host.disapprove(&caller, tool).await? }))
}

async fn activity(
    State(api): State<Api>,
    caller: Caller,
    Query(query): Query<ActivityQuery>,
) -> Result<Json<ActivitiesBody>, Problem> {
    let page = api.host.activity(&caller.tenant, query.list(LINES_MAX)).await?;
    let activity = page.items.into_iter().map(Into::into).collect();
    Ok(Json(ActivitiesBody { activity, next: page.next }))
}

async fn export(
    State(api): State<Api>,
    caller: Caller,
    Query(query): Query<ActivityQuery>,
) -> Result<Response, Problem> {
    let mut list = query.list(EXPORTED_MAX);
    let mut left = list.limit;
    let mut lines = String::new();
    loop {
        list.limit = left.min(LINES_MAX);
        let page = api.host.activity(&caller.tenant, list.clone()).await?;
        left -= page.items.len().min(left);
        for line in page.items {
            lines.push_str(&serde_json::to_string(&ActivityBody::from(line)).unwrap_or_default());
            lines.push('\n');
        }
        list.after = page.next;
        if list.after.is_none() || left == 0 {
            break;
        }
    }
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], lines).into_response())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_browser_comes_back_to_our_page_only_if_our_page_asks() {
        let check = |redirect: &str, origin: &str, host: &'static str, is_page: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            if !origin.is_empty() {
                headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
            }
            let expected = match is_page {
                true => Return::ToPage(redirect.to_owned()),
                false => Return::ToProgram(redirect.to_owned()),
            };
            assert_eq!(comes_back(redirect.to_owned(), &headers), expected, "{redirect} {origin}");
        };
        let page = "https://saem.example.com";
        check("https://saem.example.com/", page, "saem.example.com", true);
        check("https://saem.example.com/elsewhere", page, "saem.example.com", false);
        check("https://saem.example.com.evil.net/", page, "saem.example.com", false);
        check("https://evil.net/", "https://evil.net", "saem.example.com", false);
        check("https://saem.example.com/", "", "saem.example.com", false);
    }
}
