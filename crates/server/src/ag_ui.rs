//! AG-UI 1.0 at `/ag-ui`: a research run as the events of a page that knows this protocol.
//!
//! The agents of a run are sub-agents, what they do is activity, what is asked about is an interrupt, and the report is a
//! message with annotations. A run that is left goes on: it is in /api/research under the id that the first snapshot names.

mod input;
mod telling;

use std::collections::VecDeque;
use std::convert::Infallible;

use agent::identity::Scope;
use agent::research::journal::Steering;
use agent::research::message::{AgentMessage, Content, Uuid};
use axum::body::Bytes as Piece;
use axum::extract::State;
use axum::response::Response;
use engine::EngineError;
use engine::research::{Asked, Over, Research, Seen, Watching};
use futures_util::stream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::input::{Input, Resume};
use self::telling::Telling;
use crate::api::Api;
use crate::events::{HEARTBEAT, Pulse, event, event_stream, stopping};
use crate::guard::{Caller, Shutdown, Standing};
use crate::input::Bytes;
use crate::problem::Problem;
use crate::routes::{Access, Route};

/// Largest request, in bytes: a client sends the whole conversation each time.
const BODY_BYTES_MAX: u64 = 4 << 20;

pub(crate) fn routes() -> Vec<Route<Api>> {
    let read = Access::Needs(Scope::Read);
    // What a client sends besides is its own affair: the protocol lets it.
    let route = Route::post("/ag-ui", read, "Runs research as AG-UI 1.0 tells it", run)
        .takes_bytes("application/json")
        .body_bytes_max(BODY_BYTES_MAX)
        .gives_other(http::StatusCode::OK, "text/event-stream")
        .tag("research");
    vec![route]
}

async fn run(
    State(api): State<Api>,
    caller: Caller,
    Shutdown(shutdown): Shutdown,
    standing: Standing,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let input = Input::read(&body)?;
    let (id, after) = begin(&api.research, &caller, &input).await?;
    let watching = api.research.watch(&caller, id, after).await?;
    let mut telling = Telling::new(input.thread, input.run, id);
    let waiting: VecDeque<Value> = telling.begin().into();
    let pulse = Pulse::every(HEARTBEAT);
    let told = Told { watching, telling, waiting, shutdown, standing, pulse, is_over: false };
    let pieces = stream::unfold(told, |mut told| async move {
        let piece = told.next().await?;
        Some((Ok::<_, Infallible>(Piece::from(piece)), told))
    });
    Ok(event_stream(pieces))
}

/// The run that is meant, and the last message of it that the client has seen.
async fn begin(
    research: &Research,
    caller: &Caller,
    input: &Input,
) -> Result<(Uuid, u64), Problem> {
    if let Some(resume) = &input.resume {
        let after = seen(research, caller, resume).await?;
        return match research.steer(caller, resume.run, resume.steering.clone()).await {
            // It may have gone on by itself, or have ended: then that is told.
            Ok(_) | Err(EngineError::Conflict(_)) => Ok((resume.run, after)),
            Err(error) => Err(error.into()),
        };
    }
    let asked = Asked {
        question: input.question.clone(),
        sources: input.sources.clone(),
        approval: Some(input.approval),
        conversation: Some(format!("ag-ui:{}", input.thread)),
        ..Asked::default()
    };
    Ok((research.create(caller, asked).await?.line.id, 0))
}

/// The last message that a client has seen who answers: the question about a call, or all there is.
async fn seen(research: &Research, caller: &Caller, resume: &Resume) -> Result<u64, Problem> {
    let view = research.view(caller, resume.run).await?;
    let last = view.status.map_or(0, |status| status.last_seq);
    let Steering::Repeat { key, .. } = &resume.steering else { return Ok(last) };
    let lines = research.messages(caller, resume.run, 0, usize::MAX).await?;
    let is_asked = |json: &str| {
        let message = serde_json::from_str(json).ok().and_then(|it| AgentMessage::read(&it).ok());
        let asked = message.and_then(|it| match it.content {
            Content::ToolApproval(approval) => approval.request,
            _ => None,
        });
        asked.is_some_and(|request| request.call == key.as_str())
    };
    Ok(lines.iter().rfind(|line| is_asked(&line.json)).map_or(last, |line| line.seq))
}

/// A run on its way to a client.
struct Told {
    watching: Watching,
    telling: Telling,
    /// Events that are to be sent.
    waiting: VecDeque<Value>,
    shutdown: CancellationToken,
    standing: Standing,
    pulse: Pulse,
    is_over: bool,
}

impl Told {
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(value) = self.waiting.pop_front() {
                return Some(event(None, &value.to_string()));
            }
            if self.is_over {
                return None;
            }
            tokio::select! {
                seen = self.watching.next() => self.take(seen),
                () = self.shutdown.cancelled() => self.fail(&stopping()),
                () = self.pulse.beat() => match self.standing.check().await {
                    Ok(()) => return Some(": still here\n\n".to_owned()),
                    Err(problem) => self.fail(&problem),
                },
            }
        }
    }

    fn take(&mut self, seen: Option<Seen>) {
        let events = match seen {
            Some(Seen::Said(line)) => {
                let value: Value = serde_json::from_str(&line.json).unwrap_or_default();
                // Every line was made from a message.
                let Ok(message) = AgentMessage::read(&value) else { return };
                let mut events = self.telling.said(&message);
                let asked = match &message.content {
                    Content::PlanApproval(approval) => {
                        approval.request.as_ref().map(|plan| self.telling.interrupt(plan))
                    }
                    Content::ToolApproval(approval) => {
                        approval.request.as_ref().map(|call| self.telling.interrupt_about(call))
                    }
                    _ => None,
                };
                self.is_over = self.is_over || asked.is_some();
                events.extend(asked.into_iter().flatten());
                events
            }
            Some(Seen::Over(Over::Ended { report, .. })) => {
                self.is_over = true;
                self.telling.end(report.as_deref())
            }
            Some(Seen::Over(Over::Failed(error))) => {
                self.is_over = true;
                self.telling.error(&error.to_string(), "run_failed")
            }
            Some(Seen::Over(Over::Left) | Seen::Gap(_)) | None => return self.fail(&stopping()),
        };
        self.waiting.extend(events);
    }

    fn fail(&mut self, why: &Problem) {
        self.is_over = true;
        self.waiting
            .extend(self.telling.error(&format!("{} {}", why.detail, why.action), why.code));
    }
}
