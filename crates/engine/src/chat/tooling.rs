//! Tools of servers in a turn: which the model is shown, how its calls are made, and what it reads of them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agent::context::{self, Given, Part};
use agent::identity::{Principal, Scope};
use agent::model::{Message, ToolCall, ToolSpec};
use agent::tools::activity::{Ending, REASON_BYTES_MAX};
use agent::tools::definition::{Definition, Effect};
use agent::tools::naming::ToolName;
use agent::tools::offer::{self, FIND_TOOLS, FOUND_MAX, Offer};
use agent::tools::policy::{Attendance, Influence};
use agent::tools::question::{Nobody, Person, Question, Reply};
use agent::tools::redaction::redact;
use agent::turn::{ToolUse, Turn, TurnId, batches};
use futures_util::future::{BoxFuture, join_all};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::running::{Run, Stopped, TIME_OVER, milliseconds};
use super::{Copilot, Doing, TurnEvent};
use crate::telemetry;
use crate::tools::{CallError, Caller, Desk, Host};

/// How long a turn waits for servers to say what they have; one that starts more slowly is there for the next turn.
const LIST_WAIT_MAX: Duration = Duration::from_secs(5);

/// For whom a turn may use tools, and who is asked about them.
#[derive(Clone)]
pub struct ToolUser {
    pub principal: Principal,
    pub asked: Whom,
}

/// Who is asked whether a call may be made.
#[derive(Clone)]
pub enum Whom {
    /// Somebody who is here.
    Person(Arc<dyn Person>),
    /// Whoever reads the questions that lie on a desk.
    Desk(Desk),
    /// Nobody: what needs a yes does not run.
    Nobody,
}

impl fmt::Debug for ToolUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolUser").field("principal", &self.principal).finish_non_exhaustive()
    }
}

impl ToolUser {
    /// The user as the caller of tools in a turn.
    pub(super) fn caller(self, turn: &TurnId, tell: &mpsc::Sender<TurnEvent>) -> Caller {
        let session = turn.session.to_string();
        let (tenant, name) = (self.principal.tenant.clone(), self.principal.name.clone());
        let (person, attendance) = match self.asked {
            Whom::Person(person) => (person, Attendance::Attended),
            Whom::Desk(desk) => {
                (desk.person(tenant, name, Some(session.clone())), Attendance::Attended)
            }
            Whom::Nobody => (Arc::new(Nobody) as Arc<dyn Person>, Attendance::Unattended),
        };
        let one_at_a_time = Semaphore::new(1);
        let tell = tell.clone();
        let person = Announcing { person, session: session.clone(), tell, one_at_a_time };
        Caller {
            principal: self.principal,
            session: Some(session),
            turn: Some(turn.to_string()),
            person: Arc::new(person),
            attendance,
            // The model reads documents and results, and whoever wrote those may want something else than the person.
            influence: Influence::Strangers,
            hops: 0,
        }
    }
}

/// What a turn knows of tools.
pub(super) struct Tooling {
    host: Host,
    caller: Caller,
    /// All that the model may be shown; none before anybody has asked.
    tools: Option<Vec<Definition>>,
    /// Those that the model has found; none where it is shown all.
    found: Option<BTreeSet<ToolName>>,
    /// Calls and results so far, for the model's next request.
    pub(super) exchange: Vec<Message>,
    pub(super) parts: Vec<Part>,
    /// What was said before and between calls, and which passages it cites.
    pub(super) spoken: String,
    pub(super) cited: Vec<usize>,
    results_left: usize,
}

/// What came of one call.
struct Called {
    used: ToolUse,
    given: Given,
    text: String,
}

impl Tooling {
    /// None where there is no tool to be used: no server, nobody who may, or no model that could.
    pub(super) fn of(copilot: &Copilot, caller: Option<Caller>) -> Option<Self> {
        let caller = caller.filter(|caller| caller.principal.may(Scope::Write))?;
        let host = copilot.parts.host.clone()?;
        let can = copilot.parts.models.answer.is_some() && copilot.rules.tool_rounds > 0;
        if !can || !host.serves(&caller.principal.tenant) {
            return None;
        }
        Some(Self {
            host,
            caller,
            tools: None,
            found: None,
            exchange: Vec::new(),
            parts: Vec::new(),
            spoken: String::new(),
            cited: Vec::new(),
            results_left: copilot.rules.tool_budget.results,
        })
    }

