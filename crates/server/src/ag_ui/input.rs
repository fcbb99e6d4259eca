//! What a client of AG-UI sends: the conversation, or its answer to an interrupt.

use agent::research::call::CallKey;
use agent::research::journal::Steering;
use agent::research::message::{ProviderId, Uuid};
use agent::research::order::Approval;
use serde::Deserialize;
use serde_json::Value;

use crate::api::wire::research::PlanBody;
use crate::input::parse_json;
use crate::problem::Problem;

/// Longest id of a thread or run that is repeated in events, in bytes.
const ID_BYTES_MAX: usize = 256;

/// What is wanted.
#[derive(Debug, PartialEq)]
pub(super) struct Input {
    pub(super) thread: String,
    pub(super) run: String,
    pub(super) question: String,
    pub(super) sources: Vec<ProviderId>,
    pub(super) approval: Approval,
    pub(super) resume: Option<Resume>,
}

/// An answer to an interrupt, which carries the name of its run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Resume {
    pub(super) run: Uuid,
    pub(super) steering: Steering,
}

/// The part of a request that is read; the protocol lets clients send more.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    thread_id: String,
    run_id: String,
    #[serde(default)]
    messages: Vec<WireMessage>,
    #[serde(default)]
    forwarded_props: Option<Value>,
    #[serde(default)]
    resume: Vec<WireResume>,
}

#[derive(Debug, Deserialize)]
struct WireMessage {
    role: String,
    #[serde(default)]
    content: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResume {
    interrupt_id: String,
    status: String,
    #[serde(default)]
    payload: Value,
}

/// What a client asks for besides the question.
#[derive(Debug, Default, Deserialize)]
struct Props {
    #[serde(default)]
    sources: Vec<ProviderId>,
    /// `given` follows the plan without a question.
    #[serde(default)]
    approval: String,
}

impl Input {
    pub(super) fn read(body: &[u8]) -> Result<Self, Problem> {
        let wire: Wire = parse_json(body)?;
        if wire.thread_id.len() > ID_BYTES_MAX || wire.run_id.len() > ID_BYTES_MAX {
            return Err(Problem::refused("threadId and runId have 256 bytes at most."));
        }
        let resume = wire.resume.first().map(WireResume::read).transpose()?;
        let last = wire.messages.iter().rev().find(|message| message.role == "user");
        let question = last.map(|message| text(&message.content)).unwrap_or_default();
        if question.trim().is_empty() && resume.is_none() {
            return Err(Problem::refused("messages ends with no question of a user."));
        }
        // Props of other agents are no fault.
        let props: Props = wire
            .forwarded_props
            .and_then(|props| serde_json::from_value(props).ok())
            .unwrap_or_default();
        let approval = if props.approval == "given" { Approval::Given } else { Approval::Asked };
        let (thread, run, sources) = (wire.thread_id, wire.run_id, props.sources);
        Ok(Self { thread, run, question, sources, approval, resume })
    }
}

impl WireResume {
    fn read(&self) -> Result<Resume, Problem> {
        let unknown = || Problem::refused("resume names no interrupt of this agent.");
        if let Some((run, call)) = self.interrupt_id.split_once(' ') {
            let run = run.parse().map_err(|_| unknown())?;
            return Ok(Resume { run, steering: self.about(call) });
        }
        let run = self.interrupt_id.parse().map_err(|_| unknown())?;
        let steering = match self.status.as_str() {
            "cancelled" => Steering::Refuse,
            "resolved" if self.payload.is_null() => Steering::Approve,
            "resolved" => {
                let body: Result<PlanBody, _> = serde_json::from_value(self.payload.clone());
                body.map_err(|error| Problem::refused(format!("resume: {error}.")))?.read()
            }
            _ => return Err(Problem::refused("resume: status is resolved or cancelled.")),
        };
        Ok(Resume { run, steering })
    }

    /// A word about a call: only a clear yes is one.
    fn about(&self, call: &str) -> Steering {
        let decision = self.payload.get("decision").and_then(Value::as_str);
        let is_wanted = self.status == "resolved" && decision == Some("approve");
        Steering::Repeat { key: CallKey::from(call.to_owned()), is_wanted }
    }
}

/// The text of a message, which is one, or parts of which some are.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &Value) -> Result<Input, Problem> {
        Input::read(body.to_string().as_bytes())
    }

    #[test]
    fn the_last_question_of_a_user_is_what_is_asked() {
        let body = json!({
            "threadId": "t", "runId": "r", "tools": [], "context": [], "state": {},
            "forwardedProps": { "approval": "given", "sources": ["local"], "other": 1 },
            "messages": [
                { "id": "1", "role": "user", "content": "first" },
                { "id": "2", "role": "assistant", "content": "an answer" },
                { "id": "3", "role": "user", "content": [{ "type": "text", "text": "second" }] },
            ],
        });
        let input = read(&body).unwrap();
        assert_eq!((input.question.as_str(), input.approval), ("second", Approval::Given));
        assert_eq!(input.sources, [ProviderId::local()]);
        assert!(read(&json!({ "threadId": "t", "runId": "r", "messages": [] })).is_err());
    }

    #[test]
    fn an_interrupt_is_answered_with_a_word_about_the_plan() {
        let id = Uuid::from_random([3; 16]);
        let answered = |status: &str, payload: Value| {
            let resume = json!([{ "interruptId": id, "status": status, "payload": payload }]);
            let body = json!({ "threadId": "t", "runId": "r", "messages": [], "resume": resume });
            read(&body).map(|input| input.resume.unwrap().steering)
        };
        assert_eq!(
            answered("resolved", json!({ "decision": "approve" })).unwrap(),
            Steering::Approve
        );
        assert_eq!(answered("resolved", Value::Null).unwrap(), Steering::Approve);
        assert_eq!(answered("cancelled", Value::Null).unwrap(), Steering::Refuse);
        assert!(answered("resolved", json!({ "decision": "maybe" })).is_err());
        assert!(answered("what", Value::Null).is_err());
    }
}
