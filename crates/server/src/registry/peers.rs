//! Agents of the configuration over HTTP, and messages to them and to those of the catalogue, answered as they answer.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use a2a::card::CARD_PATH;
use a2a::ids::{ContextId, TaskId};
use a2a::model::{Event, Part, Returns, Sent, TaskState, TaskStatus};
use a2a::version::Version;
use a2a::wire::write_card;
use agent::identity::Scope;
use axum::extract::State;
use axum::response::Response;
use engine::peers::{Agent, Condition, Order, PeerError, Signature};
use futures_util::stream;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::seeing;
use crate::api::Api;
use crate::events::{self, HEARTBEAT, Pulse, event};
use crate::guard::{Caller, Shutdown, Standing, Visitor};
use crate::input::{Json, Path};
use crate::problem::Problem;
use crate::routes::{Access, Route};

/// Largest message to an agent, as JSON, in bytes: what a person types or pastes.
const MESSAGE_BYTES_MAX: u64 = 256 << 10;

/// What identifiers of the catalogue begin with.
const IDENTIFIER: &str = "urn:air:";

pub(super) fn routes() -> Vec<Route<Api>> {
    const READ: Access = Access::Needs(Scope::Read);
    const WRITE: Access = Access::Needs(Scope::Write);
    const OK: StatusCode = StatusCode::OK;
    vec![
        Route::get("/api/agents", READ, "Lists the agents of the configuration", list)
            .gives::<KnownAgentsBody>(OK),
        Route::get("/api/agents/{name}", READ, "Asks an agent for its card", show)
            .gives::<ReachedAgentBody>(OK),
        Route::post(
            "/api/agents/{name}/send",
            WRITE,
            "Sends a message to an agent and gives its answer as it comes",
            send,
        )
        .takes::<AgentMessageBody>()
        .body_bytes_max(MESSAGE_BYTES_MAX)
        .gives_other(OK, "text/event-stream"),
    ]
}

/// The agents of the configuration.
#[derive(Debug, Serialize, JsonSchema)]
struct KnownAgentsBody {
    /// Where this server's own card is; left out if it is no agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_card: Option<&'static str>,
    agents: Vec<KnownAgentBody>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct KnownAgentBody {
    name: String,
    /// Its address, or where its card comes from.
    place: String,
    /// `idle`, `up` or `down`, as it was when somebody last asked.
    state: &'static str,
    /// The version and binding that it is spoken to in.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// An agent that has given its card.
#[derive(Debug, Serialize, JsonSchema)]
struct ReachedAgentBody {
    name: String,
    /// The version and binding that it is spoken to in.
    version: String,
    url: String,
    /// `none`, `unchecked` or `holds`.
    signature: &'static str,
    /// In the form of A2A 1.0.
    card: Value,
}

/// What an agent is told.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentMessageBody {
    message: String,
    /// Which of its skills, by the card's id.
    #[serde(default)]
    skill: Option<String>,
    /// The task that asks for this.
    #[serde(default)]
    task: Option<String>,
    /// The conversation that this belongs to.
    #[serde(default)]
    context: Option<String>,
}

/// What an agent says of a task on its way: event `status`.
#[derive(Debug, Serialize)]
struct StatusBody {
    state: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    says: String,
}

/// A piece of the answer: event `text`.
#[derive(Debug, Serialize)]
struct PieceBody<'a> {
    /// Which of the things that the agent makes.
    artifact: &'a str,
    text: String,
    /// Whether it goes after what is there already, or replaces it.
    append: bool,
}

/// The end: event `done`.
#[derive(Debug, Serialize)]
struct EndedBody {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// What it says last: a question, or why it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    says: String,
}

