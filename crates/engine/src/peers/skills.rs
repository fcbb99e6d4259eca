//! Skills of agents as tools: one each, called under the same rules as any other tool.

use std::sync::Arc;

use a2a::ids::{ContextId, TaskId};
use a2a::model::{Content, Event, Part, Returns, Sent, Skill, TaskState};
use agent::tools::definition::{Annotations, Offered};
use agent::tools::listing::{self, Listing};
use agent::tools::naming::ServerId;
use agent::tools::outcome::{Link, Piece, ToolOutput};
use agent::tools::question::{Person, Question, Reply};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::directory::Peers;
use super::error::{PeerError, shown};
use super::peer::{Agent, Order};
use crate::tools::{Progress, digest};

/// The tool of an agent that names no skill.
const ONLY_SKILL: &str = "ask";

/// Examples of a skill that a model reads.
const EXAMPLES_MAX: usize = 3;

/// How often an agent may ask back before it answers a call.
const ROUNDS_MAX: usize = 10;

/// Who calls a skill, and whom to ask.
pub(crate) struct Behalf<'a> {
    pub(crate) person: &'a Arc<dyn Person>,
    pub(crate) hops: u32,
    pub(crate) progress: Option<mpsc::Sender<Progress>>,
}

impl Peers {
    /// The skills of a configured agent; the same list as long as its card is the same.
    pub(crate) async fn listing(&self, id: &ServerId) -> Result<Arc<Listing>, PeerError> {
        let settings = self.configured_as(id).ok_or_else(|| absent(id))?;
        let agent = self.known(settings).await?;
        let list = || Arc::new(listing::take(id, offered(&agent), digest));
        Ok(Arc::clone(agent.card().listing.get_or_init(list)))
    }

    /// Calls a skill, and asks the caller's person what the agent asks back.
    pub(crate) async fn call_skill(
        &self,
        id: &ServerId,
        skill: &str,
        arguments: &Map<String, Value>,
        behalf: Behalf<'_>,
    ) -> Result<ToolOutput, PeerError> {
        let settings = self.configured_as(id).ok_or_else(|| absent(id))?;
        let agent = self.known(settings).await?;
        let has_skill = agent.card().card.skills.iter().any(|known| known.id == skill);
        let mut order = order(arguments, has_skill.then(|| skill.to_owned()), behalf.hops)?;
        for _ in 0..ROUNDS_MAX {
            let mut count = 0.0;
            let mut told = |event: &Event| {
                count += 1.0;
                let Some(progress) = &behalf.progress else { return };
                let message = said(event).map(|text| shown(&text));
                // Whoever is slow to read misses what is outdated anyway.
                _ = progress.try_send(Progress { done: count, total: None, message });
            };
            let sent = agent.ask(order.clone(), &mut told).await?;
            let Some((task, context, question)) = asks_back(&sent) else {
                return Ok(output(&sent));
            };
            let form = Question::Form {
                server: id.clone(),
                message: question,
                schema: json!({
                    "type": "object",
                    "properties": { "answer": { "type": "string" } },
                    "required": ["answer"],
                }),
            };
            let reply = form.settle(behalf.person.ask(&form).await);
            let Reply::Filled(values) = reply else { return Ok(output(&sent)) };
            let answer = values.get("answer").and_then(Value::as_str).unwrap_or_default();
            order.parts = vec![Part::text(answer)];
            (order.task, order.context) = (Some(task), context);
        }
        let kind = a2a::error::ErrorKind::InvalidAgentResponse;
        let words = format!("one question after another, {ROUNDS_MAX} in all, and no answer");
        Err(PeerError::Refused { kind, words })
    }
}

fn absent(id: &ServerId) -> PeerError {
    PeerError::Absent(format!("there is no agent {id} in the configuration"))
}

/// The tools that an agent's skills are. Where it is stands in each: an agent that has moved is another one.
fn offered(agent: &Agent) -> Vec<Offered> {
    let card = &agent.card().card;
    let at = agent.url().origin().ascii_serialization();
    let only = Skill {
        id: ONLY_SKILL.to_owned(),
        name: card.name.clone(),
        description: card.description.clone(),
        ..Skill::default()
    };
    let skills = if card.skills.is_empty() { std::slice::from_ref(&only) } else { &card.skills };
    let tool = |skill: &Skill| {
        let mut description =
            format!("{}\n\nA skill of the agent {} at {at}.", skill.description, card.name);
        for example in skill.examples.iter().take(EXAMPLES_MAX) {
            description.push_str(&format!("\nFor example: {example}"));
        }
        Offered {
            name: skill.id.clone(),
            title: Some(skill.name.clone()),
            description,
            input_schema: schema(),
            output_schema: None,
            // Whatever an agent does, what it is told leaves the house.
            annotations: Annotations { open_world: Some(true), ..Annotations::default() },
        }
    };
    skills.iter().map(tool).collect()
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "message": {
                "type": "string",
                "description": "What the agent is to do, with everything that it needs to know: it sees nothing else."
            },
            "task": {
                "type": "string",
                "description": "The task that asked back, if this is the answer to its question."
            },
            "context": {
                "type": "string",
                "description": "The context of an earlier answer, to go on from there."
            }
        },
        "required": ["message"]
    })
}

