//! Calls through the registry: ruled, asked about, made and noted.

use std::sync::Arc;

use agent::identity::{Principal, Timestamp};
use agent::tools::activity::{Activity, Ending, REASON_BYTES_MAX};
use agent::tools::definition::Definition;
use agent::tools::fits::misfit;
use agent::tools::naming::{ServerId, ToolName};
use agent::tools::outcome::ToolOutput;
use agent::tools::policy::{
    Approval, Attendance, Circumstances, Extent, Grant, Influence, Ruling, rule,
};
use agent::tools::question::{Person, Question, Reply};
use agent::tools::redaction::redact;
use agent::tools::{ARGUMENTS_BYTES_MAX, suspicion};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::connection::{Behalf, LinkError, Progress};
use super::handler::Asked;
use super::host::{Entry, Host};
use crate::error::EngineError;

/// How long a yes for a session holds, and one for always: nobody remembers a year later what was allowed.
const SESSION_YES_MILLIS: u64 = 24 * 3_600_000;
const ALWAYS_YES_MILLIS: u64 = 365 * 24 * 3_600_000;

/// Who calls a tool, and whom to ask.
#[derive(Clone)]
pub struct Caller {
    pub principal: Principal,
    pub session: Option<String>,
    /// The turn whose model wants it; none for a person's own call.
    pub turn: Option<String>,
    pub person: Arc<dyn Person>,
    pub attendance: Attendance,
    pub influence: Influence,
    /// Agents that what leads to the call has come through.
    pub hops: u32,
}

impl Caller {
    pub(super) fn behalf(&self, progress: Option<mpsc::Sender<Progress>>) -> Behalf<'_> {
        let asked = Asked { person: Arc::clone(&self.person), session: self.session.clone() };
        Behalf { principal: &self.principal.name, asked, progress }
    }
}

/// Why a call gave nothing; variants by who can do something about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The caller: there is no such tool or server.
    #[error("{0}")]
    Absent(String),
    /// The caller: the arguments cannot be sent.
    #[error("{0}")]
    Unusable(String),
    /// A person or the configuration said no.
    #[error("{0}")]
    Denied(String),
    /// A person: look at the definition as it is now, and accept it.
    #[error("{0}: look at it with `saem mcp tools` and accept it with `saem mcp accept`")]
    Held(String),
    /// The server: it says why.
    #[error("{0}")]
    Refused(String),
    /// The server does not answer; nothing was sent.
    #[error("{0}")]
    Down(String),
    /// The server did not answer in time; it was told to stop.
    #[error("{0} gave no answer in time")]
    TimedOut(String),
    /// The connection broke: it may have happened, and is not tried again.
    #[error("{0}")]
    Lost(String),
    /// Us: what is kept about tools cannot be read.
    #[error("{0}")]
    Broken(String),
}

/// What policy lets become of a call.
enum Ruled {
    Run(Grant),
    Ask(Question),
}