    /// Finds out once what there is; says whether there is anything.
    async fn load(&mut self, definitions_tokens_max: usize) -> bool {
        if self.tools.is_none() {
            let tenant = &self.caller.principal.tenant;
            let tools = self.host.offered(tenant, LIST_WAIT_MAX).await;
            self.found = match offer::offer(&tools, definitions_tokens_max) {
                Offer::All => None,
                Offer::Search => Some(BTreeSet::new()),
            };
            self.tools = Some(tools);
        }
        !self.known().is_empty()
    }

    fn known(&self) -> &[Definition] {
        self.tools.as_deref().unwrap_or_default()
    }

    /// What the model is shown.
    pub(super) fn specs(&self) -> Vec<ToolSpec> {
        match &self.found {
            None => self.known().iter().map(offer::spec).collect(),
            Some(found) => {
                let named = self.known().iter().filter(|tool| found.contains(&tool.name));
                std::iter::once(offer::find_tools_spec()).chain(named.map(offer::spec)).collect()
            }
        }
    }

    fn only_reads(&self, name: &str) -> bool {
        let tool = self.known().iter().find(|tool| tool.name.as_str() == name);
        name == FIND_TOOLS || tool.is_some_and(|tool| tool.effect() != Effect::Changes)
    }

    async fn call(&self, call: &ToolCall) -> Called {
        let started = Instant::now();
        let (ending, text) = if call.name == FIND_TOOLS {
            self.find(&call.arguments)
        } else {
            self.call_server(call).await
        };
        let server = call.name.parse().ok().and_then(|name: ToolName| name.server());
        let used = ToolUse {
            name: agent::text::clip(&call.name, REASON_BYTES_MAX).to_owned(),
            server: server.map(String::from),
            arguments: redact(&call.arguments),
            ending,
            milliseconds: milliseconds(started.elapsed()),
        };
        let given = if used.ending == Ending::Done { Given::Result } else { Given::Failure };
        Called { used, given, text }
    }

    async fn call_server(&self, call: &ToolCall) -> (Ending, String) {
        let Ok(name) = call.name.parse::<ToolName>() else {
            let why = "there is no such tool".to_owned();
            return (Ending::Failed(why.clone()), why);
        };
        let calling = self.host.call(&self.caller, &name, call.arguments.clone(), None);
        match calling.instrument(telemetry::tool_call("server_tool")).await {
            Ok(output) if output.is_error => {
                let why = agent::text::clip(&output.text, REASON_BYTES_MAX).to_owned();
                (Ending::ToolError(why), output.text)
            }
            Ok(output) => (Ending::Done, output.text),
            Err(CallError::TimedOut(server)) => {
                (Ending::TimedOut, format!("{server} gave no answer in time"))
            }
            Err(error) => {
                let why = agent::tools::suspicion::clean(&error.to_string());
                let short = agent::text::clip(&why, REASON_BYTES_MAX).to_owned();
                let ending = match error {
                    CallError::Denied(_) | CallError::Held(_) => Ending::Denied(short),
                    _ => Ending::Failed(short),
                };
                (ending, why)
            }
        }
    }

    /// Names the tools that fit; they are shown with the next request.
    fn find(&self, arguments: &Value) -> (Ending, String) {
        let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        let found = offer::find(self.known(), query, FOUND_MAX);
        if found.is_empty() {
            return (Ending::Done, "no tool does that".to_owned());
        }
        let line = |tool: &&Definition| format!("{}: {}\n", tool.name, tool.description);
        (Ending::Done, found.iter().map(line).collect())
    }