impl From<PeerError> for Problem {
    fn from(error: PeerError) -> Self {
        let said = error.to_string();
        let bad_gateway = |code, action| {
            let title = "the agent did not do it";
            Self::new(StatusCode::BAD_GATEWAY, code, title, said.clone(), action)
        };
        match error {
            PeerError::Absent(_) => Self::not_found("agent"),
            PeerError::Unusable(why) => Self::refused(why),
            PeerError::Card(_) => bad_gateway("agent_card", "Have its card mended."),
            PeerError::Closed(_) => bad_gateway("agent_closed", "Give it credentials."),
            PeerError::Refused { .. } => bad_gateway("agent_refused", "Ask it otherwise."),
            PeerError::Circle { .. } => bad_gateway("agent_circle", "Ask the last of them."),
            PeerError::Down(_) => bad_gateway("agent_down", "Try again when it is up."),
            PeerError::TimedOut => bad_gateway("agent_timed_out", "Try again later."),
            PeerError::Lost(_) => {
                bad_gateway("agent_lost", "Find out whether it happened before you try again.")
            }
            PeerError::Broken(why) => Self::broken("agents", &std::io::Error::other(why)),
        }
    }
}

async fn list(State(api): State<Api>, caller: Caller) -> Json<KnownAgentsBody> {
    let peers = api.host.agents(&caller.tenant);
    let known = peers.into_iter().flat_map(|peers| {
        peers.configured().iter().map(|agent| {
            let (state, version, reason) = match peers.condition(&agent.id) {
                Condition::Idle => ("idle", None, None),
                Condition::Up { version } => ("up", Some(version), None),
                Condition::Down { why } => ("down", None, Some(why)),
            };
            let (name, place) = (agent.name.clone(), agent.source.shown());
            KnownAgentBody { name, place, state, version, reason }
        })
    });
    Json(KnownAgentsBody { own_card: api.is_agent.then_some(CARD_PATH), agents: known.collect() })
}

async fn show(
    State(api): State<Api>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<ReachedAgentBody>, Problem> {
    let agent = reached(&api, &caller, &name).await?;
    let card = agent.card();
    Ok(Json(ReachedAgentBody {
        name,
        version: agent.spoken(),
        url: agent.url().to_string(),
        signature: match card.signature {
            Signature::None => "none",
            Signature::Unchecked => "unchecked",
            Signature::Holds { .. } => "holds",
        },
        card: write_card(Version::V1_0, &card.card),
    }))
}

/// An agent by its name in the configuration, or by its identifier in our catalogue; never by an address, which would be a
/// way to wherever the owner may go.
async fn reached(api: &Api, caller: &Caller, name: &str) -> Result<Agent, Problem> {
    let absent = || Problem::not_found("agent");
    let peers = api.host.agents(&caller.tenant).ok_or_else(absent)?;
    if !name.starts_with(IDENTIFIER) {
        return Ok(peers.configured_agent(name).await?);
    }
    let visitor = Visitor(Some(caller.0.clone()));
    let (found, _) = api.catalogue.show_one(&seeing(api, &visitor), name).await?;
    let card = write_card(Version::V1_0, &found.view.card);
    Ok(peers.listed_agent(name, card).await?)
}

async fn send(
    State(api): State<Api>,
    caller: Caller,
    Path(name): Path<String>,
    Shutdown(shutdown): Shutdown,
    standing: Standing,
    Json(body): Json<AgentMessageBody>,
) -> Result<Response, Problem> {
    if body.message.trim().is_empty() {
        return Err(Problem::refused("the message is empty"));
    }
    let task: Option<TaskId> = read(body.task)?;
    let context: Option<ContextId> = read(body.context)?;
    let agent = reached(&api, &caller, &name).await?;
    let order = Order {
        parts: vec![Part::text(body.message)],
        skill: body.skill.filter(|skill| !skill.is_empty()),
        task,
        context,
        hops: 0,
        returns: Returns::AtRest,
        push: None,
    };
    tracing::info!(agent = name, by = caller.name, "a message goes to an agent");
    let told: Told = Arc::default();
    let heard = Arc::clone(&told);
    let asking = Box::pin(async move { agent.ask(order, &mut |event| hear(&heard, event)).await });
    let pulse = Pulse::every(HEARTBEAT);
    let asked = Asked { asking, told, shutdown, standing, pulse, is_over: false };
    let pieces = stream::unfold(asked, |mut asked| async move {
        let piece = asked.next().await?;
        Some((Ok::<_, Infallible>(piece.into()), asked))
    });
    Ok(events::event_stream(pieces))
}

/// An id that somebody may have given.
fn read<T: FromStr<Err: ToString>>(id: Option<String>) -> Result<Option<T>, Problem> {
    let id = id.map(|id| id.parse::<T>()).transpose();
    id.map_err(|error| Problem::refused(error.to_string()))
}

/// What was heard and not sent on yet. The client of agents bounds all that one answer may have.
type Told = Arc<Mutex<VecDeque<String>>>;

struct Asked {
    asking: Pin<Box<dyn Future<Output = Result<Sent, PeerError>> + Send>>,
    told: Told,
    shutdown: CancellationToken,
    standing: Standing,
    pulse: Pulse,
    is_over: bool,
}

impl Asked {
    /// The next piece for the caller. Whoever goes away takes this with them, and the task is cancelled.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(piece) = pop(&self.told) {
                return Some(piece);
            }
            if self.is_over {
                return None;
            }
            let (asking, told) = (&mut self.asking, &self.told);
            let heard = poll_fn(|context| match asking.as_mut().poll(context) {
                Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
                Poll::Pending if has_any(told) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            tokio::select! {
                outcome = heard => {
                    if let Some(outcome) = outcome {
                        let last = outcome.map_or_else(|error| failed(&error.into()), |sent| ended(&sent));
                        self.end(last);
                    }
                }
                () = self.shutdown.cancelled() => self.end(failed(&events::stopping())),
                () = self.pulse.beat() => match self.standing.check().await {
                    Ok(()) => return Some(": still here\n\n".to_owned()),
                    Err(problem) => self.end(failed(&problem)),
                },
            }
        }
    }

    fn end(&mut self, last: String) {
        self.is_over = true;
        push(&self.told, last);
    }
}

