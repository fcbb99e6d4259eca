//! Turns what is said in a run into events of AG-UI.

use agent::model::Usage;
use agent::research::message::{
    AgentMessage, Content, Party, PlanQuestion, ToolQuestion, Uuid, to_camel,
};
use agent::research::report::{CitedSource, Report};
use engine::research::words::{call_asked, shown};
use serde_json::{Value, json};

/// One run for one client: knows what is open, so that everything that begins also ends.
pub(super) struct Telling {
    thread: String,
    run: String,
    research: Uuid,
    /// Whose turn it is, and its number.
    speaker: Option<Party>,
    turns: u32,
    usage: Usage,
}

impl Telling {
    pub(super) fn new(thread: String, run: String, research: Uuid) -> Self {
        Self { thread, run, research, speaker: None, turns: 0, usage: Usage::default() }
    }

    pub(super) fn begin(&mut self) -> Vec<Value> {
        let started = json!({ "type": "RUN_STARTED", "threadId": self.thread, "runId": self.run });
        let snapshot = json!({ "researchId": self.research });
        vec![started, json!({ "type": "STATE_SNAPSHOT", "snapshot": snapshot })]
    }

    pub(super) fn said(&mut self, message: &AgentMessage) -> Vec<Value> {
        let mut events = Vec::new();
        if let Some(usage) = message.more.usage {
            self.usage += usage;
        }
        if Party::AGENTS.contains(&message.sender) && self.speaker != Some(message.sender) {
            events.extend(self.fall_silent(None));
            self.turns += 1;
            self.speaker = Some(message.sender);
            let (name, id) = (message.sender.as_str(), self.turn());
            events.push(json!({ "type": "SUBAGENT_STARTED", "subagentRunId": id, "name": name }));
        }
        events.extend(self.activity(message));
        events
    }

    /// What is done, for those kinds that a page shows: the last of a kind in a turn takes the place of the one before.
    fn activity(&self, message: &AgentMessage) -> Option<Value> {
        let kind = match &message.content {
            Content::PlanningRequest(_) => "plan",
            Content::SearchProgress(_) => "search",
            Content::SourceRead(_) => "source",
            Content::SearchResults(_) => "results",
            Content::QualityAssessment(_) => "quality",
            Content::AdditionalSearchRequest(_) => "more",
            Content::WritingProgress(_) => "writing",
            Content::DraftApproval(_) => "check",
            Content::BudgetUpdate(_) => "budget",
            Content::AgentError(_) => "error",
            _ => return None,
        };
        let is_one_of_many = matches!(kind, "source" | "error");
        let id = match is_one_of_many {
            true => message.id.to_string(),
            false => format!("{}-{kind}-{}", self.research, self.turns),
        };
        Some(json!({
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": id,
            "activityType": format!("research.{kind}"),
            "content": to_camel(&message.content.to_value()),
            "replace": true,
        }))
    }

    /// The plan waits for a word: this run of the protocol ends, and the next one brings the word.
    pub(super) fn interrupt(&mut self, plan: &PlanQuestion) -> Vec<Value> {
        let step = json!({
            "type": "object",
            "required": ["step_number", "description", "sources", "keywords"],
            "properties": {
                "step_number": { "type": "integer" },
                "description": { "type": "string" },
                "sources": { "type": "array", "items": { "type": "string" } },
                "keywords": { "type": "array", "items": { "type": "string" } },
            },
        });
        let schema = json!({
            "type": "object",
            "required": ["decision"],
            "properties": {
                "decision": { "type": "string", "enum": ["approve", "edit", "refuse"] },
                "steps": { "type": "array", "items": step },
            },
        });
        let interrupt = json!({
            "id": self.research,
            "reason": "plan_approval",
            "message": shown(plan),
            "responseSchema": schema,
            "metadata": { "plan": plan },
        });
        self.suspend(&interrupt)
    }

    /// A call waits for a word: the interrupt's id names the run and the call.
    pub(super) fn interrupt_about(&mut self, call: &ToolQuestion) -> Vec<Value> {
        let schema = json!({
            "type": "object",
            "required": ["decision"],
            "properties": { "decision": { "type": "string", "enum": ["approve", "refuse"] } },
        });
        let interrupt = json!({
            "id": format!("{} {}", self.research, call.call),
            "reason": "tool_approval",
            "message": call_asked(call),
            "responseSchema": schema,
            "metadata": { "call": call },
        });
        self.suspend(&interrupt)
    }

    fn suspend(&mut self, interrupt: &Value) -> Vec<Value> {
        let ids = json!([interrupt.get("id")]);
        let outcome = json!({ "type": "suspended", "interruptIds": ids });
        let mut events = self.fall_silent(Some(outcome));
        events.push(self.finished(&json!({ "type": "interrupt", "interrupts": [interrupt] })));
        events
    }