    /// Keeps what a call gave for the model's next request.
    fn keep(&mut self, call: &ToolCall, text: String, part: Part) {
        if let (FIND_TOOLS, Some(query), Some(_)) =
            (call.name.as_str(), call.arguments.get("query").and_then(Value::as_str), &self.found)
        {
            let found = offer::find(self.known(), query, FOUND_MAX);
            let names: Vec<ToolName> = found.iter().map(|tool| tool.name.clone()).collect();
            self.found.get_or_insert_default().extend(names);
        }
        self.results_left = self.results_left.saturating_sub(part.tokens);
        self.parts.push(part);
        self.exchange.push(Message::Tool { call_id: call.id.clone(), text });
    }
}

impl Run {
    /// Whether there are tools that the model can be shown.
    pub(super) async fn has_tools(&mut self) -> bool {
        let most = self.copilot.rules.tool_budget.definitions;
        match &mut self.tools {
            Some(tools) => tools.load(most).await,
            None => false,
        }
    }

    /// Makes the calls that the model wants, and keeps what they gave for it. False if the reader left meanwhile.
    pub(super) async fn call_tools(
        &mut self,
        turn: &mut Turn,
        calls: Vec<ToolCall>,
    ) -> Result<bool, Stopped> {
        let Some(mut tools) = self.tools.take() else {
            turn.tools_called(Vec::new());
            return Ok(true);
        };
        let rounds = turn.tool_rounds_left() + 1;
        let share = tools.results_left / (calls.len() * rounds).max(1);
        let text = std::mem::take(&mut self.said_in_round);
        tools.exchange.push(Message::Assistant { text, tool_calls: calls.clone() });
        let mut used = Vec::new();
        let mut is_read = true;
        for batch in batches(&calls, |name| tools.only_reads(name)) {
            let names = batch.iter().map(|call| call.name.clone()).collect();
            is_read = is_read && self.doing(Doing::CallingTools { names }).await.is_ok();
            let called = if is_read { self.call_batch(&tools, &batch).await } else { None };
            let Some(called) = called else {
                is_read = false;
                break;
            };
            for (call, called) in batch.iter().zip(called) {
                let tokenizer = &*self.copilot.parts.tokenizer;
                let Called { used: one, given, text } = called;
                let (text, part) = context::tool_result(&call.name, given, &text, share, tokenizer);
                tools.keep(call, text, part);
                used.push(one);
            }
        }
        let has_spoken = !tools.spoken.is_empty();
        self.tools = Some(tools);
        turn.tools_called(used);
        match is_read {
            false if !has_spoken => Err(Stopped::Gone),
            is_read => Ok(is_read),
        }
    }

    /// Makes calls at once; none if the reader left, which takes them back. What is not done when the turn's time is
    /// over is taken back too.
    async fn call_batch(&self, tools: &Tooling, batch: &[ToolCall]) -> Option<Vec<Called>> {
        let all = join_all(batch.iter().map(|call| async {
            let late = || Called {
                used: ToolUse {
                    name: call.name.clone(),
                    server: None,
                    arguments: redact(&call.arguments),
                    ending: Ending::TimedOut,
                    milliseconds: 0,
                },
                given: Given::Failure,
                text: TIME_OVER.to_owned(),
            };
            let called = tokio::time::timeout_at(self.deadline, tools.call(call)).await;
            called.unwrap_or_else(|_| late())
        }));
        tokio::select! {
            called = all => Some(called),
            () = self.tell.closed() => None,
        }
    }
}

/// Tells the turn's reader that something waits for a person, and asks one question at a time.
struct Announcing {
    person: Arc<dyn Person>,
    session: String,
    tell: mpsc::Sender<TurnEvent>,
    one_at_a_time: Semaphore,
}

impl Person for Announcing {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let _turn = self.one_at_a_time.acquire().await;
            let tool = match question {
                Question::Call { tool, .. } => Some(tool.to_string()),
                Question::Form { .. } | Question::Link { .. } | Question::Sample { .. } => None,
            };
            let server = question.server().to_string();
            let doing = Doing::AwaitingApproval { server, tool, session: self.session.clone() };
            let mut asking = self.person.ask(question);
            // Asked first: whoever is told finds the question where it lies.
            let told = self.tell.send(TurnEvent::Doing(doing));
            tokio::select! {
                biased;
                reply = &mut asking => return reply,
                _gone = told => {}
            }
            asking.await
        })
    }
}