fn pop(told: &Told) -> Option<String> {
    told.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

fn push(told: &Told, piece: String) {
    told.lock().unwrap_or_else(PoisonError::into_inner).push_back(piece);
}

fn has_any(told: &Told) -> bool {
    !told.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
}

fn hear(told: &Told, heard: &Event) {
    match heard {
        Event::Status(update) => push(told, status(&update.status)),
        Event::Message(message) => push(told, piece("", &message.parts, false)),
        Event::Artifact(update) => {
            let id = update.artifact.id.as_str();
            push(told, piece(id, &update.artifact.parts, update.append));
        }
        Event::Task(task) => {
            push(told, status(&task.status));
            for made in &task.artifacts {
                push(told, piece(made.id.as_str(), &made.parts, false));
            }
        }
    }
}

fn status(status: &TaskStatus) -> String {
    let says =
        status.message.as_ref().map(|message| Part::words(&message.parts)).unwrap_or_default();
    data("status", &StatusBody { state: status.state.name(), says })
}

fn piece(artifact: &str, parts: &[Part], append: bool) -> String {
    data("text", &PieceBody { artifact, text: Part::words(parts), append })
}

fn ended(sent: &Sent) -> String {
    let body = match sent {
        Sent::Message(message) => EndedBody {
            state: TaskState::Completed.name(),
            task: None,
            context: message.context.as_ref().map(ToString::to_string),
            says: String::new(),
        },
        Sent::Task(task) => {
            let said = task.status.message.as_ref().map(|message| Part::words(&message.parts));
            EndedBody {
                state: task.status.state.name(),
                task: Some(task.id.to_string()),
                context: task.context.as_ref().map(ToString::to_string),
                says: said.unwrap_or_default(),
            }
        }
    };
    data("done", &body)
}

fn failed(problem: &Problem) -> String {
    let Problem { status, code, title, detail, action, .. } = problem;
    let status = status.as_u16();
    let body = serde_json::json!({
        "status": status, "code": code, "title": title, "detail": detail, "action": action,
    });
    event(Some("failed"), &body.to_string())
}

fn data(name: &str, body: &impl Serialize) -> String {
    event(Some(name), &serde_json::to_string(body).unwrap_or_default())
}
