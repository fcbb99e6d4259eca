//! A run as a task (the tasks extension): it has the run's id, and so outlives the connection and the process.

use agent::identity::Principal;
use agent::research::call::CallKey;
use agent::research::journal::Steering;
use agent::research::message::{Moment, Uuid};
use agent::research::report::EndReason;
use agent::research::run::Awaiting;
use engine::EngineError;
use engine::research::words::told;
use engine::research::{Line, RunView};
use rmcp::model::{
    CreateTaskResult, DetailedTask, ErrorData, InputResponses, JsonObject, Task, TaskPayload,
    TaskStatus,
};
use serde_json::Value;

use super::{Question, given, message, requests, researched, steered};
use crate::mcp::knowledge::{Own, ours};
use crate::mcp::offer::{Answer, Asked};
use crate::mcp::tasks::Deferred;
use crate::mcp::tools::Fault;

/// How often a client should ask, in milliseconds: a run takes minutes.
const POLL: u64 = 2_000;

/// Messages that are looked back at: what a run wants to know was said last, and what it does just before.
const LOOKED_BACK_AT: u64 = 50;

/// Whether whoever asks can follow a task.
pub(super) fn is_known_to(asked: &Asked) -> bool {
    asked.context.client_capabilities().is_some_and(|can| can.supports_tasks())
}

/// A run that was begun, as the task that it is from now on.
pub(super) fn begun(view: &RunView) -> CreateTaskResult {
    let at = Moment(view.line.begun_at).to_string();
    CreateTaskResult::new(task(view.line.id, at.clone(), at))
}

/// Without a time to live: a run is there until it is forgotten.
fn task(id: Uuid, created_at: String, last_updated_at: String) -> Task {
    let task = Task::new(id.to_string(), TaskStatus::Working, created_at, last_updated_at);
    task.with_poll_interval_ms(POLL)
}

impl Deferred for Own {
    fn get<'a>(
        &'a self,
        principal: &'a Principal,
        id: &'a str,
    ) -> Answer<'a, Option<DetailedTask>> {
        Box::pin(async move {
            let Some(view) = self.run(principal, id).await? else { return Ok(None) };
            let said = self.said_last(principal, &view).await?;
            let begun_at = Moment(view.line.begun_at).to_string();
            let changed_at = said.last().and_then(|line| message(&line.json));
            let changed_at =
                changed_at.map_or_else(|| begun_at.clone(), |it| it.timestamp.to_string());
            let mut task = task(view.line.id, begun_at, changed_at);
            let words = said.iter().rev().find_map(|line| told(&message(&line.json)?.content));
            task.status_message = words;
            let payload = self.payload(principal, &view, &said).await?;
            Ok(Some(DetailedTask::new(task, payload)))
        })
    }

    fn update<'a>(
        &'a self,
        principal: &'a Principal,
        id: &'a str,
        answers: &'a InputResponses,
    ) -> Answer<'a, Option<()>> {
        Box::pin(async move {
            let Some(view) = self.run(principal, id).await? else { return Ok(None) };
            let question = waiting(&view, &self.said_last(principal, &view).await?);
            let answered = question.and_then(|it| Some((answers.get(it.name())?, it)));
            if let Some((answer, question)) = answered {
                let steering = question.decided(answer);
                steered(self, view.line.id, steering, principal).await.map_err(ours)?;
            }
            Ok(Some(()))
        })
    }

    fn cancel<'a>(&'a self, principal: &'a Principal, id: &'a str) -> Answer<'a, Option<()>> {
        Box::pin(async move {
            let Some(view) = self.run(principal, id).await? else { return Ok(None) };
            steered(self, view.line.id, Steering::Stop, principal).await.map_err(ours)?;
            Ok(Some(()))
        })
    }
}

impl Own {
    /// The caller's run of this name; none if there is none. One that nobody works on is taken up.
    async fn run(&self, principal: &Principal, id: &str) -> Result<Option<RunView>, ErrorData> {
        let Ok(id) = id.parse::<Uuid>() else { return Ok(None) };
        let view = match self.research.view(principal, id).await {
            Ok(view) => view,
            Err(EngineError::Absent { .. }) => return Ok(None),
            Err(error) => return Err(ours(error)),
        };
        if !view.is_on_its_way && view.line.ended.is_none() {
            // Another process may have it: then it goes on there.
            let _watching = self.research.watch(principal, id, 0).await;
        }
        Ok(Some(view))
    }

    async fn said_last(
        &self,
        principal: &Principal,
        view: &RunView,
    ) -> Result<Vec<Line>, ErrorData> {
        let last = view.status.as_ref().map_or(0, |status| status.last_seq);
        let after = last.saturating_sub(LOOKED_BACK_AT);
        let lines = self.research.messages(principal, view.line.id, after, usize::MAX).await;
        lines.map_err(ours)
    }

    async fn payload(
        &self,
        principal: &Principal,
        view: &RunView,
        said: &[Line],
    ) -> Result<TaskPayload, ErrorData> {
        match view.line.ended {
            Some(EndReason::Stopped) => Ok(TaskPayload::Cancelled),
            Some(reason) => self.completed(principal, view.line.id, reason).await,
            None => match waiting(view, said) {
                Some(question) => {
                    let input_requests = requests(&question).map_err(Fault::into_error)?;
                    Ok(TaskPayload::InputRequired { input_requests })
                }
                None => Ok(TaskPayload::Working),
            },
        }
    }

    async fn completed(
        &self,
        principal: &Principal,
        id: Uuid,
        reason: EndReason,
    ) -> Result<TaskPayload, ErrorData> {
        let report = match self.research.report(principal, id).await {
            Ok(report) => Some(report),
            Err(EngineError::Absent { .. }) => None,
            Err(error) => return Err(ours(error)),
        };
        let result = given(&researched(id, reason.as_str(), report.as_ref()));
        let result = serde_json::to_value(result.map_err(Fault::into_error)?);
        let result = match result {
            Ok(Value::Object(result)) => result,
            // A result is an object.
            Ok(_) | Err(_) => JsonObject::new(),
        };
        Ok(TaskPayload::Completed { result })
    }
}

/// What a run wants a word about.
fn waiting(view: &RunView, said: &[Line]) -> Option<Question> {
    let awaits = view.status.as_ref().map(|status| status.awaits.as_slice()).unwrap_or_default();
    let is_open = |question: &Question| {
        awaits.iter().any(|awaited| match (awaited, question) {
            (Awaiting::Plan, Question::Plan(_)) => true,
            (Awaiting::Repeat(key) | Awaiting::Allow(key), Question::Call(call)) => {
                *key == CallKey::from(call.call.clone())
            }
            _ => false,
        })
    };
    let mut asked =
        said.iter().rev().filter_map(|line| Question::of(&message(&line.json)?.content));
    asked.find(is_open)
}
