//! A run over a WebSocket: the same messages as the events, and controls in the other direction.

use agent::identity::Principal;
use agent::research::journal::Steering;
use agent::research::message::{Uuid, from_camel};
use engine::research::{Research, Seen, Watching};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::streams::last_words;
use super::{Case, cased, message};
use crate::api::wire::research::{ControlBody, PlanBody, RunBody};
use crate::events::{HEARTBEAT, Pulse};
use crate::guard::Standing;
use crate::input::parse_json;
use crate::problem::Problem;
use crate::websocket::{Close, Opening, Reader, Said, Socket, Writer};

/// Heartbeats after which a peer that says nothing is gone: it answers each of them.
const SILENT_BEATS_MAX: u32 = 3;

/// What a peer sends.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case", deny_unknown_fields)]
enum Wanted {
    Control(ControlBody),
    Plan(PlanBody),
}

/// One who watches and steers a run.
pub(super) struct Visit {
    pub(super) research: Research,
    pub(super) principal: Principal,
    pub(super) id: Uuid,
    pub(super) watching: Watching,
    pub(super) case: Case,
    pub(super) shutdown: CancellationToken,
    pub(super) standing: Standing,
}

impl Visit {
    pub(super) async fn talk(mut self, opening: Opening) {
        let Some(Socket { reader, mut writer }) = opening.open().await else { return };
        let ended = self.converse(reader, &mut writer).await;
        // A peer that is gone is told nothing.
        if let Ok(close) = ended {
            let _gone = writer.close(close).await;
        }
    }

    /// Goes on until one of the two ends; gives what the other is told then.
    async fn converse(
        &mut self,
        mut reader: Reader,
        writer: &mut Writer,
    ) -> Result<Close, std::io::Error> {
        let mut pulse = Pulse::every(HEARTBEAT);
        let mut heard_at = Instant::now();
        let is_silent = |heard_at: Instant| heard_at.elapsed() > HEARTBEAT * SILENT_BEATS_MAX;
        loop {
            tokio::select! {
                seen = self.watching.next() => {
                    let Some(seen) = seen else { return Ok(Close::Away) };
                    match self.told(seen) {
                        Told::More(text) => writer.text(&text).await?,
                        Told::Last(text) => {
                            writer.text(&text).await?;
                            return Ok(Close::Done);
                        }
                        Told::Left => return Ok(Close::Away),
                    }
                }
                said = reader.next() => {
                    heard_at = Instant::now();
                    match said {
                        Said::Text(text) => {
                            let answer = self.answer(&text).await;
                            writer.text(&answer).await?;
                        }
                        Said::Ping(data) => writer.pong(&data).await?,
                        Said::Pong => {}
                        Said::Closing(close) => return Ok(close),
                        Said::Gone => return Err(std::io::ErrorKind::ConnectionReset.into()),
                    }
                }
                () = pulse.beat() => {
                    if is_silent(heard_at) {
                        return Ok(Close::Policy);
                    }
                    if self.standing.check().await.is_err() {
                        return Ok(Close::Policy);
                    }
                    writer.ping().await?;
                }
                () = self.shutdown.cancelled() => return Ok(Close::Away),
            }
        }
    }

    fn told(&self, seen: Seen) -> Told {
        match seen {
            Seen::Said(line) => Told::More(match self.case {
                Case::Snake => format!("{{\"type\":\"agent_message\",\"data\":{}}}", line.json),
                Case::Camel => framed("agent_message", &message(&line, Case::Camel)),
            }),
            other => last_words(&self.watching, other)
                .map_or(Told::Left, |(name, data)| Told::Last(framed(name, &data))),
        }
    }

    /// What comes of what a peer wants: the run as it is then, or why not.
    async fn answer(&self, text: &str) -> String {
        match self.steer(text).await {
            Ok(run) => framed("run", &run),
            Err(problem) => framed(
                "refused",
                &json!({ "status": problem.status.as_u16(), "code": problem.code, "detail": problem.detail }),
            ),
        }
    }

    async fn steer(&self, text: &str) -> Result<Value, Problem> {
        let steering = read(text, self.case)?;
        let run = self.research.steer(&self.principal, self.id, steering).await?;
        cased(self.case, &RunBody::from(run))
    }
}

/// What is sent of what was seen.
enum Told {
    More(String),
    Last(String),
    /// The run goes on somewhere else.
    Left,
}

fn read(text: &str, case: Case) -> Result<Steering, Problem> {
    let value: Value = parse_json(text.as_bytes())?;
    let value = if case == Case::Camel { from_camel(&value) } else { value };
    match parse_json(value.to_string().as_bytes())? {
        Wanted::Control(body) => body.read(),
        Wanted::Plan(body) => Ok(body.read()),
    }
}

fn framed(name: &str, data: &Value) -> String {
    json!({ "type": name, "data": data }).to_string()
}