    pub(super) fn end(&mut self, report: Option<&Report>) -> Vec<Value> {
        let mut events = self.fall_silent(None);
        let Some(report) = report else {
            events.push(self.finished(&json!({ "type": "cancelled" })));
            return events;
        };
        let id = report.id;
        events.push(json!({ "type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant" }));
        let text = report.to_markdown();
        events.push(json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text }));
        events.push(json!({ "type": "TEXT_MESSAGE_END", "messageId": id }));
        let cited: Vec<Value> = (1..).zip(&report.sources).map(citation).collect();
        events.push(json!({ "type": "CUSTOM", "name": "annotations", "value": cited }));
        events.push(self.finished(&json!({ "type": "success" })));
        events
    }

    pub(super) fn error(&mut self, message: &str, code: &str) -> Vec<Value> {
        vec![json!({ "type": "RUN_ERROR", "message": message, "code": code })]
    }

    fn finished(&self, outcome: &Value) -> Value {
        let mut event = json!({
            "type": "RUN_FINISHED", "threadId": self.thread, "runId": self.run, "outcome": outcome,
        });
        if self.usage != Usage::default()
            && let Some(fields) = event.as_object_mut()
        {
            let Usage { input, cached, output, reasoning, .. } = self.usage;
            let usage = json!([{
                "inputTokens": input,
                "outputTokens": output,
                "totalTokens": input.saturating_add(output),
                "reasoningTokens": reasoning,
                "cachedInputTokens": cached,
            }]);
            fields.insert("usage".to_owned(), usage);
        }
        event
    }

    /// Ends the turn of whoever has it.
    fn fall_silent(&mut self, outcome: Option<Value>) -> Vec<Value> {
        if self.speaker.take().is_none() {
            return Vec::new();
        }
        let mut event = json!({ "type": "SUBAGENT_FINISHED", "subagentRunId": self.turn() });
        if let (Some(outcome), Some(fields)) = (outcome, event.as_object_mut()) {
            fields.insert("outcome".to_owned(), outcome);
        }
        vec![event]
    }

    fn turn(&self) -> String {
        format!("{}-{}", self.research, self.turns)
    }
}

/// A source as annotations name it.
fn citation((number, source): (usize, &CitedSource)) -> Value {
    let mut citation = json!({ "number": number, "title": source.title, "place": source.place });
    if let (Some(address), Some(fields)) = (source.web_address(), citation.as_object_mut()) {
        fields.insert("url".to_owned(), address.into());
    }
    json!({ "type": "url_citation", "url_citation": citation })
}

#[cfg(test)]
mod tests {
    use agent::identity::Timestamp;
    use agent::research::message::ProviderId;
    use agent::research::order::{
        Approval, Chooser, Class, Order, Provider, RunBudget, RunLimits, Thinking,
    };
    use agent::research::run::Run;

    use super::*;

    fn run(approval: Approval) -> Run {
        let local = Provider { id: ProviderId::local(), class: Class::Own, is_repeatable: true };
        let order = Order {
            id: Uuid::from_random([5; 16]),
            question: "How do budget alerts work and what do they cost?".to_owned(),
            providers: vec![local],
            approval,
            thinking: Thinking::Offline,
            chooser: Chooser::Rules,
            limits: RunLimits::default(),
            budget: RunBudget::default(),
            answer_seconds: None,
            hops: 0,
            basis: None,
            conversation: None,
        };
        Run::new(order, Timestamp(1_763_201_400_000))
    }

    #[test]
    fn whoever_begins_to_speak_also_ends_before_an_interrupt() {
        let run = run(Approval::Asked);
        let mut telling = Telling::new("t".into(), "r".into(), run.order().id);
        let mut events = telling.begin();
        for message in run.messages() {
            events.extend(telling.said(message));
            if let Content::PlanApproval(approval) = &message.content {
                events.extend(telling.interrupt(approval.request.as_ref().unwrap()));
            }
        }
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds.first(), Some(&"RUN_STARTED"));
        assert_eq!(kinds.last(), Some(&"RUN_FINISHED"));
        let count = |kind: &str| kinds.iter().filter(|it| **it == kind).count();
        assert_eq!(count("SUBAGENT_STARTED"), count("SUBAGENT_FINISHED"));
        let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0];
        assert_eq!(interrupt["id"], json!(run.order().id));
        assert_eq!(interrupt["responseSchema"]["required"], json!(["decision"]));
    }

    #[test]
    fn a_run_without_a_report_is_cancelled() {
        let mut telling = Telling::new("t".into(), "r".into(), Uuid::from_random([5; 16]));
        let events = telling.end(None);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["outcome"], json!({ "type": "cancelled" }));
    }
}
