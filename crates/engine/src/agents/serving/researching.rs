//! Research for other agents: the run's progress as states of the task, its plan and calls as questions, its report in
//! pieces.

use std::collections::VecDeque;

use a2a::model::{Artifact, Content, Message, Part, TaskState};
use agent::identity::Principal;
use agent::research::call::CallKey;
use agent::research::journal::Steering;
use agent::research::message::{
    AgentMessage, Content as Said, PlanQuestion, SearchStep, ToolQuestion, Uuid,
};
use agent::research::order::Approval;
use agent::research::report::{EndReason, Report};
use serde_json::{Value, json};

use super::asking::{artifact, failed, is_yes};
use super::executor::{Ended, Step, Work};
use crate::error::EngineError;
use crate::research::words::{call_asked, shown, steps_named, told};
use crate::research::{Asked, Over, Research, Seen, Watching};

/// Where a message says that the plan is to be followed without a question: `"approval": "given"`.
const APPROVAL: &str = "approval";

/// Works on a question until there is a report, or until nobody wants one.
pub(super) async fn research(
    research: &Research,
    work: &mut Work,
    message: &Message,
    question: String,
) -> Result<(), Ended> {
    let asked = Asked {
        question,
        approval: Some(approval(message)),
        hops: a2a::hops::read(None, message, work.metadata.as_ref()),
        conversation: Some(format!("a2a:{}", work.context)),
        ..Asked::default()
    };
    let principal = work.principal.clone();
    let id = match research.create(&principal, asked).await {
        Ok(view) => view.line.id,
        Err(error) => return failed(&work.tell, error).await,
    };
    let watching = match research.watch(&principal, id, 0).await {
        Ok(watching) => watching,
        Err(error) => return failed(&work.tell, error).await,
    };
    let stop = StopLater { research: research.clone(), principal, id, is_over: false };
    follow(stop, watching, work, message).await
}

fn approval(message: &Message) -> Approval {
    let given = message.metadata.as_ref().and_then(|fields| fields.get(APPROVAL)?.as_str());
    if given == Some("given") { Approval::Given } else { Approval::Asked }
}

/// A run that is stopped if whoever wanted it takes the task back.
struct StopLater {
    research: Research,
    principal: Principal,
    id: Uuid,
    is_over: bool,
}

impl Drop for StopLater {
    fn drop(&mut self) {
        if !self.is_over {
            self.research.stop_later(&self.principal, self.id);
        }
    }
}

async fn follow(
    mut run: StopLater,
    mut watching: Watching,
    work: &mut Work,
    message: &Message,
) -> Result<(), Ended> {
    let mut waiting = Questions { run: run.id, open: VecDeque::new() };
    loop {
        tokio::select! {
            seen = watching.next() => match seen {
                Some(Seen::Said(line)) => {
                    let value: Value = serde_json::from_str(&line.json).unwrap_or_default();
                    // Every line was made from a message.
                    let Ok(said) = AgentMessage::read(&value) else { continue };
                    if let Some(parts) = waiting.take(&said.content) {
                        work.tell.status(TaskState::InputRequired, parts).await?;
                    }
                    if let (Some(words), true) = (told(&said.content), waiting.open.is_empty()) {
                        let parts = vec![Part::text(words)];
                        work.tell.status(TaskState::Working, parts).await?;
                    }
                }
                Some(Seen::Over(Over::Ended { reason, report })) => {
                    run.is_over = true;
                    return match report {
                        Some(report) => deliver(work, message, &report).await,
                        None => without(work, reason).await,
                    };
                }
                Some(Seen::Over(Over::Failed(error))) => {
                    return failed(&work.tell, EngineError::Refused(error.to_string())).await;
                }
                Some(Seen::Over(Over::Left) | Seen::Gap(_)) | None => {
                    // It goes on when the agent starts again.
                    run.is_over = true;
                    let words = "the agent is stopping".to_owned();
                    return failed(&work.tell, EngineError::Refused(words)).await;
                }
            },
            Some(said) = work.inbox.recv() => {
                let steering = waiting.answered(&said);
                if let Err(error) = run.research.steer(&run.principal, run.id, steering).await {
                    work.tell.status(TaskState::Working, vec![Part::text(error.to_string())]).await?;
                }
                if let Some(parts) = waiting.first() {
                    work.tell.status(TaskState::InputRequired, parts).await?;
                }
            }
        }
    }
}

/// Something that waits for the caller's word.
enum Question {
    Plan(PlanQuestion),
    Call(ToolQuestion),
}

/// What the caller is asked about, one after the other.
struct Questions {
    run: Uuid,
    open: VecDeque<Question>,
}

