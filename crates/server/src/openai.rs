//! The API that every chat client knows: `/v1/chat/completions` and `/v1/models`, as OpenAI has them.

mod answer;
mod request;
#[cfg(test)]
mod tests;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::chat::{ToolUser, TurnEvent, Whom};
use http::header::{CONTENT_LENGTH, HOST, HeaderMap};
use http::{HeaderValue, StatusCode};

use self::answer::{Answering, Completion, Model, ModelList};
use self::request::ChatRequest;
use crate::api::Api;
use crate::events::{self, Telling};
use crate::guard::{Caller, Shutdown, Standing};
use crate::input::{Bytes, Json, Path};
use crate::problem::{Problem, Refusal};
use crate::routes::{Access, Route};

/// Names the session of a request, and of an answer.
pub const SESSION_HEADER: &str = "x-saem-session";

/// Where this API is.
pub(crate) const PREFIX: &str = "/v1/";

/// Largest error that is put into another form, in bytes; ours are far smaller.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// Largest request, in bytes: clients send the whole conversation each time.
const BODY_BYTES_MAX: u64 = 4 << 20;

pub(crate) fn routes() -> Vec<Route<Api>> {
    let read = Access::Needs(agent::identity::Scope::Read);
    let routes = vec![
        Route::post("/v1/chat/completions", read, "Answers, as OpenAI's API does", complete)
            .takes_bytes("application/json")
            .body_bytes_max(BODY_BYTES_MAX)
            .gives::<Completion>(StatusCode::OK)
            .gives_other(StatusCode::OK, "text/event-stream"),
        Route::get("/v1/models", read, "Lists the models that a client may name", models)
            .gives::<ModelList>(StatusCode::OK),
        Route::get("/v1/models/{id}", read, "Shows a model that a client may name", model)
            .gives::<Model>(StatusCode::OK),
    ];
    routes.into_iter().map(|route| route.tag("openai")).collect()
}

async fn models() -> Json<ModelList> {
    Json(ModelList::saem())
}

async fn model(Path(id): Path<String>) -> Result<Json<Model>, Problem> {
    let found = ModelList::saem().find(&id);
    found.map(Json).ok_or_else(|| Problem::not_found("model"))
}

async fn complete(
    State(api): State<Api>,
    caller: Caller,
    Shutdown(shutdown): Shutdown,
    standing: Standing,
    headers: HeaderMap,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let request = ChatRequest::read(&body)?;
    let question = request.question(headers.get(SESSION_HEADER))?;
    // Clients of this API have no way to answer a question about a tool.
    let user = ToolUser { principal: caller.0.clone(), asked: Whom::Nobody };
    let asking = api.copilot.ask(&caller.tenant, question.with_tools(user))?;
    let session = HeaderValue::from_str(asking.turn.session.as_str());
    let answering = Answering::new(&asking.turn, base(&headers), request.wants_usage());
    let mut response = if request.stream {
        events::stream(asking, answering, shutdown, standing)
    } else {
        let record = tokio::select! {
            record = asking.finish() => record?,
            () = shutdown.cancelled() => return Err(events::stopping()),
        };
        Json(answering.whole(&record)?).into_response()
    };
    if let Ok(session) = session {
        response.headers_mut().insert(SESSION_HEADER, session);
    }
    Ok(response)
}

/// The address under which the caller reached us; the gate has checked the name.
fn base(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("http://{host}")
}

/// A problem as clients of this API read it: the same, with an `error` in it.
pub(crate) async fn with_error(answer: Response) -> Response {
    if answer.extensions().get::<Refusal>().is_none() {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let bytes = axum::body::to_bytes(body, ERROR_BYTES_MAX).await.unwrap_or_default();
    let mut problem: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |name: &str| problem.get(name).and_then(|text| text.as_str()).unwrap_or_default();
    let error = serde_json::json!({
        "message": format!("{} {}", text("detail"), text("action")),
        "type": text("code"),
        "code": text("code"),
        "param": null,
    });
    if let Some(problem) = problem.as_object_mut() {
        problem.insert("error".to_owned(), error);
    }
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, problem.to_string().into())
}

impl Telling for Answering {
    fn tell(&mut self, event: TurnEvent) -> String {
        match event {
            TurnEvent::Doing(_) => String::new(),
            TurnEvent::Text(text) => self.piece(&text),
            TurnEvent::Done(record) => self.end(&record),
            TurnEvent::Failed(error) => self.broke_off(&error.into()),
        }
    }

    fn broke_off(&mut self, why: &Problem) -> String {
        Self::error(&format!("{} {}", why.detail, why.action), why.code)
    }
}