impl Host {
    /// Calls a tool as policy allows, asking the caller's person if it has to. Dropping the future cancels the call.
    pub async fn call(
        &self,
        caller: &Caller,
        name: &ToolName,
        arguments: Value,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> Result<ToolOutput, CallError> {
        let started = self.parts.clock.now();
        let mut note =
            Note { host: self, caller, name, arguments: redact(&arguments), started, grant: None };
        let outcome = self.ruled_call(caller, name, arguments, progress, &mut note).await;
        note.end(&outcome).await;
        outcome
    }

    async fn ruled_call(
        &self,
        caller: &Caller,
        name: &ToolName,
        arguments: Value,
        progress: Option<mpsc::Sender<Progress>>,
        note: &mut Note<'_>,
    ) -> Result<ToolOutput, CallError> {
        let tenant = &caller.principal.tenant;
        let entry = self.entry(tenant, name).await?;
        let arguments = checked(&entry.tool, arguments)?;
        let grant = self.permission(caller, &entry, &arguments).await?;
        note.grant = Some(grant);
        let server = self.server(tenant, &entry.tool.server).ok_or_else(|| absent(name))?;
        if server.launch.is_agent() {
            let tool = (name, &server.id, entry.tool.original.as_str());
            return self.call_skill(caller, tool, &arguments, progress).await;
        }
        let link = self.keeper(tenant, server).link().await;
        let link = link.map_err(|why| down(&entry.tool.server, &why))?;
        let behalf = caller.behalf(progress);
        let called = link.call(&entry.tool.original, arguments, &behalf).await;
        let output = called.map_err(|error| failed(&entry.tool.server, error))?;
        Ok(held_to(&entry.tool, output))
    }

    /// What the caller's person would be asked if this call were made now; none if it would be made on a word that is there.
    pub async fn question(
        &self,
        caller: &Caller,
        name: &ToolName,
        arguments: Value,
    ) -> Result<Option<Question>, CallError> {
        let entry = self.entry(&caller.principal.tenant, name).await?;
        let arguments = checked(&entry.tool, arguments)?;
        Ok(match self.ruled(caller, &entry, &arguments).await? {
            Ruled::Run(_) => None,
            Ruled::Ask(question) => Some(question),
        })
    }

    /// On whose word the call may be made; asks for it if it has to.
    async fn permission(
        &self,
        caller: &Caller,
        entry: &Entry,
        arguments: &Map<String, Value>,
    ) -> Result<Grant, CallError> {
        let question = match self.ruled(caller, entry, arguments).await? {
            Ruled::Run(grant) => return Ok(grant),
            Ruled::Ask(question) => question,
        };
        match question.settle(caller.person.ask(&question).await) {
            Reply::Yes(extent) => self.remember(caller, &entry.tool, extent).await,
            Reply::No | Reply::Filled(_) => {
                Err(CallError::Denied(format!("the user did not allow {}", entry.tool.name)))
            }
        }
    }

    async fn ruled(
        &self,
        caller: &Caller,
        entry: &Entry,
        arguments: &Map<String, Value>,
    ) -> Result<Ruled, CallError> {
        let tenant = &caller.principal.tenant;
        let approvals =
            self.parts.records.approvals(tenant).await.map_err(|e| broken(&e.into()))?;
        let server = self.server(tenant, &entry.tool.server);
        let rules = server.map(|server| server.rules.clone()).unwrap_or_default();
        let circumstances = Circumstances {
            principal: &caller.principal.name,
            session: caller.session.as_deref(),
            now: self.parts.clock.now(),
            attendance: caller.attendance,
            influence: caller.influence,
        };
        let tool = &entry.tool;
        match rule(tool, &rules, entry.standing, &approvals, &circumstances) {
            Ruling::Run(grant) => Ok(Ruled::Run(grant)),
            Ruling::Hold(why) => Err(CallError::Held(why)),
            Ruling::Refuse(why) => Err(CallError::Denied(why)),
            Ruling::Ask { extents, reasons } => Ok(Ruled::Ask(Question::Call {
                server: tool.server.clone(),
                tool: tool.name.clone(),
                title: tool.title.clone(),
                effect: tool.effect(),
                arguments: Value::Object(arguments.clone()),
                extents,
                reasons,
            })),
        }
    }

    async fn remember(
        &self,
        caller: &Caller,
        tool: &Definition,
        extent: Extent,
    ) -> Result<Grant, CallError> {
        let now = self.parts.clock.now();
        let (session, millis, grant) = match extent {
            Extent::Once => return Ok(Grant::Once),
            Extent::Session => (caller.session.clone(), SESSION_YES_MILLIS, Grant::Session),
            Extent::Always => (None, ALWAYS_YES_MILLIS, Grant::Always),
        };
        let approval = Approval {
            tool: tool.name.clone(),
            pin: tool.pin.clone(),
            session,
            by: caller.principal.name.clone(),
            at: now,
            expires_at: Timestamp(now.0.saturating_add(millis)),
        };
        let audit = self.audit(&caller.principal.name, "tools.approve", tool.name.as_str());
        let kept = self.parts.records.approve(&caller.principal.tenant, approval, audit).await;
        kept.map_err(|error| broken(&error.into()))?;
        Ok(grant)
    }
}

/// Arguments that can be sent: an object of a bounded size that has what the schema demands.
fn checked(tool: &Definition, arguments: Value) -> Result<Map<String, Value>, CallError> {
    let name = &tool.name;
    let arguments = match arguments {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        _ => {
            return Err(CallError::Unusable(format!("the arguments of {name} are no JSON object")));
        }
    };
    if Value::Object(arguments.clone()).to_string().len() > ARGUMENTS_BYTES_MAX {
        return Err(CallError::Unusable(format!("the arguments of {name} are too large")));
    }
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = required.filter(|key| !arguments.contains_key(*key)).collect();
    if !missing.is_empty() {
        let why = format!("{name} needs {}: {}", missing.join(", "), tool.input_schema);
        return Err(CallError::Unusable(agent::text::clip(&why, 2_000).to_owned()));
    }
    Ok(arguments)
}

/// Data that is not as the tool has promised is not passed on as data, and whoever reads the text is told.
fn held_to(tool: &Definition, mut output: ToolOutput) -> ToolOutput {
    let Some(schema) = tool.output_schema.as_ref().filter(|_| !output.is_error) else {
        return output;
    };
    let why = match &output.structured {
        // What was too large to be kept was left out by us.
        None if output.is_cut => None,
        None => Some("there is none".to_owned()),
        Some(data) => misfit(schema, data).map(|misfit| misfit.to_string()),
    };
    if let Some(why) = why {
        tracing::warn!(tool = %tool.name, %why, "a result is not as its tool has promised");
        output.structured = None;
        let why = suspicion::clean(&why);
        output.text.push_str(&format!("\n[the data of this result is not as promised: {why}]"));
    }
    output
}

pub(super) fn absent(name: &ToolName) -> CallError {
    CallError::Absent(format!("there is no tool {name}; `saem mcp tools` shows them"))
}

pub(super) fn down(server: &ServerId, why: &str) -> CallError {
    CallError::Down(format!("{server} does not answer: {why}"))
}

pub(super) fn broken(error: &EngineError) -> CallError {
    CallError::Broken(error.to_string())
}

pub(super) fn failed(server: &ServerId, error: LinkError) -> CallError {
    match error {
        LinkError::Down(why) => down(server, &why),
        LinkError::Refused(why) => CallError::Refused(format!("{server} says: {why}")),
        LinkError::TimedOut => CallError::TimedOut(server.to_string()),
        LinkError::Lost(why) => CallError::Lost(format!(
            "the connection to {server} was lost, so it is not known whether the call was made: {why}"
        )),
    }
}

/// Notes a call when it has ended, also one that nobody waits for any more.
struct Note<'a> {
    host: &'a Host,
    caller: &'a Caller,
    name: &'a ToolName,
    arguments: Value,
    started: Timestamp,
    grant: Option<Grant>,
}