fn order(
    arguments: &Map<String, Value>,
    skill: Option<String>,
    hops: u32,
) -> Result<Order, PeerError> {
    let text = |name: &str| match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(PeerError::Unusable(format!("{name} is no text"))),
    };
    let wrong = |name: &str| PeerError::Unusable(format!("{name} is no id of the agent's"));
    let message =
        text("message")?.ok_or_else(|| PeerError::Unusable("message is empty".to_owned()))?;
    let task: Option<TaskId> =
        text("task")?.map(str::parse).transpose().map_err(|_| wrong("task"))?;
    let context: Option<ContextId> =
        text("context")?.map(str::parse).transpose().map_err(|_| wrong("context"))?;
    let returns = Returns::AtRest;
    let parts = vec![Part::text(message)];
    Ok(Order { parts, skill, task, context, hops, returns, push: None })
}

/// What an event says in words, if it says something.
fn said(event: &Event) -> Option<String> {
    let message = match event {
        Event::Task(task) => task.status.message.as_ref(),
        Event::Status(update) => update.status.message.as_ref(),
        Event::Message(_) | Event::Artifact(_) => None,
    };
    let text = words(&message?.parts);
    (!text.is_empty()).then_some(text)
}

pub(crate) fn words(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn asks_back(sent: &Sent) -> Option<(TaskId, Option<ContextId>, String)> {
    let Sent::Task(task) = sent else { return None };
    if task.status.state != TaskState::InputRequired {
        return None;
    }
    let question = task.status.message.as_ref().map(|message| words(&message.parts));
    Some((task.id.clone(), task.context.clone(), shown(&question.unwrap_or_default())))
}

/// What an agent gave: its artifacts, or what it said last.
pub(crate) fn given(sent: &Sent) -> Vec<Piece> {
    let task = match sent {
        Sent::Message(message) => return pieces(&message.parts),
        Sent::Task(task) => task,
    };
    let mut all: Vec<Piece> = task.artifacts.iter().flat_map(|made| pieces(&made.parts)).collect();
    if let Some(message) = &task.status.message
        && (all.is_empty() || task.status.state != TaskState::Completed)
    {
        all.extend(pieces(&message.parts));
    }
    all
}

/// What an agent gave, as what a tool gives: with a word about how to go on.
fn output(sent: &Sent) -> ToolOutput {
    let mut all = given(sent);
    let task = match sent {
        Sent::Message(_) => return ToolOutput::of(all, None, false),
        Sent::Task(task) => task,
    };
    let (id, state) = (&task.id, task.status.state);
    let note = match state {
        TaskState::Completed => None,
        TaskState::InputRequired => {
            Some(format!("[the agent asks back: call it again with task {id} and the answer]"))
        }
        TaskState::AuthRequired => {
            Some(format!("[the agent wants a person to log in for its task {id}]"))
        }
        TaskState::Failed => Some("[the agent failed]".to_owned()),
        TaskState::Rejected => Some("[the agent does not take this on]".to_owned()),
        TaskState::Canceled => Some("[the task was cancelled]".to_owned()),
        TaskState::Unspecified | TaskState::Submitted | TaskState::Working => {
            Some(format!("[the agent is still at it: task {id}]"))
        }
    };
    all.extend(note.map(Piece::Text));
    let went_on = matches!(state, TaskState::Completed | TaskState::InputRequired);
    ToolOutput::of(all, None, !went_on)
}

fn pieces(parts: &[Part]) -> Vec<Piece> {
    let piece = |part: &Part| match &part.content {
        Content::Text(text) => Piece::Text(text.clone()),
        Content::Data(data) => Piece::Text(data.to_string()),
        Content::Raw(bytes) => Piece::Bytes {
            kind: part.media_type.clone().unwrap_or_else(|| "application/octet-stream".to_owned()),
            size: bytes.len(),
        },
        Content::Url(address) => Piece::Link(Link {
            address: address.clone(),
            title: part.filename.clone().unwrap_or_else(|| "file".to_owned()),
        }),
    };
    parts.iter().map(piece).collect()
}