impl Questions {
    /// Takes what a run asks, and what it no longer does; gives what the caller is to be asked now.
    fn take(&mut self, content: &Said) -> Option<Vec<Part>> {
        let asked = match content {
            Said::PlanApproval(approval) => approval.request.clone().map(Question::Plan),
            Said::ToolApproval(approval) => {
                let over = approval.decision.as_ref().map(|decision| decision.call.as_str());
                self.open.retain(
                    |it| !matches!(it, Question::Call(call) if Some(call.call.as_str()) == over),
                );
                approval.request.clone().map(Question::Call)
            }
            _ => None,
        };
        self.open.push_back(asked?);
        if self.open.len() == 1 { self.first() } else { None }
    }

    fn first(&self) -> Option<Vec<Part>> {
        Some(match self.open.front()? {
            Question::Plan(plan) => question(self.run, plan),
            Question::Call(call) => vec![
                Part::text(format!("{} Answer yes or no.", call_asked(call))),
                Part::new(Content::Data(json!({ "run": self.run, "call": call }))),
            ],
        })
    }

    /// What a message of the caller means for the run. What is not clearly a yes is a no.
    fn answered(&mut self, said: &Message) -> Steering {
        match self.open.pop_front() {
            Some(Question::Plan(plan)) => decided(said, &plan),
            Some(Question::Call(call)) => {
                let is_wanted = said.parts.iter().any(|part| match &part.content {
                    Content::Text(text) => is_yes(text),
                    Content::Data(data) => data.get("decision").is_some_and(|it| it == "approve"),
                    Content::Raw(_) | Content::Url(_) => false,
                });
                Steering::Repeat { key: CallKey::from(call.call), is_wanted }
            }
            None => Steering::Instruct { text: text(said) },
        }
    }
}

/// A plan as the caller reads it: for people as text, for programs as data.
fn question(id: Uuid, plan: &PlanQuestion) -> Vec<Part> {
    let text = format!(
        "{}\nIs this plan to be followed? Answer yes, no, or with the numbers of the steps to follow, such as 1 3.",
        shown(plan)
    );
    vec![Part::text(text), Part::new(Content::Data(json!({ "run": id, "plan": plan })))]
}

/// What a caller says about a plan. What is not clearly a yes is a no.
fn decided(message: &Message, plan: &PlanQuestion) -> Steering {
    for part in &message.parts {
        match &part.content {
            Content::Data(Value::Object(fields)) => {
                let steps = fields.get("steps").cloned().unwrap_or_default();
                let steps: Vec<SearchStep> = serde_json::from_value(steps).unwrap_or_default();
                return match fields.get("decision").and_then(Value::as_str) {
                    Some("approve") => Steering::Approve,
                    Some("edit") => Steering::Edit { steps },
                    _ => Steering::Refuse,
                };
            }
            Content::Text(text) if is_yes(text) => return Steering::Approve,
            Content::Text(text) => {
                let steps = steps_named(text, plan);
                if !steps.is_empty() {
                    return Steering::Edit { steps };
                }
            }
            Content::Raw(_) | Content::Url(_) | Content::Data(_) => {}
        }
    }
    Steering::Refuse
}

fn text(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The report section by section; with the last piece, all of it as data.
async fn deliver(work: &Work, message: &Message, report: &Report) -> Result<(), Ended> {
    let markdown = report.to_markdown();
    let mut pieces: Vec<Artifact> = sections(&markdown)
        .into_iter()
        .map(|section| artifact("report", message, vec![Part::text(section.to_owned())]))
        .collect();
    let data = serde_json::to_value(report).unwrap_or_default();
    if let Some(last) = pieces.last_mut() {
        last.parts.push(Part::new(Content::Data(json!({ "report": data }))));
    }
    let count = pieces.len();
    for (place, artifact) in pieces.into_iter().enumerate() {
        let (append, last_chunk) = (place > 0, place + 1 == count);
        work.tell.tell(Step::Artifact { artifact, append, last_chunk }).await?;
    }
    Ok(())
}

/// A text cut before each of its headings; together the pieces are the text.
fn sections(markdown: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = markdown;
    // The cut is after the line's end, so that the heading begins the next piece.
    while let Some(place) = rest.find("\n## ") {
        let (piece, next) = rest.split_at(place + 1);
        pieces.push(piece);
        rest = next;
    }
    pieces.push(rest);
    pieces
}

async fn without(work: &Work, reason: EndReason) -> Result<(), Ended> {
    let state = match reason {
        EndReason::Refused => TaskState::Rejected,
        _ => TaskState::Failed,
    };
    let words = format!("There is no report: {}.", reason.as_str());
    work.tell.status(state, vec![Part::text(words)]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_cut_before_its_headings_and_nothing_is_lost() {
        for (text, count) in [
            ("# Q\n\n## A\n\na\n\n## B\n\nb\n", 3),
            ("# Q\n\nnothing\n", 1),
            ("", 1),
            ("# Q\n## A\n## B\n", 3),
        ] {
            let pieces = sections(text);
            assert_eq!(pieces.concat(), text);
            assert_eq!(pieces.len(), count, "{pieces:?}");
        }
    }
}