impl Note<'_> {
    async fn end(mut self, outcome: &Result<ToolOutput, CallError>) {
        let (ending, bytes) = match outcome {
            Ok(output) if output.is_error => {
                let why = agent::text::clip(&output.text, REASON_BYTES_MAX).to_owned();
                (Ending::ToolError(why), output.text.len())
            }
            Ok(output) => (Ending::Done, output.text.len()),
            Err(CallError::TimedOut(_)) => (Ending::TimedOut, 0),
            Err(error @ (CallError::Denied(_) | CallError::Held(_))) => {
                (Ending::Denied(reason(error)), 0)
            }
            Err(error) => (Ending::Failed(reason(error)), 0),
        };
        let line = self.line(ending, bytes);
        let journal = self.host.journal.clone();
        journal.note(&self.caller.principal.tenant, line).await;
        self.started = Timestamp(u64::MAX);
    }

    fn line(&self, ending: Ending, bytes: usize) -> Activity {
        let now = self.host.parts.clock.now();
        Activity {
            at: self.started,
            principal: self.caller.principal.name.clone(),
            session: self.caller.session.clone(),
            turn: self.caller.turn.clone(),
            server: self.name.server().map(String::from),
            tool: self.name.clone(),
            arguments: self.arguments.clone(),
            grant: self.grant,
            milliseconds: now.0.saturating_sub(self.started.0),
            ending,
            tokens: (bytes / 4) as u64,
        }
    }
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        if self.started == Timestamp(u64::MAX) {
            return;
        }
        let line = self.line(Ending::Cancelled, 0);
        let (journal, tenant) = (self.host.journal.clone(), self.caller.principal.tenant.clone());
        self.host.parts.tasks.spawn(async move { journal.note(&tenant, line).await });
    }
}

fn reason(error: &CallError) -> String {
    agent::text::clip(&suspicion::clean(&error.to_string()), REASON_BYTES_MAX).to_owned()
}
